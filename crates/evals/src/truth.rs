//! The right answer, from the truth of the simulation.

use serde_json::Value as Json;

use crate::lab::Lab;
use crate::questions::Question;

/// What a right answer must say; each field has one or more right values.
#[derive(Debug, Default)]
pub struct Truth {
    /// Causes.
    pub causes: Vec<String>,
    /// Places.
    pub places: Vec<String>,
    /// The number.
    pub number: Option<f64>,
}

/// The truth for a question.
pub fn truth(question: &Question, lab: &Lab) -> Truth {
    let a = &lab.a;
    match question.kind.as_str() {
        "why" | "gain" | "fuse" => injected(a),
        "nothing" => Truth { causes: vec!["nothing".into()], ..Truth::default() },
        "bound" => Truth { causes: texts(&a["expected"]["bound_by"]), ..Truth::default() },
        "span" => {
            let idle = &a["ranks"][0]["idle"];
            number(ms(&idle["last_work_ns"]) - ms(&idle["first_work_ns"]))
        }
        "idle" => number(ms(&a["ranks"][0]["idle"]["total_ns"])),
        "top" => {
            let kernel = top_kernel(a);
            let places = texts(&Json::Array(vec![kernel["name"].clone()]));
            Truth { places, ..number(ms(&kernel["total_ns"])) }
        }
        "calls" => number(top_kernel(a)["calls"].as_f64().unwrap_or_default()),
        "what_if" => number(lab.predicted.as_ref().map_or(0.0, |run| ms(&run["span_ns"]))),
        "trust" => yes(lost_ns(a) == 0.0),
        "missing" => number(lost_ns(a) / 1e6),
        "late_rank" => {
            let cause = &a["across_ranks"]["causes"][0];
            let causes = cause["cause"].as_str().map(String::from);
            let place = cause["rank"].as_i64().map(|rank| rank.to_string());
            Truth { causes: causes.into_iter().collect(), places: place.into_iter().collect(), number: None }
        }
        "step_without" => number(ms(&a["across_ranks"]["step_time_without_ns"])),
        "slow_link" => number(a["across_ranks"]["causes"][0]["factor"].as_f64().unwrap_or_default()),
        "no_late_rank" => yes(false),
        "compare" => slower(a, lab.b.as_ref().unwrap_or(&Json::Null)),
        "changed" => yes(false),
        _ => Truth::default(),
    }
}

fn yes(is: bool) -> Truth {
    Truth { causes: vec![if is { "yes" } else { "no" }.into()], ..Truth::default() }
}

fn number(value: f64) -> Truth {
    Truth { number: Some(value), ..Truth::default() }
}

fn ms(ns: &Json) -> f64 {
    ns.as_f64().unwrap_or_default() / 1e6
}

fn list(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn texts(json: &Json) -> Vec<String> {
    list(json).iter().filter_map(|one| Some(one.as_str()?.to_string())).collect()
}

fn lost_ns(run: &Json) -> f64 {
    list(&run["lost"]).iter().filter_map(|lost| lost["time_ns"].as_f64()).sum()
}

/// The injected fault, its names, and how much shorter the run is without it.
fn injected(run: &Json) -> Truth {
    let all = list(&run["injected"]);
    let field = |name: &str| all.iter().filter_map(|one| Some(one[name].as_str()?.to_string())).collect();
    Truth { causes: field("rule"), places: field("name"), number: all.first().map(|one| ms(&one["gain_ns"])) }
}

/// The kernel with most time over all ranks.
fn top_kernel(run: &Json) -> &Json {
    let kernels = list(&run["ranks"][0]["kernels"]);
    let most = kernels.iter().max_by_key(|kernel| kernel["total_ns"].as_i64());
    most.unwrap_or(&Json::Null)
}

/// The kernel whose time grew most, and by how many percent.
fn slower(a: &Json, b: &Json) -> Truth {
    let (before, after) = (list(&a["ranks"][0]["kernels"]), list(&b["ranks"][0]["kernels"]));
    let change = |kernel: &Json| {
        let other = after.iter().find(|other| other["name"] == kernel["name"])?;
        let (was, is) = (kernel["total_ns"].as_f64()?, other["total_ns"].as_f64()?);
        Some((kernel["name"].as_str()?.to_string(), (is / was - 1.0) * 100.0))
    };
    let most = before.iter().filter_map(change).max_by(|one, other| one.1.total_cmp(&other.1));
    match most {
        Some((name, pct)) => Truth { places: vec![name], ..number(pct) },
        None => Truth::default(),
    }
}

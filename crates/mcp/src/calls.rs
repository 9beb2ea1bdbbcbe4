//! What each tool does: turns arguments into a request of `app`, and its report into an answer.

use std::path::PathBuf;
use std::sync::Arc;

use app::causes::{CriticalPathRequest, OverlapRequest};
use app::compare::{By, CompareRequest};
use app::efficiency::EfficiencyRequest;
use app::explain::ExplainRequest;
use app::memory::MemoryRequest;
use app::ops::OpsRequest;
use app::ranks::RanksRequest;
use app::roofline::RooflineRequest;
use app::timeline::{BreakdownRequest, SummaryRequest};
use app::triage::TriageRequest;
use app::{Input, Observer};
use report::Report;
use serde_json::{Value as Json, json};

use crate::answer::{self, ROWS, View};
use crate::desk::{Desk, Opened, Reading};
use crate::part;
use crate::prepare;
use crate::refusal::Refusal;
use crate::sql;
use crate::tools::{Arguments, TOOLS, ToolInfo};

/// A call of a tool.
pub struct Call<'a> {
    /// What clients share.
    pub desk: &'a Arc<Desk>,
    /// The tool.
    pub tool: &'a ToolInfo,
    /// What it is called with.
    pub arguments: &'a Arguments,
    /// Checks whether the client has given up.
    pub observer: &'a dyn Observer,
}

/// Answers a call.
pub fn run(call: &Call) -> Result<String, Refusal> {
    match call.tool.name.as_str() {
        "open_trace" => open_trace(call),
        "list_traces" => Ok(list_traces(call.desk)),
        "close_trace" => close_trace(call),
        "health" => health(call),
        "page" => page(call),
        "compare" => compare(call),
        "list_experiments" => list_experiments(call),
        "attach_note" => attach_note(call),
        name => {
            let trace = call.desk.trace(call.required("trace")?)?;
            let Some(analysis) = analysis(name) else {
                return Err(Refusal::new(format!("there is no tool `{name}`")));
            };
            let reading = Reading { client: call.observer, trace: &trace };
            let made = || analysis(&Call { observer: &reading, ..*call }, &trace);
            let (kept, report) = call.desk.answer(name, Some(&trace), call.arguments.question(), made)?;
            call.show(&kept.id, Some(&trace.id), &report)
        }
    }
}

type Analysis = fn(&Call, &Opened) -> Result<Report, Refusal>;

/// Tools that ask one question of one trace.
pub fn analysis(name: &str) -> Option<Analysis> {
    Some(match name {
        "explain" => explain,
        "triage" => triage,
        "breakdown" => breakdown,
        "summary" => summary,
        "ops" => ops,
        "overlap" => overlap,
        "critical_path" => critical_path,
        "efficiency" => efficiency,
        "roofline" => roofline,
        "memory" => memory,
        "ranks" => ranks,
        "query" => query,
        _ => return None,
    })
}

impl Call<'_> {
    fn required(&self, name: &str) -> Result<&str, Refusal> {
        let missing = || Refusal::new(format!("`{}` needs the argument `{name}`", self.tool.name));
        self.arguments.text(name).ok_or_else(missing)
    }

    /// A file other than the trace that a client names.
    fn file(&self, name: &str) -> Result<Option<PathBuf>, Refusal> {
        self.arguments.text(name).map(|path| self.desk.roots.resolve(path)).transpose()
    }

    fn limit(&self) -> usize {
        self.arguments.whole("limit").unwrap_or(ROWS)
    }

    /// What is shown of a report.
    fn show(&self, answer: &str, trace: Option<&str>, report: &Report) -> Result<String, Refusal> {
        let table = self.arguments.text("table");
        if let Some(name) = table.filter(|name| report.table(name).is_none()) {
            let names: Vec<&str> = report.tables.iter().map(|table| table.name.as_str()).collect();
            return Err(Refusal::new(format!("the answer {answer} has no table `{name}`"))
                .with_help(format!("its tables are {}", names.join(", "))));
        }
        let view = View {
            tool: &self.tool.name,
            trace,
            answer,
            table,
            limit: self.limit(),
            next: next(self.tool, trace),
            without_tables: false,
        };
        Ok(answer::compact(report, &view))
    }
}

/// The tools that look closer, as calls.
fn next(tool: &ToolInfo, trace: Option<&str>) -> Vec<Json> {
    let call = |(name, adds): &(String, String)| {
        let mut call = json!({ "tool": name, "adds": adds });
        if let Some(trace) = trace {
            call["arguments"] = json!({ "trace": trace });
        }
        call
    };
    tool.next.iter().map(call).collect()
}

/// The report with verdict and health: that of `explain`, or if it cannot run, what the trace contains.
fn judged(call: &Call, trace: &Arc<Opened>) -> Result<(String, Arc<Report>, Option<Refusal>), Refusal> {
    let (tool, empty) = ("explain", Arguments::default());
    let asked = Arguments::of_trace(&trace.id);
    let reading = Reading { client: call.observer, trace };
    let explaining = Call { arguments: &asked, observer: &reading, ..*call };
    match call.desk.answer(tool, Some(trace), asked.question(), || explain(&explaining, trace)) {
        Ok((kept, report)) => Ok((kept.id.clone(), report, None)),
        Err(why) => {
            let input = Input::of(vec![trace.path.clone()]);
            let contents = || Ok(app::info(&input, &reading)?);
            let (kept, report) = call.desk.answer("info", Some(trace), empty.question(), contents)?;
            Ok((kept.id.clone(), report, Some(why)))
        }
    }
}

fn open_trace(call: &Call) -> Result<String, Refusal> {
    let path = call.desk.roots.resolve(call.required("path")?)?;
    let trace = call.desk.open(path);
    let judged = judged(call, &trace).inspect_err(|_| {
        call.desk.close(&trace.id);
    });
    let (answer, report, not_explained) = judged?;
    let mut ranks: Vec<u32> = report.inputs.iter().filter_map(|input| input.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let mut not_applying = serde_json::Map::new();
    if ranks.len() < 2 && report.inputs.len() < 2 {
        not_applying.insert("ranks".into(), json!("the trace has one rank only"));
    }
    if let Some(why) = &not_explained {
        for name in ["explain", "triage", "breakdown", "ops", "overlap", "critical_path", "efficiency"] {
            not_applying.insert(name.into(), json!(why.message()));
        }
    }
    let view = View {
        tool: &call.tool.name,
        trace: Some(&trace.id),
        answer: &answer,
        table: None,
        limit: 3,
        next: next(call.tool, Some(&trace.id)),
        without_tables: not_explained.is_none(),
    };
    let mut shown: Json = serde_json::from_str(&answer::compact(&report, &view)).unwrap_or_default();
    let inputs = report.inputs.iter().take(4).map(|input| {
        json!({ "path": input.path, "format": input.format, "bytes": input.bytes, "rank": input.rank })
    });
    shown["inputs"] = json!(inputs.collect::<Vec<_>>());
    shown["inputs_in_all"] = json!(report.inputs.len());
    if ranks.len() > 1 {
        shown["ranks"] = json!(ranks.len());
    }
    if !not_applying.is_empty() {
        shown["does_not_apply"] = Json::Object(not_applying);
    }
    let text = shown.to_string();
    let text = if text.len() > answer::BUDGET { answer::compact(&report, &view) } else { text };
    prepare::start(call.desk, &trace, ranks.len() > 1);
    Ok(text)
}

fn list_traces(desk: &Desk) -> String {
    let open = desk.traces();
    let rows: Vec<Json> = open
        .iter()
        .map(|trace| {
            json!({ "trace": trace.id, "path": trace.path.display().to_string(), "bytes": trace.stamp.bytes() })
        })
        .collect();
    json!({ "tool": "list_traces", "traces": rows }).to_string()
}

fn close_trace(call: &Call) -> Result<String, Refusal> {
    let id = call.required("trace")?;
    match call.desk.close(id) {
        true => Ok(json!({ "tool": "close_trace", "closed": id }).to_string()),
        false => Err(Refusal::new(format!("no trace is open as `{id}`"))),
    }
}

fn health(call: &Call) -> Result<String, Refusal> {
    let trace = call.desk.trace(call.required("trace")?)?;
    let (answer, report, _) = judged(call, &trace)?;
    let mut shown = json!({
        "tool": "health",
        "trace": trace.id,
        "answer": answer,
        "health": answer::all_checks(&report),
        "next": next(call.tool, Some(&trace.id)),
    });
    if let Some(verdict) = &report.verdict {
        shown["verdict"] = verdict.json();
    }
    let text = shown.to_string();
    if text.len() <= answer::BUDGET {
        return Ok(text);
    }
    let view = View {
        tool: "health",
        trace: Some(&trace.id),
        answer: &answer,
        table: None,
        limit: ROWS,
        next: Vec::new(),
        without_tables: true,
    };
    Ok(answer::compact(&report, &view))
}

fn page(call: &Call) -> Result<String, Refusal> {
    let (kept, report) = call.desk.kept(call.required("answer")?)?;
    if let Some(key) = call.arguments.text("key") {
        let trace = kept.trace.as_deref().unwrap_or_default();
        let found = answer::whole(&report, key, trace);
        let found =
            found.ok_or_else(|| Refusal::new(format!("no row of {} has the key `{key}`", kept.id)))?;
        return Ok(json!({ "answer": kept.id, "found": found }).to_string());
    }
    let names: Vec<&str> = report.tables.iter().map(|table| table.name.as_str()).collect();
    let table = match (call.arguments.text("table"), &report.tables[..]) {
        (Some(name), _) => report.table(name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let table = table.ok_or_else(|| {
        Refusal::new("`table` has to name a table of the answer")
            .with_help(format!("its tables are {}", names.join(", ")))
    })?;
    let limit = call.arguments.whole("limit").unwrap_or(25);
    Ok(answer::page(table, &kept.id, call.arguments.whole("offset").unwrap_or(0), limit))
}

fn explain(call: &Call, trace: &Opened) -> Result<Report, Refusal> {
    let request = ExplainRequest {
        input: part::input(trace, call.arguments)?,
        rules: call.arguments.texts("rules"),
        mapping: call.file("mapping")?,
        ..ExplainRequest::default()
    };
    Ok(app::explain(&request, call.observer)?)
}

fn triage(call: &Call, trace: &Opened) -> Result<Report, Refusal> {
    let filters = part::filters(call.arguments)?;
    let request = TriageRequest {
        mapping: call.file("mapping")?.into_iter().collect(),
        rank: part::rank(call.arguments)?,
        stage: part::stage(call.arguments)?,
        part: app::input::without_rank_and_stage(&filters),
        min_share: call.arguments.number("min_share").unwrap_or(1.0),
        ..TriageRequest::new(vec![trace.path.clone()])
    };
    Ok(app::triage(&request, call.observer)?)
}

fn breakdown(call: &Call, trace: &Opened) -> Result<Report, Refusal> {
    let request = BreakdownRequest {
        input: part::input(trace, call.arguments)?,
        by_rank: call.arguments.flag("by_rank"),
        ..BreakdownRequest::default()
    };
    Ok(app::breakdown(&request, call.observer)?)
}

fn summary(call: &Call, trace: &Opened) -> Result<Report, Refusal> {
    let request = SummaryRequest {
        input: part::input(trace, call.arguments)?,
        by_rank: call.arguments.flag("by_rank"),
        ..SummaryRequest::default()
    };
    Ok(app::summary(&request, call.observer)?)
}

fn ops(call: &Call, trace: &Opened) -> Result<Report, Refusal> {
    let request = OpsRequest {
        input: part::input(trace, call.arguments)?,
        mapping: call.file("mapping")?,
        ..OpsRequest::default()
    };
    Ok(app::ops(&request, call.observer)?)
}

fn overlap(call: &Call, trace: &Opened) -> Result<Report, Refusal> {
    let request = OverlapRequest {
        input: part::input(trace, call.arguments)?,
        mapping: call.file("mapping")?,
        min_share: call.arguments.number("min_share").unwrap_or(1.0),
        ..OverlapRequest::default()
    };
    Ok(app::overlap(&request, call.observer)?)
}

fn critical_path(call: &Call, trace: &Opened) -> Result<Report, Refusal> {
    let request = CriticalPathRequest {
        input: part::input(trace, call.arguments)?,
        what_if: call.arguments.texts("what_if"),
        ..CriticalPathRequest::default()
    };
    Ok(app::critical_path(&request, call.observer)?)
}

fn efficiency(call: &Call, trace: &Opened) -> Result<Report, Refusal> {
    let request = EfficiencyRequest {
        input: part::input(trace, call.arguments)?,
        mapping: call.file("mapping")?,
        ..EfficiencyRequest::default()
    };
    Ok(app::efficiency(&request, call.observer)?)
}

fn roofline(call: &Call, trace: &Opened) -> Result<Report, Refusal> {
    let request = RooflineRequest {
        input: part::input(trace, call.arguments)?,
        mapping: call.file("mapping")?,
        ..RooflineRequest::default()
    };
    Ok(app::roofline(&request, call.observer)?)
}

fn memory(call: &Call, trace: &Opened) -> Result<Report, Refusal> {
    let request = MemoryRequest { input: part::input(trace, call.arguments)?, ..MemoryRequest::default() };
    Ok(app::memory(&request, call.observer)?)
}

fn ranks(call: &Call, trace: &Opened) -> Result<Report, Refusal> {
    Ok(app::ranks(&RanksRequest { paths: vec![trace.path.clone()] }, call.observer)?)
}

fn query(call: &Call, trace: &Opened) -> Result<Report, Refusal> {
    sql::run(&trace.sql, trace.path.clone(), call.required("sql")?, call.observer)
}

fn compare(call: &Call) -> Result<String, Refusal> {
    let runs = |name: &str| -> Result<Vec<PathBuf>, Refusal> {
        let named = call.arguments.texts(name);
        let open = call.desk.traces();
        let run = |named: &String| match open.iter().any(|trace| trace.id == *named) {
            true => call.desk.trace(named).map(|trace| trace.path.clone()),
            false => call.desk.roots.resolve(named),
        };
        named.iter().map(run).collect()
    };
    let request = CompareRequest {
        filters: part::filters(call.arguments)?,
        anyway: call.arguments.flag("anyway"),
        by: if call.arguments.flag("by_ops") { By::Ops } else { By::Kernels },
        ..CompareRequest::new(runs("base")?, runs("candidate")?)
    };
    let made = || Ok(app::compare(&request, call.observer)?.report);
    // Either side may change between two calls, so the question includes its paths and file stamps.
    let looks: Vec<_> =
        request.base.iter().chain(&request.candidate).map(|run| crate::stamp::Stamp::of(run)).collect();
    let question = format!("{} {looks:?}", call.arguments.question());
    let (kept, report) = call.desk.answer(&call.tool.name, None, question, made)?;
    call.show(&kept.id, None, &report)
}

fn list_experiments(call: &Call) -> Result<String, Refusal> {
    let (place, arguments) = (&call.desk.place, call.arguments);
    let report = match (arguments.text("experiment"), arguments.text("trial")) {
        (Some(experiment), trial) => app::experiment::show(place, experiment, trial)?,
        (None, Some(_)) => return Err(Refusal::new("`trial` needs the experiment that it belongs to")),
        (None, None) => app::experiment::list(place, false, arguments.text("tag"))?,
    };
    kept_once(call, report)
}

fn attach_note(call: &Call) -> Result<String, Refusal> {
    let arguments = call.arguments;
    let report = app::experiment::note(
        &call.desk.place,
        call.required("experiment")?,
        arguments.text("trial"),
        call.required("text")?,
        arguments.text("link"),
    )?;
    kept_once(call, report)
}

/// A store can change at any time: each answer is made anew, and kept for paging.
fn kept_once(call: &Call, report: Report) -> Result<String, Refusal> {
    let now = format!("{:?}", std::time::Instant::now());
    let (kept, report) = call.desk.answer(&call.tool.name, None, now, || Ok(report))?;
    call.show(&kept.id, None, &report)
}

/// Computes an answer that clients usually ask for.
pub fn usual(desk: &Arc<Desk>, trace: &Arc<Opened>, name: &str, observer: &dyn Observer) {
    let (Some(tool), Some(analysis)) = (TOOLS.find(name), analysis(name)) else { return };
    let arguments = Arguments::of_trace(&trace.id);
    let reading = Reading { client: observer, trace };
    let call = Call { desk, tool, arguments: &arguments, observer: &reading };
    // An analysis that does not apply fails again when someone asks.
    let _ = desk.answer(name, Some(trace), arguments.question(), || analysis(&call, trace));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_the_table_has_code() {
        let own = [
            "open_trace",
            "list_traces",
            "close_trace",
            "health",
            "page",
            "compare",
            "list_experiments",
            "attach_note",
        ];
        for tool in TOOLS.iter() {
            assert!(own.contains(&tool.name.as_str()) || analysis(&tool.name).is_some(), "{}", tool.name);
        }
        assert!(TOOLS.iter().count() >= 19);
    }
}

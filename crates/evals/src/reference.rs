//! The reference agent: a script that reads the question and answers from the tools alone.
//!
//! It knows no scenario and no truth. Each plan is what a careful engineer would do with these tools, so its score says
//! whether the tools' answers carry the conclusions.

use serde_json::{Value as Json, json};

use crate::Error;
use crate::score::Conclusion;
use crate::session::Session;

type Plan = fn(&Session, &Question) -> Result<Conclusion, Error>;

/// (words of a question, what to do); the first plan whose words all occur is used.
const PLANS: &[(&[&str], Plan)] = &[
    (&["got slower from"], compare),
    (&["Did a kernel get slower"], changed),
    (&["shorter would the run be without"], gain),
    (&["fusing kernels"], fuse),
    (&["Why is the run"], why),
    (&["have a problem that costs more than"], nothing),
    (&["What bounds the run"], bound),
    (&["GPU do nothing"], idle),
    (&["between the first and the last GPU work"], span),
    (&["Which kernel takes most"], top),
    (&["How often is the kernel"], calls),
    (&["would the whole run", "times as long"], what_if),
    (&["complete enough"], trust),
    (&["GPU work are missing"], missing),
    (&["Which rank holds up"], late_rank),
    (&["late rank were like its peers"], step_without),
    (&["By what factor"], slow_link),
    (&["rank or a link hold up"], no_late_rank),
];

/// A question, and the texts between backticks in it.
struct Question<'a> {
    quoted: Vec<&'a str>,
    text: &'a str,
}

/// Answers a question.
pub fn answer(session: &Session, text: &str) -> Result<Conclusion, Error> {
    let quoted = text.split('`').skip(1).step_by(2).collect();
    let plan = PLANS.iter().find(|(words, _)| words.iter().all(|word| text.contains(word)));
    match plan {
        Some((_, plan)) => plan(session, &Question { quoted, text }),
        None => Ok(Conclusion::default()),
    }
}

impl Question<'_> {
    /// Opens the first run that the question names.
    fn open(&self, session: &Session) -> Result<Json, Error> {
        session.ask("open_trace", json!({ "path": self.quoted.first() }))
    }
}

fn ms(ns: &Json) -> Option<f64> {
    ns.as_f64().map(|ns| ns / 1e6)
}

fn text(json: &Json) -> Option<String> {
    json.as_str().map(String::from)
}

fn explained(session: &Session, question: &Question) -> Result<Json, Error> {
    let opened = question.open(session)?;
    session.ask("explain", json!({ "trace": opened["trace"] }))
}

fn why(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    let explained = explained(session, question)?;
    let finding = &explained["findings"][0];
    // The evidence names the place; if the answer was shortened, the row behind the key has all of it.
    let whole = session.ask("page", json!({ "answer": explained["answer"], "key": finding["key"] }))?;
    let evidence = &whole["found"]["evidence"];
    let named = ["name", "kernel_name"].iter().find_map(|name| text(&evidence[*name]));
    let quoted = finding["title"].as_str().and_then(|title| title.split('`').nth(1)).map(String::from);
    let number = ms(&finding["gain_ceiling_ns"]);
    Ok(Conclusion { cause: text(&finding["rule"]), place: named.or(quoted), number })
}

/// The saving of a finding as the critical path predicts it, if it can.
fn gain(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    let explained = explained(session, question)?;
    let finding = &explained["findings"][0];
    Ok(Conclusion { cause: text(&finding["rule"]), place: None, number: ms(&finding["gain_ceiling_ns"]) })
}

fn fuse(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    let explained = explained(session, question)?;
    let findings = explained["findings"].as_array().cloned().unwrap_or_default();
    let fusable = findings.iter().find(|finding| finding["rule"] == "fusable-chain");
    Ok(Conclusion {
        number: fusable.and_then(|finding| ms(&finding["gain_ceiling_ns"])),
        ..Conclusion::default()
    })
}

fn nothing(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    let explained = explained(session, question)?;
    let span = explained["verdict"]["span_ns"].as_f64().unwrap_or(f64::INFINITY);
    let finding = &explained["findings"][0];
    let is_large = finding["gain_ceiling_ns"].as_f64().is_some_and(|gain| gain > 0.05 * span);
    let cause = if is_large { text(&finding["rule"]) } else { Some("nothing".into()) };
    Ok(Conclusion { cause, ..Conclusion::default() })
}

fn verdict(session: &Session, question: &Question) -> Result<Json, Error> {
    let opened = question.open(session)?;
    Ok(session.ask("health", json!({ "trace": opened["trace"] }))?["verdict"].clone())
}

fn bound(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    Ok(Conclusion { cause: text(&verdict(session, question)?["bound_by"]), ..Conclusion::default() })
}

fn span(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    Ok(Conclusion { number: ms(&verdict(session, question)?["span_ns"]), ..Conclusion::default() })
}

fn idle(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    Ok(Conclusion { number: ms(&verdict(session, question)?["idle_ns"]), ..Conclusion::default() })
}

/// The first kernel of the summary, with all columns.
fn top_kernel(session: &Session, question: &Question) -> Result<Json, Error> {
    let opened = question.open(session)?;
    let asked = json!({ "trace": opened["trace"], "table": "kernels", "limit": 1 });
    let summary = session.ask("summary", asked)?;
    let key = &summary["tables"]["kernels"]["rows"][0]["key"];
    let whole = session.ask("page", json!({ "answer": summary["answer"], "key": key }))?;
    Ok(whole["found"].clone())
}

fn top(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    let kernel = top_kernel(session, question)?;
    Ok(Conclusion { place: text(&kernel["name"]), number: ms(&kernel["total_ns"]), cause: None })
}

fn calls(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    Ok(Conclusion { number: top_kernel(session, question)?["calls"].as_f64(), ..Conclusion::default() })
}

fn what_if(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    let opened = question.open(session)?;
    let kernel = question.quoted.get(1).copied().unwrap_or_default();
    let factor = question.text.split(" took ").nth(1).and_then(|rest| rest.split(' ').next());
    let change = format!("{kernel}={}", factor.unwrap_or_default());
    let asked = json!({ "trace": opened["trace"], "what_if": [change], "table": "what_if" });
    let path = session.ask("critical_path", asked)?;
    let number = ms(&path["tables"]["what_if"]["rows"][0]["predicted_span_ns"]);
    Ok(Conclusion { number, ..Conclusion::default() })
}

fn yes_or_no(yes: bool) -> Conclusion {
    Conclusion { cause: Some(if yes { "yes" } else { "no" }.into()), ..Conclusion::default() }
}

fn trust(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    Ok(yes_or_no(verdict(session, question)?["trusted"] == true))
}

/// Health says which share of GPU time was recorded; the missing time follows from the recorded time.
fn missing(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    let opened = question.open(session)?;
    let health = session.ask("health", json!({ "trace": opened["trace"] }))?;
    let checks = health["health"]["checks"].as_array().cloned().unwrap_or_default();
    let complete = checks.iter().find(|check| check["id"] == "complete");
    let share = complete.and_then(|check| check["value"].as_f64()).unwrap_or(100.0);
    let asked = json!({ "trace": opened["trace"], "sql": "SELECT sum(duration) AS ns FROM kernels" });
    let busy = session.ask("query", asked)?;
    let there = ms(&busy["tables"]["result"]["rows"][0]["ns"]).unwrap_or_default();
    Ok(Conclusion { number: Some(there * (100.0 - share) / share), ..Conclusion::default() })
}

fn ranks(session: &Session, question: &Question) -> Result<Json, Error> {
    let opened = question.open(session)?;
    session.ask("ranks", json!({ "trace": opened["trace"], "limit": 4 }))
}

fn late_rank(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    let ranks = ranks(session, question)?;
    let straggler = &ranks["tables"]["stragglers"]["rows"][0];
    Ok(Conclusion { cause: text(&straggler["cause"]), place: text(&straggler["rank"]), number: None })
}

fn step_without(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    let ranks = ranks(session, question)?;
    let number = ms(&ranks["tables"]["stragglers"]["rows"][0]["step_without_ns"]);
    Ok(Conclusion { number, ..Conclusion::default() })
}

fn slow_link(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    let ranks = ranks(session, question)?;
    let number = ranks["tables"]["slow_links"]["rows"][0]["factor"].as_f64();
    Ok(Conclusion { number, ..Conclusion::default() })
}

fn no_late_rank(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    let ranks = ranks(session, question)?;
    let has = |name: &str| ranks["tables"][name]["rows_in_all"].as_u64().is_some_and(|rows| rows > 0);
    Ok(yes_or_no(has("stragglers") || has("slow_links")))
}

/// The kernels that are slower beyond noise, most changed first.
fn slower(session: &Session, question: &Question) -> Result<Vec<Json>, Error> {
    let [a, b, ..] = question.quoted[..] else { return Ok(Vec::new()) };
    let asked = json!({ "base": [a], "candidate": [b], "table": "kernels", "limit": 25 });
    let compared = session.ask("compare", asked)?;
    let rows = compared["tables"]["kernels"]["rows"].as_array().cloned().unwrap_or_default();
    let mut slower: Vec<Json> = rows.into_iter().filter(|row| row["verdict"] == "slower").collect();
    slower.sort_by(|one, other| {
        let change = |row: &Json| row["delta_pct"].as_f64().unwrap_or_default();
        change(other).total_cmp(&change(one))
    });
    Ok(slower)
}

fn compare(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    let slower = slower(session, question)?;
    let row = slower.first().cloned().unwrap_or_default();
    Ok(Conclusion { place: text(&row["name"]), number: row["delta_pct"].as_f64(), cause: None })
}

fn changed(session: &Session, question: &Question) -> Result<Conclusion, Error> {
    Ok(yes_or_no(!slower(session, question)?.is_empty()))
}

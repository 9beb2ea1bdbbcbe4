//! Streams that events force to run one after the other.

use report::Value;
use trace::{Map, RowRef, StreamId, Table};

use crate::causes::critical_path::Scenario;
use crate::explain::facts::Facts;
use crate::explain::rule::{Draft, Rule, Verdict};
use model::classify::Category;
use stats::percent;

pub(super) const RULE: Rule = Rule {
    id: "serialised-streams",
    finds: "kernels of two streams that wait for each other by events, so that they never run at the same time",
    needs: "several streams, and the calls that record and await events",
    judge,
};

/// Two streams, and how often each waits for the other.
#[derive(Default)]
struct Pair {
    /// How often the second waits for the first, and the first for the second.
    waits: [usize; 2],
    rows: Vec<RowRef>,
}

fn judge(facts: &Facts) -> Verdict {
    let trace = facts.trace();
    let kernels = &trace.kernels;
    let first = kernels.stream.first().copied();
    if kernels.stream.iter().all(|&stream| Some(stream) == first) {
        return Verdict::CannotJudge("all kernels are on one stream".into());
    }
    let Some(engine) = facts.engine() else { return Verdict::CannotJudge("no GPU work is recorded".into()) };
    let waits = engine.event_waits();
    if waits.is_empty() {
        return Verdict::CannotJudge("no wait for an event is recorded".into());
    }
    let limits = &facts.limits.serialised_streams;
    // Communication has its own rule.
    let computes = |row: &RowRef| facts.context.category(*row) != Category::Communication;
    let stream = |row: RowRef| {
        row.row_of(Table::Kernels).filter(|_| computes(&row)).map(|kernel| kernels.stream[kernel])
    };
    let mut pairs: Map<(StreamId, StreamId), Pair> = Map::default();
    for (awaited, waiting) in waits {
        let (Some(from), Some(to)) = (stream(awaited), stream(waiting)) else { continue };
        let pair = pairs.entry((from.min(to), from.max(to))).or_default();
        pair.waits[usize::from(from > to)] += 1;
        pair.rows.push(waiting);
    }
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort_by_key(|(streams, _)| *streams);
    let findings = pairs.into_iter().filter_map(|((one, two), pair)| {
        let total = facts.total();
        let (together, least) = overlap(facts, one, two);
        let both_ways = pair.waits.iter().all(|&waits| waits >= limits.min_waits);
        if !both_ways || percent(together, least) > limits.most_overlap_pct {
            return None;
        }
        let (scenario, way) = better(facts, &pair);
        let label = |stream: StreamId| stream.get().map_or(-1, |stream| trace.streams[stream].id);
        let name = wait_call(facts);
        let draft = Draft {
            id: RULE.id,
            about: format!("{}-{}", label(one), label(two)),
            title: format!(
                "streams {} and {} wait for each other {} times and never overlap; {way} the run is {{gain}} shorter",
                label(one),
                label(two),
                pair.waits.iter().sum::<usize>()
            ),
            claimed: least + facts.gpus.iter().map(|gpu| gpu.idle_total()).max().unwrap_or(0),
            gpu_ns: least,
            total,
            min_pct: limits.min_pct,
            formula: "gain_ceiling_ns = how much sooner the run ends if neither stream waits for the other, or if all is on one stream",
            recommendation: "if the work of the two streams is independent, remove the waits (or wait once at the end); if it is not, or the host cannot keep two streams busy, use one stream"
                .into(),
            evidence: vec![
                ("name", Value::from(name)),
                ("waits", Value::from(pair.waits.iter().sum::<usize>())),
                ("overlap_ns", Value::Int(together)),
                ("smaller_stream_ns", Value::Int(least)),
            ],
            scenario: Some(scenario),
        };
        draft.finding(facts)
    });
    Verdict::Judged(findings.collect())
}

/// How long kernels of both streams overlap, and how long the less busy stream runs.
fn overlap(facts: &Facts, one: StreamId, two: StreamId) -> (i64, i64) {
    let kernels = &facts.trace().kernels;
    let of = |stream: StreamId| {
        let mut merged: Vec<(i64, i64)> = Vec::new();
        for row in (0..kernels.len()).filter(|&row| kernels.stream[row] == stream) {
            match merged.last_mut() {
                Some(last) if kernels.start[row] <= last.1 => last.1 = last.1.max(kernels.end[row]),
                _ => merged.push((kernels.start[row], kernels.end[row])),
            }
        }
        merged
    };
    let (one, two) = (of(one), of(two));
    let total = |times: &[(i64, i64)]| times.iter().map(|time| time.1 - time.0).sum::<i64>();
    let (mut a, mut b, mut together) = (0, 0, 0);
    while a < one.len() && b < two.len() {
        together += (one[a].1.min(two[b].1) - one[a].0.max(two[b].0)).max(0);
        if one[a].1 <= two[b].1 { a += 1 } else { b += 1 }
    }
    (together, total(&one).min(total(&two)))
}

/// The better of two changes: two streams that do not wait, or one stream without events and switching. One
/// stream is better if the host is so slow that the two would take turns anyway.
fn better(facts: &Facts, pair: &Pair) -> (Scenario, &'static str) {
    let events = skipping(facts, |row| {
        let call = facts.context.calls.of_region(facts.trace(), row);
        call.is_some_and(|call| call.waits_for_event || call.records_event) || switches(facts, row, true)
    });
    let mut no_waits = events.clone();
    pair.rows.iter().for_each(|&row| no_waits.without_event_wait(row));
    let one_stream = events.and(&skipping(facts, |row| switches(facts, row, false)));
    let saving = |scenario: &Scenario| facts.engine().map_or(0, |engine| engine.saving(scenario));
    match saving(&one_stream) > saving(&no_waits) {
        true => (one_stream, "on one stream"),
        false => (no_waits, "without the waits"),
    }
}

/// A scenario in which the host skips these regions.
fn skipping(facts: &Facts, wanted: impl Fn(usize) -> bool) -> Scenario {
    let regions = &facts.trace().regions;
    let mut scenario = Scenario::default();
    for row in (0..regions.len()).filter(|&row| wanted(row)) {
        let (process, thread) = (regions.process[row], regions.thread[row]);
        scenario.host_skips(process, thread, regions.start[row], regions.end[row]);
    }
    scenario
}

/// Whether a region is a function that handles events or, unless `events_only`, changes the stream.
fn switches(facts: &Facts, row: usize, events_only: bool) -> bool {
    const EVENTS: [&str; 3] = ["wait_stream", "wait_event", "record_event"];
    let name = facts.text(facts.trace().regions.name[row]);
    let Some((place, function)) = name.rsplit_once("): ") else { return false };
    if events_only {
        return EVENTS.contains(&function);
    }
    let file = place.split('(').next().unwrap_or_default();
    let known = &facts.limits.serialised_streams.switching;
    known.iter().any(|own| file.ends_with(&own.file) && own.functions.iter().any(|name| name == function))
}

/// The name of the call that makes a stream wait.
fn wait_call<'a>(facts: &Facts<'a>) -> &'a str {
    let trace = facts.trace();
    let calls = &facts.context.calls;
    let waits = |&row: &usize| calls.of_region(trace, row).is_some_and(|call| call.waits_for_event);
    (0..trace.regions.len()).find(waits).map_or("", |row| trace.strings.get(trace.regions.name[row]))
}

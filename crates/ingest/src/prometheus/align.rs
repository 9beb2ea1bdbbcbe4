//! Aligns samples of a monitoring system with a run.

use trace::{AgentId, AgentKind, Map, ProcessId, Samples, Status, StrId, Trace};

use super::KIND;

/// Times of day are above this: September 2001 in nanoseconds.
const TIME_OF_DAY_NS: i64 = 1_000_000_000_000_000_000;

/// Keeps only samples within the run and assigns its GPUs. Monitoring runs for days, and must not stretch a
/// run of seconds.
pub(crate) fn align(trace: &mut Trace) {
    let Some(kind) = trace.strings.find(KIND) else { return };
    let is_ours = |trace: &Trace, row: usize| {
        trace.samples.kind[row] == kind && trace.samples.process[row] == ProcessId::NONE
    };
    let ours = (0..trace.samples.len()).filter(|&row| is_ours(trace, row)).count();
    if ours == 0 || trace.processes.is_empty() {
        return;
    }
    let samples = std::mem::take(&mut trace.samples);
    let (mut others, mut metrics) = (Samples::default(), Vec::new());
    for row in 0..samples.len() {
        let sample = samples.get(row);
        if sample.kind == kind && sample.process == ProcessId::NONE {
            metrics.push(sample)
        } else {
            others.push(sample)
        }
    }
    trace.samples = others;
    let Some((first, last)) = trace.span() else { return };
    if last < TIME_OF_DAY_NS {
        let message = format!(
            "left out {ours} monitoring samples: they have times of day, but the trace counts from boot"
        );
        trace.health.report("monitoring", Status::Warn, Some(ours as f64), message);
        return;
    }
    let mut places: Map<StrId, (ProcessId, AgentId)> = Map::default();
    let mut kept = 0usize;
    for mut sample in metrics {
        if !(first..=last).contains(&sample.start) {
            continue;
        }
        let labels = sample.location;
        let place = match places.get(&labels) {
            Some(place) => *place,
            None => {
                let place = place_of(trace, trace.strings.get(labels));
                places.insert(labels, place);
                place
            }
        };
        (sample.process, sample.agent) = place;
        trace.samples.push(sample);
        kept += 1;
    }
    let message = format!("{kept} of {ours} monitoring samples are within the run");
    let status = if kept == 0 { Status::Warn } else { Status::Pass };
    trace.health.report("monitoring", status, Some(kept as f64), message);
}

/// The process and GPU that labels name: `card=0,instance=node1:8001`.
fn place_of(trace: &Trace, labels: &str) -> (ProcessId, AgentId) {
    let label = |key: &str| {
        labels
            .split(',')
            .find_map(|label| label.split_once('=').filter(|(k, _)| *k == key))
            .map(|(_, value)| value)
    };
    let host = label("instance").map(|instance| instance.split(':').next().unwrap_or(instance));
    let is_host = |process: usize| {
        let name = trace.strings.get(trace.processes[process].hostname);
        let short = |name: &str| name.split('.').next().unwrap_or_default().to_string();
        match host {
            Some(host) if !name.is_empty() => short(host) == short(name),
            _ => true,
        }
    };
    let hosts: Vec<usize> = (0..trace.processes.len()).filter(|&process| is_host(process)).collect();
    let Some(&process) = hosts.first() else { return (ProcessId::NONE, AgentId::NONE) };
    let card = label("card").and_then(|card| card.parse::<i64>().ok());
    let is_card = |&agent: &usize| {
        let agent = &trace.agents[agent];
        agent.kind == AgentKind::Gpu
            && agent.process.get().is_some_and(|process| hosts.contains(&process))
            && card.is_some()
            && (agent.type_index.get().or(agent.logical_index.get()).or(agent.absolute_index.get()) == card)
    };
    match (0..trace.agents.len()).find(is_card) {
        Some(agent) => (trace.agents[agent].process, AgentId::at(agent)),
        None => (ProcessId::at(process), AgentId::NONE),
    }
}

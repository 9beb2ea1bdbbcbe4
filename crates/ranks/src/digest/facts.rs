//! Identifies a rank from the trace, its process and its file's name.

use std::path::Path;

use analysis::causes::idle::GpuAccount;
use model::recordings::Recordings;
use serde_json::Value as Json;
use trace::{AgentId, Map, ProcessId, Status, Table, Trace};

use super::{Identity, JobPosition, Problem};
use crate::names::place_of_path;

/// The file that digests are made of.
pub(super) struct Source {
    modified_ns: i64,
    /// The process of each account.
    processes: Vec<ProcessId>,
    /// How many GPUs each of them has.
    gpus: Map<ProcessId, usize>,
}

impl Source {
    pub fn of(trace: &Trace, modified_ns: i64, accounts: &[GpuAccount]) -> Self {
        let recordings = Recordings::of(trace);
        let processes: Vec<ProcessId> =
            accounts.iter().map(|gpu| process_of(trace, &recordings, gpu)).collect();
        let mut gpus = Map::default();
        processes.iter().for_each(|process| *gpus.entry(*process).or_default() += 1);
        Self { modified_ns, processes, gpus }
    }
}

/// Identity of the rank behind the account at a place.
pub(super) fn identity_of_gpu(trace: &Trace, source: &Source, place: usize, gpu: &GpuAccount) -> Identity {
    let process = source.processes[place];
    let mut identity = identity_of_process(trace, source, process);
    identity.rank = gpu.lane.rank.or(identity.rank);
    if source.gpus.get(&process).is_some_and(|gpus| *gpus > 1) {
        let index = gpu.lane.agent.get().and_then(|agent| trace.agents[agent].absolute_index.get());
        identity.gpu = index.and_then(|index| u32::try_from(index).ok()).or(Some(place as u32));
    }
    take_gpu(trace, &mut identity, gpu.lane.agent);
    identity
}

pub(super) fn identity_of_process(trace: &Trace, source: &Source, process: ProcessId) -> Identity {
    let mut identity = Identity { modified_ns: source.modified_ns, parts: 1, ..Identity::default() };
    identity.only_collectives = source.processes.is_empty();
    let found = process.get().map(|process| &trace.processes[process]);
    let file = found.and_then(|process| process.source.get()).or((trace.sources.len() == 1).then_some(0));
    if let Some(file) = file.map(|file| &trace.sources[file]) {
        identity.source.clone_from(&file.path);
        identity.format.clone_from(&file.format);
        identity.bytes = file.bytes;
        identity.rank = file.rank;
        identity.place = place_of_path(Path::new(&file.path));
    }
    if let Some(found) = found {
        let text = |id| trace.strings.get(id).to_string();
        identity.host = text(found.hostname);
        identity.pid = found.pid;
        identity.guid = text(found.guid);
        identity.rank = trace.rank_of(process).or(identity.rank);
    }
    take_metadata(trace, &mut identity);
    identity
}

fn process_of(trace: &Trace, recordings: &Recordings, gpu: &GpuAccount) -> ProcessId {
    match gpu.rows.first().and_then(|row| row.row.get()) {
        Some((Table::Kernels, row)) => trace.kernels.process[row],
        Some((Table::MemoryCopies, row)) => trace.memory_copies.process[row],
        _ => gpu.lane.recording.map_or(ProcessId::NONE, |place| recordings.all[place].processes[0]),
    }
}

fn take_gpu(trace: &Trace, identity: &mut Identity, agent: AgentId) {
    if let Some(agent) = agent.get().map(|agent| &trace.agents[agent]) {
        identity.architecture = trace.strings.get(agent.name).to_string();
        identity.product = trace.strings.get(agent.product).to_string();
    }
}

/// Variables of the launcher and the size of the job.
fn take_metadata(trace: &Trace, identity: &mut Identity) {
    for fact in &trace.metadata {
        let (key, value) = (trace.strings.get(fact.key), trace.strings.get(fact.value));
        if formats::launchers::VARIABLES.contains(&key) {
            identity.variables.push((key.to_string(), value.to_string()));
        } else if key == "distributedInfo" {
            let info: Json = serde_json::from_str(value).unwrap_or_default();
            let size = info["world_size"].as_u64().and_then(|size| u32::try_from(size).ok());
            identity.world_size = size.or(identity.world_size);
        }
    }
    for name in formats::launchers::SIZES {
        let told = identity.variables.iter().find(|(known, _)| known == name);
        identity.world_size = identity.world_size.or(told.and_then(|(_, value)| value.trim().parse().ok()));
    }
    identity.variables.sort();
    identity.variables.dedup();
}

/// What is wrong with a trace.
pub(super) fn problems(trace: &Trace) -> Vec<Problem> {
    let problem = |check: &trace::Check| Problem {
        id: check.id.to_string(),
        is_failure: check.status == Status::Fail,
        message: check.message.clone(),
    };
    trace.health.problems().map(problem).collect()
}

impl JobPosition {
    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        *self == JobPosition::default()
    }
}

//! The GPUs of a trace: one for each device of each recording.

use trace::{AgentId, AgentKind, LABEL_SEPARATOR, Map, ProcessId, Trace};

use crate::recordings::Recordings;

/// One GPU of one recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    /// The recording, as an index into [`Recordings::all`].
    pub recording: Option<usize>,
    /// Its rank, if the input records it.
    pub rank: Option<u32>,
    /// The device; `NONE` if the input does not record it.
    pub agent: AgentId,
    /// Whether its work counts as work of a rank; see [`Recordings::counts`].
    pub is_rank: bool,
    /// `agent 1`; with several recordings `node1 · rank 3 · agent 1`, as far as they differ.
    pub label: String,
    /// Its work in time order.
    pub work: Vec<u32>,
}

/// The GPUs of a trace, numbered in order of appearance.
pub(crate) struct Gpus<'a> {
    trace: &'a Trace,
    recordings: &'a Recordings,
    numbers: Map<(ProcessId, AgentId), u32>,
    /// Neighbours are often on one GPU.
    last: Option<((ProcessId, AgentId), u32)>,
    pub(super) found: Vec<Gpu>,
}

impl<'a> Gpus<'a> {
    pub fn new(trace: &'a Trace, recordings: &'a Recordings) -> Self {
        Self { trace, recordings, numbers: Map::default(), last: None, found: Vec::new() }
    }

    /// The number of the GPU of a process and agent.
    pub fn number(&mut self, process: ProcessId, agent: AgentId) -> u32 {
        // An agent is one recording's view of a device; without an agent, GPUs are told apart by process.
        let apart = if agent.is_some() { ProcessId::NONE } else { process };
        if let Some((key, gpu)) = self.last
            && key == (apart, agent)
        {
            return gpu;
        }
        let next = self.found.len() as u32;
        let number = *self.numbers.entry((apart, agent)).or_insert(next);
        self.last = Some(((apart, agent), number));
        if number == next {
            self.found.push(Gpu {
                recording: self.recordings.of_process(process),
                rank: self.trace.rank_of(process),
                agent,
                is_rank: self.recordings.counts(process),
                label: String::new(),
                work: Vec::new(),
            });
        }
        number
    }

    /// The GPUs in order with their labels, and the new index of each number: work without a GPU goes to the
    /// only GPU of its recording.
    pub fn finish(self) -> (Vec<Gpu>, Vec<u32>) {
        let Self { trace, recordings, found: gpus, .. } = self;
        let mut home: Vec<usize> = (0..gpus.len()).collect();
        for (place, gpu) in gpus.iter().enumerate().filter(|(_, gpu)| !gpu.agent.is_some()) {
            let fits = |other: &usize| {
                *other != place && gpus[*other].recording == gpu.recording && gpus[*other].rank == gpu.rank
            };
            let mut homes = (0..gpus.len()).filter(fits);
            if let (Some(only), None) = (homes.next(), homes.next()) {
                home[place] = only;
            }
        }
        let index = |gpu: &Gpu| {
            gpu.agent.get().and_then(|agent| trace.agents.get(agent)).map(|agent| agent.absolute_index)
        };
        let mut order: Vec<usize> = (0..gpus.len()).filter(|&place| home[place] == place).collect();
        order.sort_by_key(|&place| {
            let gpu = &gpus[place];
            (gpu.rank.is_none(), gpu.rank, gpu.agent.get().is_none(), index(gpu), gpu.agent)
        });
        let mut place_of = vec![0u32; gpus.len()];
        for (new, &place) in order.iter().enumerate() {
            place_of[place] = new as u32;
        }
        let numbers = home.iter().map(|&home| place_of[home]).collect();
        let mut gpus: Vec<Option<Gpu>> = gpus.into_iter().map(Some).collect();
        let mut ordered: Vec<Gpu> = order.iter().filter_map(|&place| gpus[place].take()).collect();
        let labels = trace.process_labels();
        for gpu in &mut ordered {
            let recording = gpu.recording.and_then(|recording| recordings.all.get(recording));
            let process = recording.and_then(|recording| recording.processes[0].get());
            gpu.label = gpu_label(trace, gpu, process.map_or("", |process| labels[process].as_str()));
        }
        (ordered, numbers)
    }
}

impl Gpu {
    /// The device's number on its machine, if the input records it.
    pub fn agent_index(&self, trace: &Trace) -> Option<i64> {
        trace.agents.get(self.agent.get()?)?.absolute_index.get()
    }
}

/// Names a GPU by what differs from other recordings, or by rank, and by its number.
fn gpu_label(trace: &Trace, gpu: &Gpu, recording: &str) -> String {
    if !recording.is_empty() {
        let agent = gpu.agent_index(trace).map(|agent| format!("agent {agent}"));
        let parts = [Some(recording.to_string()), agent];
        return parts.into_iter().flatten().collect::<Vec<_>>().join(LABEL_SEPARATOR);
    }
    let rank = gpu.rank.map(|rank| format!("rank {rank}"));
    let agent = gpu.agent_index(trace).map(|agent| format!("agent {agent}"));
    let parts: Vec<String> = [rank, agent].into_iter().flatten().collect();
    if parts.is_empty() { "the GPU".into() } else { parts.join(", ") }
}

/// The GPU that a copy belongs to: the one it goes to, else the one it comes from.
pub(crate) fn copy_agent(trace: &Trace, row: usize) -> AgentId {
    let copies = &trace.memory_copies;
    let ends = [copies.dst[row], copies.src[row]];
    let kind =
        |agent: &AgentId| agent.get().and_then(|agent| trace.agents.get(agent)).map(|agent| agent.kind);
    let gpu = ends.iter().find(|agent| kind(agent) == Some(AgentKind::Gpu));
    let maybe = || ends.iter().find(|agent| kind(agent) == Some(AgentKind::Unknown));
    gpu.or_else(maybe).copied().unwrap_or(AgentId::NONE)
}

//! The process number of each row. Viewers merge processes with equal numbers, but ranks of a job share them:
//! GPUs count from 0 on every node, pids in every container. The first one keeps its number, the others get
//! free ones.

use std::collections::BTreeSet;

use trace::{AgentId, Map, ProcessId, ThreadId, Trace};

/// The numbers of processes and of the GPUs that each sees.
#[derive(Default)]
pub(super) struct Lanes {
    processes: Vec<i64>,
    agents: Vec<i64>,
}

impl Lanes {
    /// The numbers for a trace; blocks of one trace share them.
    pub(super) fn of(trace: &Trace) -> Self {
        let device = |agent: usize| device_of(trace, AgentId::at(agent));
        let mut taken: BTreeSet<i64> = trace.processes.iter().map(|process| process.pid).collect();
        taken.extend((0..trace.agents.len()).map(device));
        let mut next = taken.last().map_or(0, |last| last.saturating_add(1));
        let mut free = move || {
            next = next.saturating_add(1);
            next - 1
        };
        let mut used: BTreeSet<i64> = BTreeSet::new();
        let number = |pid: i64, used: &mut BTreeSet<i64>, free: &mut dyn FnMut() -> i64| {
            if used.insert(pid) { pid } else { free() }
        };
        let processes =
            trace.processes.iter().map(|process| number(process.pid, &mut used, &mut free)).collect();
        // A process has a separate number for each GPU that it uses.
        let mut used: BTreeSet<i64> = BTreeSet::new();
        let mut known: Map<(ProcessId, i64), i64> = Map::default();
        let agents = (0..trace.agents.len())
            .map(|agent| {
                let key = (trace.agents[agent].process, device(agent));
                *known.entry(key).or_insert_with(|| number(key.1, &mut used, &mut free))
            })
            .collect();
        Self { processes, agents }
    }

    /// Whether these numbers fit a trace with this many processes and agents.
    pub(super) fn fit(&self, trace: &Trace) -> bool {
        (self.processes.len(), self.agents.len()) == (trace.processes.len(), trace.agents.len())
    }

    /// Number of a process.
    pub(super) fn process(&self, process: ProcessId) -> i64 {
        process.get().and_then(|p| self.processes.get(p)).copied().unwrap_or(0)
    }

    /// Number of the GPU whose lane an annotation is on: its thread is called `GPU 0 stream 7`.
    pub(super) fn annotated(&self, trace: &Trace, thread: ThreadId, process: ProcessId) -> i64 {
        let name = thread.get().map_or("", |thread| trace.strings.get(trace.threads[thread].name));
        let device = name.strip_prefix("GPU ").and_then(|rest| rest.split(' ').next()?.parse().ok());
        let Some(device) = device else { return self.process(process) };
        let is_it = |agent: &AgentId| {
            trace.agents[agent.0 as usize].process == process && device_of(trace, *agent) == device
        };
        let agent = (0..trace.agents.len() as u32).map(AgentId).find(is_it);
        agent.map_or(device, |agent| self.agent(agent))
    }

    /// Number of a GPU.
    pub(super) fn agent(&self, agent: AgentId) -> i64 {
        agent.get().and_then(|a| self.agents.get(a)).copied().unwrap_or(0)
    }
}

/// A GPU's own number.
pub(super) fn device_of(trace: &Trace, agent: AgentId) -> i64 {
    agent.get().and_then(|a| trace.agents[a].absolute_index.get()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Agent, OptI64, Process, SourceId};

    #[test]
    fn equal_numbers_of_two_processes_part() {
        let mut trace = Trace::default();
        for pid in [14, 14, 20] {
            let process = trace.add_process(Process::new(SourceId::NONE, pid));
            for index in [0, 4, 4] {
                let absolute_index = OptI64::some(index);
                trace.add_agent(Agent { process, absolute_index, ..Default::default() });
            }
        }
        let lanes = Lanes::of(&trace);
        assert!(lanes.fit(&trace));
        assert_eq!(lanes.processes, [14, 21, 20]);
        assert_eq!(lanes.agents, [0, 4, 4, 22, 23, 23, 24, 25, 25]);
        assert_eq!((lanes.process(ProcessId::NONE), lanes.agent(AgentId::NONE)), (0, 0));
    }
}

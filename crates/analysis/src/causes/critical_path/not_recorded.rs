//! Waits that are longer than their cause explains: work that was launched onto an idle GPU and still did not
//! start, a call that waits although nothing recorded runs. They wait for something outside the trace, such
//! as work of a step that began before the recording. No change to the run makes them shorter.

use rayon::prelude::*;
use trace::{Map, Trace};

use super::NONE;
use super::build::Run;
use super::graph::{Dependency, POINTS_AT_ONCE};
use super::host::Role;
use super::rules::Rules;

/// Time that nothing recorded explains, by the dependency that binds a point.
#[derive(Default)]
pub(super) struct NotRecorded {
    of_edge: Map<u32, i64>,
}

impl NotRecorded {
    /// Checks every wait of a run.
    pub fn of(trace: &Trace, run: &Run) -> Self {
        let limits = &Rules::built_in().limits;
        let graph = &run.graph;
        let beyond = |point: usize| {
            let edge = Some(graph.binding[point]).filter(|&edge| edge != NONE)?;
            let lag = graph.time[point] - graph.time[graph.from[edge as usize] as usize];
            if lag <= limits.unexplained_ns {
                return None;
            }
            let beyond = lag - own_part(trace, run, edge as usize, point, lag)?;
            (beyond > limits.unexplained_ns).then_some((edge, beyond))
        };
        let points = (0..graph.len()).into_par_iter().with_min_len(POINTS_AT_ONCE);
        Self { of_edge: points.filter_map(beyond).collect::<Vec<_>>().into_iter().collect() }
    }

    /// How much of a dependency's time nothing recorded explains; it is the end of that time.
    pub fn of_edge(&self, edge: usize) -> i64 {
        // Propagation asks for every dependency, and most have none.
        if self.of_edge.is_empty() { 0 } else { self.of_edge.get(&(edge as u32)).copied().unwrap_or(0) }
    }
}

/// The explained part of a dependency's time; `None` if it is not a wait.
fn own_part(trace: &Trace, run: &Run, edge: usize, to: usize, lag: i64) -> Option<i64> {
    let limits = &Rules::built_in().limits;
    match run.graph.kind[edge] {
        Dependency::Launch => {
            let call = run.works.launch_of(to / 2)?;
            let regions = &trace.regions;
            let (name, duration) = (regions.name[call], regions.end[call] - regions.start[call]);
            let begin = run.graph.time[run.graph.from[edge] as usize];
            let holds_work = run.works.end[to / 2] <= begin + duration;
            let explained = run.least.launch(name, duration, holds_work);
            let waits = lag - explained > limits.unexplained_ns;
            Some(if waits { run.least.own_part(name, duration, holds_work) } else { explained })
        }
        Dependency::Stream
        | Dependency::Graph
        | Dependency::Nearest
        | Dependency::Event
        | Dependency::Order
        | Dependency::DefaultStream => Some(run.least.gap(run.works.replayed[to / 2])),
        Dependency::Sync | Dependency::Return => Some(0),
        // A call that waits for the GPU, with no recorded work that it could have waited for.
        Dependency::Host => {
            let place = run.host.place(to as u32).filter(|&place| run.host.role[place] == Role::Return)?;
            let region = run.host.region[place];
            let facts = (region != NONE).then(|| run.calls.of_region(trace, region as usize)).flatten()?;
            facts.is_synchronisation().then_some(limits.call_cost_ns)
        }
        Dependency::Work
        | Dependency::Transfer
        | Dependency::Beside
        | Dependency::Along
        | Dependency::Arrival
        | Dependency::HandOff => None,
    }
}

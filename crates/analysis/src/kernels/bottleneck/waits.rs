//! Idle time of a GPU before the dispatches of each kernel, and how much of it is due to the host.
//!
//! If launches are recorded, the idle accounts give the cause of every nanosecond. If not, only the bulk of
//! the gaps can count as launching: the median gap times the number of dispatches. A single long gap, such as
//! a host copy, counts neither as launch nor as host time.

use trace::{AgentId, Map, StrId, Table, Trace};

use crate::causes::idle::{self, Cause, GpuAccount, IdleAccounts};
use model::classify::{Classes, Classifier};
use model::lanes::{GpuRow, lanes};
use stats::robust::median;

/// Total idle time before the dispatches of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Wait {
    /// While the host launched the dispatch.
    pub launch_ns: f64,
    /// While the host did something else on record: blocking calls, allocations, its own code, first calls.
    pub host_ns: f64,
}

/// The waits of all kernels, and the idle share of each GPU.
#[derive(Debug, Default)]
pub(super) struct Waits {
    pub by_name: Map<StrId, Wait>,
    pub idle_pct: Map<AgentId, f64>,
}

/// If the usual gap is longer than this, it is not a launch but something the host does each time.
const LAUNCH_NS: f64 = 20_000.0;

/// Causes due to the host, other than launching.
const HOST: [Cause; 4] = [Cause::BlockingCall, Cause::Allocating, Cause::HostCode, Cause::FirstCall];

impl Waits {
    /// One sort of each GPU's rows, and one pass over host calls if there are any.
    pub fn of(trace: &Trace) -> Self {
        let classes = Classes::of(trace, &Classifier::builtin());
        let mut waits = Self::default();
        let accounts = match trace.regions.is_empty() {
            true => idle::without_causes(lanes(trace, &classes)),
            false => idle::of_trace(trace, &classes),
        };
        if accounts.gpus.iter().any(GpuAccount::is_linked) {
            waits.by_cause(trace, &accounts);
        } else {
            waits.by_bulk(trace, &accounts);
        }
        for gpu in accounts.gpus.iter().filter(|gpu| gpu.total() > 0) {
            let share = 100.0 * gpu.idle_total() as f64 / gpu.total() as f64;
            let known = waits.idle_pct.entry(gpu.lane.agent).or_insert(share);
            *known = known.max(share);
        }
        waits
    }

    fn by_cause(&mut self, trace: &Trace, accounts: &IdleAccounts) {
        for gpu in &accounts.gpus {
            for row in &gpu.rows {
                self.by_name.entry(name(trace, row)).or_default();
            }
            for piece in &gpu.idle {
                let Some(row) = piece.next.row_of(Table::Kernels) else { continue };
                let wait = self.by_name.entry(trace.kernels.name[row]).or_default();
                match piece.cause {
                    Cause::Launching => wait.launch_ns += piece.length() as f64,
                    cause if HOST.contains(&cause) => wait.host_ns += piece.length() as f64,
                    _ => {}
                }
            }
        }
    }

    fn by_bulk(&mut self, trace: &Trace, accounts: &IdleAccounts) {
        let mut gaps: Map<StrId, Vec<f64>> = Map::default();
        for gpu in &accounts.gpus {
            let mut until = None;
            for row in &gpu.rows {
                let gap = until.map(|until: i64| (row.work.start - until).max(0) as f64);
                until = until.max(Some(row.work.end));
                gaps.entry(name(trace, row)).or_default().extend(gap);
            }
        }
        for (name, gaps) in gaps {
            let dispatches = gaps.len() as f64;
            let usual = if gaps.is_empty() { 0.0 } else { median(&gaps) };
            let total: f64 = gaps.iter().sum();
            let longest = gaps.iter().copied().fold(0.0, f64::max);
            let launch_ns = if usual <= LAUNCH_NS { usual * dispatches } else { 0.0 };
            // The longest gap says nothing about the rest.
            let host_ns = (total - longest - launch_ns).max(0.0);
            self.by_name.insert(name, Wait { launch_ns, host_ns });
        }
    }
}

/// The kernel name of a row; empty for copies.
fn name(trace: &Trace, row: &GpuRow) -> StrId {
    row.row.row_of(Table::Kernels).map_or(StrId::EMPTY, |row| trace.kernels.name[row])
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Agent, AgentKind, Kernel, Process, Source};

    /// Kernels of 4 µs each, one after the other, with these gaps before them and no host rows.
    fn waits(gaps: &[i64]) -> (Wait, f64) {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named("t", "rocpd"));
        let process = trace.add_process(Process::new(source, 1));
        let agent = trace.add_agent(Agent { process, kind: AgentKind::Gpu, ..Agent::default() });
        let name = trace.strings.intern("kernel");
        let mut at = 0;
        for gap in gaps {
            at += gap;
            let (start, end) = (at, at + 4000);
            trace.kernels.push(Kernel { start, end, name, agent, process, ..Kernel::default() });
            at = end;
        }
        trace.finish();
        let waits = Waits::of(&trace);
        (waits.by_name[&name], waits.idle_pct[&agent])
    }

    #[test]
    fn one_gap_of_a_host_copy_is_not_launching() {
        let mut gaps = vec![500; 150];
        gaps[70] = 12_000_000;
        let (wait, idle_pct) = waits(&gaps);
        assert_eq!(wait, Wait { launch_ns: 500.0 * 149.0, host_ns: 0.0 });
        assert!(idle_pct > 90.0);
    }

    #[test]
    fn many_gaps_are_launching() {
        let (wait, _) = waits(&[20_000; 150]);
        assert_eq!(wait.launch_ns, 20_000.0 * 149.0);
        let (wait, _) = waits(&[500_000; 150]);
        assert_eq!(wait, Wait { launch_ns: 0.0, host_ns: 500_000.0 * 148.0 });
    }
}

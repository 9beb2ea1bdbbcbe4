//! One clock for all processes of a run: collectives end everywhere at almost the same moment.
//!
//! A process' offset is the median of how much later its collectives end than those of the process with the
//! most collectives. With one process, or no collective in common, times stay as they are.

use model::collectives::Meeting;
use model::recordings::Recordings;
use stats::robust::upper_median;
use trace::{Map, ProcessId, Trace};

/// The offset subtracted from each process' times.
#[derive(Default)]
pub(super) struct Clocks {
    offsets: Vec<i64>,
    /// Median spread of the ends of a collective after alignment; absent if nothing was aligned.
    pub residual: Option<i64>,
}

impl Clocks {
    /// The clocks of a trace's processes.
    pub fn of(trace: &Trace, meetings: &[Meeting]) -> Self {
        let mut offsets = vec![0; trace.processes.len()];
        let kernels = &trace.kernels;
        let mut count: Map<ProcessId, usize> = Map::default();
        for meeting in meetings {
            for &kernel in &meeting.kernels {
                *count.entry(kernels.process[kernel as usize]).or_default() += 1;
            }
        }
        let Some(reference) = count.keys().copied().min_by_key(|p| (std::cmp::Reverse(count[p]), p.0)) else {
            return Self { offsets, residual: None };
        };
        let mut apart: Map<ProcessId, Vec<i64>> = Map::default();
        for meeting in meetings {
            let end_of = |k: u32| kernels.end[k as usize];
            let Some(&own) = meeting.kernels.iter().find(|&&k| kernels.process[k as usize] == reference)
            else {
                continue;
            };
            for &kernel in &meeting.kernels {
                let process = kernels.process[kernel as usize];
                // GPUs of one process share a clock.
                if process == reference {
                    continue;
                }
                apart.entry(process).or_default().push(end_of(kernel) - end_of(own));
            }
        }
        let mut residuals = Vec::new();
        for (process, mut differences) in apart {
            let offset = upper_median(&mut differences).unwrap_or(0);
            if let Some(process) = process.get() {
                offsets[process] = offset;
            }
            residuals.extend(differences.iter().map(|difference| (difference - offset).abs()));
        }
        let residual = upper_median(&mut residuals);
        Self { offsets, residual }
    }

    /// A process' time on the common clock.
    pub fn align(&self, process: ProcessId, time: i64) -> i64 {
        process
            .get()
            .and_then(|process| self.offsets.get(process))
            .map_or(time, |offset| time.saturating_sub(*offset))
    }

    /// The largest correction.
    pub fn largest(&self) -> i64 {
        self.offsets.iter().map(|offset| offset.abs()).max().unwrap_or(0)
    }
}

/// One recording per clock, if recordings count from the boot of different hosts and no collective joins
/// them, or if some count the time of day and others do not; empty if all times are on one clock.
///
/// Recordings without a host name count as one host.
pub(super) fn not_joined(trace: &Trace, recordings: &Recordings, meetings: &[Meeting]) -> Vec<String> {
    let domains = &recordings.domains;
    if domains.len() < 2 {
        return Vec::new();
    }
    let present = with_work(trace, recordings);
    let mut clocks = Joined((0..domains.len()).collect());
    for is_time_of_day in [true, false] {
        let agrees = |domain: &&usize| {
            let domain = &domains[**domain];
            domain.is_time_of_day == is_time_of_day && (is_time_of_day || domain.host.is_empty())
        };
        clocks.join(present.iter().filter(agrees).copied());
    }
    // An unknown host may be any of the known ones.
    let boots = || present.iter().copied().filter(|&domain| !domains[domain].is_time_of_day);
    let unknown = boots().find(|&domain| domains[domain].host.is_empty());
    let known = boots().find(|&domain| !domains[domain].host.is_empty());
    clocks.join(unknown.into_iter().chain(known.filter(|_| unknown.is_some())));
    for meeting in meetings {
        let of_kernel = |&kernel: &u32| domain_of(recordings, trace.kernels.process[kernel as usize]);
        clocks.join(meeting.kernels.iter().filter_map(of_kernel));
    }
    let mut found: Vec<usize> = present.iter().map(|&domain| clocks.of(domain)).collect();
    found.sort_unstable();
    found.dedup();
    if found.len() < 2 {
        return Vec::new();
    }
    found.iter().map(|&domain| recordings.all[domains[domain].recordings[0]].label.clone()).collect()
}

/// Clock domains with work of any rank, sorted.
fn with_work(trace: &Trace, recordings: &Recordings) -> Vec<usize> {
    let mut present = vec![false; recordings.domains.len()];
    let processes = [&trace.kernels.process, &trace.memory_copies.process, &trace.regions.process];
    for &process in processes.into_iter().flatten().filter(|&&process| recordings.counts(process)) {
        if let Some(domain) = domain_of(recordings, process) {
            present[domain] = true;
        }
    }
    (0..present.len()).filter(|&domain| present[domain]).collect()
}

fn domain_of(recordings: &Recordings, process: ProcessId) -> Option<usize> {
    Some(recordings.domain_of(recordings.of_process(process)?))
}

/// Clock domains that turned out to share a clock: for each domain, the smallest one it was joined to.
struct Joined(Vec<usize>);

impl Joined {
    fn of(&self, mut domain: usize) -> usize {
        while self.0[domain] != domain {
            domain = self.0[domain];
        }
        domain
    }

    /// Marks these domains as one clock.
    fn join(&mut self, mut domains: impl Iterator<Item = usize>) {
        let Some(first) = domains.next() else { return };
        for other in domains {
            let (one, other) = (self.of(first), self.of(other));
            self.0[one.max(other)] = one.min(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Kernel, Process, Source};

    /// A kernel of 100 ns for each recording: format, host and start.
    fn recorded(recordings: &[(&str, &str, i64)]) -> Trace {
        let mut trace = Trace::default();
        for (number, &(format, host, start)) in recordings.iter().enumerate() {
            let source = trace.add_source(Source::named(&format!("{number}"), format));
            let (guid, hostname) =
                (trace.strings.intern(&format!("guid {number}")), trace.strings.intern(host));
            let process = trace.add_process(Process { guid, hostname, ..Process::new(source, 7) });
            trace.kernels.push(Kernel { start, end: start + 100, process, ..Kernel::default() });
        }
        trace.finish();
        trace
    }

    fn clocks(recordings: &[(&str, &str, i64)], meetings: &[Meeting]) -> usize {
        let trace = recorded(recordings);
        not_joined(&trace, &Recordings::of(&trace), meetings).len()
    }

    #[test]
    fn boot_clocks_of_two_hosts_are_one_only_where_a_collective_joins_them() {
        let hosts = [("rocpd", "node0", 0), ("rocpd", "node1", 50)];
        assert_eq!(clocks(&hosts, &[]), 2);
        assert_eq!(clocks(&hosts, &[Meeting { kernels: vec![0, 1] }]), 0);
        assert_eq!(clocks(&[("rocpd", "node0", 0), ("rocpd", "node0", 5_000)], &[]), 0);
    }

    #[test]
    fn times_of_day_and_times_of_unknown_hosts_are_one_clock() {
        assert_eq!(clocks(&[("torch", "node0", 0), ("torch", "node1", 5_000)], &[]), 0);
        assert_eq!(clocks(&[("rocpd", "", 0), ("rocpd", "", 5_000)], &[]), 0);
        assert_eq!(clocks(&[("rocpd", "", 0), ("rocpd", "node0", 5_000)], &[]), 0);
        assert_eq!(clocks(&[("torch", "node0", 5_000), ("rocpd", "node0", 0)], &[]), 2);
    }
}

//! The window on each clock: shares and times count from the start of the recordings that share a clock.
//!
//! Hosts count time from their own boot, so a clock time means nothing on another host. Shares and times from
//! the start are resolved per clock domain; a clock time is refused if there are several clocks.

use trace::{Moment, Ns, ProcessId, Subset, Trace, Window, Windows};

use super::{Edge, FilterError, Filters, markers};
use model::recordings::Recordings;

/// Most recordings to name in an error.
const SHOWN: usize = 4;

/// The window of each process, and the number of clocks.
pub(super) fn find(
    filters: &Filters,
    trace: &Trace,
    processes: &Subset,
) -> Result<(Windows, usize), FilterError> {
    if !filters.has_window() {
        return Ok((Windows::All, 1));
    }
    let recordings = Recordings::of(trace);
    if recordings.domains.len() <= 1 {
        let bounds = trace.bounds().ok_or(FilterError::NoTime)?;
        return Ok((Windows::One(window(filters, trace, processes, bounds)?), 1));
    }
    let clocks = Clocks::new(trace, &recordings, processes);
    clocks.refuse_moments(filters)?;
    let mut windows = Vec::with_capacity(recordings.domains.len());
    let (mut found, mut outside) = (0, None);
    for domain in 0..recordings.domains.len() {
        let of_domain = Subset::of(trace.processes.len(), |process| clocks.domain(process) == Some(domain));
        let bounds = trace.bounds_of(|process| process.get().is_some_and(|process| of_domain.has(process)));
        let resolved = match bounds {
            None => Err(FilterError::NoTime),
            Some(bounds) => window(filters, trace, &of_domain.and(processes.clone()), bounds),
        };
        match resolved {
            Ok(window) => {
                found += usize::from(clocks.chosen.contains(&domain));
                windows.push(window);
            }
            // A short recording may have nothing in the window; captures do not count.
            Err(FilterError::OutsideTrace { .. } | FilterError::NoTime) => {
                outside = outside.or(resolved.err().filter(|_| clocks.chosen.contains(&domain)));
                windows.push(NOTHING);
            }
            Err(_) if !clocks.chosen.contains(&domain) => windows.push(NOTHING),
            Err(error) => return Err(error),
        }
    }
    match outside {
        Some(error) if found == 0 => Err(error),
        _ => {
            let of = |process| clocks.domain(process).map_or(NOTHING, |domain| windows[domain]);
            Ok((Windows::PerProcess((0..trace.processes.len()).map(of).collect()), found))
        }
    }
}

/// A window that contains no row.
const NOTHING: Window = Window { start: Ns::MAX, end: Ns::MIN, overlapping: false };

/// The clocks of the selected recordings.
struct Clocks<'a> {
    recordings: &'a Recordings,
    /// Domains with a selected process that belongs to a rank.
    chosen: Vec<usize>,
}

impl<'a> Clocks<'a> {
    fn new(trace: &Trace, recordings: &'a Recordings, processes: &Subset) -> Self {
        let mut chosen: Vec<usize> = (0..trace.processes.len())
            .filter(|&process| processes.has(process) && recordings.counts(ProcessId::at(process)))
            .filter_map(|process| Some(recordings.domain_of(recordings.of_process(ProcessId::at(process))?)))
            .collect();
        chosen.sort_unstable();
        chosen.dedup();
        Self { recordings, chosen }
    }

    fn domain(&self, process: usize) -> Option<usize> {
        Some(self.recordings.domain_of(self.recordings.of_process(ProcessId::at(process))?))
    }

    /// A clock time on one clock means nothing on another.
    fn refuse_moments(&self, filters: &Filters) -> Result<(), FilterError> {
        let is_moment = |edge: &&Edge| matches!(edge, Edge::At(Moment::At(_)));
        let moment = [&filters.start, &filters.end].into_iter().flatten().find(is_moment);
        let Some(Edge::At(Moment::At(at))) = moment.filter(|_| self.chosen.len() > 1) else { return Ok(()) };
        let first = |domain: &usize| self.recordings.domains[*domain].recordings[0];
        let label = |domain: &usize| self.recordings.all[first(domain)].label.clone();
        Err(FilterError::SeveralClocks {
            at: *at,
            clocks: self.chosen.len(),
            recordings: self.chosen.iter().take(SHOWN).map(label).collect(),
        })
    }
}

/// The window on one clock.
fn window(
    filters: &Filters,
    trace: &Trace,
    processes: &Subset,
    bounds: (Ns, Ns),
) -> Result<Window, FilterError> {
    let resolve = |edge: &Option<Edge>, whole: Ns, of_marker: fn((Ns, Ns)) -> Ns| match edge {
        None => Ok(whole),
        Some(Edge::At(moment)) => Ok(moment.resolve(bounds)),
        Some(Edge::Marker(name)) => markers::find(trace, name, processes).map(of_marker),
    };
    let start = resolve(&filters.start, bounds.0, |marker| marker.0)?;
    let end = resolve(&filters.end, bounds.1, |marker| marker.1)?;
    if end < start && filters.start.is_some() && filters.end.is_some() {
        return Err(FilterError::EndBeforeStart { start, end });
    }
    let outside = |edge, at| FilterError::OutsideTrace { edge, at, bounds };
    if start > bounds.1 {
        return Err(outside("starts", start));
    }
    if end < bounds.0 {
        return Err(outside("ends", end));
    }
    Ok(Window { start, end, overlapping: filters.overlapping })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::classify::Classifier;
    use trace::{Kernel, Process, Source};

    /// Two hosts whose clocks are 400,000 s apart, with ten kernels of 1 s each.
    fn two_hosts() -> Trace {
        let mut trace = Trace::default();
        let name = trace.strings.intern("gemm");
        for (host, boot) in [("node1", 1_000), ("node2", 400_000_000_000_000)] {
            let source = trace.add_source(Source::named(&format!("{host}.db"), "rocpd"));
            let (guid, hostname) = (trace.strings.intern(host), trace.strings.intern(host));
            let process = trace.add_process(Process { guid, hostname, ..Process::new(source, 7) });
            for i in 0..10 {
                let start = boot + i * 1_000_000_000;
                trace.kernels.push(Kernel {
                    name,
                    start,
                    end: start + 1_000_000_000,
                    process,
                    ..Kernel::default()
                });
            }
        }
        trace.finish();
        trace
    }

    fn window(start: &str) -> Filters {
        Filters { start: Some(Edge::At(start.parse().expect("a moment"))), ..Filters::default() }
    }

    fn kept(filters: &Filters) -> Vec<usize> {
        let mut trace = two_hosts();
        filters.apply(&mut trace, &Classifier::builtin).expect("a part");
        let of =
            |process: u32| trace.kernels.process.iter().filter(|one| **one == ProcessId(process)).count();
        vec![of(0), of(1)]
    }

    #[test]
    fn a_share_of_two_hosts_no_longer_drops_all_of_one() {
        assert_eq!(kept(&window("50%")), [5, 5]);
        assert_eq!(kept(&window("8s")), [2, 2], "times count from each clock's start");
        let mut trace = two_hosts();
        window("50%").apply(&mut trace, &Classifier::builtin).expect("a part");
        let check = trace.health.checks.iter().find(|check| check.id == "selection").expect("a check");
        assert!(check.message.starts_with("window 50 %–end of each of 2 clocks: "), "{}", check.message);
    }

    #[test]
    fn a_moment_of_one_clock_is_refused_where_there_are_two() {
        let trace = two_hosts();
        let error = window("5000000000").select(&trace, &Classifier::builtin).expect_err("two clocks");
        assert_eq!(
            error.to_string(),
            "5000000000 ns is a time on one clock, but these recordings have 2 unaligned clocks (node1:7, node2:7)"
        );
        let mut trace = two_hosts();
        trace.processes[1].pid = 8;
        let one = Filters { pids: vec![7], ..window("5000000000") };
        let selection = one.select(&trace, &Classifier::builtin).expect("one clock is chosen");
        let wanted = |&row: &usize| selection.wants_kernel(&trace, row);
        assert_eq!((0..trace.kernels.len()).filter(wanted).count(), 5);
    }
}

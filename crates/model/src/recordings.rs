//! Recordings and their clocks: what one profiler process wrote, and which of them can be put on one time line.
//!
//! A recording is identified by its guid, or by its input if it has none. Host, pid, rank and node are only
//! labels: two recordings may share all of them.

mod clocks;

use trace::{Map, Process, ProcessId, SourceId, StrId, Trace};

pub use clocks::SideBySide;

/// What one profiler process wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Its identity; empty if the source has none.
    pub guid: StrId,
    /// The input it was read from.
    pub source: SourceId,
    /// Its processes; the label comes from the first.
    pub processes: Vec<ProcessId>,
    /// Host name; empty if unknown.
    pub host: StrId,
    /// The operating system's process id.
    pub pid: i64,
    /// Rank in the job.
    pub rank: Option<u32>,
    /// rocpd's number for the machine.
    pub node: Option<i64>,
    /// Whether it counts as a rank. Captures, merged traces and helpers do only if there is nothing else.
    pub is_rank: bool,
    /// `rank 3`, `node1:4711`, or the input's path.
    pub label: String,
}

/// Why the clocks of a domain are known to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// It is a single recording.
    OneRecording,
    /// All were recorded on one host with the same kind of profiler clock.
    OneHost,
}

/// Recordings whose clocks are known to agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockDomain {
    /// Indexes into [`Recordings::all`], ascending.
    pub recordings: Vec<usize>,
    /// The host, if known.
    pub host: StrId,
    /// Why they agree.
    pub agreement: Agreement,
    /// Whether it is the time of day, as in torch traces; ROCm's profilers count from the host's boot.
    pub is_time_of_day: bool,
}

/// The recordings of a trace.
#[derive(Clone, Debug, Default)]
pub struct Recordings {
    /// In the order of their first processes.
    pub all: Vec<Recording>,
    /// Disjoint; every recording is in one.
    pub domains: Vec<ClockDomain>,
    of_process: Vec<u32>,
    domain_of: Vec<u32>,
}

impl Recordings {
    /// The recordings of a trace.
    pub fn of(trace: &Trace) -> Self {
        #[derive(PartialEq, Eq, Hash)]
        enum Identity {
            Guid(StrId),
            Source(SourceId),
            Process(usize),
        }
        let mut numbers: Map<Identity, usize> = Map::default();
        let mut recordings = Self::default();
        for (number, process) in trace.processes.iter().enumerate() {
            let identity = match (process.guid.is_empty(), process.source.get()) {
                (false, _) => Identity::Guid(process.guid),
                (true, Some(_)) => Identity::Source(process.source),
                (true, None) => Identity::Process(number),
            };
            let next = recordings.all.len();
            let place = *numbers.entry(identity).or_insert(next);
            if place == next {
                recordings.all.push(recording(trace, process));
            }
            recordings.all[place].processes.push(ProcessId(number as u32));
            recordings.of_process.push(place as u32);
        }
        // Captures, merged traces and helper processes count as ranks only if there is nothing else.
        if trace.sources.iter().all(|source| source.role.is_some()) {
            recordings.all.iter_mut().for_each(|recording| recording.is_rank = true);
        }
        recordings.find_domains(trace);
        recordings
    }

    fn find_domains(&mut self, trace: &Trace) {
        let mut numbers: Map<(StrId, bool), usize> = Map::default();
        for (place, recording) in self.all.iter().enumerate() {
            let process = &trace.processes[recording.processes[0].0 as usize];
            let host = if process.machine.is_empty() { process.hostname } else { process.machine };
            // Torch writes the time of day, ROCm's profilers the time since boot.
            let is_torch =
                recording.source.get().is_some_and(|source| trace.sources[source].format == "torch");
            let next = self.domains.len();
            let domain = match host.is_empty() {
                true => next,
                false => *numbers.entry((host, is_torch)).or_insert(next),
            };
            if domain == next {
                self.domains.push(ClockDomain {
                    recordings: Vec::new(),
                    host: recording.host,
                    agreement: Agreement::OneRecording,
                    is_time_of_day: is_torch,
                });
            }
            let found = &mut self.domains[domain];
            found.recordings.push(place);
            if found.recordings.len() > 1 {
                found.agreement = Agreement::OneHost;
            }
            self.domain_of.push(domain as u32);
        }
    }

    /// The recording of a process, as an index into `all`.
    pub fn of_process(&self, process: ProcessId) -> Option<usize> {
        Some(*self.of_process.get(process.get()?)? as usize)
    }

    /// The clock domain of a recording, as an index into `domains`.
    pub fn domain_of(&self, recording: usize) -> usize {
        self.domain_of[recording] as usize
    }

    /// Whether work of a process counts as work of a rank; work without a known process does.
    pub fn counts(&self, process: ProcessId) -> bool {
        self.of_process(process).is_none_or(|recording| self.all[recording].is_rank)
    }
}

fn recording(trace: &Trace, process: &Process) -> Recording {
    let source = process.source.get().map(|source| &trace.sources[source]);
    let rank = process.rank.or_else(|| source?.rank);
    let host = trace.strings.get(process.hostname);
    let label = match (rank, host.is_empty(), source) {
        (Some(rank), _, _) => format!("rank {rank}"),
        (None, false, _) => format!("{host}:{}", process.pid),
        (None, true, Some(source)) => source.path.clone(),
        (None, true, None) => format!("process {}", process.pid),
    };
    Recording {
        guid: process.guid,
        source: process.source,
        processes: Vec::new(),
        host: process.hostname,
        pid: process.pid,
        rank,
        node: process.node.get(),
        is_rank: source.is_none_or(|source| source.role.is_none()),
        label,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Source;

    fn process(trace: &mut Trace, source: SourceId, guid: &str, host: &str, pid: i64) -> ProcessId {
        let (guid, hostname) = (trace.strings.intern(guid), trace.strings.intern(host));
        trace.add_process(Process { guid, hostname, ..Process::new(source, pid) })
    }

    #[test]
    fn equal_hosts_and_pids_do_not_make_one_recording() {
        let mut trace = Trace::default();
        let (a, b) = (Source::named("a.db", "rocpd"), Source::named("b.db", "rocpd"));
        let (a, b) = (trace.add_source(a), trace.add_source(b));
        let one = process(&mut trace, a, "guid-1", "node1", 7);
        let other = process(&mut trace, b, "guid-2", "node1", 7);
        let again = process(&mut trace, b, "guid-1", "node1", 7);
        let recordings = Recordings::of(&trace);
        assert_eq!(recordings.all.len(), 2);
        assert_ne!(recordings.of_process(one), recordings.of_process(other));
        assert_eq!(recordings.of_process(one), recordings.of_process(again));
        assert_eq!(recordings.all[0].label, "node1:7");
        assert_eq!(recordings.domains.len(), 1);
        assert_eq!(recordings.domains[0].agreement, Agreement::OneHost);
    }

    #[test]
    fn clocks_of_unknown_or_other_hosts_and_of_other_profilers_are_not_taken_to_agree() {
        let mut trace = Trace::default();
        let db = trace.add_source(Source::named("a.db", "rocpd"));
        let json = trace.add_source(Source::named("b.json", "torch"));
        process(&mut trace, db, "1", "node1", 1);
        process(&mut trace, db, "2", "node2", 1);
        process(&mut trace, json, "3", "node1", 1);
        process(&mut trace, db, "4", "", 1);
        process(&mut trace, db, "5", "", 1);
        let recordings = Recordings::of(&trace);
        assert_eq!(recordings.domains.len(), 5);
        assert!(recordings.domains.iter().all(|domain| domain.agreement == Agreement::OneRecording));
    }

    #[test]
    fn captures_count_only_where_there_is_nothing_else() {
        let mut trace = Trace::default();
        let rank = trace.add_source(Source::named("a.json", "torch"));
        let capture =
            trace.add_source(Source { role: Some("capture".into()), ..Source::named("b.json", "torch") });
        let one = process(&mut trace, rank, "1", "", 1);
        let other = process(&mut trace, capture, "2", "", 1);
        let recordings = Recordings::of(&trace);
        assert!(recordings.counts(one) && !recordings.counts(other) && recordings.counts(ProcessId::NONE));
    }
}

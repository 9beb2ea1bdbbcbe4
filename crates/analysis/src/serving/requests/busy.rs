//! When the GPUs of a process were busy.

use model::recordings::Recordings;
use trace::{Map, ProcessId, Trace};

/// Merged GPU work of each process, over all its GPUs.
pub(super) struct Busy {
    /// For each process with GPU work: starts, ends, and the busy time before each start.
    of_process: Map<ProcessId, Merged>,
    /// By process: the process that does its GPU work.
    worker: Vec<Option<ProcessId>>,
}

#[derive(Default)]
struct Merged {
    starts: Vec<i64>,
    ends: Vec<i64>,
    before: Vec<i64>,
}

impl Busy {
    pub fn of(trace: &Trace, recordings: &Recordings) -> Self {
        let mut work: Map<ProcessId, Vec<(i64, i64)>> = Map::default();
        let kernels = (&trace.kernels.process, &trace.kernels.start, &trace.kernels.end);
        let copies = (&trace.memory_copies.process, &trace.memory_copies.start, &trace.memory_copies.end);
        for (processes, starts, ends) in [kernels, copies] {
            for ((&process, &start), &end) in processes.iter().zip(starts).zip(ends) {
                work.entry(process).or_default().push((start, end));
            }
        }
        let of_process: Map<ProcessId, Merged> =
            work.into_iter().map(|(process, spans)| (process, Merged::of(spans))).collect();
        let number = trace.processes.len();
        // By pid: the process with GPU work; `None` if several have some.
        let mut of_pid: Map<i64, Option<ProcessId>> = Map::default();
        for process in (0..number).map(ProcessId::at).filter(|process| of_process.contains_key(process)) {
            let pid = trace.processes[process.0 as usize].pid;
            of_pid.entry(pid).and_modify(|known| *known = None).or_insert(Some(process));
        }
        let worker =
            (0..number).map(|process| worker(trace, recordings, &of_process, &of_pid, process)).collect();
        Self { of_process, worker }
    }

    /// GPU time of a process between two times; `None` if no input has its GPU work.
    pub fn between(&self, process: ProcessId, from: i64, to: i64) -> Option<i64> {
        let worker = self.worker.get(process.get()?).copied().flatten()?;
        Some(self.of_process.get(&worker)?.between(from, to))
    }

    /// First and last time of the process' own GPU work.
    pub fn bounds(&self, process: ProcessId) -> Option<(i64, i64)> {
        let merged = self.of_process.get(&process)?;
        Some((*merged.starts.first()?, *merged.ends.last()?))
    }
}

/// The process that does the GPU work: itself, the same pid in another file, or one of its recording.
fn worker(
    trace: &Trace,
    recordings: &Recordings,
    work: &Map<ProcessId, Merged>,
    of_pid: &Map<i64, Option<ProcessId>>,
    process: usize,
) -> Option<ProcessId> {
    let own = ProcessId::at(process);
    if work.contains_key(&own) {
        return Some(own);
    }
    if let Some(&Some(only)) = of_pid.get(&trace.processes[process].pid) {
        return Some(only);
    }
    // A file may list the threads of one server as processes.
    let recording = recordings.of_process(own)?;
    let members = &recordings.all[recording].processes;
    if members.len() != 2 {
        return None;
    }
    members.iter().copied().find(|member| work.contains_key(member))
}

impl Merged {
    fn of(mut spans: Vec<(i64, i64)>) -> Self {
        spans.sort_unstable();
        let mut merged = Self::default();
        let mut total = 0;
        for (start, end) in spans {
            match merged.ends.last_mut() {
                Some(last) if start <= *last => {
                    total += (end - *last).max(0);
                    *last = end.max(*last);
                }
                _ => {
                    merged.before.push(total);
                    merged.starts.push(start);
                    merged.ends.push(end);
                    total += end - start;
                }
            }
        }
        merged
    }

    /// Busy time before a given time.
    fn until(&self, at: i64) -> i64 {
        let place = self.starts.partition_point(|&start| start < at);
        match place.checked_sub(1) {
            Some(last) => self.before[last] + at.min(self.ends[last]) - self.starts[last],
            None => 0,
        }
    }

    fn between(&self, from: i64, to: i64) -> i64 {
        self.until(to) - self.until(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_work_counts_once() {
        let merged = Merged::of(vec![(10, 20), (15, 30), (16, 17), (40, 50)]);
        assert_eq!(merged.between(0, 100), 30);
        assert_eq!(merged.between(12, 45), 18 + 5);
        assert_eq!(merged.between(30, 40), 0);
        assert_eq!(merged.between(25, 25), 0);
    }
}

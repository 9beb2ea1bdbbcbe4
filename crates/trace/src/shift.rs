//! Shifts times, for drawings that show several clocks on one axis.

use crate::Ns;
use crate::ids::ProcessId;
use crate::trace::Trace;

impl Trace {
    /// Shifts all times of each process by its offset in nanoseconds and sorts the rows again.
    pub fn shift(&mut self, by: &[Ns]) {
        let of = |process: ProcessId| process.get().and_then(|process| by.get(process)).copied().unwrap_or(0);
        let move_rows = |process: &[ProcessId], start: &mut [Ns], end: &mut [Ns]| {
            for ((&process, start), end) in process.iter().zip(start).zip(end) {
                *start = start.saturating_add(of(process));
                *end = end.saturating_add(of(process));
            }
        };
        macro_rules! moved {
            ($($table:ident),*) => {
                $(move_rows(&self.$table.process, &mut self.$table.start, &mut self.$table.end);)*
            };
        }
        moved!(kernels, memory_copies, memory_allocations, allocator_events, regions, samples, syncs);
        for (process, by) in self.processes.iter_mut().zip(by) {
            process.start = process.start.map(|start| start.saturating_add(*by));
            process.end = process.end.map(|end| end.saturating_add(*by));
        }
        self.sort();
        self.links.sort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kernel, Process, Region, RowRef, Source};

    #[test]
    fn rows_move_with_their_process_and_launches_stay_linked() {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named("a", "test"));
        for (pid, at) in [(1, 1_000), (2, 10)] {
            let guid = trace.strings.intern(&pid.to_string());
            let process = trace.add_process(Process { guid, ..Process::new(source, pid) });
            let correlation = 1;
            trace.regions.push(Region { start: at, end: at + 1, process, correlation, ..Default::default() });
            let (start, end) = (at + 5, at + 9);
            trace.kernels.push(Kernel { start, end, process, correlation, ..Default::default() });
        }
        trace.finish();
        trace.shift(&[-1_000, 0]);
        assert_eq!((&trace.kernels.start[..], &trace.kernels.end[..]), (&[5, 15][..], &[9, 19][..]));
        for row in 0..2 {
            let launch = trace.links.launch_of(RowRef::kernel(row)).expect("a launch");
            assert_eq!(trace.regions.process[launch], trace.kernels.process[row]);
        }
    }
}

//! Rows of GPU work and of what a GPU's monitors show.

use trace::{
    Collective, CopyKind, Counter, Graph, Kernel, MemoryAllocation, MemoryCopy, OptI64, RowRef, Sample, StrId,
};

use super::Emitter;
use crate::identity::Dialect;
use crate::random::{Key, Spread};
use crate::record::Record;
use crate::scenario::Direction;

impl Emitter<'_> {
    pub(super) fn kernel(&mut self, record: &Record) {
        let Record::Kernel {
            thread,
            step: _,
            kernel,
            stream,
            start,
            end,
            correlation,
            external,
            instance,
            replayed,
            collective,
        } = *record
        else {
            return;
        };
        let torch = self.dialect == Dialect::Torch;
        let row = self.trace.kernels.len();
        let gpu = self.program.streams[stream as usize].gpu;
        let (start, end) = (self.clock.show(start), self.clock.show(end));
        self.last = self.last.max(end);
        self.extend_gpu_annotations(thread, stream, start, end);
        self.busy(gpu, start, end);
        self.dispatch += 1;
        let rocprof = |id: OptI64| if torch { OptI64::NONE } else { id };
        self.trace.kernels.push(Kernel {
            name: self.ids.names[kernel as usize],
            start,
            end,
            process: self.ids.process,
            thread: if torch { Default::default() } else { self.ids.threads[thread as usize] },
            agent: self.ids.gpus[gpu as usize],
            queue: if torch { Default::default() } else { self.ids.queues[stream as usize] },
            stream: self.ids.streams[stream as usize],
            correlation,
            external: if torch && external != 0 && !replayed { OptI64::some(external) } else { OptI64::NONE },
            dispatch: rocprof(OptI64::some(self.dispatch)),
            shape: self.ids.shapes[kernel as usize],
            symbol: if torch { Default::default() } else { self.ids.symbols[kernel as usize] },
            region: StrId::EMPTY,
            graph: match (torch, replayed) {
                (true, true) => Graph::Replayed,
                (true, false) => Graph::Direct,
                (false, _) => Graph::Unknown,
            },
        });
        if let Some(met) = collective {
            if torch {
                let args = self.message(met.which, met.sequence);
                self.args(RowRef::kernel(row), &args);
            }
            let facts = &self.program.collectives[met.which as usize];
            let size = self.program.layout.size(facts.group);
            let peer = facts.peer.and_then(|peer| self.program.layout.neighbour(self.place.rank, peer.next));
            let operation = self.trace.strings.intern(&facts.operation);
            let dtype = self.trace.strings.intern(&facts.dtype);
            self.trace.collectives.push(Collective {
                group: self.words.groups[facts.group as usize],
                group_size: OptI64::some(i64::from(size)),
                sequence: match self.program.recording.collective_numbers {
                    true => OptI64::some(met.sequence as i64),
                    false => OptI64::NONE,
                },
                operation,
                bytes: OptI64::some(facts.message(size, self.place.load).0 as i64),
                peer: OptI64::from(peer.map(i64::from)),
                dtype,
                row: RowRef::kernel(row),
                process: self.ids.process,
                ..Collective::default()
            });
        }
        if !torch {
            let spread = Spread::of_cv(0.01);
            for (number, &(counter, mean)) in
                self.program.kernels[kernel as usize].counters.iter().enumerate()
            {
                let draws = 0x4000_0000 + kernel * 64 + number as u32;
                let key = Key { seed: self.place.seed, rank: self.place.rank, stream: draws, instance };
                self.trace.counters.push(Counter {
                    kernel: RowRef::kernel(row),
                    counter: self.ids.counters[counter as usize],
                    value: (mean * key.factor(spread)).round(),
                    ..Counter::default()
                });
            }
        }
    }

    pub(super) fn copy(&mut self, record: &Record) {
        let Record::Copy { thread, copy, stream, start, end, correlation, external, replayed } = *record
        else {
            return;
        };
        let torch = self.dialect == Dialect::Torch;
        let facts = &self.program.copies[copy as usize];
        let gpu = self.ids.gpus[self.program.streams[stream as usize].gpu as usize];
        let (src, dst) = match facts.direction {
            Some(Direction::H2d) => (self.ids.cpu, gpu),
            Some(Direction::D2h) => (gpu, self.ids.cpu),
            Some(Direction::D2d) => (gpu, gpu),
            None => (Default::default(), gpu),
        };
        let (start, end) = (self.clock.show(start), self.clock.show(end));
        self.extend_gpu_annotations(thread, stream, start, end);
        self.trace.memory_copies.push(MemoryCopy {
            name: self.words.copies[copy as usize],
            kind: if facts.direction.is_some() { CopyKind::Copy } else { CopyKind::Fill },
            start,
            end,
            bytes: if torch && facts.direction.is_none() {
                OptI64::NONE
            } else {
                OptI64::some(facts.bytes as i64)
            },
            process: self.ids.process,
            thread: if torch { Default::default() } else { self.ids.threads[thread as usize] },
            src,
            dst,
            src_address: OptI64::NONE,
            dst_address: OptI64::NONE,
            queue: Default::default(),
            stream: self.ids.streams[stream as usize],
            correlation,
            external: if torch && external != 0 { OptI64::some(external) } else { OptI64::NONE },
            graph: match (torch, replayed) {
                (true, true) => Graph::Replayed,
                (true, false) => Graph::Direct,
                (false, _) => Graph::Unknown,
            },
        });
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn memory(
        &mut self,
        thread: u32,
        gpu: u32,
        (at, end): (i64, i64),
        address: i64,
        bytes: i64,
        correlation: i64,
        in_use: i64,
    ) {
        let torch = self.dialect == Dialect::Torch;
        let (at, end) = (self.clock.show(at), self.clock.show(end));
        self.in_use[gpu as usize] = in_use;
        if let Some(window) = self.window(at) {
            self.windows.entry((gpu, window)).or_default().1 = Some(in_use);
        }
        let freed = bytes < 0;
        self.trace.memory_allocations.push(MemoryAllocation {
            kind: if freed { self.words.free } else { self.words.alloc },
            level: self.words.real,
            start: at,
            // Kineto has instants, and frees there have a size; rocprofv3 knows neither device nor size.
            end: if torch { at } else { end },
            address: OptI64::some(address),
            bytes: OptI64::some(if torch || !freed { bytes.abs() } else { 0 }),
            process: self.ids.process,
            thread: self.ids.threads[thread as usize],
            agent: if torch || !freed { self.ids.gpus[gpu as usize] } else { Default::default() },
            queue: Default::default(),
            stream: Default::default(),
            correlation: if torch { 0 } else { correlation },
            flags: OptI64::NONE,
        });
    }

    fn window(&self, at: i64) -> Option<i64> {
        let width = (self.program.machine.sample_ms * 1e6) as i64;
        (width > 0).then(|| at.div_euclid(width))
    }

    /// Counts a kernel into the sampling windows it touches.
    fn busy(&mut self, gpu: u32, start: i64, end: i64) {
        let (Some(first), Some(last)) = (self.window(start), self.window(end - 1)) else { return };
        let width = (self.program.machine.sample_ms * 1e6) as i64;
        for window in first..=last {
            let inside = end.min((window + 1) * width) - start.max(window * width);
            self.windows.entry((gpu, window)).or_default().0 += inside;
        }
    }

    /// Writes samples of all windows that end before `until` (true time), or of all.
    pub(crate) fn sample(&mut self, until: Option<i64>) {
        if until.is_none() {
            self.profiler_span();
        }
        let width = (self.program.machine.sample_ms * 1e6) as i64;
        let limit = until.map_or(i64::MAX, |until| self.clock.show(until));
        let [idle_w, busy_w] = self.program.machine.power_w;
        let due: Vec<(u32, i64)> = self
            .windows
            .keys()
            .copied()
            .filter(|(_, w)| w.saturating_add(1).saturating_mul(width) <= limit)
            .collect();
        for key in due {
            let Some((busy, memory)) = self.windows.remove(&key) else { continue };
            let (gpu, window) = key;
            let at = ((window + 1) * width).min(self.last);
            let share = (busy as f64 / (at - window * width).max(1) as f64).min(1.0);
            let memory = memory.unwrap_or(self.in_use[gpu as usize]);
            let power = (idle_w + (busy_w - idle_w) * share).round();
            let clock = self.place.clock_mhz;
            let rows = [
                (self.words.power, self.words.watts, power),
                (self.words.vram, self.words.bytes, memory as f64),
                (self.words.clock, self.words.mhz, clock),
            ];
            let sampled = if clock > 0.0 { 3 } else { 2 };
            for (name, unit, value) in rows.into_iter().take(sampled) {
                self.trace.samples.push(Sample {
                    start: at,
                    end: at,
                    kind: self.words.smi,
                    name,
                    value,
                    unit,
                    location: StrId::EMPTY,
                    process: self.ids.process,
                    thread: Default::default(),
                    agent: self.ids.gpus[gpu as usize],
                    correlation: 0,
                    dispatch: OptI64::NONE,
                });
            }
        }
    }
}

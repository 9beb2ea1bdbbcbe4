//! One function per table of host work, waits and samples: its rows as Chrome events. `gpu` has the others.

use std::io::{self, Write};

use formats::torch::{category, key};
use trace::{LinkKind, OptI64, RowRef, Table, Trace};

use super::Writer;
use super::bytes::{float, int, micros, string};
use super::lanes::device_of;
use super::object::{ArgCursor, Object, complete};
use super::places::{TrackSpan, stream_of, tid_of};

/// The category of annotations that the profiler repeats on GPU lanes.
const GPU_ANNOTATION: &[u8] = category::bytes::GPU_USER_ANNOTATION;

/// Kineto's category for host calls of other profilers, so that torch tools find launches and annotations.
const CATEGORIES: [(&str, &str); 7] = [
    ("HIP_RUNTIME_API_EXT", category::CUDA_RUNTIME),
    ("HIP_RUNTIME_API", category::CUDA_RUNTIME),
    ("HIP_COMPILER_API_EXT", category::CUDA_RUNTIME),
    ("HIP_COMPILER_API", category::CUDA_RUNTIME),
    ("MARKER_CORE_RANGE_API", category::USER_ANNOTATION),
    ("MARKER_CORE_API", category::USER_ANNOTATION),
    ("", category::CPU_OP),
];

/// torch's number for the HIP device type.
const DEVICE_TYPE_HIP: i64 = 6;

impl<W: Write> Writer<W> {
    /// Start (`s`) or end (`f`) of a flow.
    pub(super) fn flow(
        &mut self,
        phase: u8,
        category: &str,
        id: i64,
        pid: i64,
        tid: i64,
        ns: i64,
    ) -> io::Result<()> {
        let out = self.event()?;
        out.extend_from_slice(b"\"ph\": \"");
        out.push(phase);
        out.extend_from_slice(b"\", \"id\": ");
        int(out, id);
        out.extend_from_slice(b", \"pid\": ");
        int(out, pid);
        out.extend_from_slice(b", \"tid\": ");
        int(out, tid);
        out.extend_from_slice(b", \"ts\": ");
        micros(out, ns);
        for piece in [", \"cat\": \"", category, "\", \"name\": \"", category, "\""] {
            out.extend_from_slice(piece.as_bytes());
        }
        out.extend_from_slice(if phase == b'f' { b", \"bp\": \"e\"\n  }" } else { b"\n  }" });
        Ok(())
    }

    /// Host intervals; calls with a correlation start a flow.
    pub(super) fn regions(&mut self, trace: &Trace) -> io::Result<()> {
        let (regions, strings) = (&trace.regions, &trace.strings);
        let mut cursor = ArgCursor::new(&trace.args, Table::Regions);
        let mut kinds: Vec<Option<(Vec<u8>, bool)>> = Vec::new();
        for i in 0..regions.len() {
            let category = regions.category[i];
            let slot = category.0 as usize;
            if slot >= kinds.len() {
                kinds.resize(slot + 1, None);
            }
            let (label, frame) = kinds[slot].get_or_insert_with(|| {
                let name = strings.get(category);
                let label = CATEGORIES.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| to);
                let mut escaped = Vec::new();
                string(&mut escaped, label);
                (escaped[1..escaped.len() - 1].to_vec(), label == category::PYTHON_FUNCTION)
            });
            let process = regions.process[i];
            let tid = tid_of(trace, regions.thread[i], process);
            let pid = match &label[..] == GPU_ANNOTATION {
                true => self.lanes.annotated(trace, regions.thread[i], process),
                false => self.lanes.process(process),
            };
            let place = TrackSpan { pid, tid, start: regions.start[i], end: regions.end[i] };
            let correlation = match regions.correlation[i] {
                0 => 0,
                id => self.numbers.correlation(process, id),
            };
            let index = self.options.event_index.then(|| {
                self.numbers.event_index += 1;
                self.numbers.event_index - 1
            });
            self.event()?;
            let (out, text) = (&mut self.buffer, &mut self.text);
            complete(out, text, strings, label, regions.name[i], &place);
            let mut object = Object::open(out);
            if *frame {
                match regions.parent[i] {
                    0 => object.key(key::PYTHON_PARENT_ID).extend_from_slice(b"null"),
                    parent => object.int(key::PYTHON_PARENT_ID, parent),
                }
                object.some(key::PYTHON_ID, regions.external[i]);
            } else {
                object.some(key::EXTERNAL_ID, regions.external[i]);
                if correlation != 0 {
                    object.int("correlation", correlation);
                }
            }
            let rows = cursor.of(RowRef::region(i));
            const OWN: [&str; 5] =
                [key::EXTERNAL_ID, "correlation", key::PYTHON_PARENT_ID, key::PYTHON_ID, "Ev Idx"];
            object.rest(text, strings, &trace.args, rows.clone(), &OWN[..4 + usize::from(index.is_some())]);
            if let Some(index) = index.filter(|_| correlation == 0) {
                object.int("Ev Idx", index);
            }
            object.close();
            if correlation != 0 && self.options.flows {
                self.flow(b's', "ac2g", correlation, pid, tid, place.start)?;
            }
        }
        Ok(())
    }

    /// Allocations and frees as Kineto's `[memory]` instants, with the memory in use after each.
    pub(super) fn allocations(&mut self, trace: &Trace) -> io::Result<()> {
        let (rows, strings) = (&trace.memory_allocations, &trace.strings);
        for i in 0..rows.len() {
            let freed = strings.get(rows.kind[i]).contains("FREE");
            let address = rows.address[i].get();
            let size = rows.bytes[i].get().map(i64::abs).filter(|b| *b > 0 || !freed);
            let bytes = match (freed, size, address) {
                (true, Some(size), _) => Some(-size),
                (true, None, Some(address)) => self.numbers.sizes.remove(&address).map(|b| -b),
                (_, size, _) => size,
            };
            if let (false, Some(address), Some(bytes)) = (freed, address, bytes) {
                self.numbers.sizes.insert(address, bytes);
            }
            let total = self.numbers.allocated.entry(rows.agent[i].0).or_insert(0);
            *total += bytes.unwrap_or(0);
            let total = *total;
            let process = rows.process[i];
            let (pid, tid) = (self.lanes.process(process), tid_of(trace, rows.thread[i], process));
            let device = device_of(trace, rows.agent[i]);
            let out = self.event()?;
            out.extend_from_slice(
                b"\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": ",
            );
            int(out, pid);
            out.extend_from_slice(b", \"tid\": ");
            int(out, tid);
            out.extend_from_slice(b", \"ts\": ");
            micros(out, rows.start[i]);
            let mut object = Object::open(out);
            object.some(key::ADDR, rows.address[i]);
            if let Some(bytes) = bytes {
                object.int(key::MEMORY_BYTES, bytes);
            }
            object.int(key::DEVICE_ID, device);
            object.int(key::DEVICE_TYPE, DEVICE_TYPE_HIP);
            object.int(key::TOTAL_ALLOCATED, total);
            if rows.end[i] > rows.start[i] {
                object.int("Duration (ns)", rows.end[i] - rows.start[i]);
            }
            object.close();
        }
        Ok(())
    }

    /// Synchronisations that are not host calls; calls are already among the regions.
    pub(super) fn syncs(&mut self, trace: &Trace) -> io::Result<()> {
        let (syncs, strings) = (&trace.syncs, &trace.strings);
        for i in 0..syncs.len() {
            let kind = strings.get(syncs.kind[i]);
            if kind.starts_with("hip") || kind.starts_with("cuda") || kind.starts_with("cu") {
                continue;
            }
            let process = syncs.process[i];
            let stream = stream_of(trace, syncs.stream[i], trace::QueueId::NONE);
            let place = TrackSpan {
                pid: self.lanes.process(process),
                tid: stream,
                start: syncs.start[i],
                end: syncs.end[i],
            };
            let correlation = self.numbers.correlation(process, syncs.correlation[i]);
            let waits_for = syncs.waits_for[i].get().map(|s| trace.streams[s].id);
            self.event()?;
            let (out, text) = (&mut self.buffer, &mut self.text);
            complete(out, text, strings, category::bytes::CUDA_SYNC, syncs.kind[i], &place);
            let mut object = Object::open(out);
            string(object.key(key::CUDA_SYNC_KIND), kind);
            object.int("stream", stream);
            object.int("correlation", correlation);
            object.some(key::WAIT_ON_STREAM, OptI64::from(waits_for));
            object.some(key::WAIT_ON_CUDA_EVENT_RECORD_CORR_ID, syncs.awaited[i]);
            object.some(key::WAIT_ON_CUDA_EVENT_ID, syncs.event[i]);
            object.close();
        }
        Ok(())
    }

    /// Samples with a value as counter tracks, the others as instants.
    pub(super) fn samples(&mut self, trace: &Trace) -> io::Result<()> {
        let (samples, strings) = (&trace.samples, &trace.strings);
        for i in 0..samples.len() {
            let on_device = samples.agent[i].is_some();
            let process = samples.process[i];
            let pid =
                if on_device { self.lanes.agent(samples.agent[i]) } else { self.lanes.process(process) };
            let tid = if on_device { 0 } else { tid_of(trace, samples.thread[i], process) };
            let counter = !samples.value[i].is_nan();
            self.event()?;
            let (out, text) = (&mut self.buffer, &mut self.text);
            out.extend_from_slice(if counter { b"\"ph\": \"C\"" } else { b"\"ph\": \"i\"" });
            out.extend_from_slice(b", \"cat\": ");
            text.name(out, strings, samples.kind[i]);
            out.extend_from_slice(b", \"name\": ");
            text.name(out, strings, samples.name[i]);
            out.extend_from_slice(b", \"pid\": ");
            int(out, pid);
            out.extend_from_slice(b", \"tid\": ");
            int(out, tid);
            out.extend_from_slice(b", \"ts\": ");
            micros(out, samples.start[i]);
            if !counter {
                out.extend_from_slice(b", \"s\": \"t\"\n  }");
                continue;
            }
            let mut object = Object::open(out);
            let unit = if samples.unit[i].is_empty() { "value" } else { strings.get(samples.unit[i]) };
            let mut key = Vec::new();
            string(&mut key, unit);
            let key = String::from_utf8_lossy(&key[1..key.len() - 1]).into_owned();
            float(object.key(&key), samples.value[i]);
            object.close();
        }
        Ok(())
    }

    /// Flows from forward to backward ops.
    pub(super) fn forward_backward(&mut self, trace: &Trace) -> io::Result<()> {
        let (links, regions) = (&trace.links, &trace.regions);
        for i in 0..links.len() {
            let (LinkKind::ForwardBackward, Some(from), Some(to)) =
                (links.kind[i], links.from[i].row_of(Table::Regions), links.to[i].row_of(Table::Regions))
            else {
                continue;
            };
            self.numbers.flow += 1;
            let id = self.numbers.flow;
            for (phase, row) in [(b's', from), (b'f', to)] {
                let process = regions.process[row];
                let (pid, tid) = (self.lanes.process(process), tid_of(trace, regions.thread[row], process));
                self.flow(phase, category::FWDBWD, id, pid, tid, regions.start[row])?;
            }
        }
        Ok(())
    }
}

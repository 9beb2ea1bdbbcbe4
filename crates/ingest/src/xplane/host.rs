//! Host planes: every line is a thread, every event a call, a Python frame or an annotation.

use trace::{OptI64, Region, Sample, StrId, Thread, ThreadId};

use super::plane::{ByNumber, Event, Line, Plane};
use super::{RUNTIME, Reader};
use crate::times::are_believable;

/// Name and category of an event, by the number of its name.
#[derive(Clone, Copy)]
struct EventName {
    name: StrId,
    category: StrId,
    is_frame: bool,
}

impl Reader<'_> {
    pub(super) fn host(&mut self, plane: &Plane) {
        let mut names: ByNumber<Option<EventName>> = ByNumber::default();
        let correlation = plane.texts.map(|name| name == Some("correlation_id"));
        for line in plane.lines() {
            let name = self.trace.strings.intern(line.name.split('/').next().unwrap_or_default());
            let thread = self.trace.add_thread(Thread { process: self.process, tid: line.id, name });
            let mut skipped = 0;
            for event in line.events() {
                let named = match names.get(event.name) {
                    Some(named) => named,
                    None => {
                        let Some(text) = plane.events.get(event.name) else {
                            self.damaged += 1;
                            continue;
                        };
                        let named = self.name(text);
                        names.set(event.name, Some(named));
                        named
                    }
                };
                // Most events are frames: unwanted ones are skipped at once.
                if named.is_frame && !self.needs.python_frames {
                    skipped += 1;
                    continue;
                }
                self.event(plane, &correlation, &line, event, named, thread);
            }
            self.trace.sources[0].frames_skipped += skipped;
        }
    }

    fn event(
        &mut self,
        plane: &Plane,
        correlation: &ByNumber<bool>,
        line: &Line,
        event: Event,
        named: EventName,
        thread: ThreadId,
    ) {
        let Some(event) = line.timed(event) else { return };
        let (start, end) = (event.start, event.end);
        if !are_believable(start, end) {
            self.timeless += 1;
            return;
        }
        if !named.is_frame {
            if event.is_instant {
                if self.needs.samples {
                    self.trace.samples.push(Sample {
                        start,
                        end: start,
                        kind: self.trace.strings.intern("instant"),
                        name: named.name,
                        value: f64::NAN,
                        process: self.process,
                        thread,
                        ..Sample::default()
                    });
                }
                return;
            }
            if !self.needs.regions && !self.needs.links {
                return;
            }
        }
        let mut ids = plane.stats(&event).filter(|(name, _)| correlation.get(*name));
        let correlation = ids.find_map(|(_, id)| id.number());
        let category = match correlation {
            Some(_) => self.trace.strings.intern(RUNTIME),
            None => named.category,
        };
        if let Some(id) = correlation {
            self.calls.insert(id, self.trace.regions.len() as u32);
        }
        self.trace.regions.push(Region {
            name: named.name,
            category,
            start,
            end,
            process: self.process,
            thread,
            correlation: correlation.unwrap_or(0),
            external: OptI64::NONE,
            ..Region::default()
        });
    }

    /// Frames are named `$file.py:12 function`; torch writes `file.py(12): function`.
    fn name(&mut self, text: &str) -> EventName {
        let strings = &mut self.trace.strings;
        match text.strip_prefix('$') {
            Some(frame) => {
                let name = match frame.split_once(' ').and_then(|(place, function)| {
                    let (file, line) = place.rsplit_once(':')?;
                    Some(format!("{file}({line}): {function}"))
                }) {
                    Some(spelled) => strings.intern(&spelled),
                    None => strings.intern(frame),
                };
                EventName { name, category: strings.intern("python_function"), is_frame: true }
            }
            None => {
                let category = if is_call(text) { RUNTIME } else { "user_annotation" };
                EventName { name: strings.intern(text), category: strings.intern(category), is_frame: false }
            }
        }
    }
}

/// Calls of the GPU's runtime: `hipLaunchKernel`, `cuMemcpyDtoHAsync`.
fn is_call(name: &str) -> bool {
    ["hip", "hsa_", "cuda", "cu"].iter().any(|start| {
        name.strip_prefix(start)
            .is_some_and(|rest| start.ends_with('_') || rest.starts_with(|c: char| c.is_ascii_uppercase()))
    }) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_from_annotations() {
        for call in ["hipLaunchKernel", "cuMemcpyDtoHAsync", "cudaMalloc", "hsa_amd_memory_pool_allocate"] {
            assert!(is_call(call), "{call}");
        }
        for other in ["PjRtStreamExecutorLoadedExecutable::Execute", "custom op", "hippo", "cu blas"] {
            assert!(!is_call(other), "{other}");
        }
    }
}

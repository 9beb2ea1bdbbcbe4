//! Tracks: processes, threads, devices, lanes and counters, each described before its first event.

use formats::perfetto::{COUNTER_OF_DISPATCHES, MEMORY_IN_USE};
use formats::secrets::redact_text;
use trace::{AgentId, Map, ProcessId, StrId, Trace};

use super::wire::{self, counter, packet, process, thread, trace_file, track};
use crate::timeline::{Lane, LaneKey, Names};

/// A track of numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Series {
    /// Samples of a monitor, by name and unit.
    Sample(ProcessId, AgentId, StrId, StrId),
    /// Values of a hardware counter.
    Counter(ProcessId, AgentId, StrId, StrId),
    /// Bytes in use.
    Memory(ProcessId, AgentId),
}

/// The tracks of a file, described on first use.
pub(super) struct Tracks<'a> {
    trace: &'a Trace,
    names: Names<'a>,
    /// Track ids are unique across traces that are read together: some bits identify the trace.
    base: u64,
    next: u64,
    /// A number for each process: its pid, unless another process has the same one.
    pids: Vec<i64>,
    processes: Map<ProcessId, u64>,
    agents: Map<(ProcessId, AgentId), u64>,
    threads: Map<LaneKey, u64>,
    lanes: Vec<u64>,
    series: Map<Series, u64>,
}

impl<'a> Tracks<'a> {
    pub fn new(trace: &'a Trace) -> Self {
        let guids = trace.processes.iter().map(|p| trace.strings.get(p.guid));
        let identity: String = guids.collect();
        Self {
            trace,
            names: Names::of(trace),
            base: (rapidhash::v3::rapidhash_v3(identity.as_bytes()) & 0x3f_ffff) << 20,
            next: 1,
            pids: unique_pids(trace),
            processes: Map::default(),
            agents: Map::default(),
            threads: Map::default(),
            lanes: Vec::new(),
            series: Map::default(),
        }
    }

    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.base + self.next
    }

    /// The track of a lane, described in `out` if it is new.
    #[inline]
    pub fn lane(&mut self, out: &mut Vec<u8>, lane: &Lane) -> u64 {
        match self.lanes.get(lane.number) {
            Some(&uuid) => uuid,
            None => self.new_lane(out, lane),
        }
    }

    fn new_lane(&mut self, out: &mut Vec<u8>, lane: &Lane) -> u64 {
        let uuid = match lane.place {
            LaneKey::Thread(..) if lane.beside == 0 => self.thread(out, lane.place),
            // Crossing slices of a thread go right below it.
            LaneKey::Thread(..) => {
                let parent = self.thread(out, lane.place);
                self.child(out, parent, &self.names.lane(lane))
            }
            place => {
                let parent = self.holder(out, place.process(), place.agent().unwrap_or(AgentId::NONE));
                self.child(out, parent, &self.names.lane(lane))
            }
        };
        debug_assert_eq!(self.lanes.len(), lane.number);
        self.lanes.push(uuid);
        uuid
    }

    /// The track of a thread.
    pub fn thread(&mut self, out: &mut Vec<u8>, place: LaneKey) -> u64 {
        if let Some(&uuid) = self.threads.get(&place) {
            return uuid;
        }
        let LaneKey::Thread(whose, row) = place else { return self.process(out, place.process()) };
        let parent = self.process(out, whose);
        let name = self.names.thread(whose, row);
        let tid = row.get().map(|t| self.trace.threads[t].tid);
        let uuid = match tid.filter(|tid| i32::try_from(*tid).is_ok_and(|tid| tid > 0)) {
            Some(tid) => {
                let pid = whose.get().map_or(0, |p| self.pids[p]);
                let uuid = self.fresh();
                describe(out, uuid, parent, |out| {
                    wire::message(out, track::THREAD, |out| {
                        wire::int(out, thread::PID, pid);
                        wire::int(out, thread::TID, tid);
                        wire::bytes(out, thread::NAME, name.as_bytes());
                    });
                });
                uuid
            }
            // Perfetto accepts only small numbers as thread ids.
            None => {
                let named = row.get().is_none_or(|t| !self.trace.threads[t].name.is_empty());
                let number = tid.filter(|_| !named).map_or(String::new(), |tid| format!(" {tid}"));
                let about = tid.map_or(String::new(), |tid| format!("thread {tid}"));
                self.described(out, parent, &format!("{name}{number}"), &about)
            }
        };
        self.threads.insert(place, uuid);
        uuid
    }

    /// The track of a process.
    fn process(&mut self, out: &mut Vec<u8>, id: ProcessId) -> u64 {
        if let Some(&uuid) = self.processes.get(&id) {
            return uuid;
        }
        let uuid = self.fresh();
        let name = self.names.process(id);
        let about = id.get().map(|p| (&self.trace.processes[p], self.pids[p]));
        describe(out, uuid, 0, |out| {
            let host = about.map_or("", |(about, _)| self.trace.strings.get(about.hostname));
            if !host.is_empty() {
                wire::bytes(out, track::DESCRIPTION, format!("host {host}").as_bytes());
            }
            wire::message(out, track::PROCESS, |out| {
                let Some((about, pid)) = about else {
                    wire::bytes(out, process::NAME, name.as_bytes());
                    return;
                };
                wire::int(out, process::PID, pid);
                for word in redact_text(self.trace.strings.get(about.command)).split_whitespace() {
                    wire::bytes(out, process::COMMAND_LINE, word.as_bytes());
                }
                wire::bytes(out, process::NAME, name.as_bytes());
                if let Some(start) = about.start {
                    wire::int(out, process::START, start);
                }
            });
        });
        self.processes.insert(id, uuid);
        uuid
    }

    /// The parent of a device's tracks, or the process if there is no device.
    pub fn holder(&mut self, out: &mut Vec<u8>, process: ProcessId, agent: AgentId) -> u64 {
        if !agent.is_some() {
            return self.process(out, process);
        }
        if let Some(&uuid) = self.agents.get(&(process, agent)) {
            return uuid;
        }
        let parent = self.process(out, process);
        let uuid = self.described(out, parent, &self.names.agent(agent), &self.names.agent_facts(agent));
        self.agents.insert((process, agent), uuid);
        uuid
    }

    fn child(&mut self, out: &mut Vec<u8>, parent: u64, name: &str) -> u64 {
        self.described(out, parent, name, "")
    }

    /// A child track with a text that Perfetto shows next to it, and that our reader parses.
    fn described(&mut self, out: &mut Vec<u8>, parent: u64, name: &str, about: &str) -> u64 {
        let uuid = self.fresh();
        describe(out, uuid, parent, |out| {
            wire::bytes(out, track::NAME, name.as_bytes());
            if !about.is_empty() {
                wire::bytes(out, track::DESCRIPTION, about.as_bytes());
            }
        });
        uuid
    }

    /// A track of numbers.
    pub fn series(&mut self, out: &mut Vec<u8>, series: Series) -> u64 {
        if let Some(&uuid) = self.series.get(&series) {
            return uuid;
        }
        let strings = &self.trace.strings;
        let (process, agent, name, unit) = match series {
            Series::Sample(process, agent, name, unit) => {
                (process, agent, strings.get(name).to_string(), unit)
            }
            Series::Counter(process, agent, name, unit) => {
                (process, agent, format!("{COUNTER_OF_DISPATCHES}{}", strings.get(name)), unit)
            }
            Series::Memory(process, agent) => (process, agent, MEMORY_IN_USE.into(), StrId::EMPTY),
        };
        let parent = self.holder(out, process, agent);
        let uuid = self.fresh();
        describe(out, uuid, parent, |out| {
            wire::bytes(out, track::NAME, name.as_bytes());
            wire::message(out, track::COUNTER, |out| match series {
                Series::Memory(..) => wire::uint(out, counter::UNIT, counter::SIZE_BYTES),
                _ if unit.is_empty() => {}
                _ => wire::bytes(out, counter::UNIT_NAME, strings.get(unit).as_bytes()),
            });
        });
        self.series.insert(series, uuid);
        uuid
    }
}

/// A packet with the description of a track. Tracks do not belong to a sequence.
fn describe(out: &mut Vec<u8>, uuid: u64, parent: u64, fill: impl FnOnce(&mut Vec<u8>)) {
    wire::message(out, trace_file::PACKET, |out| {
        wire::uint(out, packet::SEQUENCE, super::slices::SEQUENCE);
        wire::message(out, packet::TRACK_DESCRIPTOR, |out| {
            wire::uint(out, track::UUID, uuid);
            if parent != 0 {
                wire::uint(out, track::PARENT, parent);
            }
            fill(out);
        });
    });
}

/// Perfetto merges processes with the same pid, so ranks of several nodes need different numbers.
fn unique_pids(trace: &Trace) -> Vec<i64> {
    const MADE_UP: i64 = 1 << 30;
    let pids: Vec<i64> = trace.processes.iter().map(|process| process.pid).collect();
    let mut first: Map<i64, usize> = Map::default();
    pids.iter().enumerate().for_each(|(i, pid)| _ = first.entry(*pid).or_insert(i));
    let usable = |i: usize| i32::try_from(pids[i]).is_ok_and(|pid| pid > 0) && first[&pids[i]] == i;
    (0..pids.len()).map(|i| if usable(i) { pids[i] } else { MADE_UP + i as i64 }).collect()
}

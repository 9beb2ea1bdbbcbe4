//! Which process a row belongs to: by guid, else by process id, else the set's own.

use trace::{Map, Process, ProcessId, SourceId, StrId, Trace};

use crate::rocprofv3::number::whole;

/// The processes of a set.
pub(super) struct Processes {
    source: SourceId,
    /// The process of rows that do not name one: rocprofv3 writes a set per process.
    own: ProcessId,
    /// Its pid while only the file name gives it; the user may have chosen that name.
    guessed: Option<i64>,
    identity: u64,
    by_guid: Map<StrId, ProcessId>,
    by_pid: Map<i64, ProcessId>,
}

impl Processes {
    /// `prefix`: the number that the source's file names begin with, if any.
    pub fn new(source: SourceId, prefix: Option<i64>, identity: u64) -> Self {
        let (by_guid, by_pid) = (Map::default(), Map::default());
        Self { source, own: ProcessId::NONE, guessed: prefix.or(Some(0)), identity, by_guid, by_pid }
    }

    /// The process of a row.
    pub fn get(&mut self, trace: &mut Trace, guid: &[u8], pid: Option<i64>) -> ProcessId {
        // `rocpd convert` labels the guid column of its counter file `Pid`.
        if !guid.is_empty() && whole(guid).is_none() {
            return self.of_guid(trace, guid, pid);
        }
        let Some(pid) = pid.or_else(|| whole(guid)) else { return self.own(trace) };
        if let Some(&known) = self.by_pid.get(&pid) {
            return known;
        }
        let process = if self.guessed.take().is_some() {
            let own = self.own(trace);
            trace.processes[own.0 as usize].pid = pid;
            own
        } else {
            trace.add_process(Process::new(self.source, pid))
        };
        self.by_pid.insert(pid, process);
        process
    }

    fn of_guid(&mut self, trace: &mut Trace, guid: &[u8], pid: Option<i64>) -> ProcessId {
        let guid = trace.strings.intern_bytes(guid).0;
        let process = *self
            .by_guid
            .entry(guid)
            .or_insert_with(|| trace.add_process(Process { guid, ..Process::new(self.source, 0) }));
        let known = &mut trace.processes[process.0 as usize].pid;
        if *known == 0 {
            *known = pid.unwrap_or(0);
        }
        process
    }

    /// The process of rows that do not name one.
    fn own(&mut self, trace: &mut Trace) -> ProcessId {
        if !self.own.is_some() {
            // A file without the guid that the rest of the set has (scratch memory) is from the same process.
            let only = (self.by_guid.len() == 1).then(|| self.by_guid.values().next().copied()).flatten();
            self.own = only.unwrap_or_else(|| {
                trace.add_process(Process::new(self.source, self.guessed.unwrap_or_default()))
            });
        }
        self.own
    }

    /// Names recordings without a guid after their content.
    pub fn finish(self, trace: &mut Trace) {
        for process in trace.processes.iter_mut().filter(|process| process.guid.is_empty()) {
            process.guid = trace.strings.intern(&format!("csv-{:016x}-{}", self.identity, process.pid));
        }
    }
}

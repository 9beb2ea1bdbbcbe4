//! Metadata events: names of processes, threads, devices and streams.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use formats::secrets::redact_text;
use trace::{ProcessId, Trace};

use super::Writer;
use super::bytes::{int, string};
use super::lanes::device_of;
use super::object::Object;
use super::places::{gpu_of_copy, stream_of};

impl<W: Write> Writer<W> {
    /// Names of processes, threads, devices and streams.
    pub(super) fn names(&mut self, trace: &Trace) -> io::Result<()> {
        // Several processes are distinguished by their recordings, or by their ranks.
        let several = trace.processes.len() > 1;
        let labels = trace.process_labels();
        let label_of = |id: ProcessId| id.get().map_or("", |id| labels[id].as_str());
        let whose = |id: ProcessId| match (label_of(id), trace.rank_of(id).filter(|_| several)) {
            ("", Some(rank)) => format!(" rank {rank}"),
            ("", None) => String::new(),
            (label, _) => format!(" {label}"),
        };
        for (i, process) in trace.processes.iter().enumerate() {
            let label = if process.command.is_empty() {
                "python".into()
            } else {
                redact_text(trace.strings.get(process.command))
            };
            let id = ProcessId::at(i);
            let pid = self.lanes.process(id);
            let told = pid == process.pid || label_of(id).contains("pid ");
            let own = if told { String::new() } else { format!(" pid {}", process.pid) };
            self.meta("process_name", pid, 0, "name", &format!("{label}{}{own}", whose(id)))?;
            self.meta("process_labels", pid, 0, "labels", "CPU")?;
        }
        for thread in &trace.threads {
            let pid = self.lanes.process(thread.process);
            let name = match trace.strings.get(thread.name) {
                "" => format!("thread {} (python)", thread.tid),
                name => name.to_string(),
            };
            self.meta("thread_name", pid, thread.tid, "name", &name)?;
        }
        let mut streams = self.streams_by_gpu(trace);
        for (i, agent) in trace.agents.iter().enumerate() {
            if agent.kind != trace::AgentKind::Gpu {
                continue;
            }
            let id = trace::AgentId::at(i);
            let (pid, device) = (self.lanes.agent(id), device_of(trace, id));
            self.meta("process_name", pid, 0, "name", &format!("python{}", whose(agent.process)))?;
            self.meta("process_labels", pid, 0, "labels", &format!("GPU {device}"))?;
            for stream in streams.remove(&pid).unwrap_or_default() {
                self.meta("thread_name", pid, stream, "name", &format!("stream {stream} "))?;
            }
        }
        Ok(())
    }

    /// Streams with work, by GPU number. A trace may declare any number of GPUs and streams: all pairs would
    /// be far more.
    fn streams_by_gpu(&self, trace: &Trace) -> BTreeMap<i64, BTreeSet<i64>> {
        let mut streams: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
        let mut add = |agent, stream, queue| {
            streams.entry(self.lanes.agent(agent)).or_default().insert(stream_of(trace, stream, queue));
        };
        let kernels = &trace.kernels;
        for i in 0..kernels.len() {
            add(kernels.agent[i], kernels.stream[i], kernels.queue[i]);
        }
        let copies = &trace.memory_copies;
        for i in 0..copies.len() {
            add(gpu_of_copy(trace, i), copies.stream[i], copies.queue[i]);
        }
        if kernels.is_empty() && copies.is_empty() {
            self.declared_streams(trace, &mut streams);
        }
        streams
    }

    /// If rows come in blocks after the names: all streams of each GPU's process, unless there are too many.
    fn declared_streams(&self, trace: &Trace, streams: &mut BTreeMap<i64, BTreeSet<i64>>) {
        const MOST: usize = 4096;
        let gpus = trace.agents.iter().filter(|agent| agent.kind == trace::AgentKind::Gpu).count();
        if gpus.saturating_mul(trace.streams.len()) > MOST {
            return;
        }
        for (i, agent) in trace.agents.iter().enumerate() {
            let own = trace.streams.iter().filter(|stream| stream.process == agent.process);
            let gpu = self.lanes.agent(trace::AgentId::at(i));
            streams.entry(gpu).or_default().extend(own.map(|stream| stream.id));
        }
    }

    fn meta(&mut self, kind: &str, pid: i64, tid: i64, key: &str, value: &str) -> io::Result<()> {
        let out = self.event()?;
        out.extend_from_slice(b"\"name\": \"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\", \"ph\": \"M\", \"ts\": 0.000, \"pid\": ");
        int(out, pid);
        out.extend_from_slice(b", \"tid\": ");
        int(out, tid);
        let mut args = Object::open(out);
        string(args.key(key), value);
        args.close();
        Ok(())
    }
}

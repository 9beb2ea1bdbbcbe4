//! What ranks send each other: collectives, and micro-batches that pass through pipeline stages.

use super::{Compiler, NS_PER_US};
use crate::program::{CollectiveWork, Frame, FrameKind, Instr, Mark, Peer};
use crate::ranks::GroupKind;
use crate::scenario::{CollectiveSpec, PipelineSpec};

impl<'a> Compiler<'a> {
    pub(super) fn collective(&mut self, spec: &'a CollectiveSpec) {
        let mark = self.truth(&spec.truth);
        // A group of one rank has no partners.
        let alone = spec.group != GroupKind::World && self.program.layout.size(spec.group) < 2;
        if self.removed(mark) || alone {
            return;
        }
        let kernel = self.kernel_ids[spec.kernel.get_ref().as_str()];
        let stream = self.stream(spec.gpu, spec.stream);
        let work = CollectiveWork {
            operation: spec.operation.clone(),
            dtype: spec.dtype.clone(),
            bytes: spec.bytes,
            kernel,
            group: spec.group,
            tokens: spec.tokens,
            peer: None,
        };
        let annotation = format!("nccl:{}", spec.operation);
        self.communicate(work, stream, &format!("c10d::{}_", spec.operation), &annotation, mark);
    }

    /// The frames and the launch of a collective, a send or a receive.
    fn communicate(&mut self, work: CollectiveWork, stream: u32, op: &str, annotation: &str, mark: Mark) {
        self.program.kernels[work.kernel as usize].communicates = true;
        let elements = work.bytes / element_bytes(&work.dtype);
        // Stages and repeats share what is the same: names, sizes and arguments are kept once for each.
        let known = self.program.collectives.iter().position(|other| *other == work);
        let collective = known.unwrap_or(self.program.collectives.len()) as u32;
        if known.is_none() {
            self.program.collectives.push(work);
        }
        self.enter(FrameKind::Op, op, 0.5);
        self.enter(FrameKind::Annotation, annotation, 0.3);
        let frame = self.program.frames.len() as u32;
        self.program.frames.push(Frame {
            kind: FrameKind::Op,
            name: "record_param_comms".into(),
            dims: Some(format!("[[{elements}]]")),
            types: None,
            collective: Some(collective),
        });
        self.out.push(Instr::Enter { frame, ns: 500.0 });
        let api = self.api("hipExtLaunchKernel");
        let ns = self.scenario.machine.launch_us * NS_PER_US;
        self.out.push(Instr::Collective { collective, stream, api, ns, mark });
        self.kernels_in_step += 1;
        self.leave(3);
    }

    /// Micro-batches through this stage: as many forward passes ahead as stages follow, then one of each in turn.
    pub(super) fn pipeline(&mut self, spec: &'a PipelineSpec) {
        let ahead = (self.program.layout.stages() - 1 - self.stage).min(spec.micro_batches);
        for _ in 0..ahead {
            self.pass(spec, true);
        }
        for _ in ahead..spec.micro_batches {
            self.pass(spec, true);
            self.pass(spec, false);
        }
        for _ in 0..ahead {
            self.pass(spec, false);
        }
    }

    /// One micro-batch forward or backward: receive, compute, send.
    fn pass(&mut self, spec: &'a PipelineSpec, forward: bool) {
        self.receive(spec, Peer { next: !forward, send: false });
        let sequence = if forward { &spec.forward } else { &spec.backward };
        self.sequence(sequence.get_ref());
        self.send(spec, Peer { next: forward, send: true });
    }

    fn send(&mut self, spec: &'a PipelineSpec, peer: Peer) {
        let Some((work, stream, other)) = self.peer_work(spec, peer) else { return };
        let compute = self.stream(spec.gpu, spec.stream);
        let ns = self.scenario.machine.call_us * 2.0 * NS_PER_US;
        let event = self.events.number(&format!("pipeline send {}", peer.number()));
        let (record, wait) = (self.api("hipEventRecord"), self.api("hipStreamWaitEvent"));
        self.out.push(Instr::Record { event, stream: compute, api: record, ns });
        self.out.push(Instr::Wait { event, stream, api: wait, ns, mark: 0, stage: false });
        let annotation = format!("nccl:send {}->{other}", self.stage);
        self.communicate(work, stream, "c10d::send", &annotation, 0);
    }

    fn receive(&mut self, spec: &'a PipelineSpec, peer: Peer) {
        let Some((work, stream, other)) = self.peer_work(spec, peer) else { return };
        let compute = self.stream(spec.gpu, spec.stream);
        let ns = self.scenario.machine.call_us * 2.0 * NS_PER_US;
        let event = self.events.number(&format!("pipeline receive {}", peer.number()));
        let annotation = format!("nccl:recv {}<-{other}", self.stage);
        self.communicate(work, stream, "c10d::recv_", &annotation, 0);
        let (record, wait) = (self.api("hipEventRecord"), self.api("hipStreamWaitEvent"));
        self.out.push(Instr::Record { event, stream, api: record, ns });
        self.out.push(Instr::Wait { event, stream: compute, api: wait, ns, mark: 0, stage: true });
    }

    /// What is sent or received, on which stream, and the other stage; `None` at the ends of the pipeline.
    fn peer_work(&mut self, spec: &'a PipelineSpec, peer: Peer) -> Option<(CollectiveWork, u32, u32)> {
        let stages = self.program.layout.stages();
        let other = if peer.next { self.stage + 1 } else { self.stage.checked_sub(1)? };
        if other >= stages {
            return None;
        }
        let stream = self.stream(spec.gpu, spec.peers + peer.number() as u32);
        let work = CollectiveWork {
            operation: if peer.send { "send" } else { "recv" }.into(),
            dtype: spec.dtype.clone(),
            bytes: spec.bytes,
            kernel: self.kernel_ids[spec.kernel.get_ref().as_str()],
            group: GroupKind::Pipeline,
            tokens: None,
            peer: Some(peer),
        };
        Some((work, stream, other))
    }
}

/// Bytes of one element of a torch data type.
pub(crate) fn element_bytes(dtype: &str) -> u64 {
    const SIZES: [(&str, u64); 8] = [
        ("Float", 4),
        ("Double", 8),
        ("BFloat16", 2),
        ("Half", 2),
        ("Long", 8),
        ("Int", 4),
        ("Byte", 1),
        ("Char", 1),
    ];
    SIZES.iter().find(|(name, _)| *name == dtype).map_or(2, |(_, bytes)| *bytes)
}

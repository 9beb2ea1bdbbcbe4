//! Kernels: how long each takes on this machine, and the ops that launch it.

use super::{Compiler, NS_PER_US};
use crate::program::{Frame, FrameKind, Instr, Kernel};
use crate::random::Spread;
use crate::scenario::Launch;

/// Calls that frameworks make around every launch.
const NOISE: [&str; 4] =
    ["hipGetDevice", "hipStreamIsCapturing", "hipGetLastError", "hipDevicePrimaryCtxGetState"];

impl<'a> Compiler<'a> {
    pub(super) fn kernels(&mut self) {
        for (number, (id, spec)) in self.scenario.kernels.iter().enumerate() {
            let mark = self.mark(spec.truth.as_ref().map(|t| t.get_ref().as_str()));
            let gone = self.removed(mark);
            let counter = |name: &String| self.program.counters.binary_search(name).unwrap_or(0) as u32;
            let communicates = spec.name.contains("nccl") || spec.name.contains("rccl");
            let machine = &self.scenario.machine;
            let clocked = !spec.memory_bound && !communicates;
            let lost_to_clock = if clocked { 1.0 - machine.clock_share() } else { 0.0 };
            let groups = spec.grid.iter().map(|&along| f64::from(along)).product::<f64>();
            let rounds = groups / f64::from(machine.compute_units.max(1));
            let lost_to_rounds = if spec.whole_rounds { 1.0 - rounds / rounds.ceil().max(1.0) } else { 0.0 };
            let longer = 1.0 / ((1.0 - lost_to_clock) * (1.0 - lost_to_rounds));
            let kernel = Kernel {
                id: id.clone(),
                name: spec.name.clone(),
                mean_ns: spec.mean_us * NS_PER_US * longer,
                spread: Spread::of_cv(spec.cv),
                grid: spec.grid,
                workgroup: spec.workgroup,
                vgpr: spec.vgpr,
                agpr: spec.agpr,
                sgpr: spec.sgpr,
                lds: spec.lds,
                scratch: spec.scratch,
                counters: spec.counters.iter().map(|(name, value)| (counter(name), *value)).collect(),
                first_call_factor: spec.first_call_factor.filter(|_| !gone),
                outliers: spec
                    .outlier_every
                    .zip(spec.outlier_factor)
                    .map(|(every, factor)| (u64::from(every), factor))
                    .filter(|_| !gone),
                mark,
                communicates,
                clocked,
                expert: spec.expert,
                lost_to_clock,
                lost_to_rounds,
            };
            self.program.kernels.push(kernel);
            self.kernel_ids.insert(id, number as u32);
        }
    }

    pub(super) fn launch(&mut self, launch: &'a Launch) {
        let machine = &self.scenario.machine;
        let mark = self.truth(&launch.truth);
        if self.removed(mark) {
            return;
        }
        let kernel = self.kernel_ids[launch.kernel.get_ref().as_str()];
        let stream = self.stream(launch.gpu, launch.stream);
        let api = self.api(
            launch
                .api
                .as_deref()
                .unwrap_or_else(|| launch_api(&self.scenario.kernels[launch.kernel.get_ref()].name)),
        );
        for _ in 0..launch.times {
            let mut depth = 0;
            if let Some(module) = &launch.module {
                self.enter_module(module);
                depth += 1;
            }
            for frame in &launch.frames {
                self.enter(FrameKind::Python, frame, 0.4);
                depth += 1;
            }
            let frames = machine.frames_per_op;
            if frames > 0 {
                let ns = f64::from(frames) * machine.frame_us * NS_PER_US;
                self.out.push(Instr::Chatter { frames, ns });
            }
            if let Some(op) = &launch.op {
                let frame = self.op(op, launch);
                self.out.push(Instr::Enter { frame, ns: 0.5 * NS_PER_US });
                depth += 1;
            }
            if launch.host_us > 0.0 {
                self.out.push(Instr::Busy { ns: launch.host_us * NS_PER_US });
            }
            self.ops += 1;
            let noise = self.api(NOISE[self.ops as usize % NOISE.len()]);
            self.out.push(Instr::Call { api: noise, ns: machine.call_us * NS_PER_US, mark: 0 });
            self.out.push(Instr::Launch { kernel, stream, api, ns: machine.launch_us * NS_PER_US, mark });
            self.kernels_in_step += 1;
            self.leave(depth);
        }
    }

    /// The op of a launch, with what is recorded about its inputs.
    fn op(&mut self, name: &str, launch: &Launch) -> u32 {
        let inputs =
            launch.dims.as_deref().and_then(|dims| serde_json::from_str::<Vec<serde_json::Value>>(dims).ok());
        let types = launch.dtype.as_deref().zip(inputs).map(|(dtype, inputs)| {
            let types: Vec<String> = inputs.iter().map(|_| format!("\"{dtype}\"")).collect();
            format!("[{}]", types.join(", "))
        });
        self.frame(Frame { dims: launch.dims.clone(), types, ..Frame::plain(FrameKind::Op, name) })
    }
}

/// The call with which libraries launch such a kernel.
fn launch_api(kernel: &str) -> &'static str {
    const BY_NAME: [(&str, &str); 4] = [
        ("Cijk_", "hipExtModuleLaunchKernel"),
        ("nccl", "hipExtLaunchKernel"),
        ("triton_", "hipModuleLaunchKernel"),
        ("_ZN7ck_tile", "hipLaunchKernel"),
    ];
    BY_NAME.iter().find(|(prefix, _)| kernel.starts_with(prefix)).map_or("hipLaunchKernel", |(_, api)| api)
}

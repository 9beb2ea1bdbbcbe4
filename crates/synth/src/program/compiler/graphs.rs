//! Graphs: replayed with one launch, run eagerly, or captured once as a server does when it starts.

use super::{Compiler, NS_PER_US};
use crate::program::{FrameKind, GraphMode, Instr, Node, Step};
use crate::scenario::{Action, Repeat, Scenario};

impl<'a> Compiler<'a> {
    pub(super) fn graph(&mut self, graph: &'a Repeat) {
        let machine = &self.scenario.machine;
        let stream = self.stream(graph.gpu, graph.stream);
        match self.mode {
            GraphMode::Off => {
                for _ in 0..graph.times {
                    self.sequence(graph.sequence.get_ref());
                }
            }
            GraphMode::Capture => {
                let name =
                    graph.capture.clone().unwrap_or_else(|| format!("capture_{}", graph.sequence.get_ref()));
                self.enter(FrameKind::Annotation, &name, 0.2);
                let api = self.api("hipStreamBeginCapture");
                self.out.push(Instr::BeginCapture { api, ns: machine.call_us * 4.0 * NS_PER_US });
                for _ in 0..graph.times {
                    self.sequence(graph.sequence.get_ref());
                }
                let api = self.api("hipStreamEndCapture");
                self.out.push(Instr::EndCapture { api, ns: machine.call_us * 8.0 * NS_PER_US });
                let api = self.api("hipGraphInstantiateWithFlags");
                self.out.push(Instr::Call { api, ns: 500.0 * NS_PER_US, mark: 0 });
                self.leave(1);
            }
            GraphMode::On => {
                let key = (graph.sequence.get_ref().clone(), graph.times);
                let before = self.kernels_in_step;
                let number = match self.graphs.get(&key) {
                    Some(known) => *known,
                    None => {
                        // A graph is what its sequence enqueues: compile it aside and keep the GPU's part.
                        let outer = std::mem::take(&mut self.out);
                        let modules = self.modules.clone();
                        for _ in 0..graph.times {
                            self.sequence(graph.sequence.get_ref());
                        }
                        self.modules = modules;
                        let nodes =
                            std::mem::replace(&mut self.out, outer).into_iter().filter_map(node).collect();
                        self.program.graphs.push(nodes);
                        let number = self.program.graphs.len() as u32 - 1;
                        self.graphs.insert(key, number);
                        number
                    }
                };
                let kernels = self.program.graphs[number as usize].iter().filter(|n| n.is_kernel()).count();
                self.kernels_in_step = before + kernels as u64;
                self.enter(FrameKind::Python, "torch/cuda/graphs.py(135): replay", 0.4);
                let api = self.api("hipGraphLaunch");
                let ns = machine.graph_launch_us * NS_PER_US;
                self.out.push(Instr::GraphLaunch { graph: number, stream, api, ns });
                self.leave(1);
            }
        }
    }

    /// One step that captures every graph once, as a server does when it starts.
    pub(super) fn captures(&mut self) {
        let mut graphs = Vec::new();
        for step in &self.scenario.pattern {
            find_graphs(self.scenario, &step.program, &mut graphs);
        }
        let frame = "sglang/srt/model_executor/cuda_graph_runner.py(512): capture";
        self.enter(FrameKind::Python, frame, 0.4);
        for graph in graphs {
            self.modules.clear();
            self.graph(graph);
        }
        self.leave(1);
        let threads = vec![std::mem::take(&mut self.out)];
        self.program.steps.push(Step {
            stages: vec![threads],
            kernels: 0,
            compute_ns: vec![0.0],
            stage: None,
        });
        self.program.events = self.events.numbers.len();
        self.program.slots = self.slots.numbers.len();
    }
}

impl Node {
    fn is_kernel(&self) -> bool {
        matches!(self, Node::Kernel { .. } | Node::Collective { .. })
    }
}

/// Every distinct graph that a program launches.
fn find_graphs<'a>(scenario: &'a Scenario, program: &'a [Action], found: &mut Vec<&'a Repeat>) {
    for action in program {
        match action {
            Action::Graph(graph) => {
                let same =
                    |g: &&Repeat| g.sequence.get_ref() == graph.sequence.get_ref() && g.times == graph.times;
                if !found.iter().any(same) {
                    found.push(graph);
                }
            }
            Action::Annotate(annotate) => find_graphs(scenario, &annotate.program, found),
            Action::Repeat(repeat) => {
                find_graphs(scenario, &scenario.sequences[repeat.sequence.get_ref()].program, found);
            }
            Action::Pipeline(spec) => {
                for name in [&spec.forward, &spec.backward] {
                    find_graphs(scenario, &scenario.sequences[name.get_ref()].program, found);
                }
            }
            _ => {}
        }
    }
}

fn node(instr: Instr) -> Option<Node> {
    Some(match instr {
        Instr::Launch { kernel, stream, mark, .. } => Node::Kernel { kernel, stream, mark },
        Instr::Copy { copy, stream, mark, .. } => Node::Copy { copy, stream, mark },
        Instr::Record { event, stream, .. } => Node::Record { event, stream },
        Instr::Wait { event, stream, .. } => Node::Wait { event, stream },
        Instr::Collective { collective, stream, mark, .. } => Node::Collective { collective, stream, mark },
        _ => return None,
    })
}

//! Builds traces from the samples of the catalogue.

#![allow(dead_code, reason = "every test file uses another part")]

use std::collections::BTreeMap;

use model::Run;
use model::classify::Classifier;
use rocm_perf_analysis::{Fuse, FusionCatalogue, fuse_with};
use serde::Deserialize;
use trace::{
    Graph, Kernel, Metadata, Process, ProcessId, Region, Source, SourceId, StreamId, Thread, ThreadId, Trace,
};

/// The catalogue as text.
pub const CATALOGUE: &str = include_str!("../../rules/fusions.toml");

/// A kernel of the catalogue's examples.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Sample {
    pub kernel: String,
    #[serde(default)]
    pub op: String,
    #[serde(default)]
    pub module: String,
}

/// Main work that is part of no fusion.
pub fn separator() -> Sample {
    Sample { kernel: "igemm_fwd_gtcx2_nhwc_bf16_bx0_ex1_bt32x2".into(), ..Sample::default() }
}

/// The samples by name.
pub fn samples() -> BTreeMap<String, Sample> {
    let table: toml::Table = toml::from_str(CATALOGUE).unwrap();
    table["sample"].clone().try_into().unwrap()
}

/// A torch-like trace, built kernel by kernel: with frames, module, op and launch around each.
pub struct Maker {
    pub trace: Trace,
    frame: String,
    host: i64,
    correlation: i64,
}

impl Maker {
    /// A trace of a program in that framework; of no framework if empty.
    pub fn new(framework: &str) -> Self {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named("run.json", "torch"));
        let process = trace.add_process(Process::new(source, 1));
        trace.add_thread(Thread { process, tid: 1, ..Thread::default() });
        let frame = match framework {
            "sglang" => "python/sglang/srt/models/model.py(10): forward",
            "vllm" => "vllm/model_executor/models/model.py(10): forward",
            "" => "main.py(10): main",
            _ => "transformers/models/model/modeling_model.py(10): forward",
        };
        Self { trace, frame: frame.into(), host: 0, correlation: 0 }
    }

    /// Sets the GPUs to NVIDIA's.
    pub fn cuda(&mut self) {
        let key = self.trace.strings.intern("cuda_runtime_version");
        let value = self.trace.strings.intern("12080");
        self.trace.metadata.push(Metadata { source: SourceId(0), key, value });
    }

    /// Sets the number of ranks.
    pub fn ranks(&mut self, count: u32) {
        let key = self.trace.strings.intern("distributedInfo");
        let value = self.trace.strings.intern(&format!(r#"{{"world_size": {count}}}"#));
        self.trace.metadata.push(Metadata { source: SourceId(0), key, value });
    }

    /// A host annotation.
    pub fn annotation(&mut self, name: &str, start: i64, end: i64) {
        self.region("user_annotation", name, start, end, 0);
    }

    fn region(&mut self, category: &str, name: &str, start: i64, end: i64, correlation: i64) {
        let (name, category) = (self.trace.strings.intern(name), self.trace.strings.intern(category));
        let (process, thread) = (ProcessId(0), ThreadId(0));
        self.trace.regions.push(Region {
            name,
            category,
            start,
            end,
            process,
            thread,
            correlation,
            ..Region::default()
        });
    }

    /// A kernel on a stream; its host side comes before all GPU work.
    pub fn kernel(&mut self, sample: &Sample, stream: u32, start: i64, end: i64) {
        let at = self.host;
        self.host += 100;
        self.correlation += 1;
        let frame = self.frame.clone();
        self.region("python_function", &frame, at, at + 90, 0);
        if !sample.module.is_empty() {
            let module = format!("nn.Module: {}_0", sample.module);
            self.region("python_function", &module, at + 10, at + 80, 0);
        }
        if !sample.op.is_empty() {
            self.region("cpu_op", &sample.op, at + 20, at + 70, 0);
        }
        self.region("cuda_runtime", "hipLaunchKernel", at + 30, at + 40, self.correlation);
        let name = self.trace.strings.intern(&sample.kernel);
        let (process, stream, correlation) = (ProcessId(0), StreamId(stream), self.correlation);
        let graph = Graph::Direct;
        self.trace.kernels.push(Kernel {
            name,
            start,
            end,
            process,
            stream,
            correlation,
            graph,
            ..Kernel::default()
        });
    }

    /// What can be fused in the trace, whatever its share.
    pub fn fuse(self) -> (Trace, Fuse) {
        self.fuse_with(FusionCatalogue::built_in())
    }

    /// What can be fused according to another catalogue.
    pub fn fuse_with(mut self, catalogue: &FusionCatalogue) -> (Trace, Fuse) {
        self.trace.finish();
        let context = Run::new(&self.trace, None, &Classifier::builtin(), 0.0).unwrap();
        let found = fuse_with(&context, catalogue);
        drop(context);
        (self.trace, found)
    }
}

/// The ids of the rows, in order.
pub fn ids(fuse: &Fuse) -> Vec<String> {
    let column = fuse.table().column("pattern_id").unwrap();
    fuse.table().rows.iter().map(|row| text(&row[column])).collect()
}

/// A text cell.
pub fn text(value: &report::Value) -> String {
    match value {
        report::Value::Text(text) => text.clone(),
        other => panic!("{other:?} is no text"),
    }
}

/// A number of a row.
pub fn number(fuse: &Fuse, row: usize, key: &str) -> f64 {
    fuse.table().rows[row][fuse.table().column(key).unwrap()].number().unwrap()
}

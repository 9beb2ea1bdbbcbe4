//! The classes of a trace's names, each decided once.

use trace::{CopyKind, Map, RowRef, StrId, Table, Trace};

use super::evidence::{Evidence, Open};
use super::{Class, Classifier, Platform, RowKind};
use crate::attribution::{Attribution, SiteId};

/// Metadata keys and calls that only traces of CUDA GPUs have.
const CUDA_KEYS: &[&str] = &["cuda_runtime_version", "cuda_driver_version", "cupti_version"];
const CUDA_CALLS: &[&str] = &["cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cudaMemcpyAsync"];

impl Platform {
    /// Whose GPUs a trace is of, from what its sources say.
    pub fn of(trace: &Trace) -> Self {
        let cuda_key = trace.metadata.iter().any(|fact| CUDA_KEYS.contains(&trace.strings.get(fact.key)));
        let nvidia = trace.agents.iter().any(|agent| trace.strings.get(agent.product).starts_with("NVIDIA"));
        let cuda_call = CUDA_CALLS.iter().any(|call| trace.strings.find(call).is_some());
        if cuda_key || nvidia || cuda_call { Platform::Cuda } else { Platform::Rocm }
    }
}

const UNDECIDED: u32 = u32::MAX;

/// The class of every name of GPU work in a trace.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    classes: Vec<Class>,
    /// What a site may still say, by class.
    open: Vec<Open>,
    /// By row of `kernels`, where sites say more than names; empty where none does.
    of_kernel: Vec<u32>,
    /// By kind of row, then by string id.
    of_name: [Vec<u32>; 3],
}

impl Classes {
    /// Classifies every distinct name of kernels, copies and fills.
    pub fn of(trace: &Trace, classifier: &Classifier) -> Self {
        let classifier = classifier.clone().on(Platform::of(trace));
        let mut classes = Self::default();
        for &name in &trace.kernels.name {
            classes.add(trace, &classifier, name, RowKind::Kernel);
        }
        let copies = &trace.memory_copies;
        for (&name, &kind) in copies.name.iter().zip(&copies.kind) {
            classes.add(trace, &classifier, name, kind.into());
        }
        classes
    }

    fn add(&mut self, trace: &Trace, classifier: &Classifier, name: StrId, kind: RowKind) {
        let of_name = &mut self.of_name[kind as usize];
        let place = name.0 as usize;
        if place >= of_name.len() {
            of_name.resize(place + 1, UNDECIDED);
        }
        if of_name[place] == UNDECIDED {
            of_name[place] = self.classes.len() as u32;
            let text = trace.strings.get(name);
            let class = classifier.classify(text, kind);
            self.open.push(classifier.open(text, kind, &class));
            self.classes.push(class);
        }
    }

    /// Asks op, frames and module of every launch whose kernel has a name that does not say enough.
    pub fn refine(&mut self, trace: &Trace, attribution: &Attribution) {
        if self.open.iter().all(|&open| open == Open::Nothing) {
            return;
        }
        let by_name = self.classes.len() as u32;
        let mut at_site: Map<(StrId, SiteId), u32> = Map::default();
        let mut of_kernel = Vec::with_capacity(trace.kernels.len());
        for (row, &name) in trace.kernels.name.iter().enumerate() {
            let number = self.of_name[RowKind::Kernel as usize][name.0 as usize];
            let open = self.open[number as usize];
            if open == Open::Nothing {
                of_kernel.push(number);
                continue;
            }
            let row = RowRef::kernel(row);
            let decided = *at_site.entry((name, attribution.site_of(row))).or_insert_with(|| {
                let class = &self.classes[number as usize];
                match Evidence::built_in().refine(class, open, attribution, attribution.site(row)) {
                    Some(class) => {
                        self.classes.push(class);
                        self.open.push(Open::Nothing);
                        self.classes.len() as u32 - 1
                    }
                    None => number,
                }
            });
            of_kernel.push(decided);
        }
        if of_kernel.iter().any(|&number| number >= by_name) {
            self.of_kernel = of_kernel;
        }
    }

    /// The class of a name on rows of that kind, when the trace has such rows.
    pub fn get(&self, name: StrId, kind: RowKind) -> Option<&Class> {
        let number = *self.of_name[kind as usize].get(name.0 as usize)?;
        self.classes.get(number as usize)
    }

    /// The class of a row of `kernels` or `memory_copies`: by its name and, after [`Classes::refine`], by its site.
    pub fn of_row(&self, trace: &Trace, row: RowRef) -> Option<&Class> {
        match row.get()? {
            (Table::Kernels, row) if !self.of_kernel.is_empty() => {
                self.classes.get(*self.of_kernel.get(row)? as usize)
            }
            (Table::Kernels, row) => self.get(*trace.kernels.name.get(row)?, RowKind::Kernel),
            (Table::MemoryCopies, row) => {
                let copies = &trace.memory_copies;
                self.get(*copies.name.get(row)?, (*copies.kind.get(row)?).into())
            }
            _ => None,
        }
    }
}

impl From<CopyKind> for RowKind {
    fn from(kind: CopyKind) -> Self {
        match kind {
            CopyKind::Copy => RowKind::Copy,
            CopyKind::Fill => RowKind::Fill,
        }
    }
}

//! The classes of a trace's names, each decided once.

use rayon::prelude::*;
use trace::{CopyKind, Map, RowRef, StrId, Table, Trace};

use super::evidence::{Evidence, Open};
use super::{Class, Classifier, Platform, RowKind};
use crate::attribution::{Attribution, SiteId};

/// Metadata keys and calls that only traces of CUDA GPUs have.
const CUDA_KEYS: &[&str] = &["cuda_runtime_version", "cuda_driver_version", "cupti_version"];
const CUDA_CALLS: &[&str] = &["cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cudaMemcpyAsync"];

impl Platform {
    /// Which vendor's GPUs a trace comes from, as its sources show.
    pub fn of(trace: &Trace) -> Self {
        let cuda_key = trace.metadata.iter().any(|fact| CUDA_KEYS.contains(&trace.strings.get(fact.key)));
        let nvidia = trace.agents.iter().any(|agent| trace.strings.get(agent.product).starts_with("NVIDIA"));
        let cuda_call = CUDA_CALLS.iter().any(|call| trace.strings.find(call).is_some());
        if cuda_key || nvidia || cuda_call { Platform::Cuda } else { Platform::Rocm }
    }
}

const UNDECIDED: u32 = u32::MAX;

/// Names that one thread classifies: the pattern caches warmed by some speed up the next.
const NAMES_AT_ONCE: usize = 64;

/// The class of every name of GPU work in a trace.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    classes: Vec<Class>,
    /// The name and kind of row of each class.
    named: Vec<(StrId, RowKind)>,
    classifier: Option<Classifier>,
    /// By row of `kernels`, for rows whose site decides more than the name; empty if there are none.
    of_kernel: Vec<u32>,
    /// By kind of row, then by string id.
    of_name: [Vec<u32>; 3],
}

/// What the names of a trace leave undecided.
#[derive(Debug, Default)]
pub struct Questions {
    /// By class.
    open: Vec<Open>,
}

impl Classes {
    /// Classifies every distinct name of kernels, copies and fills.
    pub fn of(trace: &Trace, classifier: &Classifier) -> Self {
        let classifier = classifier.clone().on(Platform::of(trace));
        let mut classes = Self::default();
        for &name in &trace.kernels.name {
            classes.add(name, RowKind::Kernel);
        }
        let copies = &trace.memory_copies;
        for (&name, &kind) in copies.name.iter().zip(&copies.kind) {
            classes.add(name, kind.into());
        }
        let named = classes.named.par_iter().with_min_len(NAMES_AT_ONCE);
        let class = |&(name, kind): &(StrId, RowKind)| classifier.classify(trace.strings.get(name), kind);
        classes.classes = named.map(class).collect();
        classes.classifier = Some(classifier);
        classes
    }

    fn add(&mut self, name: StrId, kind: RowKind) {
        let of_name = &mut self.of_name[kind as usize];
        let place = name.0 as usize;
        if place >= of_name.len() {
            of_name.resize(place + 1, UNDECIDED);
        }
        if of_name[place] == UNDECIDED {
            of_name[place] = self.named.len() as u32;
            self.named.push((name, kind));
        }
    }

    /// What sites can still decide about the names.
    pub fn questions(&self, trace: &Trace) -> Questions {
        let Some(classifier) = &self.classifier else { return Questions::default() };
        let open = |(class, &(name, kind)): (&Class, &(StrId, RowKind))| {
            classifier.open(trace.strings.get(name), kind, class)
        };
        let classes = self.classes.par_iter().with_min_len(NAMES_AT_ONCE);
        Questions { open: classes.zip(&self.named).map(open).collect() }
    }

    /// Uses op, frames and module of every launch whose kernel name does not decide enough.
    pub fn refine(&mut self, trace: &Trace, attribution: &Attribution, Questions { open }: &Questions) {
        if open.iter().all(|&open| open == Open::Nothing) {
            return;
        }
        let by_name = self.classes.len() as u32;
        let mut at_site: Map<(StrId, SiteId), u32> = Map::default();
        let mut of_kernel = Vec::with_capacity(trace.kernels.len());
        for (row, &name) in trace.kernels.name.iter().enumerate() {
            let number = self.of_name[RowKind::Kernel as usize][name.0 as usize];
            let open = open[number as usize];
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
                        self.named.push((name, RowKind::Kernel));
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

    /// The class of a name on rows of that kind, if the trace has such rows.
    pub fn get(&self, name: StrId, kind: RowKind) -> Option<&Class> {
        let number = *self.of_name[kind as usize].get(name.0 as usize)?;
        self.classes.get(number as usize)
    }

    /// The class of a row of `kernels` or `memory_copies`: by its name and, after [`Classes::refine`], by its site.
    pub fn of_row(&self, trace: &Trace, row: RowRef) -> Option<&Class> {
        self.classes.get(self.number(trace, row)?)
    }

    /// Number of classes; a name has one of its own, or one for each kind of site.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Whether there is no GPU work.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// The number of a row's class.
    pub fn number(&self, trace: &Trace, row: RowRef) -> Option<usize> {
        let by_name = |name: StrId, kind: RowKind| self.of_name[kind as usize].get(name.0 as usize);
        let number = match row.get()? {
            (Table::Kernels, row) if !self.of_kernel.is_empty() => self.of_kernel.get(row)?,
            (Table::Kernels, row) => by_name(*trace.kernels.name.get(row)?, RowKind::Kernel)?,
            (Table::MemoryCopies, row) => {
                let copies = &trace.memory_copies;
                by_name(*copies.name.get(row)?, (*copies.kind.get(row)?).into())?
            }
            _ => return None,
        };
        Some(*number as usize).filter(|&number| number < self.classes.len())
    }

    /// A class by its number, with its name and kind of row.
    pub fn numbered(&self, number: usize) -> (&Class, StrId, RowKind) {
        let (name, kind) = self.named[number];
        (&self.classes[number], name, kind)
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

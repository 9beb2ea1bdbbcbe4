//! Parts of a run that need its model: a module, a stage, the kernels that get faster at a higher clock.

use std::collections::BTreeSet;

use model::Run;
use model::attribution::module_class;
use model::stages::Stage;
use trace::{RowRef, StrId, Table};

use super::op::OpName;
use super::what_if::WhatIfError;

/// How traces name regions of an `nn.Module`.
const MODULE: &str = "nn.Module: ";

/// GPU work and host regions that belong together.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkSubset {
    /// Names of the regions whose host time belongs to it, sorted.
    pub names: Vec<StrId>,
    /// By row: whether a kernel belongs to it.
    pub kernels: Vec<bool>,
    /// By row: whether a copy belongs to it.
    pub copies: Vec<bool>,
}

impl WorkSubset {
    fn of_rows(run: &Run, wanted: impl Fn(RowRef) -> bool) -> Self {
        let trace = run.trace;
        let rows =
            |table: Table, count: usize| (0..count).map(|row| wanted(RowRef::new(table, row))).collect();
        Self {
            names: Vec::new(),
            kernels: rows(Table::Kernels, trace.kernels.len()),
            copies: rows(Table::MemoryCopies, trace.memory_copies.len()),
        }
    }

    fn is_empty(&self) -> bool {
        self.names.is_empty() && !self.kernels.contains(&true) && !self.copies.contains(&true)
    }

    /// The modules with this class or name, as regions and as the origin of replayed kernels.
    pub fn of_module(run: &Run, wanted: &OpName, shown: &str) -> Result<Self, WhatIfError> {
        let trace = run.trace;
        // All modules by their own name.
        let known: BTreeSet<&str> = trace
            .regions
            .name
            .iter()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .filter_map(|&name| trace.strings.get(name).strip_prefix(MODULE))
            .chain(run.attribution.sites.iter().map(|site| run.attribution.text(site.module)))
            .filter(|name| !name.is_empty())
            .collect();
        let is_meant =
            wanted.chooser(|holds| known.iter().any(|name| holds(name) || holds(module_class(name))));
        let meant: BTreeSet<&str> =
            known.iter().copied().filter(|name| is_meant(name) || is_meant(module_class(name))).collect();
        if meant.is_empty() {
            let classes: BTreeSet<&str> = known.iter().map(|name| module_class(name)).collect();
            let classes: Vec<&str> = classes.into_iter().collect();
            return Err(WhatIfError::no_module(shown, &classes));
        }
        let mut part =
            Self::of_rows(run, |row| meant.contains(run.attribution.text(run.attribution.site(row).module)));
        part.names = meant.iter().filter_map(|name| trace.strings.find(&format!("{MODULE}{name}"))).collect();
        part.names.sort_unstable();
        Ok(part)
    }

    /// An op: its regions, and its GPU work however launched.
    pub fn of_op(run: &Run, op: &str) -> Self {
        let known = run.attribution.strings.find(op);
        let mut part = Self::of_rows(run, |row| Some(run.attribution.site(row).cpu_op) == known);
        part.names.extend(run.trace.strings.find(op));
        part
    }

    /// A stage: its GPU work, and the annotations of its steps.
    pub fn of_stage(run: &Run, stage: Stage) -> Result<Self, WhatIfError> {
        let mut part = Self::of_rows(run, |row| stage.covers(run.stage(row)));
        let steps = run.stages.steps.iter().filter(|step| stage.covers(step.stage));
        part.names = steps.map(|step| step.name).collect();
        part.names.sort_unstable();
        part.names.dedup();
        if part.is_empty() {
            let stages = run.stages.present().into_iter().map(Stage::name);
            return Err(WhatIfError::Stage {
                name: stage.name().into(),
                stages: stages.collect::<Vec<_>>().join(", "),
            });
        }
        Ok(part)
    }

    /// Kernels that get faster at a higher clock, by row.
    pub fn of_clock(clocked: Vec<bool>) -> Result<Self, WhatIfError> {
        let part = Self { kernels: clocked, ..Self::default() };
        if part.is_empty() { Err(WhatIfError::Clock) } else { Ok(part) }
    }
}

//! How long the run would take if some of its work took longer or shorter, by propagation through the graph.

use regex::Regex;
use thiserror::Error;
use trace::{Map, StrId, Trace};

use super::build::Run;
use super::graph::Dependency;
use super::op::{self, OpName};
use super::part::WorkSubset;
use super::scenario::{Engine, Scenario};
use super::walk::Bound;
use crate::filters::kernel_pattern;
use model::classify::{Category, Classes, RowKind};
use model::names;
use model::stages::Stage;

/// Work and a factor for its time: `gemm=0.5`.
#[derive(Clone, Debug)]
pub struct WhatIf {
    /// As the user wrote it, without the factor.
    pub name: String,
    /// The factor for its time; for `clock`, the factor for the clock.
    pub factor: f64,
    target: Target,
    /// The module, stage or clock as a subset of the run, once it was looked up.
    part: Option<WorkSubset>,
}

#[derive(Clone, Debug)]
enum Target {
    Bound(Bound),
    Category(Category),
    /// A case-insensitive part of a name; if no name contains it, the text is used as a regular expression.
    Name {
        part: Regex,
        pattern: Option<Regex>,
    },
    /// A pattern between slashes.
    Pattern(Regex),
    /// Waits of one stream for events of another.
    EventWaits,
    /// The change that a finding would make, by its key.
    Finding(String),
    /// Ops with all their work.
    Op(OpName),
    /// Modules with all their work.
    Module(OpName),
    /// A stage with all its work.
    Stage(Stage),
    /// Kernels that get faster at a higher clock.
    Clock,
}

/// A question that cannot be answered.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum WhatIfError {
    /// No `=`.
    #[error("`{0}` is not NAME=FACTOR")]
    Shape(String),
    /// No usable factor.
    #[error("`{0}` has no factor of at least 0 behind the `=`")]
    Factor(String),
    /// Not a regular expression.
    #[error("`{text}` is not a regular expression: {why}")]
    Pattern {
        /// The name.
        text: String,
        /// The parser's message.
        why: String,
    },
    /// No kernel, copy or kind of time with this name.
    #[error("no kernel, copy or kind of time is called `{0}`")]
    Unmatched(String),
    /// No op with this name.
    #[error("no op, annotation or range of the host is called `{name}`{close}")]
    Op {
        /// The name.
        name: String,
        /// Similar names.
        close: String,
    },
    /// No module with this name.
    #[error("no `nn.Module` of the run is called `{name}`{close}")]
    Module {
        /// The name.
        name: String,
        /// Similar names, or that there are no modules.
        close: String,
    },
    /// No such stage.
    #[error("the run has no stage `{name}`; it has {stages}")]
    Stage {
        /// The name.
        name: String,
        /// The stages of the run.
        stages: String,
    },
    /// No kernel is known to get faster at a higher clock.
    #[error("no kernel of the run is known to be faster at a higher clock")]
    Clock,
    /// No such finding.
    #[error("no finding of this run has the key `{0}`, or what it would change cannot be propagated")]
    Finding(String),
}

impl WhatIfError {
    /// The error for an unknown op, with similar names.
    pub(super) fn no_op(name: &str, close: &[String]) -> Self {
        let close = match close {
            [] => String::new(),
            close => format!("; close to it: `{}`", close.join("`, `")),
        };
        Self::Op { name: name.into(), close }
    }

    /// The error for an unknown module, with similar names.
    pub(super) fn no_module(shown: &str, classes: &[&str]) -> Self {
        let name = shown.trim_start_matches("module:");
        let close = match (expr::names::nearest(name, classes, 3), classes) {
            (_, []) => ": none was recorded".into(),
            (close, _) if close.is_empty() => {
                format!("; there are `{}`", classes.iter().take(8).copied().collect::<Vec<_>>().join("`, `"))
            }
            (close, _) => format!("; close to it: `{}`", close.join("`, `")),
        };
        Self::Module { name: name.into(), close }
    }
}

impl std::str::FromStr for WhatIf {
    type Err = WhatIfError;

    fn from_str(text: &str) -> Result<Self, WhatIfError> {
        let (name, factor) = text.rsplit_once('=').ok_or_else(|| WhatIfError::Shape(text.into()))?;
        let (name, factor) = (name.trim(), factor.trim());
        if name.is_empty() {
            return Err(WhatIfError::Shape(text.into()));
        }
        let factor = factor.parse::<f64>().ok().filter(|factor| factor.is_finite() && *factor >= 0.0);
        let factor = factor.ok_or_else(|| WhatIfError::Factor(text.into()))?;
        let pattern = |text: &str| {
            let wrong = |why| WhatIfError::Pattern { text: text.into(), why };
            if let Some(inner) = text.strip_prefix('/').and_then(|text| text.strip_suffix('/')) {
                return kernel_pattern(inner).map(Target::Pattern).map_err(wrong);
            }
            let part = kernel_pattern(&format!("(?i){}", regex::escape(text))).map_err(wrong)?;
            Ok(Target::Name { part, pattern: kernel_pattern(text).ok() })
        };
        let of = |target| Ok(Self { name: name.to_string(), factor, target, part: None });
        let named = |called: &str| match pattern(called)? {
            Target::Name { part, pattern } if !called.is_empty() => {
                Ok(OpName::Text { text: called.into(), part, pattern })
            }
            Target::Pattern(pattern) => Ok(OpName::Pattern(pattern)),
            _ => Err(WhatIfError::Shape(text.into())),
        };
        match name.split_once(':') {
            Some(("finding", key)) => return of(Target::Finding(key.to_string())),
            Some(("op", op)) if !op.starts_with(':') => return of(Target::Op(named(op)?)),
            Some(("module", module)) if !module.starts_with(':') => {
                return of(Target::Module(named(module)?));
            }
            Some(("stage", stage)) if !stage.starts_with(':') => {
                let stages = || Stage::ALL.map(Stage::name).join(", ");
                let found = Stage::from_name(stage);
                let found =
                    found.ok_or_else(|| WhatIfError::Stage { name: stage.into(), stages: stages() })?;
                return of(Target::Stage(found));
            }
            _ => {}
        }
        match name {
            "wait" => return of(Target::EventWaits),
            "clock" if factor > 0.0 => return of(Target::Clock),
            "clock" => return Err(WhatIfError::Factor(text.into())),
            _ => {}
        }
        let bound = Bound::ALL.into_iter().find(|bound| bound.name() == name && *bound != Bound::NotRecorded);
        let target = match (name.strip_prefix("kernel:"), bound, Category::parse(name)) {
            (Some(name), _, _) => pattern(name)?,
            (None, Some(bound), _) => Target::Bound(bound),
            (None, None, Some(category)) => Target::Category(category),
            (None, None, None) => pattern(name)?,
        };
        of(target)
    }
}

impl WhatIf {
    /// Whether it asks about a finding.
    pub fn is_about_a_finding(&self) -> bool {
        matches!(self.target, Target::Finding(_))
    }

    /// Whether it is about modules, which needs Python frames.
    pub fn is_about_a_module(&self) -> bool {
        matches!(self.target, Target::Module(_))
    }

    /// Whether it is about the clock, which needs shapes or counters to see which kernels depend on it.
    pub fn is_about_the_clock(&self) -> bool {
        matches!(self.target, Target::Clock)
    }

    /// Whether the trace alone answers it; other questions need the run's model.
    pub fn is_about_the_trace_alone(&self) -> bool {
        !matches!(self.target, Target::Finding(_) | Target::Module(_) | Target::Stage(_) | Target::Clock)
    }

    /// Finds the work of a module, a stage or the clock in a run; other questions do not need this. `clocked`
    /// tells which kernels get faster at a higher clock.
    pub fn look_up(
        &mut self,
        run: &model::Run,
        clocked: impl FnOnce(&model::Run) -> Vec<bool>,
    ) -> Result<(), WhatIfError> {
        self.part = match &self.target {
            Target::Module(module) => Some(WorkSubset::of_module(run, module, &self.name)?),
            Target::Stage(stage) => Some(WorkSubset::of_stage(run, *stage)?),
            Target::Clock => Some(WorkSubset::of_clock(clocked(run))?),
            _ => None,
        };
        Ok(())
    }

    /// Whether it changes more than the duration of work.
    pub(super) fn is_a_scenario(&self) -> bool {
        matches!(
            self.target,
            Target::Finding(_)
                | Target::EventWaits
                | Target::Op(_)
                | Target::Module(_)
                | Target::Stage(_)
                | Target::Clock
        )
    }

    /// What such a question saves; a factor between 0 and 1 leaves that share of the time.
    pub(super) fn saving(
        &self,
        engine: &Engine,
        findings: &[(String, Scenario)],
    ) -> Result<i64, WhatIfError> {
        let all = match &self.target {
            Target::Op(op) => return op::saving(engine, op, &self.name, self.factor),
            Target::Module(_) | Target::Stage(_) | Target::Clock => {
                let part = self.part.as_ref().ok_or_else(|| WhatIfError::Unmatched(self.name.clone()))?;
                let factor = if self.is_about_the_clock() { 1.0 / self.factor } else { self.factor };
                return Ok(op::saving_of_part(engine, part, factor));
            }
            Target::Finding(key) => {
                let found = findings.iter().find(|(other, _)| other == key);
                let (_, scenario) = found.ok_or_else(|| WhatIfError::Finding(key.clone()))?;
                engine.saving(scenario)
            }
            _ => {
                let waits = engine.event_waits();
                if waits.is_empty() {
                    return Err(WhatIfError::Unmatched(self.name.clone()));
                }
                let mut scenario = Scenario::default();
                waits.iter().for_each(|&(_, waiting)| scenario.without_event_wait(waiting));
                engine.saving(&scenario)
            }
        };
        Ok((all as f64 * (1.0 - self.factor.min(1.0))).round() as i64)
    }
}

/// The factors for the time of dependencies.
pub(super) struct Factors {
    /// By piece of work; empty if none is scaled.
    work: Vec<f64>,
    launch: f64,
    queueing: f64,
    host: f64,
    sync: f64,
}

impl Factors {
    pub fn none() -> Self {
        Self { work: Vec::new(), launch: 1.0, queueing: 1.0, host: 1.0, sync: 1.0 }
    }

    /// Adds a question; fails if it matches nothing in the run.
    pub fn add(
        &mut self,
        trace: &Trace,
        run: &Run,
        classes: &Classes,
        what_if: &WhatIf,
    ) -> Result<(), WhatIfError> {
        let factor = what_if.factor;
        match what_if.target {
            Target::Bound(Bound::Launch) => self.launch *= factor,
            Target::Bound(Bound::Queueing) => self.queueing *= factor,
            Target::Bound(Bound::Host) => self.host *= factor,
            Target::Bound(Bound::Sync) => self.sync *= factor,
            _ => return self.add_work(trace, run, classes, what_if),
        }
        Ok(())
    }

    fn add_work(
        &mut self,
        trace: &Trace,
        run: &Run,
        classes: &Classes,
        what_if: &WhatIf,
    ) -> Result<(), WhatIfError> {
        let works = &run.works;
        let mut decided: Map<(StrId, bool), bool> = Map::default();
        let mut any = false;
        let holds = |pattern: &Regex, name: StrId| {
            let text = trace.strings.get(name);
            pattern.is_match(text)
                || pattern.is_match(&names::demangle(text))
                || pattern.is_match(&names::display_name(text))
        };
        let name_pattern = match &what_if.target {
            Target::Pattern(pattern) => Some(pattern),
            Target::Name { part, pattern } => {
                let mut names: Vec<StrId> = works.name.clone();
                names.sort_unstable();
                names.dedup();
                let is_part = names.iter().any(|&name| holds(part, name));
                if is_part { Some(part) } else { pattern.as_ref() }
            }
            _ => None,
        };
        self.work.resize(works.len(), 1.0);
        for work in 0..works.len() {
            let (name, copy) = (works.name[work], works.is_copy_row[work]);
            let meant = match &what_if.target {
                Target::Bound(bound) => Bound::from(works.class[work]) == *bound,
                Target::Category(category) => *decided.entry((name, copy)).or_insert_with(|| {
                    !copy
                        && classes.get(name, RowKind::Kernel).is_some_and(|class| class.category == *category)
                }),
                _ => *decided
                    .entry((name, copy))
                    .or_insert_with(|| name_pattern.is_some_and(|pattern| holds(pattern, name))),
            };
            if meant {
                self.work[work] *= what_if.factor;
                any = true;
            }
        }
        if any { Ok(()) } else { Err(WhatIfError::Unmatched(what_if.name.clone())) }
    }

    /// The end of the run with these factors.
    pub fn end(&self, run: &Run, buffer: &mut Vec<i64>) -> i64 {
        let graph = &run.graph;
        let of_work = |point: usize| self.work.get(point / 2).copied().unwrap_or(1.0);
        graph.propagate_into(buffer, |edge, to| {
            // A wait for something unrecorded stays as long as it was.
            let beyond = run.not_recorded.of_edge(edge);
            let weight = graph.weight[edge] - beyond;
            let takes = match graph.kind[edge] {
                Dependency::Work | Dependency::Transfer => scaled(weight, of_work(to)),
                Dependency::Beside | Dependency::Along => scaled(weight, of_work(graph.from[edge] as usize)),
                Dependency::Launch if run.waits_in_its_call((to / 2) as u32) => scaled(weight, self.sync),
                Dependency::Launch => scaled(weight, self.launch),
                Dependency::Host => scaled(weight, self.host),
                Dependency::Stream | Dependency::Graph | Dependency::Nearest => scaled(weight, self.queueing),
                Dependency::Event
                | Dependency::Order
                | Dependency::DefaultStream
                | Dependency::Sync
                | Dependency::Return => scaled(weight, self.sync),
                Dependency::Arrival | Dependency::HandOff => weight,
            };
            takes + beyond
        });
        buffer.iter().copied().max().unwrap_or(0)
    }
}

/// A time multiplied by a factor.
pub(super) fn scaled(weight: i64, factor: f64) -> i64 {
    if factor == 1.0 { weight } else { (weight as f64 * factor).round() as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read() {
        let ask = |text: &str| text.parse::<WhatIf>();
        assert!(matches!(ask("copy=0").unwrap().target, Target::Bound(Bound::Copy)));
        assert!(matches!(ask("gemm=0.5").unwrap().target, Target::Category(Category::Gemm)));
        assert!(matches!(ask("kernel:copy=0.5").unwrap().target, Target::Name { .. }));
        let named = ask("Cijk_A=b = 2").unwrap();
        assert_eq!((named.name.as_str(), named.factor), ("Cijk_A=b", 2.0));
        assert_eq!(ask("gemm").unwrap_err(), WhatIfError::Shape("gemm".into()));
        assert_eq!(ask("=1").unwrap_err(), WhatIfError::Shape("=1".into()));
        for wrong in ["gemm=-1", "gemm=fast", "gemm=inf", "gemm="] {
            assert_eq!(ask(wrong).unwrap_err(), WhatIfError::Factor(wrong.into()));
        }
        // A name pasted from a table counts as a name, brackets and all.
        assert!(matches!(ask("a(b<int>[4]=1").unwrap().target, Target::Name { pattern: None, .. }));
        assert!(matches!(ask("/a(/=1").unwrap_err(), WhatIfError::Pattern { .. }));
        assert!(matches!(ask("op:aten::mm=0").unwrap().target, Target::Op(OpName::Text { .. })));
        assert!(matches!(ask("op:/aten::.*mm/=0.5").unwrap().target, Target::Op(OpName::Pattern(_))));
        assert_eq!(ask("op:=0").unwrap_err(), WhatIfError::Shape("op:=0".into()));
        assert!(matches!(ask("wait=0").unwrap().target, Target::EventWaits));
        assert!(matches!(ask("module:Linear=0.5").unwrap().target, Target::Module(_)));
        assert!(matches!(ask("stage:extend=0.5").unwrap().target, Target::Stage(Stage::Prefill)));
        assert!(matches!(ask("stage:warm=0.5").unwrap_err(), WhatIfError::Stage { .. }));
        assert!(ask("clock=1.1").unwrap().is_about_the_clock());
        assert_eq!(ask("clock=0").unwrap_err(), WhatIfError::Factor("clock=0".into()));
        assert!(ask("finding:idle-gpu:load_batch=0").unwrap().is_about_a_finding());
    }
}

//! The dispatches of a run as inputs of formulas: counters, launch shapes, durations and facts by name.

use std::borrow::Cow;

use trace::{Map, Trace};

use super::Rule;
use super::catalogue::{Catalogue, architecture};
use super::expression::{Absent, Bound, Inputs, Source, parse};
use super::options::NormalUnit;
use super::pivot::{Columns, pivot};
use crate::kernels::gpu::Specs;

/// The accumulation counter of a level pass; newer releases name it after the pass.
const ACCUMULATION: &str = "SQ_ACCUM_PREV_HIRES";

/// Some or all dispatches of a run.
pub struct Dispatches<'t> {
    trace: &'t Trace,
    /// Columns by pass and counter; the joined table has no pass name.
    columns: Map<&'t str, Columns<'t>>,
    /// Rows of `kernels`; `None` means all.
    rows: Option<Vec<u32>>,
    specs: Specs,
    rule: Rule,
    unit: NormalUnit,
    architecture: Option<usize>,
}

impl<'t> Dispatches<'t> {
    /// All dispatches of a trace.
    pub fn of(trace: &'t Trace, specs: Specs, rule: Rule, unit: NormalUnit) -> Self {
        let mut columns: Map<&str, Columns<'_>> = Map::default();
        columns.insert("", pivot(trace));
        for column in &trace.counter_columns.columns {
            let (pass, name) = (trace.strings.get(column.pass), trace.strings.get(column.counter));
            columns
                .entry(pass)
                .or_default()
                .insert(Cow::Borrowed(name), Cow::Borrowed(column.values.as_slice()));
        }
        let architecture = specs.text("gpu_arch").and_then(architecture);
        Self { trace, columns, rows: None, specs, rule, unit, architecture }
    }

    /// The same run limited to these rows of `kernels`.
    pub fn only(mut self, rows: Vec<u32>) -> Self {
        self.rows = (rows.len() < self.trace.kernels.len()).then_some(rows);
        self
    }

    /// Facts about the GPU.
    pub fn specs(&self) -> &Specs {
        &self.specs
    }

    /// How values of many dispatches are combined.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The unit that work is normalised by.
    pub fn unit(&self) -> NormalUnit {
        self.unit
    }

    /// The index of the GPU in the catalogue, if it is there.
    pub fn architecture(&self) -> Option<usize> {
        self.architecture
    }

    /// Whether any counter was collected.
    pub fn has_counters(&self) -> bool {
        self.columns.values().any(|of_pass| !of_pass.is_empty())
    }

    /// The chosen rows of `kernels`.
    pub fn kernels(&self) -> Cow<'_, [u32]> {
        match &self.rows {
            Some(rows) => Cow::Borrowed(rows),
            None => Cow::Owned((0..self.trace.kernels.len() as u32).collect()),
        }
    }

    /// Number of L2 channels of the GPU.
    pub fn channel_count(&self) -> u32 {
        self.specs.number("total_l2_chan").unwrap_or(0.0) as u32
    }

    /// Inputs for formulas of one pass: a level pass, or the joined table.
    pub fn pass<'i>(&'i self, level: Option<&'i str>) -> Pass<'i> {
        Pass { dispatches: self, level }
    }

    /// Duration of each chosen dispatch in nanoseconds.
    pub fn durations(&self) -> Vec<f64> {
        let duration = |row: u32| {
            let ns = duration_of(self.trace, row);
            // A zero duration is damaged data, and a rate over it is meaningless.
            if self.rule == Rule::RatioOfSums && ns <= 0.0 { f64::NAN } else { ns }
        };
        self.kernels().iter().map(|&row| duration(row)).collect()
    }

    /// The column of a counter, under either spelling if it has two.
    fn counter(&self, pass: &str, name: &str) -> Option<Cow<'_, [f64]>> {
        let of_pass = self.columns.get(pass)?;
        let column = |name: &str| of_pass.get(name).map(|values| self.chosen(values));
        // Counters stored as rows are summed under their plain name.
        let spelling = |name: &str| match self.rule {
            Rule::MeanOfRatios => column(name),
            Rule::RatioOfSums => column(name).or_else(|| column(name.strip_suffix("_sum")?)),
        };
        match (self.rule, name.strip_prefix("TCC_EA_"), name.strip_prefix("TCC_EA0_")) {
            // The vendor uses one spelling per architecture, and the other one literally.
            (Rule::MeanOfRatios, Some(rest), _) => match self.architecture {
                Some(1) => spelling(name),
                _ => spelling(&format!("TCC_EA0_{rest}")),
            },
            (Rule::RatioOfSums, Some(rest), _) => {
                spelling(name).or_else(|| spelling(&format!("TCC_EA0_{rest}")))
            }
            (Rule::RatioOfSums, _, Some(rest)) => {
                spelling(name).or_else(|| spelling(&format!("TCC_EA_{rest}")))
            }
            _ => spelling(name),
        }
    }

    fn chosen<'v>(&self, values: &'v [f64]) -> Cow<'v, [f64]> {
        match &self.rows {
            None => Cow::Borrowed(values),
            Some(rows) => rows.iter().map(|&row| values[row as usize]).collect(),
        }
    }

    fn launch(&self, name: &str) -> Option<Vec<f64>> {
        let kernels = &self.trace.kernels;
        let of_shape = |get: &dyn Fn(&trace::LaunchShape) -> Option<f64>| -> Vec<f64> {
            let shape = |&row: &u32| get(self.trace.shapes.get(kernels.shape[row as usize]));
            self.kernels().iter().map(|row| shape(row).unwrap_or(f64::NAN)).collect()
        };
        let items = |size: Option<[u32; 3]>| size.map(|[x, y, z]| f64::from(x) * f64::from(y) * f64::from(z));
        let number = |value: trace::OptI64| value.get().map(|value| value as f64);
        Some(match name {
            "Grid_Size" => of_shape(&|shape| items(shape.grid)),
            "Workgroup_Size" => of_shape(&|shape| items(shape.workgroup)),
            "LDS_Per_Workgroup" => of_shape(&|shape| number(shape.lds_bytes)),
            "Scratch_Per_Workitem" => of_shape(&|shape| number(shape.scratch_bytes)),
            "Arch_VGPR" => of_shape(&|shape| number(shape.vgpr)),
            "Accum_VGPR" => of_shape(&|shape| number(shape.agpr)),
            "SGPR" => of_shape(&|shape| number(shape.sgpr)),
            _ => return None,
        })
    }

    fn fact(&self, key: &str) -> Result<f64, Absent> {
        let value = self.specs.number(key);
        match (self.rule, value) {
            (Rule::MeanOfRatios, value) => Ok(value.unwrap_or(f64::NAN)),
            (_, None) => Err(Absent::Fact { name: key.into(), why: "not known" }),
            (_, Some(0.0)) => Err(Absent::Fact { name: key.into(), why: "0" }),
            (_, Some(value)) => Ok(value),
        }
    }

    /// The vendor's estimate of active CUs, which takes busy cycles modulo the number of wave slots.
    fn active_cus(&self) -> Result<f64, Absent> {
        let formula = parse("4 * SQ_BUSY_CU_CYCLES / GUI").map_err(|_| Absent::Undefined)?;
        let main = self.pass(None);
        let per_dispatch = Bound::of(&formula, &main, None)?.evaluate(main.rows());
        let waves = stats::columns::mean(&per_dispatch).unwrap_or(f64::NAN).round_ties_even();
        let most = self.fact("max_waves_per_cu")?;
        let cus = 8.0 * waves / most + waves.rem_euclid(most).min(8.0);
        Ok(cus.min(self.fact("cu_per_gpu")?).trunc())
    }
}

/// Duration of a kernel in nanoseconds, with the fraction that averaging over passes leaves.
pub(super) fn duration_of(trace: &Trace, row: u32) -> f64 {
    let row = row as usize;
    let whole = || (trace.kernels.end[row] - trace.kernels.start[row]) as f64;
    let known = trace.counter_columns.duration.get(row).copied();
    known.filter(|ns| !ns.is_nan()).unwrap_or_else(whole)
}

/// Dispatches as inputs for formulas of one pass.
pub struct Pass<'i> {
    dispatches: &'i Dispatches<'i>,
    level: Option<&'i str>,
}

impl<'i> Inputs<'i> for Pass<'i> {
    fn find(&self, name: &str, channel: Option<u32>) -> Result<Source<'i>, Absent> {
        let dispatches = self.dispatches;
        if let Some(channel) = channel {
            let name = format!("{name}[{channel}]");
            let column = dispatches.counter("", &name).map(Source::Column);
            return column.ok_or(Absent::Counter { name, pass: None });
        }
        let main = Pass { dispatches, level: None };
        match name {
            "D" => return Ok(Source::Column(dispatches.durations().into())),
            "N" => {
                return match dispatches.unit {
                    NormalUnit::PerKernel => Ok(Source::Scalar(1.0)),
                    NormalUnit::PerWave => self.find("SQ_WAVES", None),
                    NormalUnit::PerCycle => main.find("GUI", None),
                    NormalUnit::PerSecond => {
                        let seconds = dispatches.durations().iter().map(|ns| ns / 1e9).collect();
                        Ok(Source::Column(seconds))
                    }
                };
            }
            "ACTIVE_CUS" => return dispatches.active_cus().map(Source::Scalar),
            _ => {}
        }
        let names = &Catalogue::builtin().names;
        if let Some(fact) = names.facts.get(name) {
            return dispatches.fact(fact).map(Source::Scalar);
        }
        if let Some(formula) = names.formulas.get(name) {
            if self.level.is_none() {
                return Ok(Source::Formula(formula));
            }
            // Named quantities always come from the joined table.
            return Ok(match Bound::of(formula, &main, None)? {
                Bound::Scalar(number) => Source::Scalar(number),
                bound => Source::Column(bound.evaluate(self.rows()).into()),
            });
        }
        if let Some(values) = dispatches.launch(name) {
            return Ok(Source::Column(values.into()));
        }
        let Some(level) = self.level else {
            let column = dispatches.counter("", name).map(Source::Column);
            return column.ok_or_else(|| Absent::Counter { name: name.into(), pass: None });
        };
        let accumulated = format!("{level}_ACCUM");
        let named = if name == ACCUMULATION { &accumulated } else { name };
        let column = dispatches.counter(level, name).or_else(|| {
            let own_name = name != ACCUMULATION && dispatches.columns.contains_key(level);
            if own_name { None } else { dispatches.counter("", named) }
        });
        column
            .map(Source::Column)
            .ok_or_else(|| Absent::Counter { name: name.into(), pass: Some(level.into()) })
    }

    fn channels(&self) -> u32 {
        self.dispatches.channel_count()
    }

    fn rows(&self) -> usize {
        self.dispatches.rows.as_ref().map_or(self.dispatches.trace.kernels.len(), Vec::len)
    }
}

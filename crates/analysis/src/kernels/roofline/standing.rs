//! Where each dispatch of a run stands under the roofs: by the shapes of its op, or by counters of its kernel.

use std::collections::BTreeMap;

use hw::Level;
use hw::peaks::Peaks;
use model::Run;
use model::classify::Category;
use report::Note;
use trace::{Map, RowRef, StrId, Table};

use super::device;
use super::modelled::{Modelled, Without, modelled_by};
use super::place::{Bound, place};
use super::{RooflineOptions, formulas};
use crate::kernels::bottleneck::kernel_figures_where;

/// A dispatch beyond this share of its roof cannot have done the work: its op is not what ran.
const MOST_PCT: f64 = 105.0;

/// What is known of a dispatch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standing {
    /// The time its work takes at the nearest roof, as a fraction of its time.
    pub of_roof: f64,
    /// That roof.
    pub bound: Bound,
    /// Rows and columns of the result, if it is one matrix product.
    pub product: Option<[f64; 2]>,
}

/// Why a dispatch cannot be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Unplaced {
    /// The GPU's peaks are not known.
    UnknownGpu,
    /// Neither shapes nor counters are in the trace.
    NothingRecorded,
    /// Some counters are missing.
    CountersMissing,
    /// It has an op, but the op's work is not known.
    Op(Without),
    /// Its op would need more than the GPU can do in that time.
    TooMuchWork,
}

/// Where the dispatches of a run stand.
pub struct Standings {
    /// The ceilings.
    pub(crate) peaks: Peaks,
    /// What is not known about the GPU.
    pub(crate) notes: Vec<Note>,
    known: Vec<Result<Standing, Unplaced>>,
    /// By row of `kernels`: its index into `known`.
    of_kernel: Vec<u32>,
}

impl Standings {
    /// The standings of every kernel of a run.
    pub fn of(run: &Run, options: &RooflineOptions) -> Self {
        let trace = run.trace;
        let device = device::of(trace, options);
        let peaks = device.peaks;
        let mut found = Self { notes: device.notes, known: Vec::new(), of_kernel: Vec::new(), peaks };
        if found.peaks.bytes.is_empty() && found.peaks.matrix.is_empty() {
            found.known.push(Err(Unplaced::UnknownGpu));
            found.of_kernel = vec![0; trace.kernels.len()];
            return found;
        }
        let has_shapes = !trace.args.is_empty() && trace.strings.find("Input Dims").is_some()
            || run.attribution.sites.iter().any(|site| !site.input_dims.is_empty());
        let modelled = match has_shapes {
            true => modelled_by(trace, &run.attribution, |_| true),
            false => Modelled::default(),
        };
        let mut known = Vec::new();
        for op in &modelled.ops {
            let placed = place(&op.work, op.total_ns, &found.peaks);
            let standing = placed.nearest.ok_or(Unplaced::UnknownGpu).and_then(|(bound, share)| {
                let of_roof = (share / 100.0).min(1.0);
                let fits = (0.0..=MOST_PCT).contains(&share);
                fits.then_some(Standing { of_roof, bound, product: op.model.product })
                    .ok_or(Unplaced::TooMuchWork)
            });
            known.push(standing);
        }
        let counted = found.counted(run, &device.arch, &mut known);
        let mut places: BTreeMap<Unplaced, u32> = BTreeMap::new();
        for row in 0..trace.kernels.len() {
            let by_shapes = modelled.of_kernel.get(row).copied().flatten();
            let by_counters = counted.get(&trace.kernels.name[row]).copied();
            let place = match (by_shapes.filter(|&op| known[op].is_ok()), by_counters) {
                (Some(op), _) => op as u32,
                (None, Some(place)) => place,
                (None, None) => {
                    let why = match (by_shapes, modelled.without.get(row)) {
                        (Some(op), _) => known[op].err().unwrap_or(Unplaced::NothingRecorded),
                        (None, Some(&without)) => Unplaced::Op(without),
                        (None, None) => Unplaced::NothingRecorded,
                    };
                    *places.entry(why).or_insert_with(|| {
                        known.push(Err(why));
                        known.len() as u32 - 1
                    })
                }
            };
            found.of_kernel.push(place);
        }
        found.known = known;
        found
    }

    /// Adds each kernel with counters to `known`; returns its index by kernel name.
    fn counted(&self, run: &Run, arch: &str, known: &mut Vec<Result<Standing, Unplaced>>) -> Map<StrId, u32> {
        let mut places = Map::default();
        if !super::counted_sources(run.trace).contains(&true) {
            return places;
        }
        let counts = |row: usize| run.recordings.counts(run.trace.kernels.process[row]);
        for kernel in kernel_figures_where(run.trace, counts) {
            let Some(name) = run.trace.strings.find(&kernel.name) else { continue };
            let placed = place(&formulas::work(arch, &kernel.figures), kernel.total_ns, &self.peaks);
            known.push(match placed.nearest.filter(|_| placed.bound.is_some()) {
                Some((_, share)) if share > MOST_PCT => Err(Unplaced::TooMuchWork),
                Some((bound, share)) => {
                    Ok(Standing { of_roof: (share / 100.0).min(1.0), bound, product: None })
                }
                None => Err(Unplaced::CountersMissing),
            });
            places.insert(name, known.len() as u32 - 1);
        }
        places
    }

    /// The standing of a row of `kernels`.
    pub(crate) fn kernel(&self, row: usize) -> Result<Standing, Unplaced> {
        let place = self.of_kernel.get(row).copied().unwrap_or(u32::MAX) as usize;
        self.known.get(place).copied().unwrap_or(Err(Unplaced::NothingRecorded))
    }
}

/// By row of `kernels`: whether it gets faster at a higher clock.
pub fn clocked_kernels(run: &Run) -> Vec<bool> {
    let standings = Standings::of(run, &RooflineOptions::default());
    let clocked = |row: usize| {
        let category = run.category(RowRef::new(Table::Kernels, row));
        category != Category::Communication && scales_with_clock(&standings.kernel(row), category)
    };
    (0..run.trace.kernels.len()).map(clocked).collect()
}

/// Whether a kernel gets faster at a higher clock: memory-bound kernels do not. If the work is not known,
/// only matrix products count.
pub(crate) fn scales_with_clock(standing: &Result<Standing, Unplaced>, category: Category) -> bool {
    match standing {
        Ok(standing) => !matches!(standing.bound, Bound::Memory(Level::Hbm | Level::Mall)),
        Err(_) => matches!(category, Category::Gemm | Category::Conv),
    }
}

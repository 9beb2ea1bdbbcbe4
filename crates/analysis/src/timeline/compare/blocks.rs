//! Runs measured elsewhere, such as by a lake engine: sums over blocks of consecutive calls, not rows.

use model::classify::{Category, Classes, Classifier, RowKind};
use report::{HealthCheck, InputFact, Report};
use trace::{CopyKind, Kernel, MemoryCopy, Trace};

use super::MeasuredRun;
use super::ground::{Ground, PYTHON};
use super::measure::{KernelSeries, Run};
use super::series::{BLOCKS, RESAMPLED, Series};

/// Up to this many calls are resampled one by one; more are split into this many blocks: (calls, blocks).
pub const BLOCKING: (usize, usize) = (RESAMPLED, BLOCKS);

/// Calls and time of consecutive calls, in time order.
pub type Blocks = Vec<(usize, i64)>;

/// The known facts of a run.
#[derive(Clone, Debug, Default)]
pub struct BlockedRun {
    /// Kernels by name.
    pub kernels: Vec<(String, Blocks)>,
    /// Copies and fills by name.
    pub copies: Vec<(String, CopyKind, Blocks)>,
    /// Host regions by category and name.
    pub regions: Vec<(String, String, Blocks)>,
    /// GPUs: product and name.
    pub gpus: Vec<(String, String)>,
    /// Command lines.
    pub commands: Vec<String>,
    /// Identities of the recordings.
    pub recordings: Vec<String>,
    /// Input files.
    pub inputs: Vec<InputFact>,
    /// Health of the run.
    pub health: Vec<HealthCheck>,
}

impl MeasuredRun {
    /// A run known only by blocks. How its GPUs spent their time is not known, so there is no waterfall.
    pub fn of_blocks(blocked: BlockedRun, classifier: &Classifier) -> Self {
        let names = names(&blocked);
        let classes = Classes::of(&names, classifier);
        let class = |name: &str, kind: RowKind, otherwise: Category| {
            let known = names.strings.find(name).and_then(|name| classes.get(name, kind));
            known.map_or(otherwise, |class| class.category)
        };
        let mut run = Run::default();
        for (name, blocks) in blocked.kernels {
            let (series, category) =
                (Series::of_blocks(&blocks), class(&name, RowKind::Kernel, Category::Other));
            run.categories.entry(category.name()).or_default().add(&series);
            run.kernels.insert(name, KernelSeries { series, category });
        }
        for (name, kind, blocks) in blocked.copies {
            let category = class(&name, RowKind::from(kind), Category::Memory);
            run.categories.entry(category.name()).or_default().add(&Series::of_blocks(&blocks));
        }
        for (category, name, blocks) in blocked.regions {
            if category != PYTHON {
                run.regions.insert((category, name), Series::of_blocks(&blocks));
            }
        }
        let report = Report {
            command: "compare".into(),
            inputs: blocked.inputs,
            health: blocked.health,
            ..Report::default()
        };
        let ground = Ground::of_facts(&blocked.gpus, &blocked.commands, blocked.recordings);
        Self { run, report, ground, structure: None }
    }
}

/// A trace with one row per name, for classification.
fn names(blocked: &BlockedRun) -> Trace {
    let mut trace = Trace::default();
    for (name, _) in &blocked.kernels {
        let name = trace.strings.intern(name);
        trace.kernels.push(Kernel { name, ..Kernel::default() });
    }
    for (name, kind, _) in &blocked.copies {
        let name = trace.strings.intern(name);
        trace.memory_copies.push(MemoryCopy { name, kind: *kind, ..MemoryCopy::default() });
    }
    trace
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_give_the_series_that_the_calls_give() {
        for calls in [1usize, 2, 31, 32, 33, 64, 1000] {
            let durations: Vec<i64> = (0..calls as i64).map(|i| 100 + (i * 37) % 11).collect();
            let blocks = if calls <= RESAMPLED { calls } else { BLOCKS.min(calls) };
            let mut sums: Blocks = vec![(0, 0); blocks];
            for (i, duration) in durations.iter().enumerate() {
                // The formula used by lake engines.
                let sum = &mut sums[((i + 1) * blocks - 1) / calls];
                *sum = (sum.0 + 1, sum.1 + duration);
            }
            assert_eq!(Series::of_blocks(&sums), Series::of(&durations), "{calls} calls");
        }
    }
}

//! Builds a lake from traces, a rank at a time: complete ranks are kept, half-written ones are written again.

mod part;
mod units;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::Mutex;

use ingest::Progress;
use rayon::prelude::*;
use tokio::runtime::Runtime;
use trace::Trace;

use crate::manifest::Manifest;
use crate::{Address, Error, Lake, Partition};
use units::{Unit, Units};

/// Inputs up to this size are read in parallel, larger ones one after the other, so that memory holds one
/// large rank or a few small ones.
const SIDE_BY_SIDE: u64 = 64 << 20;

/// What to build.
#[derive(Clone, Debug)]
pub struct BuildRequest {
    /// Files and folders with traces.
    pub inputs: Vec<PathBuf>,
    /// The lake.
    pub lake: Address,
    /// The run's name; `None`: the name of the inputs' folder.
    pub run: Option<String>,
    /// The node's name, for traces that do not record it.
    pub node: Option<String>,
    /// The rank of the only input, if nothing else gives it.
    pub rank: Option<i64>,
    /// Whether the lake must already exist.
    pub existing: bool,
}

/// Makes the digests of a rank, one for each of its GPUs; they are stored next to its tables.
pub type Digests<'h> = dyn Fn(&Trace, &Manifest) -> Vec<Vec<u8>> + Sync + 'h;

/// The caller's callbacks.
pub struct Hooks<'h> {
    /// Bytes read so far.
    pub progress: &'h Progress,
    /// Whether to stop, asked before each rank.
    pub cancelled: &'h (dyn Fn() -> bool + Sync),
    /// Makes digests.
    pub digests: Option<&'h Digests<'h>>,
}

/// The outcome of a build.
#[derive(Clone, Debug, Default)]
pub struct Built {
    /// The lake.
    pub lake: String,
    /// The run that was written.
    pub run: String,
    /// Ranks of the inputs, sorted.
    pub ranks: Vec<BuiltRank>,
    /// Half-written ranks that were found; another process may be writing them now.
    pub unfinished: BTreeSet<Partition>,
    /// Inputs that are not in the lake, and why.
    pub problems: Vec<Problem>,
    /// Inputs that are not ranks: captures, helpers, merged traces.
    pub left_out: Vec<PathBuf>,
    /// Whether ranks were numbered because the inputs do not give them.
    pub counted_ranks: bool,
    /// Whether the build was stopped early.
    pub stopped: bool,
}

/// A rank that is in the lake now.
#[derive(Clone, Debug)]
pub struct BuiltRank {
    /// What was written.
    pub manifest: Manifest,
    /// Whether it was there already.
    pub kept: bool,
}

/// An input that is not in the lake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It cannot be read.
    Unreadable {
        /// Which, and why.
        message: String,
    },
    /// Another input already has this rank.
    SameRank {
        /// The rank.
        part: Partition,
        /// The input that is left out.
        path: PathBuf,
        /// The one that is in the lake.
        other: String,
    },
    /// It describes a rank that has no trace.
    NoRank {
        /// The input.
        path: PathBuf,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Unreadable { message } => f.write_str(message),
            Problem::SameRank { part, path, other } => write!(
                f,
                "`{}` and `{other}` are both {part}; only the second is in the lake. Are they two jobs? Give each a run name",
                path.display()
            ),
            Problem::NoRank { path } => {
                write!(f, "`{}` describes a rank that has no trace", path.display())
            }
        }
    }
}

/// Builds or continues a lake.
pub fn build(request: &BuildRequest, hooks: &Hooks<'_>) -> Result<Built, Error> {
    let failed = |why: std::io::Error| Error::Store {
        lake: request.lake.to_string(),
        doing: "written",
        why: why.to_string(),
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(failed)?;
    let lake = runtime.block_on(async {
        match request.existing {
            true => Lake::open(&request.lake).await,
            false => Lake::open_or_begin(&request.lake).await,
        }
    })?;
    let units = Units::find(request)?;
    let unfinished = runtime.block_on(lake.unfinished())?;
    let there = runtime.block_on(lake.manifests())?;
    let claims = Mutex::default();
    let builder = Builder { lake: &lake, runtime: &runtime, hooks, units: &units, there: &there, claims };
    let mut built = Built {
        lake: request.lake.to_string(),
        run: units.run.clone(),
        unfinished,
        problems: units.problems.clone(),
        left_out: units.left_out.clone(),
        ..Built::default()
    };
    let (small, large): (Vec<&Unit>, Vec<&Unit>) =
        units.all.iter().partition(|unit| unit.bytes <= SIDE_BY_SIDE);
    let mut outcomes: Vec<Result<Outcome, Error>> =
        small.into_par_iter().map(|unit| builder.unit(unit)).collect();
    outcomes.extend(large.into_iter().map(|unit| builder.unit(unit)));
    for outcome in outcomes {
        let outcome = outcome?;
        built.stopped |= outcome.stopped;
        built.counted_ranks |= outcome.counted;
        built.ranks.extend(outcome.ranks);
        built.problems.extend(outcome.problems);
    }
    built.ranks.sort_by(|a, b| a.manifest.part.cmp(&b.manifest.part));
    Ok(built)
}

struct Builder<'b> {
    lake: &'b Lake,
    runtime: &'b Runtime,
    hooks: &'b Hooks<'b>,
    units: &'b Units,
    /// Ranks that were in the lake before.
    there: &'b [Manifest],
    /// Which input has which rank.
    claims: Mutex<HashMap<Partition, PathBuf>>,
}

#[derive(Default)]
struct Outcome {
    ranks: Vec<BuiltRank>,
    problems: Vec<Problem>,
    counted: bool,
    stopped: bool,
}

//! A seeded simulator of GPU runs with known truth.
//!
//! ```text
//! scenario.toml ─► program ─► engine (threads, streams, ranks) ─► log ─► emit ─► Trace ─► files
//!                                                                 └─► tally ─► truth.json
//! ```
//!
//! Effects follow from causes: a kernel starts when its launch, its stream and the events it waits for allow
//! it, a blocking call returns when its work is done, a collective ends when the last rank has come. Every
//! draw is a function of (seed, rank, kernel, instance), so the same run with one kernel faster differs only
//! in what follows from that. `docs/synth.md` describes scenario files.
//!
//! ```
//! use rocm_perf_synth::{Options, Scenario, simulate};
//!
//! let scenario = Scenario::builtin("clean").unwrap();
//! let run = simulate(&scenario, &Options { steps: Some(2), ..Options::default() }).unwrap();
//! let calls: u64 = run.truth.ranks[0].kernels.iter().map(|kernel| kernel.calls).sum();
//! assert_eq!(run.runs[0].trace.kernels.len() as u64, calls);
//! ```

mod check;
mod clock;
mod emit;
mod engine;
mod error;
mod frames;
mod generate;
mod identity;
mod inspector;
mod lose;
mod pretty;
mod program;
mod random;
mod ranks;
mod record;
mod recording;
mod run;
mod scenario;
mod snapshot;
mod truth;

pub use error::Error;
pub use generate::{GenerateOptions, Generated, GeneratedFile, OutputFormat, generate};
pub use identity::Dialect;
pub use lose::{Loss, LossKind, LossTruth};
pub use program::GraphMode;
pub use ranks::{
    Cause, CauseTruth, CollectiveTruth, ExpertTruth, Faults, GroupKind, GroupTruth, Parallelism,
    PipelineTruth, PropagatedTruth, RanksTruth, SlowLink, Straggler, Where,
};
pub use recording::{AnnotationLanes, Expected, Recording};
pub use run::{Options, Run, Simulation, simulate};
pub use scenario::Scenario;
pub use snapshot::MemoryTruth;
pub use truth::{IdleTruth, Injected, KernelTruth, RankTruth, StageTruth, Truth};

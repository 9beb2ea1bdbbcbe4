//! Jobs of SLURM: a script that profiles every rank, its submission, and gathering what all ranks wrote, failed ones too.

mod job;
mod options;
mod submit;

pub use job::{Job, script};
pub use options::SlurmOptions;
pub use submit::{gather, run};

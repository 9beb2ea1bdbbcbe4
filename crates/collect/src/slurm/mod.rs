//! SLURM jobs: write a script that profiles every rank, submit it, and gather what all ranks wrote, including failed ones.

mod job;
mod options;
mod submit;

pub use job::{Job, script};
pub use options::SlurmOptions;
pub use submit::{gather, run};

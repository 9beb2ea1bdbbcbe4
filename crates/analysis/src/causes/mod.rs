//! Why it took so long: why GPUs wait, what determines the run time, and the verdict on the whole run.

pub mod critical_path;
pub mod idle;
pub mod verdict;

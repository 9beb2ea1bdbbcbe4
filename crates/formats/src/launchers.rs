//! Environment variables that launchers set to tell a process its position in the job.

/// Variables that are kept with a recording; none of them is a secret.
pub const VARIABLES: &[&str] = &[
    "FLUX_JOB_ID",
    "FLUX_JOB_SIZE",
    "FLUX_TASK_RANK",
    "GROUP_RANK",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "NODE_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "PMIX_RANK",
    "PMI_RANK",
    "PMI_SIZE",
    "RANK",
    "SLURM_JOB_ID",
    "SLURM_LOCALID",
    "SLURM_NNODES",
    "SLURM_NODEID",
    "SLURM_NTASKS",
    "SLURM_PROCID",
    "SLURM_STEP_ID",
    "WORLD_SIZE",
];

/// Variables with the number of ranks in the job, the most reliable first.
pub const SIZES: &[&str] =
    &["WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "FLUX_JOB_SIZE"];

/// Variables that identify the job.
pub const JOBS: &[&str] = &["SLURM_JOB_ID", "FLUX_JOB_ID"];

/// Variables with the node's number.
pub const NODES: &[&str] = &["SLURM_NODEID", "NODE_RANK", "GROUP_RANK"];

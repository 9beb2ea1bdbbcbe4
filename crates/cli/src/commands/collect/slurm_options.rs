//! Options of `collect` that run it as a SLURM job.

use app::collect::SlurmOptions;
use clap::Args;

/// What to request from SLURM.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "SLURM")]
pub struct SlurmArgs {
    /// Run as a job: write the script, submit it, wait, and gather what all ranks wrote
    #[arg(long)]
    pub slurm: bool,

    /// Number of nodes
    #[arg(long, value_name = "N", requires = "slurm")]
    nodes: Option<u32>,

    /// Total number of ranks
    #[arg(long, value_name = "N", requires = "slurm")]
    ntasks: Option<u32>,

    /// Ranks per node
    #[arg(long, value_name = "N", requires = "slurm")]
    ntasks_per_node: Option<u32>,

    /// GPUs per node
    #[arg(long, value_name = "N", requires = "slurm")]
    gpus_per_node: Option<u32>,

    /// CPU cores per rank
    #[arg(long, value_name = "N", requires = "slurm")]
    cpus_per_task: Option<u32>,

    /// Job array of independent runs instead of ranks, such as 0-3
    #[arg(long, value_name = "ELEMENTS", requires = "slurm")]
    array: Option<String>,

    /// Partition
    #[arg(long, value_name = "NAME", requires = "slurm")]
    partition: Option<String>,

    /// Account
    #[arg(long, value_name = "NAME", requires = "slurm")]
    account: Option<String>,

    /// Quality of service
    #[arg(long, value_name = "NAME", requires = "slurm")]
    qos: Option<String>,

    /// Time limit, such as 02:00:00
    #[arg(long, value_name = "TIME", requires = "slurm")]
    time: Option<String>,

    /// Nodes to use
    #[arg(long, value_name = "NAMES", requires = "slurm")]
    nodelist: Option<String>,

    /// No other jobs on the nodes
    #[arg(long, requires = "slurm")]
    exclusive: bool,

    /// Allow more ranks than CPU cores
    #[arg(long, requires = "slurm")]
    overcommit: bool,
}

impl SlurmArgs {
    /// These options for a job.
    pub fn options(&self) -> SlurmOptions {
        SlurmOptions {
            nodes: self.nodes,
            ntasks: self.ntasks,
            ntasks_per_node: self.ntasks_per_node,
            gpus_per_node: self.gpus_per_node,
            cpus_per_task: self.cpus_per_task,
            array: self.array.clone(),
            partition: self.partition.clone(),
            account: self.account.clone(),
            qos: self.qos.clone(),
            time: self.time.clone(),
            nodelist: self.nodelist.clone(),
            exclusive: self.exclusive,
            overcommit: self.overcommit,
            ..SlurmOptions::default()
        }
    }
}

//! Options of `collect` that ask for a SLURM job.

use app::collect::SlurmOptions;
use clap::Args;

/// How a job is asked for.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "SLURM")]
pub struct SlurmArgs {
    /// Run as a job: write its script, submit it, wait, and gather what all ranks wrote
    #[arg(long)]
    pub slurm: bool,

    /// Nodes
    #[arg(long, value_name = "N", requires = "slurm")]
    nodes: Option<u32>,

    /// Ranks in all
    #[arg(long, value_name = "N", requires = "slurm")]
    ntasks: Option<u32>,

    /// Ranks on each node
    #[arg(long, value_name = "N", requires = "slurm")]
    ntasks_per_node: Option<u32>,

    /// GPUs of each node
    #[arg(long, value_name = "N", requires = "slurm")]
    gpus_per_node: Option<u32>,

    /// Processors of each rank
    #[arg(long, value_name = "N", requires = "slurm")]
    cpus_per_task: Option<u32>,

    /// Independent runs instead of ranks: 0-3
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

    /// Longest time: 02:00:00
    #[arg(long, value_name = "TIME", requires = "slurm")]
    time: Option<String>,

    /// Nodes to use
    #[arg(long, value_name = "NAMES", requires = "slurm")]
    nodelist: Option<String>,

    /// No other jobs on the nodes
    #[arg(long, requires = "slurm")]
    exclusive: bool,

    /// More ranks than processors
    #[arg(long, requires = "slurm")]
    overcommit: bool,
}

impl SlurmArgs {
    /// The same as a job has them.
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

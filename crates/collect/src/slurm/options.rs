//! What to request from SLURM.

use serde::{Deserialize, Serialize};

/// Options of `sbatch`; the cluster's defaults apply to those that are not set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlurmOptions {
    /// Nodes.
    pub nodes: Option<u32>,
    /// Ranks per node.
    pub ntasks_per_node: Option<u32>,
    /// Total ranks.
    pub ntasks: Option<u32>,
    /// GPUs per node.
    pub gpus_per_node: Option<u32>,
    /// CPU cores per rank.
    pub cpus_per_task: Option<u32>,
    /// Time limit, in SLURM's notation.
    pub time: Option<String>,
    /// Partition.
    pub partition: Option<String>,
    /// Account.
    pub account: Option<String>,
    /// Quality of service.
    pub qos: Option<String>,
    /// Features of the nodes.
    pub constraint: Option<String>,
    /// Nodes to use.
    pub nodelist: Option<String>,
    /// Nodes to avoid.
    pub exclude: Option<String>,
    /// Reservation.
    pub reservation: Option<String>,
    /// No other jobs on the nodes.
    pub exclusive: bool,
    /// Allow more ranks than CPU cores.
    pub overcommit: bool,
    /// Elements of a job array, such as `0-3`: independent runs instead of ranks.
    pub array: Option<String>,
}

impl SlurmOptions {
    /// Fills in options that are not set here from another set.
    pub fn take(&mut self, other: &Self) {
        macro_rules! or {
            ($($field:ident),*) => { $( if self.$field.is_none() { self.$field.clone_from(&other.$field); } )* };
        }
        or!(nodes, ntasks_per_node, ntasks, gpus_per_node, cpus_per_task, time, partition, account, qos);
        or!(constraint, nodelist, exclude, reservation, array);
        self.exclusive |= other.exclusive;
        self.overcommit |= other.overcommit;
    }

    /// Options with text values, by name.
    pub(crate) fn texts(&self) -> [(&'static str, Option<&str>); 9] {
        [
            ("array", &self.array),
            ("time", &self.time),
            ("partition", &self.partition),
            ("account", &self.account),
            ("qos", &self.qos),
            ("constraint", &self.constraint),
            ("nodelist", &self.nodelist),
            ("exclude", &self.exclude),
            ("reservation", &self.reservation),
        ]
        .map(|(name, value)| (name, value.as_deref()))
    }

    /// The `#SBATCH` lines, without that prefix.
    pub fn directives(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut number = |name: &str, value: Option<u32>| {
            lines.extend(value.map(|value| format!("--{name}={value}")));
        };
        // An array's elements are jobs of one task each.
        if self.array.is_none() {
            number("nodes", self.nodes);
            number("ntasks", self.ntasks);
            number("ntasks-per-node", self.ntasks_per_node.filter(|_| self.ntasks.is_none()));
        } else {
            number("ntasks", Some(1));
        }
        number("gpus-per-node", self.gpus_per_node);
        number("cpus-per-task", self.cpus_per_task);
        for (name, value) in self.texts() {
            lines.extend(value.map(|value| format!("--{name}={value}")));
        }
        for (name, on) in [("exclusive", self.exclusive), ("overcommit", self.overcommit)] {
            lines.extend(on.then(|| format!("--{name}")));
        }
        lines
    }
}

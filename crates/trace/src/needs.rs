//! What an analysis needs from a trace, so that readers pay for nothing else.

/// Which arguments of events are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ArgNeeds {
    /// None.
    #[default]
    None,
    /// Those with these names.
    Keys(Vec<String>),
    /// All of them.
    All,
}

impl ArgNeeds {
    /// Whether an argument with this name is wanted.
    pub fn wants(&self, key: &str) -> bool {
        match self {
            ArgNeeds::None => false,
            ArgNeeds::Keys(keys) => keys.iter().any(|k| k == key),
            ArgNeeds::All => true,
        }
    }
}

/// The wanted tables, columns and arguments. Readers may provide more, never less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Kernels.
    pub kernels: bool,
    /// Launch shapes of kernels (grid, workgroup, registers) and kernel symbols.
    pub shapes: bool,
    /// Copies and fills.
    pub memory_copies: bool,
    /// Allocations.
    pub memory_allocations: bool,
    /// Host regions other than Python frames.
    pub regions: bool,
    /// Python frames (most of a torch trace with stacks).
    pub python_frames: bool,
    /// Hardware counters.
    pub counters: bool,
    /// Hardware counters as columns, from sources that store them so; others provide rows.
    pub counter_columns: bool,
    /// Samples and instants.
    pub samples: bool,
    /// Event records, waits and synchronisations.
    pub syncs: bool,
    /// Collective operations.
    pub collectives: bool,
    /// Graph nodes of replayed work.
    pub graph_nodes: bool,
    /// Graph nodes, only from sources that store them in columns; others would have to search.
    pub graph_columns: bool,
    /// Links from launches to GPU work, and the columns they are made from.
    pub links: bool,
    /// Links from forward to backward ops.
    pub forward_backward: bool,
    /// Arguments.
    pub args: ArgNeeds,
    /// Whether arguments of kernels are enough.
    pub only_kernel_args: bool,
}

impl Needs {
    /// Nothing but identity: a base to enable things on.
    pub fn nothing() -> Self {
        Self {
            kernels: false,
            shapes: false,
            memory_copies: false,
            memory_allocations: false,
            regions: false,
            python_frames: false,
            counters: false,
            counter_columns: false,
            samples: false,
            syncs: false,
            collectives: false,
            graph_nodes: false,
            graph_columns: false,
            links: false,
            forward_backward: false,
            args: ArgNeeds::None,
            only_kernel_args: false,
        }
    }

    /// Everything in a source, for conversion and queries.
    pub fn everything() -> Self {
        Self {
            kernels: true,
            shapes: true,
            memory_copies: true,
            memory_allocations: true,
            regions: true,
            python_frames: true,
            counters: true,
            counter_columns: false,
            samples: true,
            syncs: true,
            collectives: true,
            graph_nodes: true,
            graph_columns: true,
            links: true,
            forward_backward: true,
            args: ArgNeeds::All,
            only_kernel_args: false,
        }
    }

    /// What `summary` needs: rows and launch links, no Python frames, no arguments.
    pub fn summary() -> Self {
        Self {
            kernels: true,
            memory_copies: true,
            memory_allocations: true,
            regions: true,
            samples: true,
            graph_columns: true,
            links: true,
            ..Self::nothing()
        }
    }
}

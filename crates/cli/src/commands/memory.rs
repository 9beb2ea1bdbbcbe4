//! `memory`

use std::path::PathBuf;

use app::Input;
use app::memory::MemoryRequest;
use clap::Args;

use crate::failure::Failure;
use crate::input::PathArgs;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf memory snapshot.pickle
  rocm-perf memory snapshot.pickle --table peak_owners --format csv
  rocm-perf memory before.pickle --compare after.pickle
  rocm-perf memory trace.json.gz

Reads memory snapshots of torch (torch.cuda.memory._dump_snapshot), torch
traces recorded with profile_memory=True, and allocations in rocpd databases.
Sizes are what the program asked for. `rounding` is what the allocator adds,
`reserved` what it took from the driver, `unused` lies in segments that
nothing uses, `fragmented` in segments that something uses. Snapshots are
read as data: nothing in them is ever run. docs/memory.md explains the tables.")]
pub struct MemoryArgs {
    #[command(flatten)]
    files: PathArgs,

    /// Compare with this run: what holds more or less
    #[arg(long, value_name = "INPUT")]
    compare: Option<PathBuf>,
}

impl MemoryArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let request = MemoryRequest { input: Input::of(self.files.paths()?), compare: self.compare.clone() };
        output.show(app::memory(&request, output)?)
    }
}

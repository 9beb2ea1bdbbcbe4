//! `memory`

use std::path::PathBuf;

use app::memory::{MemoryRequest, MemoryWindow};
use app::{Input, Moment};
use clap::Args;

use crate::failure::Failure;
use crate::input::PathArgs;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf memory snapshot.pickle
  rocm-perf memory snapshot.pickle --table peak_owners --format csv
  rocm-perf memory before.pickle --compare after.pickle
  rocm-perf memory snapshot.pickle --start 50% --end 60%
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

    /// Start of the part to look at: `30%` of the record, `1.2s` or `350ms` after its start, or nanoseconds on its clock
    #[arg(long, value_name = "TIME", value_parser = moment)]
    start: Option<Moment>,

    /// End of the part to look at, in the same notation
    #[arg(long, value_name = "TIME", value_parser = moment)]
    end: Option<Moment>,

    /// Compare with this run: what holds more or less
    #[arg(long, value_name = "INPUT")]
    compare: Option<PathBuf>,
}

impl MemoryArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let part = MemoryWindow { start: self.start, end: self.end };
        let request =
            MemoryRequest { part, input: Input::of(self.files.paths()?), compare: self.compare.clone() };
        output.show(app::memory(&request, output)?)
    }
}

fn moment(text: &str) -> Result<Moment, String> {
    text.parse().map_err(|error: <Moment as std::str::FromStr>::Err| error.to_string())
}

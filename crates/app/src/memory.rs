//! How much memory a run held, and what held it.

use std::path::PathBuf;
use std::sync::Arc;

use analysis::memory::{Memory, compare, compute_part, needs, present, present_change};
use report::Report;
use trace::Trace;

use crate::failure::Failure;
use crate::input::Input;
use crate::observer::Observer;

pub use analysis::memory::MemoryWindow;

/// Which run's memory to look at.
#[derive(Clone, Debug, Default)]
pub struct MemoryRequest {
    /// Memory snapshots, or traces with allocations.
    pub input: Input,
    /// The part of the record to look at.
    pub part: MemoryWindow,
    /// Another run to compare with.
    pub compare: Option<PathBuf>,
}

/// The peak and what held it, fragmentation, what is never freed; or how two runs differ.
pub fn memory(request: &MemoryRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let (trace, memory) = read(&request.input, request.part, observer)?;
    let Some(other) = &request.compare else { return Ok(present(&trace, &memory)) };
    let (other, candidate) = read(&request.input.with_path(other.clone()), request.part, observer)?;
    Ok(present_change([&trace, &other], &compare(&memory, &candidate)))
}

fn read(input: &Input, part: MemoryWindow, observer: &dyn Observer) -> Result<(Arc<Trace>, Memory), Failure> {
    let trace = input.read(&needs(), observer)?;
    let memory = compute_part(&trace, part);
    if memory.devices.is_empty() {
        let paths: Vec<String> = input.paths.iter().map(|path| path.display().to_string()).collect();
        let message = format!("`{}` records no memory", paths.join("`, `"));
        let help = "write a snapshot with torch.cuda.memory._record_memory_history() and \
                    torch.cuda.memory._dump_snapshot(), or profile with profile_memory=True";
        return Err(Failure::input(message).with_help(help));
    }
    Ok((trace, memory))
}

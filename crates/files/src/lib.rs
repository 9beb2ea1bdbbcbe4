//! Files and processes: outputs that are complete or absent, temporary folders, locks, child processes and interrupts.
//!
//! A file or folder is written next to its target and renamed into place at the end. A folder replaces
//! another one only if this program wrote that one and nothing was added to it.

mod archive;
mod crash;
mod folder;
pub mod interrupt;
mod large;
mod large_blocks;
pub mod leftovers;
mod lock;
pub mod memory;
mod output;
mod private;
pub mod process;
mod sandbox;
pub mod supervisor;
mod watchdog;
mod work;

pub use archive::commit_archive;
pub use crash::report_crashes;
pub use folder::{MARKER, OutputFolder, TemporaryFolder, check_replaceable, list_as_ours, remove_ours};
pub use large_blocks::{LargeBlocks, end_after_answer, ends_after_answer, give_back_free};
pub use lock::lock;
pub use output::{OutputFile, commit_all, remove_partial_files, write_each};
pub use private::write_private;
pub use sandbox::Sandbox;
pub use work::{claim_work_folder, is_work_folder, remove_work_folder};

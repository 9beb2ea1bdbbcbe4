//! Writers: a [`trace::Trace`] becomes a file of any supported format.
//!
//! One folder or file per format. Every writer writes a temporary file next to its target and renames it at
//! the end, so that nobody ever finds half a file ([`files::OutputFile`]).

pub mod merge;
pub mod otf2;
pub mod parquet;
pub mod perfetto_fix;
pub mod pftrace;
mod protobuf;
pub mod rocpd;
pub mod rocprofv3;
pub mod rpd;
mod timeline;
pub mod torch;
pub mod xplane;

//! All tests of this crate in one program: linking one takes seconds, linking one per file took minutes.

mod common;
mod merge_maker;

mod graph_ids;
mod merge;
mod merge_versions;
mod otf2;
mod perfetto_fix;
mod pftrace;
mod rocpd;
mod rocprofv3_headers;
mod roundtrip;
mod secrets;
mod torch_writer;

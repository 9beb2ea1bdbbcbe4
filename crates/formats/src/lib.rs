//! Shared between readers and writers: names and numbers of formats, each defined once, and the secrets that
//! no writer copies.

pub mod json_schema;
pub mod launchers;
pub mod lz4;
pub mod perfetto;
pub mod rocpd;
pub mod rpd;
pub mod run;
pub mod secrets;
pub mod tables;
pub mod torch;

//! The targets, one for each reader and each parser.

mod bytes;
mod folders;
#[cfg(feature = "program")]
mod program;
mod readers;
mod texts;

use crate::mutate::Shape::{self, Bytes, Json, Lines, Pickle, Protobuf, Sqlite};

/// What is fuzzed.
pub struct Target {
    /// Its name, which is also the name of its corpus.
    pub name: &'static str,
    /// How its inputs are built.
    pub shape: Shape,
    /// Takes one input.
    pub run: fn(&[u8]),
}

const fn target(name: &'static str, shape: Shape, run: fn(&[u8])) -> Target {
    Target { name, shape, run }
}

/// All of them.
pub const ALL: &[Target] = &[
    target("torch", Json, readers::torch),
    target("torch_gzip", Bytes, readers::torch_gzip),
    target("rocpd", Sqlite, readers::rocpd),
    target("rpd", Sqlite, readers::rpd),
    target("compute_analysis", Sqlite, readers::compute_analysis),
    target("rocprofv3_json", Json, readers::rocprofv3_json),
    target("rocprofv3_csv", Lines, readers::rocprofv3_csv),
    target("rocprof", Lines, readers::rocprof),
    target("perfetto", Protobuf, readers::perfetto),
    target("xplane", Protobuf, readers::xplane),
    target("snapshot", Pickle, readers::snapshot),
    target("inspector", Json, readers::inspector),
    target("prometheus", Lines, readers::prometheus),
    target("unified_memory", Json, readers::unified_memory),
    target("detect", Bytes, readers::detect),
    target("compute", Lines, folders::compute),
    target("att", Json, folders::att),
    target("code", Json, folders::code),
    #[cfg(feature = "program")]
    target("analyses", Json, program::analyses),
    #[cfg(feature = "program")]
    target("perfetto_fix", Json, program::perfetto_fix),
    #[cfg(feature = "program")]
    target("digest", Bytes, program::digest),
    target("code_object", Bytes, bytes::code_object),
    target("inflate", Bytes, bytes::inflate),
    target("json", Json, bytes::json),
    target("expression", Bytes, texts::expression),
    target("gate", Bytes, texts::gate),
    #[cfg(feature = "program")]
    target("what_if", Bytes, program::what_if),
    #[cfg(feature = "program")]
    target("space", Json, program::space),
    #[cfg(feature = "program")]
    target("template", Bytes, program::template),
    #[cfg(feature = "program")]
    target("sql", Bytes, program::sql),
    target("redactor", Json, texts::redactor),
];

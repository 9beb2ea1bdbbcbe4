//! The part of a trace that a call is about.

use std::path::PathBuf;

use app::{Edge, Filters, Input, Stage, kernel_pattern};

use crate::desk::Opened;
use crate::refusal::Refusal;
use crate::tools::Arguments;

/// The filters that the arguments name.
pub fn filters(arguments: &Arguments) -> Result<Filters, Refusal> {
    let kernel = match arguments.text("kernel") {
        Some(text) => Some(kernel_pattern(text).map_err(|why| {
            Refusal::new(format!("`kernel` is not a regular expression: {why}"))
                .with_help("escape special characters with `\\`: `gemm\\(`")
        })?),
        None => None,
    };
    Ok(Filters {
        start: edge(arguments, "start")?,
        end: edge(arguments, "end")?,
        kernel,
        ranks: rank(arguments)?.into_iter().collect(),
        stages: stage(arguments)?.into_iter().collect(),
        ..Filters::default()
    })
}

/// The part of an open trace.
pub fn input(trace: &Opened, arguments: &Arguments) -> Result<Input, Refusal> {
    Ok(Input { paths: vec![PathBuf::from(&trace.path)], filters: filters(arguments)? })
}

/// The rank.
pub fn rank(arguments: &Arguments) -> Result<Option<u32>, Refusal> {
    let number = arguments.whole("rank").map(u32::try_from).transpose();
    number.map_err(|_| Refusal::new("`rank` is too large a number"))
}

/// The stage.
pub fn stage(arguments: &Arguments) -> Result<Option<Stage>, Refusal> {
    let Some(name) = arguments.text("stage") else { return Ok(None) };
    let found = Stage::ALL.into_iter().find(|stage| stage.name().eq_ignore_ascii_case(name));
    found.map(Some).ok_or_else(|| {
        Refusal::new(format!("there is no stage `{name}`"))
            .with_help(format!("stages are {}", Stage::ALL.map(Stage::name).join(", ")))
    })
}

fn edge(arguments: &Arguments, name: &str) -> Result<Option<Edge>, Refusal> {
    let Some(text) = arguments.text(name) else { return Ok(None) };
    let moment = text.parse().map_err(|error| {
        Refusal::new(format!("`{name}` is `{text}`: {error}"))
            .with_help("write `30%`, `1.2s` from the start, or nanoseconds on the trace's clock")
    })?;
    Ok(Some(Edge::At(moment)))
}

//! Parses the texts of an event's arguments.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use trace::Graph;

use super::arguments::{Argument, Arguments};
use super::rows::Direction;
use crate::json::{self, Cursor};

/// Whether a call may have an event as an argument; most calls are launches, whose arguments are long.
pub(super) fn names_an_event(call: &[u8]) -> bool {
    static EVENT: LazyLock<Finder> = LazyLock::new(|| Finder::new(b"Event"));
    EVENT.find(call).is_some()
}

/// A whole number, if there is one.
#[inline]
pub(super) fn number(raw: &[u8]) -> Option<i64> {
    if raw.is_empty() { None } else { json::integer(raw) }
}

/// A number, or an address in hexadecimal.
pub(super) fn handle(raw: &[u8]) -> Option<i64> {
    match raw.strip_prefix(b"0x") {
        Some(hex) => u64::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok().map(|v| v as i64),
        None => number(raw).or_else(|| std::str::from_utf8(raw).ok()?.parse::<u64>().ok().map(|v| v as i64)),
    }
}

/// Whether work was launched as part of a graph.
pub(super) fn graph(arguments: &Arguments) -> Graph {
    match arguments.get(Argument::Kind) {
        b"Dispatch Task" => Graph::Replayed,
        b"Dispatch Kernel" => Graph::Direct,
        _ => match number(arguments.get(Argument::GraphNode)) {
            Some(0) => Graph::Direct,
            Some(_) => Graph::Replayed,
            None => Graph::Unknown,
        },
    }
}

/// ROCm gives the direction in `kind`, CUDA in the name: `Memcpy HtoD (Pinned -> Device)`.
pub(super) fn direction(fill: bool, kind: &[u8], name: &[u8]) -> Direction {
    if fill {
        return Direction::ToDevice;
    }
    let says = |word: &[u8]| kind == word || memchr::memmem::find(name, word).is_some();
    const WORDS: [(&[u8], Direction); 5] = [
        (b"HtoD", Direction::HostToDevice),
        (b"DtoH", Direction::DeviceToHost),
        (b"DtoD", Direction::DeviceToDevice),
        (b"PtoP", Direction::DeviceToDevice),
        (b"HtoH", Direction::HostToHost),
    ];
    WORDS.iter().find(|(word, _)| says(word)).map_or(Direction::Unknown, |(_, direction)| *direction)
}

/// Three numbers of a list: a grid or a workgroup.
pub(super) fn triple(raw: &[u8]) -> Option<[u32; 3]> {
    let mut json = Cursor::new(raw);
    let mut elements = json.array().ok()?;
    let mut values = [1u32; 3];
    for value in &mut values {
        if !elements.next(&mut json).ok()? {
            return None;
        }
        *value = u32::try_from(json::integer(json.scalar().ok()?)?).ok()?;
    }
    Some(values)
}

//! torch/Kineto/Chrome traces: `.json`, `.json.gz`, `.json.zst`, from a file or standard input.
//!
//! ```text
//! mapped file ─► stretches ─┐                      ┌► rows ─┐
//!                           ├► workers: walk, event ┤        ├► join ─► Trace
//! stream ─► inflate ─► blocks┘                      └► lanes ┘
//! ```
//!
//! The walk over the document (`document`) defines what a file holds; stretches and blocks are only read
//! ahead and checked, so the result never depends on how the work was split.

mod arguments;
mod category;
mod document;
mod event;
mod fingerprint;
mod gather;
mod join;
mod lanes;
mod layout;
mod mapped;
mod metadata;
mod names;
mod pairs;
mod rows;
mod says;
mod stream;
mod texts;
mod verdict;
mod worker;

use formats::torch::key;
use trace::{ArgNeeds, Needs, Source, Trace};

pub(crate) use self::category::CallKind;
use crate::bytes::{self, Opened};
use crate::{Error, Input, Progress};
use fingerprint::Fingerprint;
use mapped::Gathered;
use metadata::Facts;
use verdict::Verdict;
use worker::Tally;

/// Sizes of the parts that a file is read in. They change the speed, never the result.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// Bytes of a stretch of a mapped file.
    pub stretch: usize,
    /// Bytes of a block of a stream.
    pub block: usize,
}

impl Default for Parts {
    fn default() -> Self {
        Self { stretch: mapped::STRETCH, block: stream::BLOCK }
    }
}

/// Reads one trace (`.json`, `.json.gz`, `.json.zst`, or standard input).
pub fn read(input: &Input, needs: &Needs, progress: &Progress) -> Result<Trace, Error> {
    read_in_parts(input, needs, progress, Parts::default())
}

/// Reads one trace in parts of a given size.
pub fn read_in_parts(
    input: &Input,
    needs: &Needs,
    progress: &Progress,
    parts: Parts,
) -> Result<Trace, Error> {
    let needs = &with_graph_keys(needs);
    match bytes::open(&input.path, progress)? {
        Opened::Mapped(map) => read_released(&map, input, needs, progress, parts, &|from, until| {
            bytes::release(&map, from, until)
        }),
        Opened::Stream(stream) => {
            let read = stream::read(stream, parts.block, needs);
            assemble(input, read.gathered, &read.fingerprint, read.damage)
        }
    }
}

/// Adds the keys of graph nodes, which are arguments in torch traces.
fn with_graph_keys(needs: &Needs) -> Needs {
    let mut needs = needs.clone();
    if needs.graph_nodes {
        let graph = [key::GRAPH_ID, key::GRAPH_NODE_ID].map(str::to_string);
        match &mut needs.args {
            ArgNeeds::None => needs.args = ArgNeeds::Keys(graph.to_vec()),
            ArgNeeds::Keys(keys) => keys.extend(graph),
            ArgNeeds::All => {}
        }
    }
    needs
}

/// Reads an uncompressed trace in memory; `input` only names it.
pub fn read_text(
    text: &[u8],
    input: &Input,
    needs: &Needs,
    progress: &Progress,
    parts: Parts,
) -> Result<Trace, Error> {
    read_released(text, input, needs, progress, parts, &|_, _| {})
}

/// Like `read_text`; `release` is called with the ranges of bytes that are no longer needed.
fn read_released(
    text: &[u8],
    input: &Input,
    needs: &Needs,
    progress: &Progress,
    parts: Parts,
    release: mapped::Release<'_>,
) -> Result<Trace, Error> {
    let gathered = mapped::read(text, parts.stretch, needs, progress, release);
    let mut fingerprint = Fingerprint::default();
    fingerprint.add(text);
    assemble(input, gathered, &fingerprint, None)
}

fn assemble(
    input: &Input,
    gathered: Gathered,
    fingerprint: &Fingerprint,
    damage: Option<String>,
) -> Result<Trace, Error> {
    let Gathered { workers, pieces, stop, bare } = gathered;
    let mut tally = Tally::default();
    pieces.iter().for_each(|piece| tally += piece.tally);
    let verdict = Verdict { stop, bare, bytes: fingerprint.bytes(), tally, damage };
    verdict.refuse(input)?;

    let mut trace = Trace::default();
    let path = input.path.to_string_lossy();
    let source = trace.add_source(Source {
        // Standard input has no known size.
        bytes: if input.bytes > 0 { input.bytes } else { verdict.bytes },
        frames_skipped: tally.frames_skipped,
        role: tally.is_capture().then(|| "capture".to_string()),
        ..Source::named(&path, "torch")
    });
    let mut facts = Facts::default();
    for piece in &pieces {
        facts.take(&piece.metadata, source, &mut trace);
    }
    let guid = format!("torch-{}{}", fingerprint.name(), facts.suffix());
    let found = join::join(workers, &pieces, &facts, &guid, source, &mut trace);
    metadata::name_architectures(&mut trace);
    verdict.report(&found, &mut trace);
    Ok(trace)
}

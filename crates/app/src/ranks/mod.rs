//! Many ranks: a digest of each, and what they show together.
//!
//! Traces are read a few at a time, digested and dropped; only digests are kept.

mod find;
mod made;
mod write;

use std::path::PathBuf;
use std::sync::Arc;

use ingest::Progress;
use model::classify::Classifier;
use ranks::digest::{self, Digest};
use ranks::{FleetBuilder, digest_needs};
use rayon::prelude::*;
use report::{Remedy, Report};

use self::find::{RankSources, Source};
use crate::failure::Failure;
use crate::lake::{self, Address};
use crate::observer::Observer;

pub use self::made::{MadeDigests, made_digests};
pub use self::write::{DigestRequest, WorkShare, digest};

/// Traces are read in parallel up to this many bytes and files.
const BATCH_BYTES: u64 = 64 << 20;
const BATCH_FILES: usize = 16;
/// Digests are small.
const BATCH_DIGESTS: usize = 1024;

/// Maximum collectives to compare; each takes about 200 bytes.
const MOST_COLLECTIVES: usize = 16_000_000;

/// Which ranks to look at.
#[derive(Clone, Debug, Default)]
pub struct RanksRequest {
    /// Traces and digests of ranks, or folders of them.
    pub paths: Vec<PathBuf>,
}

/// What all ranks of a job show together.
pub fn ranks(request: &RanksRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let mut fleet = FleetBuilder::within(MOST_COLLECTIVES);
    let (lakes, paths): (Vec<PathBuf>, Vec<PathBuf>) =
        request.paths.iter().cloned().partition(|path| Address::of_lake(path).is_some());
    for address in lakes.iter().filter_map(|path| Address::of_lake(path)) {
        let mut stored = lake::digests(&address)?.into_iter();
        loop {
            let batch: Vec<(String, Vec<u8>)> = stored.by_ref().take(BATCH_DIGESTS).collect();
            if batch.is_empty() {
                break;
            }
            if observer.cancelled() {
                return Err(Failure::cancelled());
            }
            let decoded = batch.into_par_iter().map(|(name, bytes)| (name, digest::decode(&bytes)));
            for (name, digest) in decoded.collect::<Vec<_>>() {
                match digest {
                    Ok(digest) => fleet.add(digest),
                    Err(error) => fleet.leave_out(&format!("{address}/{name}"), &error.to_string()),
                }
            }
        }
    }
    let found =
        if lakes.is_empty() || !paths.is_empty() { find::find(&paths)? } else { RankSources::default() };
    found.unusable.iter().for_each(|(path, why)| fleet.leave_out(path, why));
    each_digest(&found, observer, |source, digests| {
        match digests {
            Ok(digests) => digests.into_iter().for_each(|digest| fleet.add(digest)),
            Err(why) => fleet.leave_out(&source.path().display().to_string(), &why),
        }
        Ok(())
    })?;
    if fleet.is_empty() {
        let why = fleet.finish().left_out.first().map(|left| format!("`{}`: {}", left.path, left.why));
        return Err(Failure::input(why.unwrap_or_else(|| "the inputs hold no rank".into()))
            .with_help(Remedy::NameInput));
    }
    Ok(ranks::present(&ranks::compute(fleet.finish())))
}

/// Calls `each` with the digests of every input, in order, or with the reason if an input cannot be read.
fn each_digest(
    found: &RankSources,
    observer: &dyn Observer,
    mut each: impl FnMut(&Source, Result<Vec<Digest>, String>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let progress = Arc::new(Progress::default());
    progress.expect(found.sources.iter().map(Source::bytes).sum());
    let shown = observer.begin("reading", &progress);
    let classifier = Classifier::builtin();
    let mut rest = &found.sources[..];
    while !rest.is_empty() {
        if observer.cancelled() {
            return Err(Failure::cancelled());
        }
        let (batch, after) = rest.split_at(batch(rest));
        rest = after;
        let read: Vec<_> =
            batch.par_iter().map(|source| digests_of(source, &classifier, &progress)).collect();
        for (source, digests) in batch.iter().zip(read) {
            each(source, digests)?;
        }
    }
    drop(shown);
    Ok(())
}

/// How many inputs to read together.
fn batch(sources: &[Source]) -> usize {
    let digests =
        sources.iter().take(BATCH_DIGESTS).take_while(|source| matches!(source, Source::Digest { .. }));
    let digests = digests.count();
    if digests > 0 {
        return digests;
    }
    let mut bytes = 0;
    let small = sources.iter().take(BATCH_FILES).take_while(|source| {
        bytes += source.bytes();
        bytes <= BATCH_BYTES
    });
    small.count().max(1)
}

fn digests_of(source: &Source, classifier: &Classifier, progress: &Progress) -> Result<Vec<Digest>, String> {
    match source {
        Source::Digest { path, bytes } => {
            let read = std::fs::read(path).map_err(|error| error.to_string())?;
            progress.advance(*bytes);
            digest::decode(&read).map(|digest| vec![digest]).map_err(|error| error.to_string())
        }
        Source::Trace { input, modified_ns } => {
            let trace =
                ingest::read(&input.files, &digest_needs(), progress).map_err(|error| error.to_string())?;
            let digests = digest::of_trace(&trace, classifier, *modified_ns);
            if digests.is_empty() { Err(nothing_in(&trace)) } else { Ok(digests) }
        }
    }
}

/// Why a trace has no rank, with the problem of the file if there is one.
fn nothing_in(trace: &trace::Trace) -> String {
    let nothing = "it has no GPU work and no collectives";
    match trace.health.problems().next() {
        Some(problem) => format!("{nothing}: {}", problem.message),
        None => nothing.into(),
    }
}

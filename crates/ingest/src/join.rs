//! Reads every input once and joins them into one trace, in the order they were given.

use std::path::PathBuf;

use rayon::prelude::*;
use trace::{Needs, Status, Trace};

use crate::duplicates::{Recordings, drop_copies};
use crate::inputs::{FoundInput, FoundInputs, find};
use crate::unified_memory;
use crate::{
    Error, Format, Input, Progress, compute, inspector, perfetto, prometheus, rank, rocpd, rocprofv3, rpd,
    snapshot, torch, xplane,
};

/// Inputs are read in parallel up to this many bytes, which bounds what is held before it is joined. Larger
/// files are split inside their readers.
const BATCH_BYTES: u64 = 64 << 20;
const BATCH_INPUTS: usize = 256;

/// Reads files and folders into one finished trace.
pub(crate) fn read_all(paths: &[PathBuf], needs: &Needs, progress: &Progress) -> Result<Trace, Error> {
    let FoundInputs { inputs, unusable } = find(paths)?;
    let mut trace = Trace::default();
    for error in unusable {
        trace.health.report("unreadable_input", Status::Warn, None, error.to_string());
    }
    let inputs = drop_copies(inputs, &mut trace.health);
    progress.expect(inputs.iter().map(|found| found.input.bytes).sum());
    let mut recordings = Recordings::default();
    let mut last_error = None;
    for batch in batches(&inputs) {
        let read: Vec<_> = batch.par_iter().map(|found| read_one(&found.input, needs, progress)).collect();
        for (found, read) in batch.iter().zip(read) {
            match read {
                // With one input there are no duplicates, and nothing needs to be copied.
                Ok(part) if inputs.len() == 1 && trace.health.checks.is_empty() => trace = part,
                Ok(part) => recordings.join(&mut trace, part, &found.input),
                Err(error) if found.explicit => return Err(error),
                Err(error) => {
                    trace.health.report("unreadable_input", Status::Fail, None, error.to_string());
                    last_error = Some(error);
                }
            }
        }
    }
    if trace.sources.is_empty()
        && let Some(error) = last_error
    {
        return Err(error);
    }
    inspector::name_strangers(&mut trace);
    prometheus::align(&mut trace);
    rank::assign(&mut trace);
    trace.finish();
    Ok(trace)
}

fn read_one(input: &Input, needs: &Needs, progress: &Progress) -> Result<Trace, Error> {
    match input.format {
        Format::Rocpd => rocpd::read(input, needs, progress),
        Format::Rpd => rpd::read(input, needs, progress),
        Format::Torch => torch::read(input, needs, progress),
        Format::Rocprofv3Json => rocprofv3::json::read(input, needs, progress),
        Format::Rocprofv3Csv => rocprofv3::csv::read(input, needs, progress),
        Format::Compute | Format::Rocprof => compute::read(input, needs, progress),
        Format::ComputeAnalysis => compute::analysis::read(input, needs, progress),
        Format::Perfetto => perfetto::read(input, needs, progress),
        Format::Prometheus => prometheus::read(input, needs, progress),
        Format::UnifiedMemory => unified_memory::read(input, needs, progress),
        Format::Xplane => xplane::read(input, needs, progress),
        Format::Snapshot => snapshot::read(input, needs, progress),
        Format::Inspector => inspector::read(input, needs, progress),
    }
}

/// Groups of inputs that together are small enough to be read in parallel.
fn batches(mut inputs: &[FoundInput]) -> impl Iterator<Item = &[FoundInput]> {
    std::iter::from_fn(move || {
        if inputs.is_empty() {
            return None;
        }
        let mut bytes = 0;
        let fits = inputs.iter().take(BATCH_INPUTS).take_while(|found| {
            bytes += found.input.bytes;
            bytes <= BATCH_BYTES
        });
        let (batch, rest) = inputs.split_at(fits.count().max(1));
        inputs = rest;
        Some(batch)
    })
}

//! How many steps make a file of a given size, from the sizes of two short runs.

use std::path::Path;

use files::TemporaryFolder;

use super::sink::Sink;
use super::{GenerateOptions, GeneratedFile, OutputFormat};
use crate::Error;
use crate::run::{Options, Prepared};

/// Steps that make a file of this size, from the sizes of two short runs.
pub(super) fn steps_for_size(options: &GenerateOptions, size: u64) -> Result<u64, Error> {
    let round: u64 = options.scenario.pattern.iter().map(|step| u64::from(step.repeat.max(1))).sum();
    let pilot = |steps: u64| -> Result<u64, Error> {
        let folder = TemporaryFolder::beside(&options.out.join("pilot"))
            .map_err(|source| Error::Write { path: options.out.clone(), why: source.to_string() })?;
        pilot_bytes(options, steps, folder.path())
    };
    // Files grow by pages and tables have headers: the second run is long enough for these not to matter.
    let small = pilot(round)?;
    let enough = small + (size / 4).min(8 << 20);
    let mut many = round * 8;
    let mut large = pilot(many)?;
    while large < enough {
        if large == small {
            let why =
                "this scenario has nothing to write in this format: a run of one rank has no collectives";
            return Err(Error::Options(why.into()));
        }
        if many > 1 << 24 {
            return Err(Error::Options(
                "the steps of this scenario write too little data to reach the size".into(),
            ));
        }
        many *= 4;
        large = pilot(many)?;
    }
    let per_step = (large - small) as f64 / (many - round) as f64;
    let fixed = small as f64 - per_step * round as f64;
    Ok(((size as f64 - fixed) / per_step).round().max(1.0) as u64)
}

fn pilot_bytes(options: &GenerateOptions, steps: u64, folder: &Path) -> Result<u64, Error> {
    // One rank shows the size of all, but alone it has no collectives.
    let ranks = match options.formats[0] {
        OutputFormat::Inspector => options.options.ranks,
        _ => Some(1),
    };
    let run_options = Options { steps: Some(steps), ranks, ..options.options.clone() };
    let prepared = Prepared::new(&options.scenario, &run_options)?;
    let name = &options.scenario.name;
    let (format, folder) = (options.formats[0], folder.to_path_buf());
    let mut sink = Sink::open(&prepared, 0..1, name, format, folder, run_options.stacks)?;
    prepared.drive(|block| sink.append(&block).map(|()| true))?;
    let of_first = |file: &&GeneratedFile| file.rank == Some(0);
    Ok(sink.finish()?.iter().filter(of_first).map(|file| file.bytes).sum())
}

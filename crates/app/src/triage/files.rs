//! The files of one run: which ones are analysed, and which ones only locate kernels.

use std::path::PathBuf;
use std::sync::Arc;

use analysis::filters::Filters;
use analysis::serving::triage;
use analysis::subject::{OneRun, OneRunError};
use model::attribution;
use report::{Note, Remedy};
use trace::{Needs, Source, Trace};

use crate::failure::Failure;
use crate::input::read;
use crate::observer::{Observer, watched};

/// A run, and the trace to locate its kernels by.
pub type Read = (Arc<Trace>, Option<Arc<Trace>>);

/// The files of one run.
pub struct Run {
    /// To be analysed.
    pub formal: Vec<PathBuf>,
    /// To locate kernels by.
    pub mapping: Vec<PathBuf>,
    /// The rank that is looked at, when known.
    pub rank: Option<u32>,
    /// Whether the analysed trace is named as a capture.
    pub is_capture: bool,
    /// Notes on the choice.
    pub notes: Vec<Note>,
}

impl Run {
    /// Chooses among files and folders.
    pub fn find(
        paths: &[PathBuf],
        mapping: &[PathBuf],
        rank: Option<u32>,
        observer: &dyn Observer,
    ) -> Result<Self, Failure> {
        let (inputs, sources) = survey(paths, observer)?;
        let one = OneRun::choose(&sources, rank)?;
        let files = |places: &[usize]| -> Vec<PathBuf> {
            places.iter().flat_map(|&i| inputs[i].files.clone()).collect()
        };
        let mut notes: Vec<Note> = one.note().into_iter().collect();
        let mapping = if !mapping.is_empty() {
            mapping_files(mapping, one.rank, observer)?
        } else {
            let found = if one.captures.is_empty() { &one.mapping } else { &one.captures };
            let found = of_rank(files(found), one.rank);
            for path in &found {
                let path = path.display();
                notes.push(format!("replayed graphs are located by `{path}`, found in the folder").into());
            }
            found
        };
        let is_capture = inputs.len() == 1 && ingest::role_of_path(&inputs[0].path) == Some("capture");
        Ok(Self { formal: files(&one.formal), mapping, rank: one.rank.or(rank), is_capture, notes })
    }

    /// Reads the run, and the trace to locate its kernels by.
    pub fn read(&self, part: &Filters, observer: &dyn Observer) -> Result<Read, Failure> {
        let trace = read(&self.formal, &part.widen(&triage::needs()), observer)?;
        let mapping = match &self.mapping[..] {
            [] => None,
            files => Some(read(files, &attribution::needs(), observer)?),
        };
        Ok((trace, mapping))
    }
}

/// The inputs behind paths and their roles: from their names if those suffice, else from a first look.
fn survey(paths: &[PathBuf], observer: &dyn Observer) -> Result<(Vec<ingest::Input>, Vec<Source>), Failure> {
    let inputs = ingest::find_inputs(paths)?;
    let by_name = |input: &ingest::Input| Source {
        role: ingest::role_of_path(&input.path).filter(|_| inputs.len() > 1).map(String::from),
        rank: ingest::rank_of_path(&input.path),
        ..Source::named(&input.path.display().to_string(), input.format.name())
    };
    let named: Vec<Source> = inputs.iter().map(by_name).collect();
    if named.iter().filter(|source| source.role.is_none()).count() <= 1 {
        return Ok((inputs, named));
    }
    if inputs.iter().any(|input| input.path.as_os_str() == "-") {
        return Err(Failure::input("standard input must be the only input, or several files be named"));
    }
    // What a file says about itself counts more than its name.
    let needs = Needs::nothing();
    let trace = watched("looking", observer, |progress| ingest::read(paths, &needs, progress))?;
    let mut kept = Vec::new();
    for source in &trace.sources {
        kept.extend(inputs.iter().find(|input| input.path.display().to_string() == source.path).cloned());
    }
    if kept.len() != trace.sources.len() {
        return Ok((inputs, named));
    }
    Ok((kept, trace.sources))
}

/// The files given as mapping: those of the rank that is looked at, if known.
fn mapping_files(
    paths: &[PathBuf],
    rank: Option<u32>,
    observer: &dyn Observer,
) -> Result<Vec<PathBuf>, Failure> {
    let (inputs, sources) = survey(paths, observer)?;
    let usable = |source: &Source| !matches!(source.role.as_deref(), Some("helper" | "merged"));
    let mut files: Vec<PathBuf> = Vec::new();
    for (input, _) in inputs.iter().zip(&sources).filter(|(_, source)| usable(source)) {
        files.extend(input.files.iter().cloned());
    }
    if files.is_empty() {
        files = inputs.iter().flat_map(|input| input.files.clone()).collect();
    }
    Ok(of_rank(files, rank))
}

/// The files of one rank, by their names; all if none is of that rank.
fn of_rank(files: Vec<PathBuf>, rank: Option<u32>) -> Vec<PathBuf> {
    let named = |file: &PathBuf| ingest::rank_of_path(file);
    let wanted = rank.or_else(|| files.iter().filter_map(named).min());
    let own: Vec<PathBuf> =
        files.iter().filter(|file| named(file).is_none() || named(file) == wanted).cloned().collect();
    if own.is_empty() { files } else { own }
}

impl From<OneRunError> for Failure {
    fn from(error: OneRunError) -> Self {
        let failure = Failure::input(error.to_string());
        match error {
            OneRunError::Several { .. } => failure.with_help("give one of them"),
            OneRunError::NoSuchRank { .. } => failure,
            OneRunError::NoRank { .. } => failure.with_help(Remedy::CaptureIsMapping),
        }
    }
}

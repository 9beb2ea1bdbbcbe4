//! Inputs of a request, and the part of them that is looked at.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use analysis::filters::Filters;
use analysis::subject::{OneRun, OneRunError};
use convert::merge::{files_of_package, is_package};
use convert::rocpd::part::{ExcludedRows, TimedRows};
use model::classify::Classifier;
use model::completeness::Completeness;
use model::recordings::{Recording, Recordings};
use model::stages::Stage;
use report::{InputFact, Remedy};
use trace::{Needs, ProcessId, Selection, Source, Subset, Trace};

use crate::failure::Failure;
use crate::observer::{Observer, watched};
use crate::once;

/// Files and folders to read, and which part of them to look at.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// Files, folders, or `-` for standard input.
    pub paths: Vec<PathBuf>,
    /// The part to look at.
    pub filters: Filters,
}

impl Input {
    /// All of these files and folders.
    pub fn of(paths: Vec<PathBuf>) -> Self {
        Self { paths, filters: Filters::default() }
    }

    /// The same selection on another path.
    pub fn with_path(&self, path: PathBuf) -> Self {
        Self { paths: vec![path], filters: self.filters.clone() }
    }

    /// Reads the selected part of all inputs into one trace.
    pub fn read(&self, needs: &Needs, observer: &dyn Observer) -> Result<Arc<Trace>, Failure> {
        self.read_classified(needs, observer, Classifier::builtin)
    }

    /// Like [`Self::read`], with other rules for kernel categories than the built-in ones.
    pub fn read_classified(
        &self,
        needs: &Needs,
        observer: &dyn Observer,
        classifier: impl Fn() -> Classifier,
    ) -> Result<Arc<Trace>, Failure> {
        // Files and steps are sorted by stage next.
        rayon::spawn(model::stages::compile_patterns);
        let mut trace = self.read_all(needs, observer)?;
        self.restrict(&mut trace, &classifier)?;
        Ok(trace)
    }

    /// Removes what is not selected; a trace that the caller keeps stays whole.
    fn restrict(&self, trace: &mut Arc<Trace>, classifier: &dyn Fn() -> Classifier) -> Result<(), Failure> {
        if !self.filters.is_empty() {
            self.filters.apply(Arc::make_mut(trace), classifier)?;
        }
        Ok(())
    }

    /// Reads the selected part of the run alone, without captures, merged traces and helper processes next to
    /// it.
    pub fn read_run(&self, needs: &Needs, observer: &dyn Observer) -> Result<Arc<Trace>, Failure> {
        let mut trace = self.read_all(needs, observer)?;
        keep_run(&mut trace);
        self.restrict(&mut trace, &Classifier::builtin)?;
        Ok(trace)
    }

    /// The files of all inputs, if each is a rocpd database.
    pub fn only_databases(&self) -> Result<Option<Vec<PathBuf>>, Failure> {
        if self.paths.iter().any(|path| path.as_os_str() == "-") {
            return Ok(None);
        }
        let inputs = ingest::find_inputs(&self.paths)?;
        let all = inputs.iter().all(|input| input.format == ingest::Format::Rocpd);
        Ok(all.then(|| inputs.into_iter().map(|input| input.path).collect()))
    }

    /// Reads the selected part of all inputs, and finds which rows of the databases it leaves out.
    pub(crate) fn read_part(&self, observer: &dyn Observer) -> Result<(Arc<Trace>, ExcludedRows), Failure> {
        let mut trace = self.read_all(&Needs::everything(), observer)?;
        if self.filters.is_empty() {
            return Ok((trace, ExcludedRows::default()));
        }
        let all = TimedRows::of(&trace);
        self.restrict(&mut trace, &Classifier::builtin)?;
        let part = ExcludedRows::between(&all, &TimedRows::of(&trace));
        Ok((trace, part))
    }

    /// Reads what the selection needs; the caller then removes the rest.
    fn read_all(&self, needs: &Needs, observer: &dyn Observer) -> Result<Arc<Trace>, Failure> {
        if self.paths.is_empty() {
            return Err(Failure::input("no input given").with_help(Remedy::NameInput));
        }
        refuse_lakes(&self.paths)?;
        let began = Instant::now();
        let trace = read(&self.paths, &self.filters.widen(needs), observer)?;
        let bytes: u64 = trace.sources.iter().map(|source| source.bytes).sum();
        let (inputs, seconds) = (trace.sources.len(), began.elapsed().as_secs_f64());
        observer.detail(&format!("read {inputs} inputs, {:.1} MB, in {seconds:.2} s", bytes as f64 / 1e6));
        Ok(trace)
    }
}

/// Fails if a lake is given to a command that reads traces only.
fn refuse_lakes(paths: &[PathBuf]) -> Result<(), Failure> {
    let lake = paths.iter().find_map(|path| lake::Address::of_lake(path));
    lake.map_or(Ok(()), |lake| {
        Err(Failure::input(format!("`{lake}` is a lake, and this command reads traces"))
            .with_help("`query`, `summary`, `compare` and `ranks` read lakes"))
    })
}

/// Leaves out what does not count as a rank; see [`Recordings::counts`]. The trace's health says so.
pub(crate) fn keep_run(trace: &mut Arc<Trace>) -> bool {
    let recordings = Recordings::of(trace);
    let left_out: Vec<&Recording> = recordings.all.iter().filter(|recording| !recording.is_rank).collect();
    if left_out.is_empty() {
        return false;
    }
    let role = |recording: &&Recording| trace.sources.get(recording.source.get()?)?.role.as_deref();
    let mut roles: Vec<&str> = left_out.iter().filter_map(role).collect();
    roles.dedup();
    let traces = if left_out.len() == 1 { "trace" } else { "traces" };
    let selection = Selection {
        label: format!("without {} {} {traces}", left_out.len(), roles.join(" and ")),
        processes: Subset::of(trace.processes.len(), |process| recordings.counts(ProcessId::at(process))),
        ..Selection::default()
    };
    Arc::make_mut(trace).restrict(&selection);
    true
}

/// Allows links that lead out of the folders that are read.
pub fn follow_links() {
    ingest::follow_links();
}

/// The files behind paths: a package's list is replaced by the databases that it names.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut expanded = Vec::new();
    for path in paths {
        // A folder is searched anyway.
        if path.is_file() && is_package(path) {
            expanded.extend(files_of_package(path)?);
        } else {
            expanded.push(path.clone());
        }
    }
    Ok(expanded)
}

/// Reads files and folders whole, and checks that no launched work is missing; reuses traces that the caller
/// keeps.
pub(crate) fn read(paths: &[PathBuf], needs: &Needs, observer: &dyn Observer) -> Result<Arc<Trace>, Failure> {
    let is_file = |path: &PathBuf| path.as_os_str() != "-";
    match observer.kept().filter(|_| paths.iter().all(is_file)) {
        Some(kept) => kept.get(paths, needs, |needs| read_files(paths, needs, observer)),
        None => read_files(paths, needs, observer).map(Arc::new),
    }
}

fn read_files(paths: &[PathBuf], needs: &Needs, observer: &dyn Observer) -> Result<Trace, Failure> {
    let is_told = Completeness::can_be_told(needs);
    // Graph numbers show which launches must have the same kernels.
    let needs = &Needs { graph_columns: needs.graph_columns || is_told, ..needs.clone() };
    let from_files =
        |needs: &Needs| watched("reading", observer, |progress| ingest::read(paths, needs, progress));
    let mut trace = match once::kept(paths, needs, from_files) {
        Some(kept) => kept?,
        None => from_files(needs)?,
    };
    if is_told {
        Completeness::of(&trace).report_to(&mut trace);
    }
    Ok(trace)
}

/// Reads the trace that shows where replayed kernels come from, if one is given.
pub(crate) fn read_mapping(
    path: Option<&PathBuf>,
    needs: &Needs,
    observer: &dyn Observer,
) -> Result<Option<Arc<Trace>>, Failure> {
    path.map(|path| read(std::slice::from_ref(path), needs, observer)).transpose()
}

/// The built-in rules for kernel names, with those of a file before them.
pub fn classifier(rules: Option<&PathBuf>) -> Result<Classifier, Failure> {
    let Some(path) = rules else {
        let classifier = Classifier::builtin();
        let rules = classifier.clone();
        // In parallel with reading the input.
        rayon::spawn(move || rules.compile());
        return Ok(classifier);
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::input(format!("cannot read the rules in `{}`: {error}", path.display())))?;
    Classifier::with_rules(&path.display().to_string(), &text)
        .map_err(|error| Failure::input(error.to_string()))
}

/// Ranks and stages of one run are looked at together; those of several runs would be mixed up.
pub(crate) fn one_run(sources: &[Source], command: &str) -> Result<(), Failure> {
    let mut ranks: Vec<Option<u32>> = sources.iter().map(|source| source.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    for rank in ranks {
        if let Err(OneRunError::Several { paths }) = OneRun::choose(sources, rank) {
            let message = format!("{command} needs one run, but there are {} runs", paths.len());
            return Err(Failure::input(message).with_help(format!("give one of `{}`", paths.join("`, `"))));
        }
    }
    Ok(())
}

/// The selected part; the trace stays whole, and its health names the part.
pub(crate) fn mark(
    filters: &Filters,
    trace: &mut Arc<Trace>,
    classifier: &dyn Fn() -> Classifier,
) -> Result<Option<Selection>, Failure> {
    if filters.is_empty() {
        return Ok(None);
    }
    let selection = filters.select(trace, classifier)?;
    Arc::make_mut(trace).mark(&selection);
    Ok(Some(selection))
}

/// The only selected rank, if there is one.
pub fn only_rank(filters: &Filters) -> Result<Option<u32>, Failure> {
    only("rank", &filters.ranks)
}

/// The only selected stage, if there is one.
pub fn only_stage(filters: &Filters) -> Result<Option<Stage>, Failure> {
    only("stage", &filters.stages)
}

fn only<T: Copy>(what: &str, values: &[T]) -> Result<Option<T>, Failure> {
    match values {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        _ => Err(Failure::input(format!("this command accepts only one {what}"))),
    }
}

/// The filters without rank and stage, for requests that choose those themselves.
pub fn without_rank_and_stage(filters: &Filters) -> Filters {
    Filters { ranks: Vec::new(), stages: Vec::new(), ..filters.clone() }
}

/// Splits filters: ranks and processes, for analyses that need these whole; and the rest.
pub(crate) fn processes_and_rest(filters: &Filters) -> (Filters, Filters) {
    let processes =
        Filters { ranks: filters.ranks.clone(), pids: filters.pids.clone(), ..Filters::default() };
    (processes, Filters { ranks: Vec::new(), pids: Vec::new(), ..filters.clone() })
}

/// Base name if the inputs have none, as in rocpd.
const DEFAULT_NAME: &str = "out";

/// The run's name: that of a single input without its endings; for several, rocpd's default.
pub fn base_name(inputs: &[PathBuf]) -> String {
    const ENDINGS: [&str; 7] = [".gz", ".zst", ".json", ".db", ".rpd", ".csv", "_results"];
    let [input] = inputs else { return DEFAULT_NAME.into() };
    let path = input.canonicalize().unwrap_or_else(|_| input.clone());
    let mut name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for ending in ENDINGS {
        if let Some(stem) = name.strip_suffix(ending).filter(|stem| !stem.is_empty()) {
            name.truncate(stem.len());
        }
    }
    if name.is_empty() || name == "-" { DEFAULT_NAME.into() } else { name }
}

/// What was read, as reports state it.
pub(crate) fn input_facts(trace: &Trace) -> Vec<InputFact> {
    let fact = |source: &Source| InputFact {
        path: source.path.clone(),
        format: source.format.clone(),
        bytes: source.bytes,
        rank: source.rank,
    };
    trace.sources.iter().map(fact).collect()
}

/// Whether a path means a folder: it is one, or ends in `/`.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().to_string_lossy().ends_with('/')
}

/// Whether a file is the target or lies in it.
pub(crate) fn is_within(path: &Path, target: &Path) -> bool {
    match (path.canonicalize(), target.canonicalize()) {
        (Ok(path), Ok(target)) => path.starts_with(target),
        _ => false,
    }
}

/// Writes a file whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    use std::io::Write;
    let written = || {
        let mut file = files::OutputFile::create(path)?;
        file.write_all(bytes)?;
        file.commit()
    };
    written().map_err(|error| Failure::input(format!("cannot write `{}`: {error}", path.display())))
}

/// A name as a regular expression that matches it alone, for filters by kernel.
pub fn exact_pattern(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for c in name.chars() {
        if "\\.+*?()|[]{}^$".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_is_named_after_its_input() {
        let name = |path: &str| base_name(&[PathBuf::from(path)]);
        assert_eq!(name("runs/4711_results.db"), "4711");
        assert_eq!(name("trace.json.gz"), "trace");
        assert_eq!((name("-"), name("_results.db")), ("out".into(), "_results".into()));
        assert_eq!(base_name(&["a.db".into(), "b.db".into()]), "out");
    }
}

//! Traces that stay in memory, for callers that ask several things of the same files.
//!
//! The first question reads what it needs. A second one that needs more reads what the usual analyses need, so that
//! the questions after it read nothing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use trace::{ArgNeeds, Needs, Trace};

use crate::failure::Failure;

/// Size and time of each file, to notice later if one has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStates(Vec<FileState>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct FileState {
    path: PathBuf,
    size_and_time: Option<(u64, SystemTime)>,
}

impl FileState {
    fn of(path: &Path) -> Self {
        let facts = std::fs::metadata(path).ok();
        let size_and_time = facts.and_then(|facts| Some((facts.len(), facts.modified().ok()?)));
        Self { path: path.to_path_buf(), size_and_time }
    }
}

impl FileStates {
    /// The files behind paths as they are now.
    pub fn of(paths: &[PathBuf]) -> Result<Self, Failure> {
        let inputs = ingest::find_inputs(paths)?;
        Ok(Self(inputs.iter().flat_map(|input| &input.files).map(|file| FileState::of(file)).collect()))
    }

    /// Fails if a file has changed.
    pub fn check(&self) -> Result<(), Failure> {
        let Some(changed) = self.0.iter().find(|state| **state != FileState::of(&state.path)) else {
            return Ok(());
        };
        let what = if changed.path.exists() { "changed" } else { "was removed" };
        Err(Failure::input(format!("`{}` {what} after it was opened", changed.path.display()))
            .with_help("open it again"))
    }
}

/// Traces that were read, with the needs they were read for.
#[derive(Debug, Default)]
pub struct Kept(Mutex<Vec<Entry>>);

#[derive(Clone, Debug)]
struct Entry {
    paths: Vec<PathBuf>,
    files: FileStates,
    needs: Needs,
    trace: Arc<Trace>,
}

impl Kept {
    /// The trace of these paths; `read` is called if it is not kept.
    pub(crate) fn get(
        &self,
        paths: &[PathBuf],
        needs: &Needs,
        read: impl FnOnce(&Needs) -> Result<Trace, Failure>,
    ) -> Result<Arc<Trace>, Failure> {
        let files = FileStates::of(paths)?;
        let of_paths: Vec<Entry> = {
            let mut entries = self.entries();
            entries.retain(|entry| entry.paths != paths || entry.files == files);
            entries.iter().filter(|entry| entry.paths == paths).cloned().collect()
        };
        if let Some(entry) = of_paths.iter().find(|entry| serves(&entry.needs, needs)) {
            return Ok(Arc::clone(&entry.trace));
        }
        let needs = if of_paths.is_empty() { needs.clone() } else { union(needs, &usual(needs)) };
        let trace = Arc::new(read(&needs)?);
        files.check()?;
        let entry = Entry { paths: paths.to_vec(), files, needs, trace: Arc::clone(&trace) };
        let mut entries = self.entries();
        entries.retain(|old| old.paths != entry.paths || !serves(&entry.needs, &old.needs));
        entries.push(entry);
        Ok(trace)
    }

    /// Forgets all traces.
    pub fn clear(&self) {
        self.entries().clear();
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a trace that was read for `have` gives the same answers as one read for `want`. Python frames are
/// rows of `regions`, which reports count, and counters come as rows or as columns: those have to match
/// exactly.
fn serves(have: &Needs, want: &Needs) -> bool {
    have.python_frames == want.python_frames
        && have.counter_columns == want.counter_columns
        && union(have, want) == *have
}

/// What the usual analyses need together; Python frames and the form of counters as in `like`.
fn usual(like: &Needs) -> Needs {
    let frames = like.python_frames;
    let all = [
        analysis::kernels::efficiency::efficiency_needs(),
        analysis::ops_needs(),
        analysis::critical_path_needs(),
        Needs::summary(),
    ];
    let all = all.iter().fold(Needs::nothing(), |sum, needs| union(&sum, needs));
    Needs { python_frames: frames, counter_columns: like.counter_columns, ..all }
}

fn union(a: &Needs, b: &Needs) -> Needs {
    Needs {
        kernels: a.kernels || b.kernels,
        shapes: a.shapes || b.shapes,
        memory_copies: a.memory_copies || b.memory_copies,
        memory_allocations: a.memory_allocations || b.memory_allocations,
        regions: a.regions || b.regions,
        python_frames: a.python_frames || b.python_frames,
        counters: a.counters || b.counters,
        counter_columns: a.counter_columns || b.counter_columns,
        samples: a.samples || b.samples,
        syncs: a.syncs || b.syncs,
        collectives: a.collectives || b.collectives,
        graph_nodes: a.graph_nodes || b.graph_nodes,
        graph_columns: a.graph_columns || b.graph_columns,
        links: a.links || b.links,
        forward_backward: a.forward_backward || b.forward_backward,
        args: match (&a.args, &b.args) {
            (ArgNeeds::All, _) | (_, ArgNeeds::All) => ArgNeeds::All,
            (args, ArgNeeds::None) | (ArgNeeds::None, args) => args.clone(),
            (ArgNeeds::Keys(a), ArgNeeds::Keys(b)) => {
                let more = b.iter().filter(|key| !a.contains(key));
                ArgNeeds::Keys(a.iter().chain(more).cloned().collect())
            }
        },
        only_kernel_args: [a, b].iter().all(|needs| needs.only_kernel_args || needs.args == ArgNeeds::None)
            && (a.only_kernel_args || b.only_kernel_args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_serves_who_needs_less_of_it() {
        let (summary, everything) = (Needs::summary(), Needs::everything());
        assert!(serves(&summary, &Needs { samples: false, ..Needs::summary() }));
        assert!(!serves(&Needs { samples: false, ..Needs::summary() }, &summary));
        assert!(!serves(&everything, &summary), "its regions have Python frames");
        let keys = |keys: &[&str]| ArgNeeds::Keys(keys.iter().map(|key| key.to_string()).collect());
        let with = |args| Needs { args, ..Needs::summary() };
        assert!(serves(&with(keys(&["a", "b"])), &with(keys(&["b"]))));
        assert!(!serves(&with(keys(&["a"])), &with(keys(&["b"]))));
        assert!(serves(&with(ArgNeeds::All), &with(keys(&["b"]))));
    }

    #[test]
    fn the_third_question_reads_nothing_and_a_changed_file_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.json");
        std::fs::write(&file, r#"{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1, "pid": 0, "tid": 0, "args": {}}]}"#).unwrap();
        let paths = [file.clone()];
        let kept = Kept::default();
        let reads = std::cell::Cell::new(0);
        let ask = |needs: &Needs| {
            kept.get(&paths, needs, |_| {
                reads.set(reads.get() + 1);
                Ok(Trace::default())
            })
            .unwrap();
            reads.get()
        };
        assert_eq!(ask(&Needs::summary()), 1);
        assert_eq!(ask(&Needs::summary()), 1);
        assert_eq!(ask(&analysis::critical_path_needs()), 2);
        assert_eq!(ask(&Needs::summary()), 2);
        assert_eq!(ask(&analysis::serving::triage::needs()), 3);
        assert_eq!(ask(&analysis::ops_needs()), 3);
        assert_eq!(ask(&analysis::explain::explain_needs()), 3);
        let before = FileStates::of(&paths).unwrap();
        before.check().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("\"k\"", "\"other\"")).unwrap();
        assert!(before.check().unwrap_err().message().ends_with("changed after it was opened"));
        assert_eq!(ask(&Needs::summary()), 4);
        std::fs::remove_file(&file).unwrap();
        assert!(before.check().unwrap_err().message().ends_with("was removed after it was opened"));
    }
}

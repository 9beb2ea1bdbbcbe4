//! From paths to inputs: files, folders and CSV sets.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{self, AtomicBool};

use rayon::prelude::*;
use trace::Map;

use crate::compute::{repeats_workload, workload_of};
use crate::detect::{detect_stdin, reason};
use crate::rocprofv3::csv::header::{self, CsvTable};
use crate::{Error, Format, detect, run_folder};

/// One thing to read: a file, the files of one rocprofv3 CSV set, or a workload folder of ROCm Compute Profiler.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its format.
    pub format: Format,
    /// The file, the first file of a set, a workload folder, or `-` for standard input.
    pub path: PathBuf,
    /// All files of a CSV set or a workload; otherwise just `path`.
    pub files: Vec<PathBuf>,
    /// Bytes on disk.
    pub bytes: u64,
}

/// The inputs behind files and folders.
pub fn find_inputs(paths: &[PathBuf]) -> Result<Vec<Input>, Error> {
    Ok(find(paths)?.inputs.into_iter().map(|found| found.input).collect())
}

/// The inputs behind files and folders, and files in folders that look like traces but cannot be used.
pub fn find_usable_inputs(paths: &[PathBuf]) -> Result<(Vec<Input>, Vec<Error>), Error> {
    let FoundInputs { inputs, unusable } = find(paths)?;
    Ok((inputs.into_iter().map(|found| found.input).collect(), unusable))
}

/// An input and how it was given.
#[derive(Debug)]
pub(crate) struct FoundInput {
    pub input: Input,
    /// Given by the user, not found in a folder: if it fails, the command fails.
    pub explicit: bool,
}

/// All inputs found, and what looked like a trace but could not be used.
#[derive(Debug, Default)]
pub(crate) struct FoundInputs {
    pub inputs: Vec<FoundInput>,
    /// Files in a folder that should be traces but are unreadable.
    pub unusable: Vec<Error>,
}

/// Searches every path; inputs keep the user's order, and are sorted by name inside a folder.
pub(crate) fn find(paths: &[PathBuf]) -> Result<FoundInputs, Error> {
    let mut finds = FoundInputs::default();
    for path in paths {
        if path.as_os_str() == "-" {
            let (format, files) = (detect_stdin()?, vec![path.clone()]);
            let input = Input { format, path: path.clone(), files, bytes: 0 };
            finds.inputs.push(FoundInput { input, explicit: true });
        } else if path.is_dir() {
            let found = folder(path, &mut finds.unusable)?;
            if found.is_empty() {
                return Err(finds.unusable.pop().unwrap_or(Error::NoTraces { path: path.clone() }));
            }
            finds.inputs.extend(found);
        } else {
            let input = single(path, detect(path)?);
            finds.inputs.push(FoundInput { input, explicit: true });
        }
    }
    finds.inputs = group_csv_sets(std::mem::take(&mut finds.inputs));
    Ok(finds)
}

fn single(path: &Path, format: Format) -> Input {
    if format == Format::Compute {
        let (folder, files) = workload_of(path);
        let bytes = files.iter().filter_map(|file| fs::metadata(file).ok()).map(|meta| meta.len()).sum();
        return Input { format, path: folder, files, bytes };
    }
    let bytes = fs::metadata(path).map_or(0, |meta| meta.len());
    Input { format, path: path.into(), files: vec![path.into()], bytes }
}

fn folder(root: &Path, unusable: &mut Vec<Error>) -> Result<Vec<FoundInput>, Error> {
    let (mut files, mut found, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    let whole = fs::canonicalize(root).unwrap_or_else(|_| root.into());
    list(root, &whole, &mut seen, &mut files, unusable)
        .map_err(|error| Error::Unreadable { path: root.into(), why: reason(&error) })?;
    let formats: Vec<_> = files.par_iter().map(|path| detect(path)).collect();
    for (path, format) in files.iter().zip(formats) {
        match format {
            Ok(format) => found.push(FoundInput { input: single(path, format), explicit: false }),
            Err(error @ Error::Empty { .. }) if has_trace_name(path) => unusable.push(error),
            Err(error @ (Error::Damaged { .. } | Error::Unreadable { .. })) => unusable.push(error),
            Err(_) => {}
        }
    }
    let mut found = group_csv_sets(found);
    let is_workload = |found: &&FoundInput| found.input.format == Format::Compute;
    let workloads: HashSet<PathBuf> =
        found.iter().filter(is_workload).map(|found| found.input.path.clone()).collect();
    let is_repeated = |input: &Input| {
        let repeats = input.format == Format::ComputeAnalysis || repeats_workload(&input.path);
        repeats && input.path.parent().is_some_and(|folder| workloads.contains(folder))
    };
    found.retain(|found| has_rows(&found.input) && !is_repeated(&found.input));
    Ok(found)
}

/// Whether an input has more than totals and devices, which rocprofv3 can write without rows.
fn has_rows(input: &Input) -> bool {
    let of_rows = |path: &PathBuf| {
        header::of_file(path).is_some_and(|kind| !matches!(kind, CsvTable::Agents | CsvTable::Totals))
    };
    input.format != Format::Rocprofv3Csv || input.files.iter().any(of_rows)
}

/// Names that distinguish a lost trace from any other empty file.
fn has_trace_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    [
        ".db",
        ".rpd",
        ".json",
        ".json.gz",
        ".json.zst",
        "_trace.csv",
        ".pftrace",
        ".xplane.pb",
        ".pickle",
        ".jsonl",
    ]
    .iter()
    .any(|end| name.ends_with(end))
}

/// Files being written, lock files and the side files of SQLite.
const PARTIAL: &[&str] = &[".part", ".partial", ".tmp", ".crdownload", "~", "-journal", "-wal", "-shm"];

/// Output of `perfetto-fix`: the same recording as the trace it was made from.
const DERIVED: &str = "perfetto_fixed_trace";

fn is_hidden_or_partial(name: &str) -> bool {
    name.starts_with('.') || name.starts_with(DERIVED) || PARTIAL.iter().any(|end| name.ends_with(end))
}

/// Whether links may point outside the folders that are read.
static FOLLOWS_LINKS: AtomicBool = AtomicBool::new(false);

/// Lets links point outside the folders that this process reads. Otherwise a folder from a stranger could
/// make it read anything.
pub fn follow_links() {
    FOLLOWS_LINKS.store(true, atomic::Ordering::Relaxed);
}

/// The target of a link that points outside its folder and must not be followed.
fn leads_outside(path: &Path, root: &Path) -> Option<PathBuf> {
    let is_link = || fs::symlink_metadata(path).is_ok_and(|facts| facts.is_symlink());
    if FOLLOWS_LINKS.load(atomic::Ordering::Relaxed) || !is_link() {
        return None;
    }
    fs::canonicalize(path).ok().filter(|target| !target.starts_with(root))
}

/// All files in a folder tree, sorted by name with numbers in order; each real folder once.
fn list(
    folder: &Path,
    root: &Path,
    seen: &mut HashSet<PathBuf>,
    files: &mut Vec<PathBuf>,
    unusable: &mut Vec<Error>,
) -> std::io::Result<()> {
    if !seen.insert(fs::canonicalize(folder)?) {
        return Ok(());
    }
    if let Some(traces) = run_folder::traces(folder) {
        for path in traces {
            match leads_outside(&path, root) {
                Some(target) => unusable.push(Error::Outside { path, target }),
                None => files.push(path),
            }
        }
        return Ok(());
    }
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !is_hidden_or_partial(&entry.file_name().to_string_lossy()) {
            entries.push(entry.path());
        }
    }
    entries.sort_by(|a, b| natural(&a.to_string_lossy(), &b.to_string_lossy()));
    for path in entries {
        if let Some(target) = leads_outside(&path, root) {
            unusable.push(Error::Outside { path, target });
            continue;
        }
        match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => {
                if let Err(error) = list(&path, root, seen, files, unusable) {
                    unusable.push(Error::Unreadable { path, why: reason(&error) });
                }
            }
            Ok(meta) if meta.is_file() => files.push(path),
            // Sockets and pipes would block; a dangling link points at nothing.
            _ => {}
        }
    }
    Ok(())
}

/// Compares names so that `rank2` comes before `rank10`; never returns equal for different names.
fn natural(a: &str, b: &str) -> Ordering {
    let (mut x, mut y) = (a.as_bytes(), b.as_bytes());
    while let (Some(&p), Some(&q)) = (x.first(), y.first()) {
        if p.is_ascii_digit() && q.is_ascii_digit() {
            let (m, n) = (digits(x), digits(y));
            let (u, v) = (trimmed(&x[..m]), trimmed(&y[..n]));
            let order = u.len().cmp(&v.len()).then_with(|| u.cmp(v));
            if order != Ordering::Equal {
                return order;
            }
            (x, y) = (&x[m..], &y[n..]);
        } else if p != q {
            return p.cmp(&q);
        } else {
            (x, y) = (&x[1..], &y[1..]);
        }
    }
    x.len().cmp(&y.len()).then_with(|| a.cmp(b))
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_digit()).count()
}

fn trimmed(digits: &[u8]) -> &[u8] {
    &digits[digits.iter().take_while(|b| **b == b'0').count()..]
}

/// CSV files of one folder with one prefix become one input, at the position of the first.
fn group_csv_sets(found: Vec<FoundInput>) -> Vec<FoundInput> {
    let mut grouped: Vec<FoundInput> = Vec::new();
    let mut places: Map<(PathBuf, String), usize> = Map::default();
    for next in found {
        // Each table of a workload stands for its folder.
        if next.input.format == Format::Compute
            && let Some(known) = grouped.iter_mut().find(|known| known.input == next.input)
        {
            known.explicit |= next.explicit;
            continue;
        }
        let Some(set) = csv_set(&next.input) else {
            grouped.push(next);
            continue;
        };
        match places.get(&set) {
            Some(&place) => {
                let first = &mut grouped[place];
                first.explicit |= next.explicit;
                if !first.input.files.contains(&next.input.path) {
                    first.input.files.push(next.input.path);
                    first.input.bytes += next.input.bytes;
                }
            }
            None => {
                places.insert(set, grouped.len());
                grouped.push(next);
            }
        }
    }
    grouped
}

fn csv_set(input: &Input) -> Option<(PathBuf, String)> {
    if input.format != Format::Rocprofv3Csv {
        return None;
    }
    let name = input.path.file_name()?.to_str()?;
    let folder = input.path.parent()?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.into());
    Some((folder, header::prefix(name)?.to_string()))
}

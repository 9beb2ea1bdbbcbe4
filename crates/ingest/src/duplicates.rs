//! Reads each recording once, however often and under whatever names it is given.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use rapidhash::v3::rapidhash_v3;
use trace::{Health, Map, Ns, Status, Trace};

use crate::inputs::FoundInput;
use crate::rocprofv3::csv::header;
use crate::{Format, Input};

/// Drops duplicate inputs before anything is read: the same file, a file with the same bytes, or the same run
/// in another format of rocprofv3.
pub(crate) fn drop_copies(inputs: Vec<FoundInput>, health: &mut Health) -> Vec<FoundInput> {
    let mut same_size: Map<u64, u32> = Map::default();
    for found in &inputs {
        *same_size.entry(found.input.bytes).or_default() += 1;
    }
    let richest = richest_formats(&inputs);
    let others = others_by_folder(&inputs);
    let mut kept: Vec<FoundInput> = Vec::new();
    let mut paths: Map<PathBuf, usize> = Map::default();
    let mut contents: Map<(u64, u64), usize> = Map::default();
    for found in inputs {
        let input = &found.input;
        let path = std::fs::canonicalize(&input.path).unwrap_or_else(|_| input.path.clone());
        let by_content = input.bytes > 0 && same_size[&input.bytes] > 1;
        let content = by_content.then(|| Some((input.bytes, hash(&input.files)?))).flatten();
        let copy_of = paths.get(&path).or_else(|| contents.get(&content?)).copied();
        if let Some(first) = copy_of {
            let (first, again) = (kept[first].input.path.display(), input.path.display());
            report(health, format!("skipped `{again}`: it has the same recording as `{first}`"));
            continue;
        }
        let (path_shown, same_run) = (input.path.display(), run_of(input).and_then(|run| richest.get(&run)));
        if let Some(better) = same_run.filter(|better| **better != input.format) {
            let better = better.name();
            report(
                health,
                format!("skipped `{path_shown}`: it is the same run as the {better} file next to it"),
            );
            continue;
        }
        if is_picture_of_another(&found, &others) {
            let message =
                "it looks like an export of the other traces in its folder; name the file to read it";
            report(health, format!("skipped `{path_shown}`: {message}"));
            continue;
        }
        paths.insert(path, kept.len());
        if let Some(content) = content {
            contents.insert(content, kept.len());
        }
        kept.push(found);
    }
    kept
}

fn report(health: &mut Health, message: String) {
    health.report("duplicate_input", Status::Warn, None, message);
}

fn hash(files: &[PathBuf]) -> Option<u64> {
    files.iter().try_fold(0, |sum: u64, path| {
        let file = File::open(path).ok()?;
        // SAFETY: the file is only read; truncation by another program is the usual risk of a mapped file.
        let bytes = unsafe { memmap2::Mmap::map(&file) }.ok()?;
        Some(sum.rotate_left(1) ^ rapidhash_v3(&bytes))
    })
}

/// rocprofv3 writes one run in all requested formats, under one prefix.
fn run_of(input: &Input) -> Option<(PathBuf, String)> {
    let name = input.path.file_name()?.to_str()?;
    let prefix = match input.format {
        Format::Rocpd => name.strip_suffix("_results.db")?,
        Format::Xplane => xplane_name(name)?,
        // JAX also writes the same profile as a file for trace viewers.
        Format::Torch if viewer_name(name).is_some() => viewer_name(name)?,
        // `convert --to chrome` uses such names too.
        Format::Rocprofv3Json | Format::Torch => [".json", ".json.gz", ".json.zst"]
            .iter()
            .find_map(|e| name.strip_suffix(e))?
            .strip_suffix("_results")?,
        Format::Rocprofv3Csv => header::prefix(name).filter(|prefix| !prefix.is_empty())?,
        Format::Compute
        | Format::ComputeAnalysis
        | Format::Prometheus
        | Format::UnifiedMemory
        | Format::Rocprof
        | Format::Perfetto
        | Format::Rpd
        | Format::Snapshot
        | Format::Inspector => return None,
    };
    Some((input.path.parent().unwrap_or(Path::new("")).into(), prefix.into()))
}

fn xplane_name(name: &str) -> Option<&str> {
    name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".xplane.pb")
}

fn viewer_name(name: &str) -> Option<&str> {
    name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".trace.json")
}

/// Folders that hold something other than Perfetto traces.
fn others_by_folder(inputs: &[FoundInput]) -> HashSet<PathBuf> {
    let others = inputs.iter().map(|found| &found.input).filter(|input| input.format != Format::Perfetto);
    others.filter_map(|input| Some(input.path.parent()?.into())).collect()
}

/// Whether a Perfetto trace is in a folder with other formats: they come with a file that holds more.
fn is_picture_of_another(found: &FoundInput, others: &HashSet<PathBuf>) -> bool {
    let met = !found.explicit && found.input.format == Format::Perfetto;
    met && found.input.path.parent().is_some_and(|folder| others.contains(folder))
}

/// The format with the most data for each run.
fn richest_formats(inputs: &[FoundInput]) -> Map<(PathBuf, String), Format> {
    let order = |format: Format| match format {
        Format::Rocpd | Format::Rpd | Format::Xplane => 0,
        Format::Rocprofv3Json => 1,
        Format::Rocprofv3Csv
        | Format::Compute
        | Format::ComputeAnalysis
        | Format::Prometheus
        | Format::UnifiedMemory
        | Format::Rocprof
        | Format::Perfetto
        | Format::Snapshot
        | Format::Inspector => 2,
        // Converted from one of the others if the names match.
        Format::Torch => 3,
    };
    let mut richest: Map<(PathBuf, String), Format> = Map::default();
    for found in inputs {
        if let Some(run) = run_of(&found.input) {
            let best = richest.entry(run).or_insert(found.input.format);
            if order(found.input.format) < order(*best) {
                *best = found.input.format;
            }
        }
    }
    richest
}

/// What one recording holds: equal guids with equal contents are one recording.
#[derive(Clone, Debug, Default, PartialEq)]
struct Contents {
    rows: [usize; 4],
    span: Option<(Ns, Ns)>,
}

/// The recordings joined so far, by guid.
#[derive(Default)]
pub(crate) struct Recordings {
    by_guid: Map<String, (Contents, PathBuf)>,
    /// What was read, by its work: for formats that keep no guid.
    by_work: Map<Work, (Format, PathBuf)>,
}

/// How much GPU work there is, or calls if there is none, and its first and last nanosecond. Two recordings
/// never agree on all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Work {
    rows: usize,
    span: (Ns, Ns),
    length: Ns,
}

impl Work {
    fn of(part: &Trace) -> Option<Self> {
        let tables = [(&part.kernels.start, &part.kernels.end), (&part.regions.start, &part.regions.end)];
        let (starts, ends) = tables.into_iter().find(|(starts, _)| !starts.is_empty())?;
        let span = (*starts.iter().min()?, *ends.iter().max()?);
        let length = starts
            .iter()
            .zip(ends)
            .fold(0, |sum: Ns, (start, end)| sum.wrapping_add(end.wrapping_sub(*start)));
        Some(Self { rows: starts.len(), span, length })
    }
}

impl Recordings {
    /// Adds a part to the trace unless it is already in it; reports recordings that disagree.
    pub(crate) fn join(&mut self, trace: &mut Trace, part: Trace, input: &Input) {
        let contents = contents_by_guid(&part);
        let known = |guid: &String| self.by_guid.get(guid);
        let again = contents.iter().all(|(guid, holds)| known(guid).is_some_and(|(seen, _)| seen == holds));
        if again && let Some((_, first)) = contents.first().and_then(|(guid, _)| known(guid)) {
            let (first, again) = (first.display(), input.path.display());
            let message = format!("skipped `{again}`: it has the same recording as `{first}`");
            report(&mut trace.health, message);
            return;
        }
        if let Some(work) = Work::of(&part) {
            // The formats that runs are converted to; those of rocprofv3 are found by their names.
            let converted = |format: Format| matches!(format, Format::Torch | Format::Perfetto);
            let known = self.by_work.get(&work).filter(|(format, _)| {
                *format != input.format && (converted(*format) || converted(input.format))
            });
            if let Some((format, first)) = known {
                let (first, again, format) = (first.display(), input.path.display(), format.name());
                let message =
                    format!("skipped `{again}`: it has the same recording as the {format} file `{first}`");
                report(&mut trace.health, message);
                return;
            }
            self.by_work.entry(work).or_insert_with(|| (input.format, input.path.clone()));
        }
        for (guid, holds) in contents {
            match self.by_guid.get(&guid) {
                Some((seen, first)) => {
                    let how = if *seen == holds { "again" } else { "with different rows" };
                    let message = format!(
                        "recording {guid} of `{}` is also in `{}` ({how}): both were read, so totals count it twice",
                        first.display(),
                        input.path.display()
                    );
                    trace.health.report("conflicting_input", Status::Fail, None, message);
                }
                None => {
                    self.by_guid.insert(guid, (holds, input.path.clone()));
                }
            }
        }
        trace.append(part);
    }
}

/// Rows and time span of every guid of a trace, in the order of its processes.
fn contents_by_guid(part: &Trace) -> Vec<(String, Contents)> {
    let mut order: Vec<(String, Contents)> = Vec::new();
    let place_of: Vec<Option<usize>> = part
        .processes
        .iter()
        .map(|process| {
            let guid = part.strings.get(process.guid);
            if guid.is_empty() {
                return None;
            }
            let known = order.iter().position(|(seen, _)| seen == guid);
            Some(known.unwrap_or_else(|| {
                order.push((guid.to_string(), Contents::default()));
                order.len() - 1
            }))
        })
        .collect();
    let tables = [
        (&part.kernels.process, &part.kernels.start, &part.kernels.end),
        (&part.memory_copies.process, &part.memory_copies.start, &part.memory_copies.end),
        (&part.memory_allocations.process, &part.memory_allocations.start, &part.memory_allocations.end),
        (&part.regions.process, &part.regions.start, &part.regions.end),
    ];
    for (table, (processes, starts, ends)) in tables.into_iter().enumerate() {
        for ((process, &start), &end) in processes.iter().zip(starts).zip(ends) {
            let Some(place) = process.get().and_then(|p| place_of[p]) else { continue };
            let holds = &mut order[place].1;
            holds.rows[table] += 1;
            let span = holds.span.get_or_insert((start, end));
            *span = (span.0.min(start), span.1.max(end));
        }
    }
    order
}

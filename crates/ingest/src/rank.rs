//! A file's rank and role, from its name and its folders.

use std::path::{Path, PathBuf};

use trace::{Map, Trace};

use crate::Format;

/// The position of a process in a parallel job, as far as a name shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct JobPosition {
    /// Pipeline stage.
    pub pipeline: Option<u32>,
    /// Data-parallel replica.
    pub data: Option<u32>,
    /// Tensor-parallel rank.
    pub tensor: Option<u32>,
    /// Expert-parallel rank.
    pub expert: Option<u32>,
}

/// Folders further up say nothing about a file.
const FOLDERS_LOOKED_AT: usize = 3;

/// Ranks are small; longer numbers are times and process ids.
const MOST_DIGITS: usize = 6;

/// The rank a path names: `rank0`, `rank-0`, `.rank.7.`, `worker3`, `TP-0`, `[TP00]`, `r0`.
pub fn rank_of_path(path: &Path) -> Option<u32> {
    names(path).find_map(|name| of_name(&name))
}

/// The position a path names, if it is more than a rank: `-TP-0-DP-1-PP-2`.
pub(crate) fn place_of_path(path: &Path) -> Option<JobPosition> {
    names(path).find_map(|name| Some(place_of_name(&name)).filter(|place| *place != JobPosition::default()))
}

/// The role of a torch trace that is not a rank of the job: `capture`, `mapping`, `merged` or `helper`.
pub fn role_of_path(path: &Path) -> Option<&'static str> {
    let mut names = names(path);
    let file = names.next()?;
    let folders: Vec<String> = names.collect();
    let captured = |name: &String| CAPTURES.iter().any(|word| name.contains(word));
    if captured(&file) || folders.iter().any(captured) {
        return Some("capture");
    }
    if file.starts_with(MAPPING_FILE) || folders.iter().any(|folder| folder == MAPPING_FOLDER) {
        return Some("mapping");
    }
    let stem = HELPERS.iter().any(|word| file.contains(word));
    let merged = file.starts_with("merged-") || file.starts_with("merged_") || file.starts_with("merged.");
    if merged { Some("merged") } else { stem.then_some("helper") }
}

/// Names that serving frameworks give to traces of graph captures.
const CAPTURES: &[&str] = &["capture_traces", "graph_capture"];

/// Names that `capture` and `synth` give to traces of the graph-off run of a pair.
const MAPPING_FILE: &str = "mapping-trace";
const MAPPING_FOLDER: &str = "mapping";

/// Names of traces of processes that drive the ranks but are not ranks.
const HELPERS: &[&str] = &[".async_llm.", ".api_server."];

/// The file's name, then its folders from the nearest, in lower case.
fn names(path: &Path) -> impl Iterator<Item = String> {
    path.iter()
        .rev()
        .filter_map(|part| part.to_str())
        .filter(|part| !matches!(*part, "." | ".." | "/"))
        .take(1 + FOLDERS_LOOKED_AT)
        .map(str::to_ascii_lowercase)
}

fn of_name(name: &str) -> Option<u32> {
    number_after(name, "rank")
        .or_else(|| number_after(name, "worker"))
        .or_else(|| number_after(name, "tp"))
        .or_else(|| short_rank(name))
}

fn place_of_name(name: &str) -> JobPosition {
    JobPosition {
        pipeline: number_after(name, "pp"),
        data: number_after(name, "dp"),
        tensor: number_after(name, "tp"),
        expert: number_after(name, "ep"),
    }
}

/// The number after the last `word` that stands alone in a name, with at most one separator.
fn number_after(name: &str, word: &str) -> Option<u32> {
    let bytes = name.as_bytes();
    name.rmatch_indices(word).find_map(|(at, _)| {
        let before = at.checked_sub(1).map(|i| bytes[i]);
        if before.is_some_and(|b| b.is_ascii_alphanumeric()) {
            return None;
        }
        let rest = &name[at + word.len()..];
        let rest = rest.strip_prefix(['-', '_', '.', '=', ' ']).unwrap_or(rest);
        leading_number(rest)
    })
}

/// `r0` as a separate word.
fn short_rank(name: &str) -> Option<u32> {
    name.split(|c: char| !c.is_ascii_alphanumeric()).find_map(|word| {
        let digits = word.strip_prefix('r')?;
        leading_number(digits).filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))
    })
}

fn leading_number(text: &str) -> Option<u32> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let next = text.as_bytes().get(digits);
    // `rank0abc` is a word, not a rank.
    let ends = next.is_none_or(|b| !b.is_ascii_alphabetic());
    ((1..=MOST_DIGITS).contains(&digits) && ends).then(|| text[..digits].parse().ok())?
}

/// Gives every source its rank and role: what a reader knows about the process overrides names.
pub(crate) fn assign(trace: &mut Trace) {
    let of_processes = ranks_of_processes(trace);
    for (source, of_processes) in trace.sources.iter_mut().zip(of_processes) {
        let path = PathBuf::from(&source.path);
        if source.role.is_none() && source.format == Format::Torch.name() {
            source.role = role_of_path(&path).map(str::to_string);
        }
        source.rank = match source.role.as_deref() {
            Some(role) if !["memory", "collectives"].contains(&role) => None,
            _ => source.rank.or(of_processes).or_else(|| rank_of_path(&path)),
        };
    }
    let no_rank = |role: &Option<String>| matches!(role.as_deref(), Some("capture" | "helper" | "mapping"));
    for process in &mut trace.processes {
        if process.source.get().is_some_and(|source| no_rank(&trace.sources[source].role)) {
            process.rank = None;
        }
    }
    part_equal_ranks(trace);
}

/// For each source the rank of its processes, if they agree.
fn ranks_of_processes(trace: &Trace) -> Vec<Option<u32>> {
    let mut lowest_and_highest: Vec<Option<(u32, u32)>> = vec![None; trace.sources.len()];
    for process in &trace.processes {
        if let (Some(source), Some(rank)) = (process.source.get(), process.rank) {
            let (low, high) = lowest_and_highest[source].get_or_insert((rank, rank));
            (*low, *high) = ((*low).min(rank), (*high).max(rank));
        }
    }
    lowest_and_highest.into_iter().map(|ranks| ranks.filter(|(low, high)| low == high).map(|r| r.0)).collect()
}

/// Replicas and pipeline stages number their tensor ranks from zero: if names give different positions but
/// one rank, the ranks are the positions in order.
fn part_equal_ranks(trace: &mut Trace) {
    let placed: Vec<(usize, JobPosition)> = (0..trace.sources.len())
        .filter(|&id| trace.sources[id].rank.is_some())
        .filter_map(|id| Some((id, place_of_path(Path::new(&trace.sources[id].path))?)))
        .collect();
    let mut place_of_rank: Map<u32, JobPosition> = Map::default();
    let ambiguous = placed.iter().any(|(id, place)| {
        let rank = trace.sources[*id].rank.unwrap_or_default();
        place_of_rank.insert(rank, *place).is_some_and(|other| other != *place)
    });
    if !ambiguous {
        return;
    }
    let mut places: Vec<JobPosition> = placed.iter().map(|(_, place)| *place).collect();
    places.sort_unstable();
    places.dedup();
    let mut renumbered = vec![false; trace.sources.len()];
    for (id, place) in placed {
        trace.sources[id].rank = places.binary_search(&place).ok().map(|rank| rank as u32);
        renumbered[id] = true;
    }
    for process in &mut trace.processes {
        if process.source.get().is_some_and(|source| renumbered[source]) {
            // The source has the rank.
            process.rank = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_found_in_names() {
        for (path, expected) in [
            ("rank0.json", Some(0)),
            ("sampled_rank-0.json.gz", Some(0)),
            ("trace_rank_3.json", Some(3)),
            ("trace.rank.7.json", Some(7)),
            ("host_rank12_results.db", Some(12)),
            ("node1_rank12.json", Some(12)),
            ("Rank=5.json", Some(5)),
            ("x_r0.db", Some(0)),
            ("r13.json", Some(13)),
            ("1700000000.123-TP-0.trace.json.gz", Some(0)),
            ("1700000000.123-TP-3-DECODE.trace.json.gz", Some(3)),
            ("p-TP-1-DP-0-PP-2-EXTEND.trace.json.gz", Some(1)),
            ("[TP00] 123.json", Some(0)),
            ("worker4.json", Some(4)),
            ("dp0_pp0_tp2_rank_6.1773709742341309550.pt.trace.json.gz", Some(6)),
            ("job/rank_3/host/123_results.db", Some(3)),
            ("results_12.db", None),
            ("12_results.db", None),
            ("frank1.json", None),
            ("rank.json", None),
            ("ranks8.json", None),
            ("rank_1773709742341309550.json", None),
            ("for2.json", None),
            ("http0.json", None),
            ("gfx942_r0x.json", None),
        ] {
            assert_eq!(rank_of_path(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn places_keep_all_dimensions() {
        let place = place_of_path(Path::new("p-TP-1-DP-0-PP-2-EXTEND.trace.json.gz"));
        let expected = JobPosition { pipeline: Some(2), data: Some(0), tensor: Some(1), expert: None };
        assert_eq!(place, Some(expected));
        assert_eq!(place_of_path(Path::new("rank0.json")), None);
    }

    #[test]
    fn captures_merges_and_helpers_are_no_ranks() {
        for (path, expected) in [
            ("run/capture_traces/bs_32_rank0.json.gz", Some("capture")),
            ("graph_capture_profile/decode_bs_32_rank0.json.gz", Some("capture")),
            ("graph_capture_rank_0.177.pt.trace.json.gz", Some("capture")),
            ("merged-170.trace.json.gz", Some("merged")),
            ("out/mapping/decode/x-TP-0.trace.json.gz", Some("mapping")),
            ("mapping-trace-17-TP-0.trace.json.gz", Some("mapping")),
            ("kernel_mapping/rank0.json", None),
            ("host_12.async_llm.177.pt.trace.json.gz", Some("helper")),
            ("rank0.json", None),
        ] {
            assert_eq!(role_of_path(Path::new(path)), expected, "{path}");
        }
    }
}

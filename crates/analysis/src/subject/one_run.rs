//! Selects one run from many files: its rank, its stages, and files that are not of a rank.

use report::{Note, Remedy};
use trace::Source;

use model::stages::{self, Stage};

/// The files of one rank of one run, as indices into the list of sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OneRun {
    /// Files to analyse: a single one, or one per stage.
    pub formal: Vec<usize>,
    /// Files of the graph-off server of a pair.
    pub mapping: Vec<usize>,
    /// Traces of graph captures.
    pub captures: Vec<usize>,
    /// The rank, if the files name it.
    pub rank: Option<u32>,
    /// All ranks of the run, sorted.
    pub ranks: Vec<u32>,
}

/// Why the files are not one run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OneRunError {
    /// The same rank and stage occurs more than once.
    #[error("triage needs one run, but there are {} runs: {}", paths.len(), listed(paths))]
    Several {
        /// The files of the first rank and stage that occurs twice.
        paths: Vec<String>,
    },
    /// No file has the requested rank.
    #[error("there is no rank {rank}; there are {}", if ranks.is_empty() { "no ranks".into() } else { numbers(ranks) })]
    NoSuchRank {
        /// The requested rank.
        rank: u32,
        /// The ranks that exist.
        ranks: Vec<u32>,
    },
    /// Only captures and traces of helpers.
    #[error("there is no trace of a rank, only {what}")]
    NoRank {
        /// The kinds of files.
        what: String,
    },
}

/// Most paths that fit on a line.
const LISTED: usize = 8;

fn listed(paths: &[String]) -> String {
    let mut text: Vec<String> = paths.iter().take(LISTED).map(|path| format!("`{path}`")).collect();
    if paths.len() > LISTED {
        text.push(format!("and {} more", paths.len() - LISTED));
    }
    text.join(", ")
}

/// `0, 1, 4 to 7`.
pub(super) fn numbers(ranks: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => runs.push((rank, rank)),
        }
    }
    let text = runs.iter().flat_map(|&(first, last)| match last - first {
        0 => vec![first.to_string()],
        1 => vec![first.to_string(), last.to_string()],
        _ => vec![format!("{first} to {last}")],
    });
    text.collect::<Vec<_>>().join(", ")
}

impl OneRun {
    /// Selects sources: of the lowest rank, or of the requested rank.
    pub fn choose(sources: &[Source], wanted: Option<u32>) -> Result<Self, OneRunError> {
        let of_role = |role: Option<&str>| -> Vec<usize> {
            (0..sources.len()).filter(|&i| sources[i].role.as_deref() == role).collect()
        };
        let mut run = Self { captures: of_role(Some("capture")), ..Self::default() };
        // A merged trace repeats the ranks and is only used if there is nothing else; so are mapping traces.
        let mut formal = of_role(None);
        if formal.is_empty() {
            formal = of_role(Some("merged"));
        }
        if formal.is_empty() {
            formal = of_role(Some("mapping"));
        } else {
            run.mapping = of_role(Some("mapping"));
        }
        if formal.is_empty() {
            let roles: Vec<&str> = sources.iter().filter_map(|source| source.role.as_deref()).collect();
            return Err(OneRunError::NoRank { what: kinds(&roles) });
        }
        run.ranks = formal.iter().filter_map(|&i| sources[i].rank).collect();
        run.ranks.sort_unstable();
        run.ranks.dedup();
        run.rank = match wanted {
            // A file with several ranks names none itself; its processes do.
            Some(rank) if !run.ranks.is_empty() && !run.ranks.contains(&rank) => {
                return Err(OneRunError::NoSuchRank { rank, ranks: run.ranks });
            }
            Some(rank) => Some(rank),
            None => run.ranks.first().copied(),
        };
        if !run.ranks.is_empty() {
            formal.retain(|&i| sources[i].rank == run.rank || sources[i].rank.is_none());
        }
        check_once(sources, &formal)?;
        run.formal = formal;
        Ok(run)
    }

    /// A note about ranks that are left out.
    pub fn note(&self) -> Option<Note> {
        let rank = self.rank.filter(|_| self.ranks.len() > 1)?;
        let all = numbers(&self.ranks);
        Some(Note::new(format!("rank {rank} of ranks {all}"), Remedy::OtherRank))
    }
}

/// Fails if a stage occurs twice.
fn check_once(sources: &[Source], formal: &[usize]) -> Result<(), OneRunError> {
    let label = |i: usize| -> Option<Stage> { stages::label(&sources[i].path) };
    for &i in formal {
        let same: Vec<usize> = formal.iter().copied().filter(|&j| label(j) == label(i)).collect();
        // If only some traces have a stage, it is unclear whether they belong together.
        let unclear = label(i).is_none() && formal.len() > 1;
        if same.len() > 1 || unclear {
            let several = if same.len() > 1 { &same[..] } else { formal };
            return Err(OneRunError::Several {
                paths: several.iter().map(|&j| sources[j].path.clone()).collect(),
            });
        }
    }
    Ok(())
}

fn kinds(roles: &[&str]) -> String {
    const WORDS: [(&str, &str); 2] =
        [("capture", "captures of graphs"), ("helper", "traces of helper processes")];
    let words: Vec<&str> =
        WORDS.iter().filter(|(role, _)| roles.contains(role)).map(|(_, words)| *words).collect();
    words.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, Option<u32>, Option<&str>)]) -> Vec<Source> {
        let source = |(path, rank, role): &(&str, Option<u32>, Option<&str>)| Source {
            rank: *rank,
            role: role.map(String::from),
            ..Source::named(path, "torch")
        };
        files.iter().map(source).collect()
    }

    #[test]
    fn the_lowest_rank_is_taken_with_all_its_stages() {
        let files = [
            ("prefill/TP-1.json", Some(1), None),
            ("prefill/TP-0.json", Some(0), None),
            ("decode/TP-0.json", Some(0), None),
            ("decode/TP-1.json", Some(1), None),
            ("capture_traces/graph_capture_rank_0.json", None, Some("capture")),
            ("merged-1.json", None, Some("merged")),
            ("x.async_llm.1.json", None, Some("helper")),
            ("mapping/decode/TP-0.json", None, Some("mapping")),
        ];
        let run = OneRun::choose(&sources(&files), None).unwrap();
        assert_eq!((run.formal.as_slice(), run.rank), (&[1, 2][..], Some(0)));
        assert_eq!((run.captures.as_slice(), run.mapping.as_slice()), (&[4][..], &[7][..]));
        assert_eq!(run.note().unwrap(), "rank 0 of ranks 0, 1");
        let other = OneRun::choose(&sources(&files), Some(1)).unwrap();
        assert_eq!(other.formal, [0, 3]);
        let none = OneRun::choose(&sources(&files), Some(7)).unwrap_err();
        assert_eq!(none.to_string(), "there is no rank 7; there are 0, 1");
    }

    #[test]
    fn several_runs_are_listed() {
        let twice = sources(&[("a/decode.json", Some(0), None), ("b/decode.json", Some(0), None)]);
        let error = OneRun::choose(&twice, None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "triage needs one run, but there are 2 runs: `a/decode.json`, `b/decode.json`"
        );
        let unclear = sources(&[("decode.json", None, None), ("model.json", None, None)]);
        assert!(
            matches!(OneRun::choose(&unclear, None), Err(OneRunError::Several { paths }) if paths.len() == 2)
        );
    }

    #[test]
    fn a_merged_trace_alone_is_the_run() {
        let merged = sources(&[("merged-1.json", None, Some("merged"))]);
        assert_eq!(OneRun::choose(&merged, Some(3)).unwrap().formal, [0]);
        let helper = sources(&[("x.async_llm.1.json", None, Some("helper"))]);
        let error = OneRun::choose(&helper, None).unwrap_err();
        assert_eq!(error.to_string(), "there is no trace of a rank, only traces of helper processes");
    }

    #[test]
    fn ranks_are_told_in_runs() {
        assert_eq!(numbers(&[0, 1, 2, 3, 7, 9, 10]), "0 to 3, 7, 9, 10");
    }
}

//! Which files of a folder are ranks and stages of one run, and which are repeats.

use trace::{Ns, Trace};

use model::stages::{self, Stage};

/// Why files cannot be sorted into runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot tell repeats apart: {}", counts.join(", "))]
pub struct Uneven {
    /// How often each rank and stage occurs.
    pub counts: Vec<String>,
}

/// The sources of each run, as indices into the list of sources.
///
/// If a rank and stage occurs several times, there are that many runs, in file order. Files whose processes
/// ran at the same time are one run. Captures, merged traces and helpers only count if there is nothing else.
pub fn repeats(trace: &Trace) -> Result<Vec<Vec<usize>>, Uneven> {
    let sources = &trace.sources;
    let plain = sources.iter().any(|source| source.role.is_none());
    let mut kinds: Vec<RankAndStage> = Vec::new();
    for place in (0..sources.len()).filter(|&i| !plain || sources[i].role.is_none()) {
        let (rank, stage) = (sources[place].rank, stages::label(&sources[place].path));
        let kind = match kinds.iter_mut().find(|kind| kind.rank == rank && kind.stage == stage) {
            Some(kind) => kind,
            None => {
                kinds.push(RankAndStage { rank, stage, runs: Vec::new() });
                kinds.last_mut().expect("one was added")
            }
        };
        kind.add(place, times(trace, place));
    }
    let runs = kinds.first().map_or(0, |kind| kind.runs.len());
    if kinds.iter().any(|kind| kind.runs.len() != runs) {
        return Err(Uneven { counts: kinds.iter().map(RankAndStage::count).collect() });
    }
    let run = |number: usize| {
        let mut places: Vec<usize> = kinds.iter().flat_map(|kind| kind.runs[number].places.clone()).collect();
        places.sort_unstable();
        places
    };
    Ok((0..runs).map(run).collect())
}

/// One rank and stage.
struct RankAndStage {
    rank: Option<u32>,
    stage: Option<Stage>,
    runs: Vec<Files>,
}

/// Files of one run.
struct Files {
    places: Vec<usize>,
    /// When they ran, if recorded.
    times: Option<(Ns, Ns)>,
}

impl RankAndStage {
    fn add(&mut self, place: usize, times: Option<(Ns, Ns)>) {
        let together = |run: &&mut Files| match (run.times, times) {
            (Some((start, end)), Some((other_start, other_end))) => start < other_end && other_start < end,
            _ => false,
        };
        match self.runs.iter_mut().find(together) {
            Some(run) => {
                run.places.push(place);
                run.times = run.times.zip(times).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)));
            }
            None => self.runs.push(Files { places: vec![place], times }),
        }
    }

    fn count(&self) -> String {
        let what = match (self.rank, self.stage) {
            (Some(rank), Some(stage)) => format!("rank {rank} of {}", stage.name()),
            (Some(rank), None) => format!("rank {rank}"),
            (None, Some(stage)) => stage.name().to_string(),
            (None, None) => "a trace without rank".to_string(),
        };
        format!("{what} occurs {} times", self.runs.len())
    }
}

/// When the processes of a source ran, if recorded.
fn times(trace: &Trace, source: usize) -> Option<(Ns, Ns)> {
    let of_source = trace.processes.iter().filter(|process| process.source.get() == Some(source));
    let times =
        of_source.filter_map(|process| process.start.zip(process.end)).filter(|(start, end)| start < end);
    times.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Process, Source};

    type File<'a> = (&'a str, Option<u32>, Option<&'a str>, Option<(Ns, Ns)>);

    fn found(files: &[File]) -> Result<Vec<Vec<usize>>, Uneven> {
        let mut trace = Trace::default();
        for (path, rank, role, times) in files {
            let role = role.map(String::from);
            let id = trace.add_source(Source { rank: *rank, role, ..Source::named(path, "test") });
            let (start, end) = (times.map(|t| t.0), times.map(|t| t.1));
            trace.add_process(Process { start, end, ..Process::new(id, 1) });
        }
        repeats(&trace)
    }

    #[test]
    fn the_same_rank_again_is_another_run() {
        let files = [
            ("run1/rank0.json", Some(0), None, None),
            ("run1/rank1.json", Some(1), None, None),
            ("run2/rank0.json", Some(0), None, None),
            ("run2/rank1.json", Some(1), None, None),
        ];
        assert_eq!(found(&files).unwrap(), [vec![0, 1], vec![2, 3]]);
        let error = found(&files[..3]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot tell repeats apart: rank 0 occurs 2 times, rank 1 occurs 1 times"
        );
    }

    #[test]
    fn files_without_rank_are_runs_unless_they_ran_at_once() {
        let apart = [("1.db", None, None, Some((0, 10))), ("2.db", None, None, Some((20, 30)))];
        assert_eq!(found(&apart).unwrap(), [vec![0], vec![1]]);
        let at_once = [("1.db", None, None, Some((0, 10))), ("2.db", None, None, Some((5, 30)))];
        assert_eq!(found(&at_once).unwrap(), [vec![0, 1]]);
        let unknown = [("1.json", None, None, None), ("2.json", None, None, None)];
        assert_eq!(found(&unknown).unwrap().len(), 2);
    }

    #[test]
    fn stages_belong_together_and_captures_to_none() {
        let files = [
            ("a/prefill.json", Some(0), None, None),
            ("a/decode.json", Some(0), None, None),
            ("a/capture_traces/x.json", None, Some("capture"), None),
        ];
        assert_eq!(found(&files).unwrap(), [vec![0, 1]]);
        assert_eq!(found(&files[2..]).unwrap(), [vec![0]], "alone it is all there is");
    }
}

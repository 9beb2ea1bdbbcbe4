//! Labels that distinguish the recordings of a trace for people: host, pid and rank, as far as they differ.

use crate::ids::ProcessId;
use crate::trace::Trace;
use crate::{Map, StrId};

/// Separator between the parts of a label.
pub const LABEL_SEPARATOR: &str = " · ";

impl Trace {
    /// By process: `node1 · pid 7 · rank 0`, only the parts that differ; empty if there is one recording.
    ///
    /// The pid is left out if host and rank distinguish all recordings. Recordings that share all three, as
    /// containers do, are numbered.
    pub fn process_labels(&self) -> Vec<String> {
        let mut numbers: Map<(StrId, u32), usize> = Map::default();
        let of_recording: Vec<usize> = self
            .processes
            .iter()
            .map(|process| {
                let source = if process.guid.is_empty() { process.source.0 } else { u32::MAX };
                let next = numbers.len();
                *numbers.entry((process.guid, source)).or_insert(next)
            })
            .collect();
        let count = numbers.len();
        if count < 2 {
            return vec![String::new(); self.processes.len()];
        }
        let parts: Vec<[String; 3]> = (0..self.processes.len()).map(|process| self.parts(process)).collect();
        let mut shown = [0, 1, 2].map(|part| parts.iter().any(|one| one[part] != parts[0][part]));
        // Whether all recordings get different labels.
        let apart = |shown: [bool; 3]| {
            let mut seen: Map<Vec<&str>, usize> = Map::default();
            parts.iter().zip(&of_recording).all(|(parts, &recording)| {
                *seen.entry(chosen(parts, shown).collect()).or_insert(recording) == recording
            })
        };
        if apart([shown[0], false, shown[2]]) {
            shown[1] = false;
        }
        let is_numbered = !apart(shown);
        let label = |(parts, recording): (&[String; 3], &usize)| {
            let number = is_numbered.then(|| format!("recording {}", recording + 1));
            let all: Vec<&str> = chosen(parts, shown).chain(number.as_deref()).collect();
            all.join(LABEL_SEPARATOR)
        };
        parts.iter().zip(&of_recording).map(label).collect()
    }

    fn parts(&self, process: usize) -> [String; 3] {
        let about = &self.processes[process];
        let rank = self.rank_of(ProcessId::at(process)).map(|rank| format!("rank {rank}"));
        [self.strings.get(about.hostname).to_string(), format!("pid {}", about.pid), rank.unwrap_or_default()]
    }
}

fn chosen(parts: &[String; 3], shown: [bool; 3]) -> impl Iterator<Item = &str> {
    parts.iter().zip(shown).filter(|(part, shown)| *shown && !part.is_empty()).map(|(part, _)| part.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Process, Source};

    fn labels(recordings: &[(&str, &str, i64, Option<u32>)]) -> Vec<String> {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named("merged.db", "rocpd"));
        for &(guid, host, pid, rank) in recordings {
            let (guid, hostname) = (trace.strings.intern(guid), trace.strings.intern(host));
            trace.add_process(Process { guid, hostname, rank, ..Process::new(source, pid) });
        }
        trace.process_labels()
    }

    #[test]
    fn lanes_of_merged_recordings_no_longer_have_one_name() {
        assert_eq!(labels(&[("a", "node1", 7, Some(0))]), [""], "one recording needs no label");
        assert_eq!(
            labels(&[("a", "node1", 7, Some(0)), ("b", "node1", 8, Some(1))]),
            ["rank 0", "rank 1"],
            "the rank tells them apart"
        );
        assert_eq!(
            labels(&[("a", "node1", 7, None), ("b", "node1", 8, None), ("c", "node2", 7, None)]),
            ["node1 · pid 7", "node1 · pid 8", "node2 · pid 7"]
        );
        assert_eq!(
            labels(&[("a", "node1", 7, None), ("b", "node1", 7, None), ("a", "node1", 7, None)]),
            ["recording 1", "recording 2", "recording 1"],
            "containers repeat pids"
        );
    }
}

//! Kernels that the profiler loses: `synth` leaves them out of the trace and lists them in the truth.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use serde::Serialize;
use stats::random::{Random, mix};

use crate::Error;
use crate::clock::Clock;
use crate::program::Program;
use crate::ranks::Met;
use crate::record::{Detail, Record};

/// Which kernels the profiler loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LossKind {
    /// Some kernels of some graph launches; one launch of each graph stays whole.
    Graph,
    /// The same kernels of a graph in every launch of it.
    Replay,
    /// Kernels with a launch of their own.
    Eager,
    /// A stretch of the kernels of one stream.
    Stream,
    /// A stretch of the kernels of one rank.
    Rank,
    /// Collectives, sends and receives of every rank, anywhere.
    Collective,
}

impl LossKind {
    const ALL: [(&'static str, LossKind); 6] = [
        ("graph", LossKind::Graph),
        ("replay", LossKind::Replay),
        ("eager", LossKind::Eager),
        ("stream", LossKind::Stream),
        ("rank", LossKind::Rank),
        ("collective", LossKind::Collective),
    ];
}

/// A loss to inject: a kind and the share of its kernels, above 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Which kernels.
    pub kind: LossKind,
    /// How many of them.
    pub share: f64,
}

impl FromStr for Loss {
    type Err = String;

    /// `graph=0.3`, `rank=10%`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, share) = text.split_once('=').ok_or("write it as KIND=SHARE, such as graph=10%")?;
        let kinds = || LossKind::ALL.map(|(name, _)| name).join(", ");
        let kind = LossKind::ALL.iter().find(|(known, _)| *known == name.trim());
        let (_, kind) = kind.ok_or_else(|| format!("`{name}` is not one of {}", kinds()))?;
        let (digits, unit) = match share.trim().strip_suffix('%') {
            Some(percent) => (percent, 100.0),
            None => (share, 1.0),
        };
        let number: f64 = digits.trim().parse().map_err(|_| format!("`{share}` is not a number"))?;
        let share = number / unit;
        if !(share > 0.0 && share <= 1.0) {
            return Err("the share must be above 0 and at most 1 (100%)".into());
        }
        Ok(Self { kind: *kind, share })
    }
}

/// What the profiler lost on one rank.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct LossTruth {
    /// Which kernels.
    pub kind: LossKind,
    /// The rank.
    pub rank: u32,
    /// The stream, if only one lost kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<u32>,
    /// Launches that miss some or all of their kernels.
    pub launches: u64,
    /// Lost kernels.
    pub kernels: u64,
    /// How long they ran in all, on the rank's clock.
    pub time_ns: i64,
}

/// A kernel of the log: its place in this list is its number.
struct Ran {
    stream: u32,
    correlation: i64,
    replayed: bool,
    time_ns: i64,
    collective: Option<Met>,
}

/// What ran on one rank.
#[derive(Default)]
struct Log {
    kernels: Vec<Ran>,
    graphs: BTreeMap<i64, u32>,
}

/// Records which kernels run, to choose from.
pub(crate) struct Survey {
    logs: Vec<Log>,
    clocks: Vec<Clock>,
}

impl Survey {
    pub(crate) fn new(clocks: &[Clock]) -> Self {
        Self { logs: clocks.iter().map(|_| Log::default()).collect(), clocks: clocks.to_vec() }
    }

    pub(crate) fn add(&mut self, rank: usize, records: &[Record]) {
        let (log, clock) = (&mut self.logs[rank], self.clocks[rank]);
        for record in records {
            match *record {
                Record::Kernel { stream, correlation, replayed, start, end, collective, .. } => {
                    let time_ns = clock.show(end) - clock.show(start);
                    log.kernels.push(Ran { stream, correlation, replayed, time_ns, collective });
                }
                Record::Call { correlation, detail: Detail::Graph { graph }, .. } => {
                    log.graphs.insert(correlation, graph);
                }
                _ => {}
            }
        }
    }

    /// Chooses the kernels to lose.
    pub(crate) fn choose(&self, losses: &[Loss], program: &Program, seed: u64) -> Result<Lost, Error> {
        let mut lost = Lost {
            rows: self.logs.iter().map(|log| vec![false; log.kernels.len()]).collect(),
            next: vec![0; self.logs.len()],
            truth: Vec::new(),
            met: BTreeSet::new(),
        };
        for (number, loss) in losses.iter().enumerate() {
            let mut random = Random::new(mix(seed ^ ((number as u64 + 1) << 32) ^ loss.kind as u64));
            let ranks = self.logs.len();
            let one = random.below(ranks);
            let mut found = false;
            for rank in 0..ranks {
                if matches!(loss.kind, LossKind::Stream | LossKind::Rank) && rank != one {
                    continue;
                }
                let log = &self.logs[rank];
                let (stream, rows) = log.rows(*loss, &mut random);
                let rows: Vec<usize> = rows.into_iter().filter(|&row| !lost.rows[rank][row]).collect();
                if rows.is_empty() {
                    continue;
                }
                found = true;
                let mut launches: Vec<i64> = rows.iter().map(|&row| log.kernels[row].correlation).collect();
                launches.sort_unstable();
                launches.dedup();
                lost.truth.push(LossTruth {
                    kind: loss.kind,
                    rank: rank as u32,
                    stream: stream.map(|stream| program.streams[stream as usize].id),
                    launches: launches.len() as u64,
                    kernels: rows.len() as u64,
                    time_ns: rows.iter().map(|&row| log.kernels[row].time_ns).sum(),
                });
                for row in rows {
                    lost.rows[rank][row] = true;
                    let met = log.kernels[row].collective;
                    let p2p = |met: Met| program.collectives[met.which as usize].peer.is_some();
                    lost.met.extend(met.map(|met| (rank as u32, (met.group, p2p(met)), met.sequence)));
                }
            }
            if !found {
                let (name, _) = LossKind::ALL[loss.kind as usize];
                return Err(Error::Options(format!("this run has no kernels that `{name}` could lose")));
            }
        }
        Ok(lost)
    }
}

impl Log {
    fn rows(&self, loss: Loss, random: &mut Random) -> (Option<u32>, Vec<usize>) {
        let numbers = |wanted: &dyn Fn(&Ran) -> bool| -> Vec<usize> {
            (0..self.kernels.len()).filter(|&row| wanted(&self.kernels[row])).collect()
        };
        match loss.kind {
            LossKind::Graph => (None, self.of_some_launches(loss.share, random)),
            LossKind::Replay => (None, self.of_every_launch(loss.share, random)),
            LossKind::Eager => (None, some(numbers(&|kernel| !kernel.replayed), loss.share, random)),
            LossKind::Collective => {
                (None, some(numbers(&|kernel| kernel.collective.is_some()), loss.share, random))
            }
            LossKind::Rank => (None, stretch(numbers(&|_| true), loss.share, random)),
            LossKind::Stream => {
                let mut streams: Vec<u32> = self.kernels.iter().map(|kernel| kernel.stream).collect();
                streams.sort_unstable();
                streams.dedup();
                if streams.is_empty() {
                    return (None, Vec::new());
                }
                let stream = streams[random.below(streams.len())];
                let rows = stretch(numbers(&|kernel| kernel.stream == stream), loss.share, random);
                (Some(stream), rows)
            }
        }
    }

    /// Kernels of each graph launch, by graph, in the order of launches.
    fn launches(&self) -> BTreeMap<u32, Vec<Vec<usize>>> {
        let mut by_launch: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for (row, kernel) in self.kernels.iter().enumerate().filter(|(_, kernel)| kernel.replayed) {
            by_launch.entry(kernel.correlation).or_default().push(row);
        }
        let mut by_graph: BTreeMap<u32, Vec<Vec<usize>>> = BTreeMap::new();
        for (correlation, rows) in by_launch {
            let graph = self.graphs.get(&correlation).copied().unwrap_or_default();
            by_graph.entry(graph).or_default().push(rows);
        }
        by_graph
    }

    /// A share of all kernels of graphs: many kernels of many launches where it is large, few of few where it is small.
    fn of_some_launches(&self, share: f64, random: &mut Random) -> Vec<usize> {
        let mut lost = Vec::new();
        for mut launches in self.launches().into_values() {
            random.shuffle(&mut launches);
            let kernels: usize = launches.iter().map(Vec::len).sum();
            let hit = ((share.sqrt() * launches.len() as f64).ceil() as usize).min(launches.len() - 1);
            let rows: Vec<usize> = launches.into_iter().take(hit).flatten().collect();
            let of_these = (share * kernels as f64 / rows.len().max(1) as f64).min(1.0);
            lost.extend(some(rows, of_these, random));
        }
        lost
    }

    fn of_every_launch(&self, share: f64, random: &mut Random) -> Vec<usize> {
        let mut lost = Vec::new();
        for launches in self.launches().into_values() {
            let longest = launches.iter().map(Vec::len).max().unwrap_or(0);
            let places = some((0..longest).collect(), share, random);
            for rows in &launches {
                lost.extend(places.iter().filter_map(|&place| rows.get(place)));
            }
        }
        lost
    }
}

/// A share of rows, at least one, anywhere.
fn some(mut rows: Vec<usize>, share: f64, random: &mut Random) -> Vec<usize> {
    random.shuffle(&mut rows);
    rows.truncate(count(rows.len(), share));
    rows.sort_unstable();
    rows
}

/// A share of rows, at least one, in a row.
fn stretch(rows: Vec<usize>, share: f64, random: &mut Random) -> Vec<usize> {
    let count = count(rows.len(), share);
    let first = random.below(rows.len() - count + 1);
    rows[first..first + count].to_vec()
}

fn count(rows: usize, share: f64) -> usize {
    ((rows as f64 * share).round() as usize).clamp(usize::from(rows > 0), rows)
}

/// The kernels to lose, by rank and number in the log.
#[derive(Default)]
pub(crate) struct Lost {
    rows: Vec<Vec<bool>>,
    next: Vec<usize>,
    pub truth: Vec<LossTruth>,
    /// Rank, group, whether between two ranks, and number of collectives that are lost.
    met: BTreeSet<(u32, (u32, bool), u64)>,
}

impl Lost {
    /// Whether a rank's record of a collective is lost.
    pub(crate) fn lost(&self, rank: u32, group: (u32, bool), sequence: u64) -> bool {
        self.met.contains(&(rank, group, sequence))
    }

    /// Takes the lost kernels out of the next block of a rank's log.
    pub(crate) fn take_out(&mut self, rank: usize, records: &mut Vec<Record>) {
        let Some(rows) = self.rows.get(rank) else { return };
        let next = &mut self.next[rank];
        records.retain(|record| {
            if !matches!(record, Record::Kernel { .. }) {
                return true;
            }
            *next += 1;
            !rows.get(*next - 1).copied().unwrap_or(false)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_given_as_a_kind_and_a_share() {
        assert_eq!("graph=10%".parse(), Ok(Loss { kind: LossKind::Graph, share: 0.1 }));
        assert_eq!("rank=1".parse(), Ok(Loss { kind: LossKind::Rank, share: 1.0 }));
        for wrong in ["graph", "gpu=0.1", "graph=0", "graph=120%", "eager=x"] {
            assert!(wrong.parse::<Loss>().is_err(), "{wrong}");
        }
        for (place, (_, kind)) in LossKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, place);
        }
    }
}

//! Which kernels of several ranks are one collective operation.
//!
//! A sequence number in the trace decides. If there is none (older torch, rocpd, rocprofv3), all members of a
//! group run the same operations in the same order, so the first on one rank is joined with the first on the
//! others, and so on. That counts only if operations and ends agree: a collective ends everywhere at almost
//! the same moment. Ranks that do not agree are not joined, and [`Meetings::not_joined`] says why. Sends and
//! receives are joined by their order between two ranks (`messages`).
//!
//! Cost: one pass over the collectives and one over the communication kernels without a row in `collectives`.

mod messages;

use trace::{Map, Ns, StrId, Table, Trace};

use self::messages::Messages;

use crate::recordings::Recordings;
use crate::work::{GpuWork, WorkClass};

/// Ends of one collective differ by at most this, or by a tenth of its duration.
const APART_NS: Ns = 50_000;
/// Share of the operations that must end together, in percent.
const TOGETHER_PCT: usize = 90;
/// Clocks of one host may differ by this much.
const ONE_CLOCK_NS: Ns = 1_000_000;
/// Operations needed to decide whether two clocks agree.
const ENOUGH: usize = 4;
/// Clocks of one host hardly differ, so fewer are enough.
const ENOUGH_ON_ONE_HOST: usize = 2;

/// A collective operation that several GPUs took part in, as rows of `kernels`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// One per GPU.
    pub kernels: Vec<u32>,
}

/// All joined operations of a trace.
#[derive(Clone, Debug, Default)]
pub struct Meetings {
    /// Those that at least two GPUs took part in.
    pub all: Vec<Meeting>,
    /// How many were joined by the order of operations, not by a number in the trace.
    pub by_order: usize,
    /// Why ranks that communicate were not joined.
    pub not_joined: Vec<String>,
}

/// One operation of a GPU.
#[derive(Clone, Copy)]
struct Operation {
    what: StrId,
    kernel: u32,
}

/// What distinguishes the groups: the name, or which communicating stream of its GPU it runs on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Group {
    Named(StrId),
    Stream(usize),
}

impl Meetings {
    /// Joins the collectives of a trace's ranks.
    pub fn of(trace: &Trace, works: &GpuWork, recordings: &Recordings) -> Self {
        let communicates = works.class.contains(&WorkClass::Communication);
        if works.gpus.len() < 2 || trace.collectives.is_empty() && !communicates {
            return Self::default();
        }
        let mut work_of = vec![u32::MAX; trace.kernels.len()];
        for work in (0..works.len()).filter(|&work| !works.is_copy_row[work]) {
            work_of[works.row[work] as usize] = work as u32;
        }
        let mut meetings = Self::default();
        let mut told = vec![false; works.len()];
        let mut by_group: Map<Group, Map<u32, Vec<Operation>>> = Map::default();
        let mut messages = Messages::default();
        meetings.by_number(trace, works, &work_of, &mut told, &mut by_group, &mut messages);
        messages.join(trace, works, recordings, &mut meetings);
        untold(works, &told, &mut by_group);
        let mut groups: Vec<_> = by_group.into_iter().collect();
        groups.sort_by_key(|(group, _)| *group);
        for (_, members) in groups {
            let mut members: Vec<(u32, Vec<Operation>)> = members.into_iter().collect();
            members.sort_by_key(|(gpu, _)| *gpu);
            meetings.join_by_order(trace, works, recordings, members);
        }
        meetings.all.retain(|meeting| meeting.kernels.len() > 1);
        if meetings.all.is_empty() && meetings.not_joined.is_empty() {
            meetings.not_joined.extend(strangers(works));
        }
        meetings
    }

    /// Joins whole groups by number; the rest goes to `by_group`, messages of two ranks to `messages`.
    fn by_number(
        &mut self,
        trace: &Trace,
        works: &GpuWork,
        work_of: &[u32],
        told: &mut [bool],
        by_group: &mut Map<Group, Map<u32, Vec<Operation>>>,
        messages: &mut Messages,
    ) {
        let collectives = &trace.collectives;
        let mut numbers: Map<(StrId, StrId, i64), usize> = Map::default();
        for row in 0..collectives.len() {
            let kernel = collectives.row[row].row_of(Table::Kernels);
            let Some((kernel, work)) =
                kernel.map(|kernel| (kernel, work_of[kernel])).filter(|&(_, work)| work != u32::MAX)
            else {
                continue;
            };
            told[work as usize] = true;
            let (group, what) = (collectives.group[row], collectives.operation[row]);
            if messages.take(trace, row, kernel as u32, works.gpus[works.gpu[work as usize] as usize].rank) {
                continue;
            }
            let Some(number) = collectives.sequence[row].get() else {
                let members = by_group.entry(Group::Named(group)).or_default();
                let operation = Operation { what, kernel: kernel as u32 };
                members.entry(works.gpu[work as usize]).or_default().push(operation);
                continue;
            };
            let place = *numbers.entry((group, what, number)).or_insert(self.all.len());
            if place == self.all.len() {
                self.all.push(Meeting { kernels: Vec::new() });
            }
            let kernels = &mut self.all[place].kernels;
            let process = trace.kernels.process[kernel];
            // The same number twice in one process is another operation; the trace does not show which.
            if kernels.iter().all(|&other| trace.kernels.process[other as usize] != process) {
                kernels.push(kernel as u32);
            }
        }
    }

    /// Joins the members of one group whose operations agree.
    fn join_by_order(
        &mut self,
        trace: &Trace,
        works: &GpuWork,
        recordings: &Recordings,
        mut members: Vec<(u32, Vec<Operation>)>,
    ) {
        let kernels = &trace.kernels;
        for (_, operations) in &mut members {
            operations.sort_by_key(|operation| (kernels.start[operation.kernel as usize], operation.kernel));
        }
        // Several groups may share a name, so members are grouped with those they agree with.
        let mut together: Vec<Vec<usize>> = Vec::new();
        let mut why: Vec<Option<String>> = vec![None; members.len()];
        for place in 0..members.len() {
            let mut joined = false;
            for other in &mut together {
                match agree(trace, works, recordings, &members[other[0]], &members[place]) {
                    Ok(()) => {
                        other.push(place);
                        joined = true;
                        break;
                    }
                    Err(reason) => why[place] = Some(reason),
                }
            }
            if !joined {
                together.push(vec![place]);
            }
        }
        let alone = together.iter().filter(|places| places.len() == 1);
        let reason = alone.clone().find_map(|places| why[places[0]].clone());
        if let Some(reason) = reason.filter(|_| together.len() > 1) {
            self.not_joined.push(reason);
        }
        for places in together.iter().filter(|places| places.len() > 1) {
            for turn in 0..members[places[0]].1.len() {
                let kernels = places.iter().map(|&place| members[place].1[turn].kernel).collect();
                self.all.push(Meeting { kernels });
                self.by_order += 1;
            }
        }
    }
}

/// Communication kernels of GPUs that have no rows in `collectives`, by GPU and stream.
fn untold(works: &GpuWork, told: &[bool], by_group: &mut Map<Group, Map<u32, Vec<Operation>>>) {
    let mut has_rows = vec![false; works.gpus.len()];
    (0..works.len()).filter(|&work| told[work]).for_each(|work| has_rows[works.gpu[work] as usize] = true);
    let mut streams: Map<u32, Vec<u32>> = Map::default();
    for work in 0..works.len() {
        let gpu = works.gpu[work];
        if works.class[work] != WorkClass::Communication || works.is_copy_row[work] || has_rows[gpu as usize]
        {
            continue;
        }
        let seen = streams.entry(gpu).or_default();
        let number = seen.iter().position(|&stream| stream == works.stream[work]).unwrap_or_else(|| {
            seen.push(works.stream[work]);
            seen.len() - 1
        });
        let operation = Operation { what: works.name[work], kernel: works.row[work] };
        by_group.entry(Group::Stream(number)).or_default().entry(gpu).or_default().push(operation);
    }
}

/// Two GPUs that communicate but have no operation in common.
fn strangers(works: &GpuWork) -> Option<String> {
    let communicates = |gpu: &&crate::work::Gpu| {
        gpu.work.iter().any(|&work| works.class[work as usize] == WorkClass::Communication)
    };
    let mut gpus = works.gpus.iter().filter(communicates);
    let (one, two) = (gpus.next()?, gpus.next()?);
    Some(format!("{} and {} have no collective in common", one.label, two.label))
}

/// Whether two GPUs run the same operations and end them together; if not, the reason.
fn agree(
    trace: &Trace,
    works: &GpuWork,
    recordings: &Recordings,
    one: &(u32, Vec<Operation>),
    two: &(u32, Vec<Operation>),
) -> Result<(), String> {
    let label = |gpu: u32| works.gpus[gpu as usize].label.as_str();
    let (first, second) = (label(one.0), label(two.0));
    if one.1.len() != two.1.len() {
        return Err(format!("{first} has {} collectives, {second} has {}", one.1.len(), two.1.len()));
    }
    if let Some(turn) = (0..one.1.len()).find(|&turn| one.1[turn].what != two.1[turn].what) {
        let name = |operation: Operation| trace.strings.get(operation.what);
        return Err(format!(
            "collective {} is `{}` on {first} and `{}` on {second}",
            turn + 1,
            name(one.1[turn]),
            name(two.1[turn])
        ));
    }
    let kernels = &trace.kernels;
    let time = |operation: Operation| {
        let kernel = operation.kernel as usize;
        (kernels.end[kernel], kernels.end[kernel] - kernels.start[kernel])
    };
    let turns = || one.1.iter().zip(&two.1).map(|(&one, &two)| (time(one), time(two)));
    let one_clock = is_one_clock(works, recordings, one.0, two.0);
    let enough = if one_clock { ENOUGH_ON_ONE_HOST } else { ENOUGH };
    let offset = match (one.1.len() < enough, one_clock) {
        (true, true) => 0,
        (true, false) => {
            return Err(format!("{first} and {second} share too few collectives to align their clocks"));
        }
        (false, _) => {
            let mut apart: Vec<Ns> = turns().map(|(one, two)| two.0 - one.0).collect();
            let middle = apart.len() / 2;
            *apart.select_nth_unstable(middle).1
        }
    };
    if one_clock && offset.abs() > ONE_CLOCK_NS {
        return Err(format!("collectives of {first} and {second} do not run at the same time"));
    }
    let together = turns()
        .filter(|(one, two)| (two.0 - one.0 - offset).abs() <= APART_NS.max(one.1.min(two.1) / 10))
        .count();
    if 100 * together < TOGETHER_PCT * one.1.len() {
        return Err(format!("collectives of {first} and {second} do not end together"));
    }
    Ok(())
}

/// Whether two GPUs share a clock.
fn is_one_clock(works: &GpuWork, recordings: &Recordings, one: u32, two: u32) -> bool {
    let clock = |gpu: u32| works.gpus[gpu as usize].recording.map(|place| recordings.domain_of(place));
    clock(one).is_some() && clock(one) == clock(two)
}

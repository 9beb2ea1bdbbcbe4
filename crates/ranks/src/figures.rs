//! What each matched collective cost: arrival skew, waiting, transfer, bandwidth.
//!
//! With aligned clocks, transfer runs from the last arrival to the (middle) end, and a rank waits from its
//! arrival to the last one. If clocks are not aligned well enough, durations give the same for collectives
//! that end together: the shortest is the transfer, and the others waited for the time beyond it.

use rayon::prelude::*;
use trace::{Map, Ns};

use crate::clocks::Clocks;
use crate::digest::{Collective, NONE};
use crate::fleet::Fleet;
use crate::matching::{Meeting, Meetings, MemberRow};
use crate::operation::Operation;

/// Clocks are good enough where their errors are below this part of a collective.
const GOOD_CLOCKS: f64 = 0.1;
/// A collective is bound by waiting or transfer if that takes this share of its time.
const MOSTLY: f64 = 2.0 / 3.0;
/// A first collective of a group that takes this many times the usual is part of start-up.
const FIRST_FACTOR: f64 = 10.0;
/// A start-up collective takes at least this long.
const FIRST_NS: f64 = 1_000_000.0;

/// Meetings that one thread takes at a time.
const CHUNK: usize = 4096;

/// What bounds a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bound {
    /// Moving the data.
    Transfer,
    /// Ranks that come late.
    Waiting,
    /// Both.
    Mixed,
    /// The figures do not show it.
    Inconclusive,
}

impl Bound {
    /// Its word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Transfer => "transfer",
            Bound::Waiting => "waiting",
            Bound::Mixed => "mixed",
            Bound::Inconclusive => "inconclusive",
        }
    }

    /// By mean waiting and transfer.
    pub fn of(wait_ns: f64, transfer_ns: f64) -> Self {
        let total = wait_ns + transfer_ns;
        match wait_ns / total {
            _ if !total.is_finite() || total <= 0.0 => Bound::Inconclusive,
            share if share >= MOSTLY => Bound::Waiting,
            share if share <= 1.0 - MOSTLY => Bound::Transfer,
            _ => Bound::Mixed,
        }
    }
}

/// How waiting and transfer were told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By aligned clocks.
    Clocks,
    /// By durations alone.
    Durations,
    /// Not at all.
    None,
}

/// One matched collective.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// The operation.
    pub operation: Operation,
    /// Place in the groups.
    pub group: u32,
    /// Members that took part.
    pub count: u32,
    /// Bytes that a rank sends, the largest of all; -1 if unknown.
    sent: i64,
    /// Step of its first part, or [`NONE`].
    pub step: u32,
    /// From the first to the last arrival.
    pub skew_ns: f32,
    /// From the last arrival to the end.
    pub transfer_ns: f32,
    /// Mean waiting of the members.
    pub wait_ns: f32,
    /// The member that came last.
    pub last: u32,
    /// How much later it came than the one before it.
    pub late_ns: f32,
    /// How they were told apart.
    pub method: Method,
    /// Set apart: a first collective that only shows how recording began.
    pub is_start: bool,
    /// When it ended on the common clock; NaN where clocks are not aligned.
    end: f64,
}

impl Figures {
    /// What bounds it.
    pub fn bound(&self) -> Bound {
        if self.method == Method::None {
            Bound::Inconclusive
        } else {
            Bound::of(f64::from(self.wait_ns), f64::from(self.transfer_ns))
        }
    }

    /// Bytes that a rank sends, where known; the largest of all.
    pub fn bytes(&self) -> Option<u64> {
        u64::try_from(self.sent).ok()
    }

    /// When it ended on the common clock.
    pub fn end(&self) -> Option<f64> {
        self.end.is_finite().then_some(self.end)
    }

    /// Ranks in the operation: the group's size if known, otherwise the members that took part.
    pub fn ranks(&self, fleet: &Fleet) -> u64 {
        if self.operation.is_message() {
            return 2;
        }
        let size = fleet.groups[self.group as usize].size.filter(|&size| size >= self.count);
        u64::from(size.unwrap_or(self.count))
    }

    /// Algorithm bandwidth in GB/s.
    pub fn algorithm_gbps(&self, fleet: &Fleet) -> Option<f64> {
        let bytes = self.operation.message_bytes(self.bytes()?, self.ranks(fleet));
        (self.method != Method::None && self.transfer_ns >= 1.0 && bytes > 0)
            .then(|| bytes as f64 / f64::from(self.transfer_ns))
    }

    /// Bus bandwidth in GB/s.
    pub fn bus_gbps(&self, fleet: &Fleet) -> Option<f64> {
        Some(self.algorithm_gbps(fleet)? * self.operation.bus_factor(self.ranks(fleet))?)
    }
}

/// What a member spent in collectives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemberTimes {
    /// Matched collectives.
    pub collectives: u64,
    /// Time in them before the last member came.
    pub wait_ns: f64,
    /// Time in them after that.
    pub transfer_ns: f64,
    /// How often it came last.
    pub last: u64,
    /// How much later than the one before, where it came last.
    pub late_ns: f64,
}

/// The figures of all meetings, and the waiting of every part.
pub struct AllFigures {
    /// By meeting.
    pub meetings: Vec<Figures>,
    /// By part: how long the member waited; NaN if unknown.
    pub waits: Vec<f32>,
    /// By member, start-up collectives left out.
    pub members: Vec<MemberTimes>,
}

impl AllFigures {
    /// Computes them all.
    pub fn of(fleet: &Fleet, meetings: &Meetings, clocks: &Clocks) -> Self {
        let of_chunk = |chunk: &[Meeting]| {
            let mut waits = Vec::with_capacity(chunk.iter().map(|meeting| meeting.count as usize).sum());
            let all: Vec<Figures> =
                chunk.iter().map(|meeting| figures(fleet, meetings, clocks, meeting, &mut waits)).collect();
            (all, waits)
        };
        let found: Vec<(Vec<Figures>, Vec<f32>)> = meetings.all.par_chunks(CHUNK).map(of_chunk).collect();
        let mut waits = Vec::with_capacity(meetings.parts.len());
        let mut all = Vec::with_capacity(meetings.all.len());
        // Chunks are freed as they are taken.
        for (figures, own) in found {
            all.extend(figures);
            waits.extend(own);
        }
        charge_lost_members(fleet, meetings, &mut all, &mut waits);
        set_starts_apart(&mut all);
        let mut members = vec![MemberTimes::default(); fleet.members.len()];
        for (meeting, figures) in meetings.all.iter().zip(&all) {
            if figures.is_start || figures.method == Method::None {
                continue;
            }
            let own = &waits[meeting.first as usize..][..meeting.count as usize];
            for (part, &wait) in meetings.parts_of(meeting).iter().zip(own) {
                let times = &mut members[part.member as usize];
                times.collectives += 1;
                times.wait_ns += f64::from(wait);
                times.transfer_ns += f64::from(figures.transfer_ns);
            }
            let last = &mut members[figures.last as usize];
            last.last += 1;
            last.late_ns += f64::from(figures.late_ns);
        }
        Self { meetings: all, waits, members }
    }
}

/// The figures of one meeting; adds the waiting of each of its parts.
fn figures(
    fleet: &Fleet,
    meetings: &Meetings,
    clocks: &Clocks,
    meeting: &Meeting,
    waits: &mut Vec<f32>,
) -> Figures {
    let parts = meetings.parts_of(meeting);
    let row = |part: &MemberRow| -> &Collective {
        &fleet.members[part.member as usize].collectives[part.row as usize]
    };
    let rows = || parts.iter().map(row);
    let operation = rows().map(|row| row.operation).min().unwrap_or_default();
    let mut figures = Figures {
        operation,
        group: meeting.group,
        count: meeting.count,
        sent: rows().map(|row| row.bytes).max().unwrap_or(-1),
        step: rows().map(|row| row.step).find(|&step| step != NONE).unwrap_or(NONE),
        skew_ns: f32::NAN,
        transfer_ns: f32::NAN,
        wait_ns: f32::NAN,
        last: parts.first().map_or(0, |part| part.member),
        late_ns: 0.0,
        method: Method::None,
        is_start: false,
        end: f64::NAN,
    };
    let mean = rows().map(|row| row.time_ns as f64).sum::<f64>() / parts.len().max(1) as f64;
    let aligned: Option<Vec<(f64, f64)>> = parts
        .iter()
        .map(|part| {
            let (start, end) = (row(part).start, row(part).end()?);
            let line = clocks.line(part.member)?;
            Some((line.common(start), line.common(end)))
        })
        .collect();
    let error = parts.iter().filter_map(|part| clocks.line(part.member)).map(|line| line.error_ns);
    let error = error.fold(0.0, f64::max);
    if let Some(times) = &aligned {
        let mut ends: Vec<f64> = times.iter().map(|time| time.1).collect();
        let middle = ends.len() / 2;
        figures.end = *ends.select_nth_unstable_by(middle, f64::total_cmp).1;
    }
    // Arrivals on any one clock: the aligned one, or one on which all end at zero.
    let (arrivals, end): (Vec<f64>, f64) = match aligned {
        Some(times) if error <= GOOD_CLOCKS * mean => {
            figures.method = Method::Clocks;
            (times.iter().map(|time| time.0).collect(), figures.end)
        }
        _ if operation.ends_together() => {
            figures.method = Method::Durations;
            (rows().map(|row| -row.time_ns as f64).collect(), 0.0)
        }
        _ => {
            waits.extend(parts.iter().map(|_| f32::NAN));
            return figures;
        }
    };
    let (mut first, mut last, mut before) = (f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY);
    for (part, &at) in parts.iter().zip(&arrivals) {
        first = first.min(at);
        if at > last {
            (before, last, figures.last) = (last, at, part.member);
        } else {
            before = before.max(at);
        }
    }
    waits.extend(arrivals.iter().map(|&at| (last - at) as f32));
    let waited: f64 = arrivals.iter().map(|&at| last - at).sum();
    figures.skew_ns = (last - first) as f32;
    figures.transfer_ns = (end - last).max(0.0) as f32;
    figures.wait_ns = (waited / arrivals.len() as f64) as f32;
    figures.late_ns = if before.is_finite() { (last - before) as f32 } else { 0.0 };
    figures
}

/// If the last member lost its record, the transfer seems to begin with the last recorded arrival. Its time
/// beyond the usual is waiting for the lost member.
fn charge_lost_members(fleet: &Fleet, meetings: &Meetings, all: &mut [Figures], waits: &mut [f32]) {
    let is_whole = |one: &Figures| {
        let group = &fleet.groups[one.group as usize];
        one.operation.is_message() || one.count as usize >= group.members.len()
    };
    if all.iter().all(is_whole) {
        return;
    }
    let mut times: Map<(u32, Operation, i64), Vec<f64>> = Map::default();
    for one in all.iter().filter(|one| is_whole(one) && one.transfer_ns.is_finite()) {
        times.entry((one.group, one.operation, one.sent)).or_default().push(f64::from(one.transfer_ns));
    }
    let usual: Map<_, f64> =
        times.into_iter().map(|(key, times)| (key, stats::robust::median(&times))).collect();
    for (meeting, one) in meetings.all.iter().zip(all).filter(|(_, one)| !is_whole(one)) {
        let Some(&usual) = usual.get(&(one.group, one.operation, one.sent)) else { continue };
        let usual = usual as f32;
        let beyond = one.transfer_ns - usual;
        if beyond.is_nan() || beyond < usual {
            continue;
        }
        one.transfer_ns = usual;
        one.wait_ns += beyond;
        one.skew_ns += beyond;
        one.late_ns = beyond;
        let parts = meetings.parts_of(meeting);
        if let [last] = fleet.groups[one.group as usize].without(parts)[..] {
            one.last = last;
        }
        waits[meeting.first as usize..][..meeting.count as usize].iter_mut().for_each(|wait| *wait += beyond);
    }
}

/// The first collective of a group shows when the profiler began on each rank, not what the program does.
fn set_starts_apart(all: &mut [Figures]) {
    let mut from = 0;
    while from < all.len() {
        let to = from + all[from..].iter().take_while(|figures| figures.group == all[from].group).count();
        let cost = |figures: &Figures| f64::from(figures.skew_ns + figures.transfer_ns);
        let mut costs: Vec<f64> = all[from..to].iter().map(cost).filter(|cost| cost.is_finite()).collect();
        costs.sort_by(f64::total_cmp);
        if costs.len() >= 4 {
            let usual = costs[costs.len() / 2];
            let first = &mut all[from];
            first.is_start = cost(first) > (FIRST_FACTOR * usual).max(FIRST_NS);
        }
        from = to;
    }
}

/// Nanoseconds as a whole number; `None` if not finite.
pub(crate) fn whole_ns(ns: f64) -> Option<Ns> {
    ns.is_finite().then(|| ns.round() as Ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_are_bound_by_what_takes_two_thirds() {
        assert_eq!(Bound::of(90.0, 10.0), Bound::Waiting);
        assert_eq!(Bound::of(10.0, 90.0), Bound::Transfer);
        assert_eq!(Bound::of(50.0, 50.0), Bound::Mixed);
        assert_eq!(Bound::of(0.0, 0.0), Bound::Inconclusive);
        assert_eq!(Bound::of(f64::NAN, 1.0), Bound::Inconclusive);
    }
}

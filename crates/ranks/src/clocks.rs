//! One clock for all ranks, from the ends of matched collectives.
//!
//! A collective that waits for all members ends everywhere at one moment. The difference between a rank's
//! clock and the common clock at these moments is a line over time: its offset and its drift. The fit ignores
//! outliers, and the error comes from how far the ends stay from the line. Ranks that share no collective
//! with the reference are reached through ranks that do.
//!
//! ```text
//! reference ─► moments of its collectives ─► lines of their other members ─► moments of those members' collectives ─► …
//! ```

mod joint;
mod line;

use rayon::prelude::*;
use trace::Ns;

use crate::digest::NONE;
use crate::fleet::Fleet;
use crate::matching::{Meeting, Meetings, MemberRow};
use joint::{Point, System};
use line::FEWEST_FOR_DRIFT;
pub use line::Line;

/// Fewer common collectives than this are thin evidence.
const FEWEST: usize = 4;
/// Ends that stay further apart than this are not of collectives that end together.
const WORST_RESIDUAL_NS: f64 = 500_000.0;
/// Meetings of a group that are enough to place its members.
const MOST_OF_GROUP: usize = 1024;
/// Most points of all members together; beyond it, only some meetings of each group are used.
const MOST_POINTS: usize = 1_000_000;
/// Weight of a message: it may end earlier at the sender than at the receiver.
const MESSAGE_WEIGHT: f64 = 0.01;
/// Passes after which ranks that are still not reached stay so.
const MOST_PASSES: usize = 64;

/// The clock of one member.
#[derive(Clone, Debug, PartialEq)]
pub enum MemberClock {
    /// Its line against the common clock.
    Aligned(Line),
    /// Not aligned, and why.
    Refused(String),
}

/// The clocks of a fleet.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    /// By member.
    pub members: Vec<MemberClock>,
    /// The member whose clock is the common one.
    pub reference: Option<u32>,
    /// The first common moment, to which offsets refer.
    pub origin: Ns,
}

impl Clocks {
    /// Aligns the clocks of a fleet.
    pub fn of(fleet: &Fleet, meetings: &Meetings) -> Self {
        let mut aligner = Aligner::new(fleet, meetings);
        let Some(reference) = aligner.reference() else {
            let why = "no collective with recorded times has a partner on another rank";
            let members = vec![MemberClock::Refused(why.into()); fleet.members.len()];
            return Self { members, reference: None, origin: 0 };
        };
        aligner.lines[reference as usize] = Some(Line::default());
        // Collectives first; messages only reach ranks that no collective does.
        aligner.reach(true);
        aligner.reach(false);
        aligner.solve_together(reference);
        aligner.finish(reference)
    }

    /// A member's time on the common clock.
    pub fn common(&self, member: u32, at: Ns) -> Option<f64> {
        self.line(member).map(|line| line.common(at))
    }

    /// A member's line.
    pub fn line(&self, member: u32) -> Option<&Line> {
        match self.members.get(member as usize) {
            Some(MemberClock::Aligned(line)) => Some(line),
            _ => None,
        }
    }
}

struct Aligner<'a> {
    fleet: &'a Fleet,
    meetings: &'a Meetings,
    /// Whether a meeting is a message.
    is_message: Vec<bool>,
    lines: Vec<Option<Line>>,
    why: Vec<Option<String>>,
}

impl<'a> Aligner<'a> {
    fn new(fleet: &'a Fleet, meetings: &'a Meetings) -> Self {
        let row = |part: &MemberRow| &fleet.members[part.member as usize].collectives[part.row as usize];
        let is_message = |meeting: &Meeting| {
            meetings
                .parts_of(meeting)
                .iter()
                .map(row)
                .any(|row| row.end().is_some() && row.operation.is_message())
        };
        let is_message = meetings.all.par_iter().map(is_message).collect();
        let count = fleet.members.len();
        Self { fleet, meetings, is_message, lines: vec![None; count], why: vec![None; count] }
    }

    /// The meetings from which a member's clock is derived, with their ends on it.
    fn ends(&self, member: usize) -> impl Iterator<Item = (u32, Ns)> {
        let rows = self.meetings.of_member(member as u32).iter().zip(&self.fleet.members[member].collectives);
        rows.filter(|(_, row)| row.operation.ends_together() || row.operation.is_message())
            .filter_map(|(&meeting, row)| Some((meeting, row.end()?)).filter(|_| meeting != NONE))
    }

    /// The member with the most collectives.
    fn reference(&self) -> Option<u32> {
        let count = |member: usize| {
            self.ends(member).filter(|(meeting, _)| !self.is_message[*meeting as usize]).count()
        };
        let best = (0..self.lines.len())
            .into_par_iter()
            .max_by_key(|&member| (count(member), std::cmp::Reverse(member)))?;
        self.ends(best).next().map(|_| best as u32)
    }

    /// The common moment of every meeting that an aligned member took part in.
    fn moments(&self, with_messages: bool) -> Vec<f64> {
        let moment = |common: &mut Vec<f64>, (meeting, is_message): (&Meeting, &bool)| {
            common.clear();
            for part in self.meetings.parts_of(meeting).iter().filter(|_| with_messages || !is_message) {
                let Some(line) = &self.lines[part.member as usize] else { continue };
                let row = &self.fleet.members[part.member as usize].collectives[part.row as usize];
                common.extend(row.end().map(|end| line.common(end)));
            }
            match common.len() / 2 {
                _ if common.is_empty() => f64::NAN,
                middle => *common.select_nth_unstable_by(middle, f64::total_cmp).1,
            }
        };
        self.meetings.all.par_iter().zip(&self.is_message).map_init(Vec::new, moment).collect()
    }

    fn points(&self, member: usize, moments: &[f64]) -> Vec<(f64, f64)> {
        let mut ends: Vec<(u32, Ns)> =
            self.ends(member).filter(|(meeting, _)| moments[*meeting as usize].is_finite()).collect();
        ends.sort_unstable_by_key(|end| end.1);
        let point = |(meeting, end): (u32, Ns)| {
            let moment = moments[meeting as usize];
            (moment, end as f64 - moment)
        };
        ends.into_iter().map(point).collect()
    }

    /// Aligns members that share enough meetings with aligned ones, until no more are reached.
    fn reach(&mut self, only_collectives: bool) {
        for _ in 0..MOST_PASSES {
            let moments = self.moments(!only_collectives);
            let found: Vec<Option<Result<Line, String>>> = (0..self.lines.len())
                .into_par_iter()
                .map(|member| match &self.lines[member] {
                    Some(_) => None,
                    None => fit(&self.points(member, &moments)),
                })
                .collect();
            let mut reached = false;
            for (member, found) in found.into_iter().enumerate() {
                match found {
                    Some(Ok(line)) => {
                        (self.lines[member], self.why[member]) = (Some(line), None);
                        reached = true;
                    }
                    Some(Err(why)) => self.why[member] = Some(why),
                    None => {}
                }
            }
            if !reached {
                return;
            }
        }
    }

    /// Fits the lines of all aligned members at once, so that those reached by few collectives are placed by all of them.
    fn solve_together(&mut self, reference: u32) {
        let moments = self.moments(true);
        let known = || moments.iter().copied().filter(|at| at.is_finite());
        let (first, last) =
            (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
        if first.partial_cmp(&last) != Some(std::cmp::Ordering::Less) {
            return;
        }
        let (middle, half) = ((first + last) / 2.0, (last - first) / 2.0);
        let count = self.lines.len();
        let system = self.system(&moments, middle, half);
        let mut points = vec![0usize; count];
        system.points.iter().for_each(|point| points[point.member as usize] += 1);
        let fixed: Vec<bool> = points.iter().map(|&points| points < FEWEST_FOR_DRIFT).collect();
        let corrections = joint::solve(&system, count, reference as usize, &fixed);
        for ((line, correction), points) in self.lines.iter_mut().zip(corrections).zip(points) {
            if let Some(line) = line {
                (line.points, line.has_drift) = (points, points >= FEWEST_FOR_DRIFT);
                line.correct(middle, half, &correction);
            }
        }
    }

    /// The meetings of aligned members, not too many of each group.
    fn system(&self, moments: &[f64], middle: f64, half: f64) -> System {
        let mut of_group: Vec<usize> = vec![0; self.fleet.groups.len()];
        self.meetings.all.iter().for_each(|meeting| of_group[meeting.group as usize] += 1);
        let mut seen = vec![0usize; of_group.len()];
        let most = (of_group.iter().copied().max().unwrap_or(1) * MOST_POINTS
            / self.meetings.parts.len().max(1))
        .clamp(FEWEST_FOR_DRIFT, MOST_OF_GROUP);
        let mut system = System::default();
        for (number, meeting) in self.meetings.all.iter().enumerate() {
            let group = meeting.group as usize;
            seen[group] += 1;
            let stride = of_group[group].div_ceil(most).max(1);
            if !seen[group].is_multiple_of(stride) || !moments[number].is_finite() {
                continue;
            }
            let from = system.points.len();
            for part in self.meetings.parts_of(meeting) {
                let row = &self.fleet.members[part.member as usize].collectives[part.row as usize];
                let (Some(line), Some(end)) = (&self.lines[part.member as usize], row.end()) else {
                    continue;
                };
                let weight = match row.operation {
                    operation if operation.is_message() => MESSAGE_WEIGHT,
                    operation if operation.ends_together() => 1.0,
                    _ => continue,
                };
                let (x, y) = ((moments[number] - middle) / half, line.common(end) - moments[number]);
                system.points.push(Point { member: part.member, x, y, weight });
            }
            if system.points.len() - from < 2 {
                system.points.truncate(from);
            } else {
                system.ends.push(system.points.len() as u32);
            }
        }
        system
    }

    fn finish(self, reference: u32) -> Clocks {
        let moments = self.moments(true);
        let origin = moments.iter().copied().filter(|at| at.is_finite()).fold(f64::INFINITY, f64::min);
        let origin = if origin.is_finite() { origin } else { 0.0 };
        let why = |member: usize| {
            self.why[member].clone().unwrap_or_else(|| match self.ends(member).next().is_none() {
                true => "it has no collective with a partner and recorded times".into(),
                false => "no chain of collectives joins it with the reference".into(),
            })
        };
        let members = self.lines.iter().enumerate().map(|(member, line)| match line {
            Some(line) => MemberClock::Aligned(line.clone()),
            None => MemberClock::Refused(why(member)),
        });
        Clocks { members: members.collect(), reference: Some(reference), origin: origin as Ns }
    }
}

/// The line through points, or why there is none; `None` if there are no points.
fn fit(points: &[(f64, f64)]) -> Option<Result<Line, String>> {
    match points.len() {
        0 => None,
        few @ 1..FEWEST => {
            Some(Err(format!("only {few} collectives in common with aligned ranks; {FEWEST} are needed")))
        }
        _ => {
            let line = Line::fit(points);
            let apart = line.residual_ns;
            Some(if apart > WORST_RESIDUAL_NS {
                Err(format!(
                    "its collectives do not end together with those of other ranks: they stay {:.1} ms apart",
                    apart / 1e6
                ))
            } else {
                Ok(line)
            })
        }
    }
}

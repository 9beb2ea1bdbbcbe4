//! How likely it is that work must run where it does, and why.
//!
//! Order forced by events and blocking calls is known; within a stream only the neighbours give a hint: work
//! directly after other work of its own module most likely reads what that wrote.

use trace::StrId;

use super::device::{Device, StepKey, Work};
use super::order::{Cause, Order};
use super::pools::Pools;
use super::rules::{Risk, Rules};
use super::syncs::Knowledge;
use crate::words::duration;
use model::Run;
use model::attribution::Site;
use model::names;

/// The reason for a risk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Why {
    /// This much time on a stream could hide it without breaking the recorded order.
    Free { ns: i64, stream: u32 },
    /// The next work of a stream waits for it.
    Followed { stream: u32, cause: Cause },
    /// It waits for the previous work on a stream.
    Follows { stream: u32, cause: Cause },
    /// It runs directly before or after related work.
    Neighbour { before: bool, name: StrId, gap: i64, relation: Relation },
    /// It runs directly before or after other work, and their origin is not known.
    Unlocated { before: bool, name: StrId, gap: i64 },
    /// It was replayed from a graph, and traces do not record graph edges.
    Graph { one_stream: bool },
    /// The GPU has one stream.
    OneStream,
    /// Its launch is not in the trace.
    NoLaunch,
    /// The trace holds no events.
    NoEvents,
    /// The trace holds events without their streams.
    NoStreams,
    /// Only its stream orders it, and there are gaps around it.
    Apart,
}

/// How two neighbours are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Module(StrId),
    Op(StrId),
    Frame(StrId),
    /// Only by directly following each other.
    Chain,
}

/// Everything the risk of moving a device's work depends on.
pub(super) struct Scene<'a> {
    pub context: &'a Run<'a>,
    pub device: &'a Device,
    pub order: &'a Order,
    pub knowledge: Knowledge,
    pub pools: &'a Pools,
}

impl Scene<'_> {
    /// Whether the recorded order shows what could overlap with this work.
    pub fn tells(&self, work: &Work) -> bool {
        self.device.streams.len() > 1 && work.launch.is_some() && !work.replayed && self.knowledge.is_enough()
    }

    /// The risk of moving a piece of work, and why.
    pub fn risk(&self, work: &Work, exposed: i64, free: Option<(i64, u32)>) -> (Risk, Why) {
        let rules = &Rules::built_in().risk;
        if let Some((ns, stream)) = free {
            if ns > 0 && ns as f64 * 100.0 >= exposed as f64 * rules.free_pct {
                return (Risk::Low, Why::Free { ns, stream });
            }
            if let Some(why) = self.forced(work) {
                return (Risk::High, why);
            }
        }
        for before in [true, false] {
            if let Some((risk, why)) = self.neighbour(work, before) {
                return (risk, why);
            }
        }
        (Risk::Unclear, self.unclear(work))
    }

    /// Work that the program made wait for this work, or that this work waits for.
    fn forced(&self, work: &Work) -> Option<Why> {
        for stream in self.pools.streams_beside(work) {
            let lineup = &self.device.streams[stream as usize].work;
            let next = lineup.partition_point(|&i| self.device.work[i as usize].start < work.end) as u32;
            if let Some((place, cause)) = self.order.followed_by(work.stream, work.place, stream)
                && place <= next
                && self.same_step(work, stream, next)
            {
                return Some(Why::Followed { stream, cause });
            }
            let (count, cause) = self.order.follows(work.stream, work.place, stream);
            let before = lineup.partition_point(|&i| self.device.work[i as usize].start < work.start) as u32;
            if let (true, Some(cause)) = (count > 0 && count >= before, cause)
                && self.same_step(work, stream, before - 1)
            {
                return Some(Why::Follows { stream, cause });
            }
        }
        None
    }

    fn same_step(&self, work: &Work, stream: u32, place: u32) -> bool {
        let index = self.device.streams[stream as usize].work.get(place as usize);
        index.is_some_and(|&i| self.device.work[i as usize].step == work.step)
    }

    fn neighbour(&self, work: &Work, before: bool) -> Option<(Risk, Why)> {
        let other = self.device.neighbour(work, if before { -1 } else { 1 })?;
        let gap = if before { work.start - other.end } else { other.start - work.end };
        let gap = gap.max(0);
        let steps_differ = matches!(work.step, StepKey::Step(_)) && other.step != work.step;
        if steps_differ || !Rules::built_in().risk.is_tight(gap, work.duration()) {
            return None;
        }
        let (mine, theirs) = (self.context.site(work.row), self.context.site(other.row));
        let name = other.name;
        Some(match relation(mine, theirs) {
            Some(relation) => (Risk::High, Why::Neighbour { before, name, gap, relation }),
            None => (Risk::Unclear, Why::Unlocated { before, name, gap }),
        })
    }

    fn unclear(&self, work: &Work) -> Why {
        let one_stream = self.device.streams.len() == 1;
        if work.replayed {
            Why::Graph { one_stream: self.device.replays_on_one_stream }
        } else if one_stream {
            Why::OneStream
        } else if work.launch.is_none() {
            Why::NoLaunch
        } else if self.knowledge.records == 0 && self.knowledge.waits == 0 {
            Why::NoEvents
        } else if self.knowledge.unresolved > 0 {
            Why::NoStreams
        } else {
            Why::Apart
        }
    }

    /// The reason as text.
    pub fn words(&self, why: &Why) -> String {
        let context = self.context;
        let stream = |stream: u32| self.device.streams[stream as usize].label.clone();
        let kernel = |name: StrId| names::display_name(context.trace.strings.get(name));
        let text = |id: StrId| context.attribution.text(id).to_string();
        let side = |before: bool| if before { "follows" } else { "is followed by" };
        match *why {
            Why::Free { ns, stream: s } => format!(
                "{} of work in the same step, most of it on {}, is not ordered against it and could run in parallel",
                duration(ns),
                stream(s)
            ),
            Why::Followed { stream: s, cause: Cause::Event } => {
                format!("the next work on {} waits for it by an event", stream(s))
            }
            Why::Followed { stream: s, cause: Cause::Host(call) } => format!(
                "the host waits for it in `{}` before it launches the next work on {}",
                context.trace.strings.get(call),
                stream(s)
            ),
            Why::Follows { stream: s, cause: Cause::Event } => {
                format!("it waits by an event for the work before it on {}", stream(s))
            }
            Why::Follows { stream: s, cause: Cause::Host(call) } => format!(
                "the host waits in `{}` for the work before it on {}",
                context.trace.strings.get(call),
                stream(s)
            ),
            Why::Neighbour { before, name, gap, relation } => {
                let common = match relation {
                    Relation::Module(module) => format!(" of the same module ({})", text(module)),
                    Relation::Op(op) => format!(" of the same op ({})", text(op)),
                    Relation::Frame(frame) => format!(" of the same frame ({})", text(frame)),
                    Relation::Chain => String::new(),
                };
                format!(
                    "it {} `{}`{common} on its stream after {}: likely data",
                    side(before),
                    kernel(name),
                    duration(gap)
                )
            }
            Why::Unlocated { before, name, gap } => format!(
                "it {} `{}` on its stream after {}; where they come from is not known",
                side(before),
                kernel(name),
                duration(gap)
            ),
            Why::Graph { one_stream: true } => {
                "replayed from a graph on one stream; the graph's edges are not in the trace".into()
            }
            Why::Graph { one_stream: false } => {
                "replayed from a graph; traces do not record graph edges".into()
            }
            Why::OneStream => {
                "all work of this GPU is on one stream, so nothing shows which order is free".into()
            }
            Why::NoLaunch => "its launch is not in the trace".into(),
            Why::NoEvents => "no events are in the trace, so the order between streams is not known".into(),
            Why::NoStreams => {
                "the trace records events without their streams, so the order between streams is not known"
                    .into()
            }
            Why::Apart => {
                "only its stream orders it; there are gaps around it and nothing else to overlap with".into()
            }
        }
    }
}

/// How two neighbours are related; `None` if the origin of either is not known.
fn relation(mine: &Site, theirs: &Site) -> Option<Relation> {
    if !mine.is_located() || !theirs.is_located() {
        return None;
    }
    let same = |a: StrId, b: StrId| (!a.is_empty() && a == b).then_some(a);
    Some(if let Some(module) = same(mine.module, theirs.module) {
        Relation::Module(module)
    } else if let Some(op) = same(mine.cpu_op, theirs.cpu_op) {
        Relation::Op(op)
    } else if let Some(frame) = same(mine.model_frame, theirs.model_frame) {
        Relation::Frame(frame)
    } else {
        Relation::Chain
    })
}

/// How certain a risk is: recorded order ranks above neighbours, neighbours above nothing.
pub(super) fn confidence(why: &Why) -> &'static str {
    match why {
        Why::Free { .. } | Why::Followed { .. } | Why::Follows { .. } => "high",
        Why::Neighbour { .. } => "medium",
        _ => "low",
    }
}

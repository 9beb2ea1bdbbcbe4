//! The truth across ranks, from the run and from running it again without its faults.

use super::Prepared;
use super::setup::slower;
use crate::Error;
use crate::engine::Engine;
use crate::lose::Lost;
use crate::ranks::{
    Cause, CauseTruth, ExpertTruth, GroupKind, MeetingLog, PipelineTruth, RanksTruth, Resolved,
};

impl Prepared<'_> {
    /// The truth across ranks after `steps` steps.
    pub(super) fn across(
        &self,
        engine: &mut Engine<'_>,
        steps: u64,
        lost: &Lost,
    ) -> Result<RanksTruth, Error> {
        let layout = &self.program.layout;
        let log = engine.take_log();
        let step_time_ns = engine.steps().step_time_ns();
        let (step_time_without_ns, propagated) = if self.faults.any() {
            let (time, without) = self.rerun(steps, self.faults.without_all())?;
            (time, log.propagated(&without, layout, &self.faults.guilty()))
        } else {
            (step_time_ns, Vec::new())
        };
        let mut causes = self.causes(engine, &log);
        for (number, cause) in causes.iter_mut().enumerate() {
            cause.step_time_without_ns = match self.faults.count() {
                1 => step_time_without_ns,
                _ => self.rerun(steps, self.faults.without(number))?.0,
            };
        }
        let groups = log.groups(layout);
        let (mut collectives, collectives_left_out) = log.take();
        for meeting in &mut collectives {
            let p2p = meeting.operation == "send";
            let group = meeting.group.parse().unwrap_or_default();
            let members = meeting.ranks.iter().zip(&meeting.sequence);
            let gone = members.filter(|&(&rank, &sequence)| lost.lost(rank, (group, p2p), sequence));
            meeting.lost = gone.map(|(&rank, _)| rank).collect();
        }
        let pipeline = (layout.stages() > 1).then(|| PipelineTruth {
            stages: layout.stages(),
            stage: (0..self.ranks).map(|rank| layout.stage(rank)).collect(),
            bubble_ns: engine.bubbles(),
        });
        let experts = (layout.split && layout.size(GroupKind::Expert) > 1).then(|| {
            let load: Vec<f64> = (0..self.ranks).map(|rank| self.faults.load(rank)).collect();
            ExpertTruth { imbalance: load.iter().copied().fold(1.0, f64::max), load }
        });
        Ok(RanksTruth {
            step_time_ns,
            step_time_without_ns,
            causes,
            propagated,
            groups,
            pipeline,
            experts,
            collectives,
            collectives_left_out,
        })
    }

    /// What is wrong, with the time it added; in the order of [`Resolved::without`].
    fn causes(&self, engine: &Engine<'_>, log: &MeetingLog) -> Vec<CauseTruth> {
        let mut causes = Vec::new();
        for (number, (rank, straggler)) in self.faults.stragglers.iter().enumerate() {
            let names = slower(&self.program, *rank, straggler)
                .map(|k| self.program.kernels[k as usize].name.clone());
            causes.push(CauseTruth {
                cause: straggler.cause.kind().into(),
                made_by: straggler.cause.name().into(),
                rank: Some(*rank),
                group: None,
                group_kind: None,
                kernel: (straggler.cause == Cause::SlowerKernels).then(|| names.take(1).collect()),
                factor: straggler.factor,
                added_ns: engine.added(*rank, number),
                step_time_without_ns: 0,
            });
        }
        let layout = &self.program.layout;
        for (index, link) in &self.faults.slow_links {
            let first = layout.members(link.kind, *index)[0];
            causes.push(CauseTruth {
                cause: "slow-link".into(),
                made_by: "slow-link".into(),
                rank: None,
                group: Some(layout.group(link.kind, first).to_string()),
                group_kind: Some(link.kind.name()),
                kernel: None,
                factor: link.factor,
                added_ns: log.link_added_ns(link.kind, *index),
                step_time_without_ns: 0,
            });
        }
        let busiest = (0..self.ranks).max_by(|&a, &b| self.faults.load(a).total_cmp(&self.faults.load(b)));
        if let Some(rank) = busiest.filter(|_| !self.faults.loads.is_empty()) {
            causes.push(CauseTruth {
                cause: "expert-imbalance".into(),
                made_by: "expert-skew".into(),
                rank: Some(rank),
                group: Some(layout.group(GroupKind::Expert, rank).to_string()),
                group_kind: Some(GroupKind::Expert.name()),
                kernel: None,
                factor: self.faults.load(rank),
                added_ns: 0,
                step_time_without_ns: 0,
            });
        }
        causes
    }

    /// Runs the same steps with other faults: the mean time of a step, and who met when.
    fn rerun(&self, steps: u64, faults: Resolved) -> Result<(i64, MeetingLog), Error> {
        let mut engine = self.engine_with(&self.program, None, faults);
        for step in self.skip_unrecorded(&mut engine)? + 1..=steps {
            engine.run(step)?;
            (0..self.ranks as usize).for_each(|rank| drop(engine.take_records(rank)));
        }
        let time = engine.steps().step_time_ns();
        Ok((time, engine.take_log()))
    }
}

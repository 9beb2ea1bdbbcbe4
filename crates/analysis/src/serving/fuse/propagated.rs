//! What the run would save without the kernels that fusions replace, by propagation.

use rayon::prelude::*;

use super::{Fuse, FuseOpportunity};
use crate::causes::critical_path::{Engine, Scenario};
use model::Run;

impl Fuse {
    /// Computes for each opportunity how much sooner the run would end.
    pub(crate) fn propagate(&mut self, context: &Run, engine: &Engine) {
        self.opportunities.par_iter_mut().for_each(|one| {
            one.removal_saves_ns = Some(engine.saving(&one.without(context)));
        });
    }
}

impl FuseOpportunity {
    /// The run without the replaced kernels and the host time between the previous launch and theirs.
    pub(crate) fn without(&self, context: &Run) -> Scenario {
        let mut scenario = Scenario::default();
        let regions = &context.trace.regions;
        for instance in &self.instances {
            let mut before: Option<usize> = None;
            for &row in &instance.rows {
                let launch = context.launch_of(row);
                if instance.removed.contains(&row) {
                    scenario.work_takes(row, 0);
                    scenario.without_launch_latency(row);
                    if let Some(launch) = launch {
                        let (process, thread) = (regions.process[launch], regions.thread[launch]);
                        scenario.host_skips(process, thread, regions.start[launch], regions.end[launch]);
                        if let Some(before) = before
                            && (regions.process[before], regions.thread[before]) == (process, thread)
                        {
                            scenario.host_skips(process, thread, regions.end[before], regions.end[launch]);
                        }
                    }
                }
                before = launch;
            }
        }
        scenario
    }
}

//! How many steps of a large job fit into memory: collectives of later steps are dropped while digests come in.

use super::NumberedDigest;
use crate::digest::{Digest, NONE};

/// Clocks need collectives of this many steps.
const FEWEST_STEPS: u32 = 4;

/// The first steps whose collectives are kept.
#[derive(Debug)]
pub(super) struct Window {
    most: usize,
    kept: usize,
    steps: Option<u32>,
}

impl Default for Window {
    fn default() -> Self {
        Self::within(usize::MAX)
    }
}

impl Window {
    pub fn within(most: usize) -> Self {
        Self { most, kept: 0, steps: None }
    }

    /// How many steps are kept; `None` if all are.
    pub fn steps(&self) -> Option<u32> {
        self.steps
    }

    /// Takes in a digest, without collectives of later steps.
    pub fn cut(&mut self, digest: &mut Digest) {
        if let Some(steps) = self.steps {
            cut(digest, steps);
        }
        self.kept += digest.collectives.len();
    }

    /// Leaves out more steps of all digests while there are too many collectives.
    pub fn fit(&mut self, found: &mut [NumberedDigest]) {
        while self.kept > self.most {
            let longest = found.iter().map(|found| found.digest.steps.len() as u32).max().unwrap_or(0);
            let now = self.steps.unwrap_or(longest).min(longest);
            if now <= FEWEST_STEPS {
                // Nothing more can be left out.
                self.most = usize::MAX;
                return;
            }
            // A quarter less each time: digests that are still to come need room too.
            let steps = (now - now.div_ceil(4)).max(FEWEST_STEPS);
            self.steps = Some(steps);
            found.iter_mut().for_each(|found| cut(&mut found.digest, steps));
            self.kept = found.iter().map(|found| found.digest.collectives.len()).sum();
        }
    }
}

fn cut(digest: &mut Digest, steps: u32) {
    let Some(last) = digest.steps.get(steps as usize - 1).map(|step| step.end) else { return };
    digest.collectives.retain(|row| if row.step == NONE { row.start <= last } else { row.step < steps });
    digest.collectives.shrink_to_fit();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::{Collective, Identity, Step};
    use crate::fleet::FleetBuilder;

    fn digest(rank: u32, steps: u32) -> Digest {
        let step = |step: u32| Step {
            start: i64::from(step) * 100,
            end: i64::from(step) * 100 + 90,
            ..Step::default()
        };
        let row = |step: u32| Collective { start: i64::from(step) * 100 + 50, step, ..Collective::default() };
        Digest {
            identity: Identity { rank: Some(rank), ..Identity::default() },
            steps: (0..steps).map(step).collect(),
            collectives: (0..steps).map(row).collect(),
            span: Some((0, i64::from(steps) * 100)),
            ..Digest::default()
        }
    }

    #[test]
    fn steps_are_left_out_until_collectives_fit() {
        let mut builder = FleetBuilder::within(1000);
        (0..100).for_each(|rank| builder.add(digest(rank, 16)));
        let fleet = builder.finish();
        let kept: Vec<usize> = fleet.members.iter().map(|member| member.collectives.len()).collect();
        let steps = fleet.steps_compared.unwrap();
        assert!((6..=10).contains(&steps), "{steps}");
        assert!(kept.iter().all(|&kept| kept == steps as usize), "{kept:?}");
        assert_eq!(fleet.compared_ns(&fleet.members[0]), i64::from(steps) * 100 - 10);
        assert!(fleet.members.iter().all(|member| member.steps.len() == 16));
    }

    #[test]
    fn jobs_that_fit_keep_all_steps() {
        let mut builder = FleetBuilder::within(1000);
        (0..10).for_each(|rank| builder.add(digest(rank, 16)));
        let fleet = builder.finish();
        assert_eq!((fleet.steps_compared, fleet.members[9].collectives.len()), (None, 16));
        assert_eq!(fleet.compared_ns(&fleet.members[0]), 1600);
    }
}

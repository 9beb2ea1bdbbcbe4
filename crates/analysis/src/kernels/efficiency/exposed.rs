//! Which row each busy nanosecond of a GPU is charged to: computation before communication before copies, and
//! among overlapping rows of one kind the one that started first.

use model::lanes::{Bucket, GpuRow};
use trace::Ns;

/// The time charged to each row. The sum is the time with any work.
pub(super) fn charged(rows: &[GpuRow]) -> Vec<Ns> {
    let mut charged = vec![0; rows.len()];
    let mut covered: Vec<(Ns, Ns)> = Vec::new();
    for bucket in Bucket::ALL {
        covered = charge(rows, bucket, covered, &mut charged);
    }
    charged
}

/// Charges uncovered time to the rows of one kind; returns the covered time including theirs.
fn charge(rows: &[GpuRow], bucket: Bucket, covered: Vec<(Ns, Ns)>, charged: &mut [Ns]) -> Vec<(Ns, Ns)> {
    let mut own: Vec<(Ns, Ns)> = Vec::new();
    let mut reached = Ns::MIN;
    let mut at = 0;
    for (number, row) in rows.iter().enumerate().filter(|(_, row)| row.work.bucket == bucket) {
        let (from, to) = (row.work.start.max(reached), row.work.end);
        if to <= from {
            continue;
        }
        reached = to;
        // Time covered before this row does not overlap any later row.
        while covered.get(at).is_some_and(|one| one.1 <= from) {
            at += 1;
        }
        let hidden = covered[at..].iter().take_while(|one| one.0 < to);
        charged[number] = to - from - hidden.map(|one| one.1.min(to) - one.0.max(from)).sum::<Ns>();
        match own.last_mut() {
            Some(last) if from <= last.1 => last.1 = to,
            _ => own.push((from, to)),
        }
    }
    union(covered, own)
}

/// The union of two sets of sorted intervals.
fn union(a: Vec<(Ns, Ns)>, b: Vec<(Ns, Ns)>) -> Vec<(Ns, Ns)> {
    if a.is_empty() || b.is_empty() {
        return if a.is_empty() { b } else { a };
    }
    let mut both: Vec<(Ns, Ns)> = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.into_iter().peekable(), b.into_iter().peekable());
    loop {
        let next = match (a.peek(), b.peek()) {
            (Some(one), Some(other)) if one.0 <= other.0 => a.next(),
            (_, Some(_)) => b.next(),
            _ => a.next(),
        };
        let Some(next) = next else { return both };
        match both.last_mut() {
            Some(last) if next.0 <= last.1 => last.1 = last.1.max(next.1),
            _ => both.push(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::timeline::breakdown::sweep::Timeline;
    use model::classify::{Classes, Classifier};
    use model::lanes::lanes;
    use trace::{Agent, AgentId, AgentKind, Kernel, Trace};

    proptest! {
        #[test]
        fn rows_are_charged_what_the_timeline_shows(
            rows in prop::collection::vec((0i64..80, 0i64..25, 0usize..3), 0..40),
        ) {
            let mut trace = Trace::default();
            trace.agents.push(Agent { kind: AgentKind::Gpu, ..Agent::default() });
            let names = ["gemm", "ncclDevKernel_Generic", "__amd_rocclr_copyBuffer"];
            for (start, length, kind) in rows {
                let name = trace.strings.intern(names[kind]);
                trace.kernels.push(Kernel { start, end: start + length, name, agent: AgentId(0), ..Kernel::default() });
            }
            trace.finish();
            let classes = Classes::of(&trace, &Classifier::builtin());
            for lane in lanes(&trace, &classes) {
                let charged = charged(&lane.rows);
                let sum = |bucket: Bucket| -> Ns {
                    let of = lane.rows.iter().zip(&charged).filter(|(row, _)| row.work.bucket == bucket);
                    of.map(|(_, ns)| *ns).sum()
                };
                let timeline = Timeline::of(&lane.work());
                prop_assert_eq!(sum(Bucket::Compute), timeline.of_bucket(Bucket::Compute));
                prop_assert_eq!(sum(Bucket::Communication), timeline.exposed_communication());
                prop_assert_eq!(sum(Bucket::Memcpy), timeline.exposed_memcpy());
            }
        }
    }
}

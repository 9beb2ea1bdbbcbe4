//! Merges digests of parts of one rank's run.

use trace::Map;

use super::{Clock, Collective, Digest, Group, NONE, NameStats, Sketch};
use crate::operation::Operation;

impl Default for Collective {
    fn default() -> Self {
        Self {
            start: i64::MIN,
            time_ns: 0,
            sequence: i64::MIN,
            bytes: -1,
            compute_ns: 0,
            exposed_ns: 0,
            tail_ns: 0,
            peer: NONE,
            step: NONE,
            group: 0,
            stream: 0,
            operation: Operation::Unknown,
        }
    }
}

impl Digest {
    /// Adds a later or earlier part of the same rank on the same clock.
    pub fn merge(&mut self, other: Digest) {
        let (mut first, mut second) = (std::mem::take(self), other);
        if second.span < first.span && second.span.is_some() {
            std::mem::swap(&mut first, &mut second);
        }
        let groups: Vec<u16> =
            second.groups.drain(..).map(|group| place_of(&mut first.groups, group)).collect();
        let (steps, compute_ns) = (first.steps.len() as u32, first.account.compute_ns);
        first.collectives.extend(second.collectives.into_iter().map(|row| Collective {
            group: groups[usize::from(row.group)],
            step: if row.step == NONE { NONE } else { row.step + steps },
            compute_ns: row.compute_ns + compute_ns,
            ..row
        }));
        first.collectives.sort_by_key(|row| (row.start, row.time_ns));
        first.steps.extend(second.steps);
        first.span = match (first.span, second.span) {
            (Some(one), Some(two)) => Some((one.0.min(two.0), one.1.max(two.1))),
            (one, two) => one.or(two),
        };
        merge_stats(&mut first.kernels, second.kernels);
        merge_stats(&mut first.ops, second.ops);
        for (rank, bytes) in second.traffic {
            match first.traffic.binary_search_by_key(&rank, |known| known.0) {
                Ok(place) => first.traffic[place].1 += bytes,
                Err(place) => first.traffic.insert(place, (rank, bytes)),
            }
        }
        let (account, more) = (&mut first.account, &second.account);
        account.compute_ns += more.compute_ns;
        account.communication_ns += more.communication_ns;
        account.exposed_ns += more.exposed_ns;
        account.copy_ns += more.copy_ns;
        account.idle_ns.iter_mut().zip(more.idle_ns).for_each(|(to, ns)| *to += ns);
        first.clock = match (first.clock, second.clock) {
            (Some(one), Some(two)) => Some(Clock {
                mean_mhz: (one.mean_mhz * one.samples as f64 + two.mean_mhz * two.samples as f64)
                    / (one.samples + two.samples) as f64,
                samples: one.samples + two.samples,
            }),
            (one, two) => one.or(two),
        };
        first.health.extend(second.health);
        *self = first;
    }
}

fn place_of(groups: &mut Vec<Group>, group: Group) -> u16 {
    let place = groups.iter().position(|known| *known == group).unwrap_or_else(|| {
        groups.push(group);
        groups.len() - 1
    });
    place as u16
}

fn merge_stats(into: &mut Vec<NameStats>, more: Vec<NameStats>) {
    let mut places: Map<String, usize> =
        into.iter().enumerate().map(|(place, stats)| (stats.name.clone(), place)).collect();
    for stats in more {
        match places.get(&stats.name) {
            Some(&place) => into[place].merge(&stats),
            None => {
                places.insert(stats.name.clone(), into.len());
                into.push(stats);
            }
        }
    }
    into.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
}

impl NameStats {
    /// Adds one call.
    pub(super) fn add(&mut self, ns: i64) {
        self.min_ns = if self.count == 0 { ns } else { self.min_ns.min(ns) };
        self.max_ns = if self.count == 0 { ns } else { self.max_ns.max(ns) };
        self.count += 1;
        self.total_ns += ns;
        self.sketch.add(ns);
    }

    /// Adds the calls of another row with the same name.
    pub fn merge(&mut self, other: &NameStats) {
        if other.count == 0 {
            return;
        }
        self.min_ns = if self.count == 0 { other.min_ns } else { self.min_ns.min(other.min_ns) };
        self.max_ns = if self.count == 0 { other.max_ns } else { self.max_ns.max(other.max_ns) };
        self.count += other.count;
        self.total_ns += other.total_ns;
        self.work_items += other.work_items;
        Sketch::merge(&mut self.sketch, &other.sketch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Step;

    #[test]
    fn parts_of_a_rank_merge_in_either_order() {
        let part = |start: i64, group: &str| Digest {
            groups: vec![Group { name: group.into(), ..Group::default() }],
            span: Some((start, start + 100)),
            steps: vec![Step { start, end: start + 100, ..Step::default() }],
            collectives: vec![Collective { start: start + 10, time_ns: 5, step: 0, ..Collective::default() }],
            kernels: vec![NameStats {
                name: "k".into(),
                count: 1,
                total_ns: 7,
                min_ns: 7,
                max_ns: 7,
                ..NameStats::default()
            }],
            ..Digest::default()
        };
        let (mut one, mut two) = (part(0, "a"), part(500, "b"));
        one.merge(part(500, "b"));
        two.merge(part(0, "a"));
        assert_eq!(one, two);
        assert_eq!(one.span, Some((0, 600)));
        assert_eq!((one.collectives[1].step, one.collectives[1].group), (1, 1));
        assert_eq!((one.kernels[0].count, one.kernels[0].total_ns), (2, 14));
    }
}

//! Finds the digests of one job, and keeps one for each rank.

use trace::Map;

use super::{Fleet, NameTotals, NumberedDigest};
use crate::digest::Group;
use formats::launchers;

/// An input that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The file.
    pub path: String,
    /// Its rank, where known.
    pub rank: Option<u32>,
    /// Why.
    pub why: String,
}

/// More missing ranks than this are not listed.
const MOST_MISSING: u32 = 1 << 20;

/// The digests of the largest job; those of others are left out by name.
pub(super) fn one_job(found: Vec<NumberedDigest>, left_out: &mut Vec<Left>) -> Vec<NumberedDigest> {
    let jobs = jobs(&found);
    let mut count: Map<&str, usize> = Map::default();
    jobs.iter().flatten().for_each(|job| *count.entry(job).or_default() += 1);
    let Some(largest) = count.iter().max_by(|a, b| a.1.cmp(b.1).then_with(|| b.0.cmp(a.0))) else {
        return found;
    };
    if count.len() < 2 {
        return found;
    }
    let largest = largest.0.to_string();
    let of_largest = count[largest.as_str()];
    let mut kept = Vec::new();
    for (found, job) in found.into_iter().zip(&jobs) {
        match job {
            Some(job) if *job != largest => left_out.push(Left {
                path: found.digest.identity.source.clone(),
                rank: found.digest.identity.rank,
                why: format!("it is of another job ({job}) than the {of_largest} files of {largest}"),
            }),
            _ => kept.push(found),
        }
    }
    kept
}

/// The job of each digest, if known: the launcher's number, the size of the job, or the communicators.
fn jobs(found: &[NumberedDigest]) -> Vec<Option<String>> {
    let mut jobs: Vec<Option<String>> = found
        .iter()
        .map(|found| {
            let variables = &found.digest.identity.variables;
            let id = launchers::JOBS
                .iter()
                .find_map(|name| variables.iter().find(|(known, _)| known == name))
                .map(|(name, value)| format!("{name} {value}"));
            id.or_else(|| found.digest.identity.world_size.map(|size| format!("{size} ranks")))
        })
        .collect();
    if jobs.iter().any(Option::is_some) {
        return jobs;
    }
    // Communicators of the Inspector have names that are unique to a job.
    let mut joined: Vec<usize> = (0..found.len()).collect();
    let mut first: Map<&str, usize> = Map::default();
    for (place, found) in found.iter().enumerate().filter(|(_, found)| found.digest.identity.only_collectives)
    {
        for group in &found.digest.groups {
            let other = *first.entry(&group.name).or_insert(place);
            let (one, two) = (root(&joined, other), root(&joined, place));
            joined[one.max(two)] = one.min(two);
        }
    }
    for place in 0..found.len() {
        if found[place].digest.identity.only_collectives && !found[place].digest.groups.is_empty() {
            let name = &found[root(&joined, place)].digest.groups[0].name;
            jobs[place] = Some(format!("communicator {name}"));
        }
    }
    jobs
}

fn root(joined: &[usize], mut place: usize) -> usize {
    while joined[place] != place {
        place = joined[place];
    }
    place
}

/// One digest for each rank and GPU: copies are dropped, parts are merged or the one with most collectives is
/// kept, and digests without a rank get numbers.
pub(super) fn one_per_rank(mut found: Vec<NumberedDigest>, fleet: &mut Fleet) -> Vec<NumberedDigest> {
    found.sort_by(|a, b| a.digest.identity.source.cmp(&b.digest.identity.source));
    if !found.is_empty() && found.iter().all(|found| found.digest.identity.rank.is_none()) {
        fleet.is_numbered_by_file = true;
    }
    let mut next =
        found.iter().filter_map(|found| found.digest.identity.rank).max().map_or(0, |rank| rank + 1);
    let mut numbered: Map<(String, String, i64), u32> = Map::default();
    for found in &mut found {
        if found.digest.identity.rank.is_none() {
            // The GPUs of one process are one rank.
            let identity = &found.digest.identity;
            let process = (identity.source.clone(), identity.guid.clone(), identity.pid);
            found.rank = *numbered.entry(process).or_insert_with(|| {
                next += 1;
                next - 1
            });
        }
    }
    found.sort_by_key(|found| (found.rank, found.digest.identity.gpu, found.digest.span));
    let mut kept: Vec<NumberedDigest> = Vec::with_capacity(found.len());
    for other in found {
        match kept.last_mut() {
            Some(last) if last.is_same_rank(&other) => {
                if last.is_before(&other) {
                    last.append(other);
                    continue;
                }
                let (kept_one, dropped) = if other.weight() > last.weight() {
                    let dropped = std::mem::replace(last, other);
                    (last, dropped)
                } else {
                    (last, other)
                };
                drop_one(kept_one, dropped, fleet);
            }
            _ => kept.push(other),
        }
    }
    kept
}

impl NumberedDigest {
    fn is_same_rank(&self, other: &NumberedDigest) -> bool {
        (self.rank, self.digest.identity.gpu) == (other.rank, other.digest.identity.gpu)
    }

    /// A timeline counts more than collectives alone, and then more collectives count more.
    fn weight(&self) -> (bool, usize) {
        (!self.digest.identity.only_collectives, self.digest.collectives.len())
    }

    /// Whether the other was recorded by the same process after this one ended.
    fn is_before(&self, other: &NumberedDigest) -> bool {
        let (one, two) = (&self.digest.identity, &other.digest.identity);
        let same = one.pid != 0 && (one.pid, &one.host, &one.format) == (two.pid, &two.host, &two.format);
        let (one, two) = (self.digest.span, other.digest.span);
        same && one.zip(two).is_some_and(|(one, two)| one.1 <= two.0)
    }

    fn append(&mut self, other: NumberedDigest) {
        self.digest.merge(other.digest);
        for (into, more) in [(&mut self.kernels, other.kernels), (&mut self.ops, other.ops)] {
            for share in more {
                match into.iter_mut().find(|known| known.name == share.name) {
                    Some(known) => {
                        known.count = known.count.saturating_add(share.count);
                        known.total_ns += share.total_ns;
                        known.work_items += share.work_items;
                    }
                    None => into.push(share),
                }
            }
        }
    }
}

fn drop_one(kept: &NumberedDigest, dropped: NumberedDigest, fleet: &mut Fleet) {
    take_off(&mut fleet.kernels, &dropped.kernels);
    take_off(&mut fleet.ops, &dropped.ops);
    let (kept, span, rank) = (&kept.digest.identity, kept.digest.span, dropped.rank);
    let (gone, file) = (&dropped.digest.identity, &kept.source);
    let why = if gone.only_collectives && !kept.only_collectives {
        format!("`{file}` has a timeline of rank {rank}")
    } else if gone.guid == kept.guid && dropped.digest.span == span {
        format!("it is a copy of `{file}`")
    } else {
        format!("rank {rank} is there twice; `{file}` is used")
    };
    fleet.left_out.push(Left { path: dropped.digest.identity.source, rank: Some(rank), why });
}

fn take_off(totals: &mut [NameTotals], shares: &[super::NameShare]) {
    for share in shares {
        let totals = &mut totals[share.name as usize];
        totals.count = totals.count.saturating_sub(u64::from(share.count));
        totals.total_ns -= share.total_ns;
    }
}

/// Finds ranks that are missing, from the size of the job and the rank lists of its groups.
pub(super) fn name_missing(fleet: &mut Fleet, groups: &[Vec<Group>]) {
    if fleet.is_numbered_by_file {
        return;
    }
    let listed = groups.iter().flatten().filter_map(|group| group.ranks.iter().max()).max();
    let listed = listed.map_or(0, |rank| rank + 1);
    let highest = fleet.members.iter().map(|member| member.rank + 1).max().unwrap_or(0);
    let size = fleet.world_size.unwrap_or(0).max(listed).max(highest).min(MOST_MISSING);
    let mut is_there = vec![false; size as usize];
    for member in &fleet.members {
        if let Some(there) = is_there.get_mut(member.rank as usize) {
            *there = true;
        }
    }
    fleet.missing = (0..size).filter(|&rank| !is_there[rank as usize]).collect();
}

#[cfg(test)]
mod tests {
    use crate::digest::{Digest, Group, Identity, NameStats};
    use crate::fleet::FleetBuilder;

    fn digest(rank: Option<u32>, source: &str) -> Digest {
        Digest {
            identity: Identity { rank, source: source.into(), guid: source.into(), ..Identity::default() },
            span: Some((0, 10)),
            kernels: vec![NameStats { name: "k".into(), count: 1, total_ns: 5, ..NameStats::default() }],
            ..Digest::default()
        }
    }

    #[test]
    fn missing_and_doubled_ranks_are_named() {
        let mut builder = FleetBuilder::default();
        for (rank, source) in [(0, "a"), (3, "d"), (1, "b"), (1, "c")] {
            builder.add(digest(Some(rank), source));
        }
        let fleet = builder.finish();
        assert_eq!(fleet.members.iter().map(|member| member.rank).collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!(fleet.missing, [2]);
        assert_eq!(fleet.left_out.len(), 1);
        assert_eq!(fleet.left_out[0].why, "rank 1 is there twice; `b` is used");
        assert_eq!((fleet.kernels[0].count, fleet.kernels[0].total_ns), (3, 15));
    }

    #[test]
    fn parts_of_one_rank_are_joined() {
        let mut builder = FleetBuilder::default();
        for (span, source) in [((20, 30), "later"), ((0, 10), "first")] {
            let mut digest = digest(Some(0), source);
            (digest.span, digest.identity.pid) = (Some(span), 9);
            builder.add(digest);
        }
        let fleet = builder.finish();
        assert_eq!((fleet.members.len(), fleet.left_out.len()), (1, 0));
        assert_eq!(fleet.members[0].span, Some((0, 30)));
        assert_eq!(fleet.members[0].kernels[0].total_ns, 10);
    }

    #[test]
    fn files_of_another_job_are_left_out() {
        let mut builder = FleetBuilder::default();
        for (rank, job) in [(0, "7"), (1, "7"), (0, "8")] {
            let mut digest = digest(Some(rank), &format!("{job}-{rank}"));
            digest.identity.variables = vec![("SLURM_JOB_ID".into(), job.into())];
            builder.add(digest);
        }
        let fleet = builder.finish();
        assert_eq!(fleet.members.len(), 2);
        assert_eq!(
            fleet.left_out[0].why,
            "it is of another job (SLURM_JOB_ID 8) than the 2 files of SLURM_JOB_ID 7"
        );
    }

    #[test]
    fn inspector_files_without_a_common_communicator_are_two_jobs() {
        let mut builder = FleetBuilder::default();
        for (rank, groups) in [(0, ["w", "x"]), (1, ["x", "y"]), (2, ["z", "z"])] {
            let mut digest = digest(Some(rank), &rank.to_string());
            digest.identity.only_collectives = true;
            digest.groups = groups.map(|name| Group { name: name.into(), ..Group::default() }).into();
            builder.add(digest);
        }
        let fleet = builder.finish();
        assert_eq!((fleet.members.len(), fleet.left_out.len()), (2, 1));
    }

    #[test]
    fn files_that_tell_no_rank_are_numbered() {
        let mut builder = FleetBuilder::default();
        builder.add(digest(None, "b"));
        builder.add(digest(None, "a"));
        let fleet = builder.finish();
        assert!(fleet.is_numbered_by_file && fleet.missing.is_empty());
        assert_eq!(fleet.members.iter().map(|member| &*member.source).collect::<Vec<_>>(), ["a", "b"]);
    }
}

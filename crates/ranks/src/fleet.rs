//! All ranks of a job together: which are present, missing or duplicated, and what groups they form.
//!
//! Cost: a few dozen bytes for each collective, step and kernel name of a rank; names are kept once for all.

mod jobs;
mod labels;
mod window;

use trace::{Map, Ns};

use crate::digest::{
    Account, Clock, Collective, Digest, Group, Identity, JobPosition, NameStats, Sketch, Step,
};
use crate::matching::MemberRow;
use crate::names::GroupKind;

pub use jobs::Left;
pub(crate) use labels::ranges;
use window::Window;

/// All ranks of one job.
#[derive(Default)]
pub struct Fleet {
    /// By rank, then by GPU.
    pub members: Vec<Member>,
    /// Groups of at least two members.
    pub groups: Vec<FleetGroup>,
    /// Kernels over all members.
    pub kernels: Vec<NameTotals>,
    /// Ops over all members.
    pub ops: Vec<NameTotals>,
    /// Ranks that are missing.
    pub missing: Vec<u32>,
    /// Inputs that were left out, and why.
    pub left_out: Vec<Left>,
    /// Number of ranks in the job, if recorded.
    pub world_size: Option<u32>,
    /// Whether no input records its rank, so that ranks are numbers of files.
    pub is_numbered_by_file: bool,
    /// How many first steps have their collectives kept; `None` if all do.
    pub steps_compared: Option<u32>,
}

impl Fleet {
    /// The time of a member in which its collectives are compared.
    pub(crate) fn compared_ns(&self, member: &Member) -> Ns {
        match self.compared_steps(member) {
            [first, .., last] => last.end - first.start,
            _ => member.span.map_or(0, |span| span.1 - span.0),
        }
    }

    /// Computation in the time in which a member's collectives are compared.
    pub(crate) fn compared_compute_ns(&self, member: &Member) -> Ns {
        match self.compared_steps(member) {
            steps @ [_, _, ..] => steps.iter().map(|step| step.compute_ns).sum(),
            _ => member.account.compute_ns,
        }
    }

    /// The steps that are compared; empty if all are.
    fn compared_steps<'a>(&self, member: &'a Member) -> &'a [Step] {
        let count = self.steps_compared.map_or(0, |steps| steps as usize);
        &member.steps[..count.min(member.steps.len())]
    }

    /// The member of a rank; its last GPU if it uses several.
    pub(crate) fn member_of_rank(&self, rank: u32) -> Option<u32> {
        let place = self.members.partition_point(|member| member.rank <= rank).checked_sub(1)?;
        (self.members[place].rank == rank).then_some(place as u32)
    }
}

/// One rank, or one GPU of a rank that uses several.
#[derive(Clone, Debug, Default)]
pub struct Member {
    /// Its rank.
    pub rank: u32,
    /// Its GPU, where ranks have several.
    pub gpu: Option<u32>,
    /// `3`, or `0/2` for the third GPU of rank 0.
    pub label: String,
    /// Host name; empty if unknown.
    pub host: String,
    /// The file.
    pub source: String,
    /// Format of the file.
    pub format: String,
    /// Size of the file.
    pub bytes: u64,
    /// `AMD Instinct MI300X`
    pub product: String,
    /// `gfx942`
    pub architecture: String,
    /// Position in the job, as far as names and groups tell.
    pub place: JobPosition,
    /// First and last GPU work on its own clock.
    pub span: Option<(Ns, Ns)>,
    /// Its steps.
    pub steps: Vec<Step>,
    /// Its collectives by start.
    pub collectives: Vec<Collective>,
    /// By group of its digest: the place in [`Fleet::groups`], or `u32::MAX`.
    pub groups: Vec<u32>,
    /// Its kernels.
    pub kernels: Vec<NameShare>,
    /// Its ops.
    pub ops: Vec<NameShare>,
    /// Bytes sent to each rank in all-to-all operations.
    pub traffic: Vec<(u32, u64)>,
    /// Where its time went.
    pub account: Account,
    /// Its engine clock.
    pub clock: Option<Clock>,
    /// What is wrong with its trace.
    pub problems: Vec<String>,
}

impl Member {
    /// The number that the member's own collectives have for a group of the fleet.
    pub(crate) fn group_number(&self, group: u32) -> u16 {
        self.groups.iter().position(|&own| own == group).map_or(u16::MAX, |number| number as u16)
    }
}

/// The calls of one name on one member.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NameShare {
    /// Place in the fleet's names.
    pub name: u32,
    /// Calls.
    pub count: u32,
    /// Their time.
    pub total_ns: Ns,
    /// Work-items, where known.
    pub work_items: u64,
}

/// The calls of one name on all members.
#[derive(Clone, Debug, Default)]
pub struct NameTotals {
    /// The kernel or op.
    pub name: String,
    /// Its category.
    pub category: String,
    /// Calls.
    pub count: u64,
    /// Their time.
    pub total_ns: Ns,
    /// All durations.
    pub sketch: Sketch,
}

/// A process group of the job.
#[derive(Clone, Debug)]
pub struct FleetGroup {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub kind: GroupKind,
    /// How people call it: `tensor 0-7`.
    pub label: String,
    /// Ranks that it has.
    pub size: Option<u32>,
    /// The members that are present, ascending.
    pub members: Vec<u32>,
    /// Whether its name comes from the trace; otherwise it is a stream.
    pub is_told: bool,
}

impl FleetGroup {
    /// Its members that have no part; parts are sorted by member.
    pub(crate) fn without(&self, parts: &[MemberRow]) -> Vec<u32> {
        let has_part = |member: &u32| parts.binary_search_by_key(member, |part| part.member).is_ok();
        self.members.iter().copied().filter(|member| !has_part(member)).collect()
    }
}

/// Collects digests one by one.
#[derive(Default)]
pub struct FleetBuilder {
    found: Vec<NumberedDigest>,
    kernels: Names,
    ops: Names,
    left_out: Vec<Left>,
    window: Window,
}

/// A digest whose names are numbers.
struct NumberedDigest {
    rank: u32,
    digest: Digest,
    kernels: Vec<NameShare>,
    ops: Vec<NameShare>,
}

impl NumberedDigest {
    fn member(self) -> (Member, Vec<Group>) {
        let Self { rank, digest, kernels, ops } = self;
        let Digest { identity, groups, span, steps, collectives, traffic, account, clock, health, .. } =
            digest;
        let Identity { gpu, host, source, format, bytes, product, architecture, place, .. } = identity;
        let problems = health.into_iter().map(|problem| problem.message).collect();
        let member = Member {
            rank,
            gpu,
            host,
            source,
            format,
            bytes,
            product,
            architecture,
            place,
            span,
            steps,
            collectives,
            kernels,
            ops,
            traffic,
            account,
            clock,
            problems,
            ..Member::default()
        };
        (member, groups)
    }
}

#[derive(Default)]
struct Names {
    places: Map<String, u32>,
    totals: Vec<NameTotals>,
}

impl Names {
    fn add(&mut self, stats: NameStats) -> NameShare {
        let next = self.totals.len() as u32;
        let name = match self.places.get(&stats.name) {
            Some(&place) => place,
            None => {
                self.places.insert(stats.name.clone(), next);
                let (name, category) = (stats.name.clone(), stats.category.clone());
                self.totals.push(NameTotals { name, category, ..NameTotals::default() });
                next
            }
        };
        let totals = &mut self.totals[name as usize];
        totals.count += stats.count;
        totals.total_ns += stats.total_ns;
        totals.sketch.merge(&stats.sketch);
        NameShare {
            name,
            count: stats.count.min(u64::from(u32::MAX)) as u32,
            total_ns: stats.total_ns,
            work_items: stats.work_items,
        }
    }
}

impl FleetBuilder {
    /// Keeps at most this many collectives, if steps can be left out: memory grows with them.
    pub fn within(most_collectives: usize) -> Self {
        Self { window: Window::within(most_collectives), ..Self::default() }
    }

    /// Adds the digest of a rank.
    pub fn add(&mut self, mut digest: Digest) {
        self.window.cut(&mut digest);
        let kernels = std::mem::take(&mut digest.kernels);
        let ops = std::mem::take(&mut digest.ops);
        self.found.push(NumberedDigest {
            rank: digest.identity.rank.unwrap_or(u32::MAX),
            kernels: kernels.into_iter().map(|stats| self.kernels.add(stats)).collect(),
            ops: ops.into_iter().map(|stats| self.ops.add(stats)).collect(),
            digest,
        });
        self.window.fit(&mut self.found);
    }

    /// Notes an input that cannot be read.
    pub fn leave_out(&mut self, path: &str, why: &str) {
        self.left_out.push(Left { path: path.into(), rank: None, why: why.into() });
    }

    /// How many digests there are.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Sorts out jobs, duplicates and groups.
    pub fn finish(self) -> Fleet {
        let Self { found, kernels, ops, left_out, window } = self;
        let mut fleet = Fleet {
            kernels: kernels.totals,
            ops: ops.totals,
            left_out,
            steps_compared: window.steps(),
            ..Fleet::default()
        };
        let found = jobs::one_job(found, &mut fleet.left_out);
        let found = jobs::one_per_rank(found, &mut fleet);
        fleet.world_size = found.iter().filter_map(|found| found.digest.identity.world_size).max();
        let groups: Vec<Vec<Group>> = found
            .into_iter()
            .map(|found| {
                let (member, groups) = found.member();
                fleet.members.push(member);
                groups
            })
            .collect();
        jobs::name_missing(&mut fleet, &groups);
        labels::join_groups(&mut fleet, groups);
        fleet
    }
}

//! Kernels by stage and name: how much time is critical, whether they could move, what that could save.

use std::collections::BTreeMap;

use rayon::prelude::*;
use trace::{Map, RowRef, StrId};

use super::device::{Device, StepKey};
use super::order::{Cause, Order};
use super::pools::Pools;
use super::risk::{Scene, Why, confidence};
use super::rules::{Decision, Risk, Rules, WorkKind};
use super::syncs::{Knowledge, operations};
use model::Run;
use model::attribution::SiteId;
use model::order::Operations;
use model::stages::Stage;
use stats::percent;

/// A device with everything needed to judge the risk of moving its work.
pub(super) struct Analysed {
    pub device: Device,
    pub order: Order,
    pub knowledge: Knowledge,
    pub pools: Pools,
}

impl Analysed {
    pub fn of(context: &Run, host: &Operations, device: Device) -> Self {
        let ((order, knowledge), pools) = rayon::join(
            || {
                let (ops, knowledge) = operations(context, host, &device);
                (Order::of(device.streams.len(), &ops), knowledge)
            },
            || Pools::of(&device),
        );
        Self { device, order, knowledge, pools }
    }

    pub fn scene<'a>(&'a self, context: &'a Run<'a>) -> Scene<'a> {
        Scene {
            context,
            device: &self.device,
            order: &self.order,
            knowledge: self.knowledge,
            pools: &self.pools,
        }
    }
}

/// Kernels with one name in one stage that could overlap with other work.
pub(super) struct Opportunity {
    pub stage: Stage,
    pub name: StrId,
    pub kind: WorkKind,
    pub risk: Risk,
    pub why: Why,
    pub calls: usize,
    pub total: i64,
    pub exclusive: i64,
    pub hidden: i64,
    pub hidden_by_compute: i64,
    /// Critical time: the upper limit of any gain.
    pub exposed: i64,
    /// Computation in the same steps that could hide it.
    pub beside: i64,
    /// The part of the gain that needs no reordering, at most the exposed time.
    pub free_gain: Option<i64>,
    /// The possible gain: per step the smaller of `exposed` and `beside`, on the GPU where that is largest.
    pub gain: i64,
    /// Summed duration of all GPU work of the stage.
    pub stage_total: i64,
    /// Device and work of the representative instance.
    pub representative: (usize, u32),
    /// Every instance and its exposed time.
    pub pieces: Vec<(RowRef, i64)>,
    pub site: SiteId,
}

impl Opportunity {
    pub fn decision(&self) -> &'static Decision {
        Rules::built_in().decide(self.kind, self.risk)
    }

    /// Whether there is a gain and the recorded order supports it. Collectives and copies can always overlap
    /// with computation; other work only if the order leaves it free, or if an event holds it back.
    /// Consecutive work on one stream most likely reads what the work before it wrote.
    fn is_told(&self) -> bool {
        let order_tells = matches!(
            self.why,
            Why::Free { .. }
                | Why::Followed { cause: Cause::Event, .. }
                | Why::Follows { cause: Cause::Event, .. }
        );
        let can_always = matches!(self.kind, WorkKind::Communication | WorkKind::Copy);
        self.gain > 0 && (can_always || order_tells)
    }

    pub fn confidence(&self) -> &'static str {
        confidence(&self.why)
    }

    pub fn share_pct(&self) -> f64 {
        percent(self.total, self.stage_total)
    }
}

type Key = (Stage, WorkKind, StrId);

/// Work of one name, kind and stage, as (device, work).
#[derive(Default)]
struct Group {
    members: Vec<(u32, u32)>,
    total: i64,
    exclusive: i64,
    hidden: i64,
    hidden_by_compute: i64,
    exposed: i64,
}

/// The kernels worth a row, most urgent first.
pub(super) fn opportunities(context: &Run, devices: &[Analysed]) -> Vec<Opportunity> {
    let (groups, totals) = group(devices);
    let groups: Vec<(Key, Group)> = groups.into_iter().collect();
    let mut found: Vec<Opportunity> = groups
        .into_par_iter()
        .filter(|(key, group)| has_headroom(context, devices, *key, group, totals[&key.0]))
        .map(|(key, group)| opportunity(context, devices, key, group, totals[&key.0]))
        .filter(Opportunity::is_told)
        .collect();
    found.sort_by(|a, b| {
        let key =
            |o: &Opportunity| (o.stage, o.decision().priority.as_str(), o.kind, std::cmp::Reverse(o.exposed));
        let name = |o: &Opportunity| context.trace.strings.get(o.name);
        key(a).cmp(&key(b)).then_with(|| name(a).cmp(name(b)))
    });
    found
}

fn group(devices: &[Analysed]) -> (Map<Key, Group>, Map<Stage, i64>) {
    let mut groups: Map<Key, Group> = Map::default();
    let mut totals: Map<Stage, i64> = Map::default();
    for (d, Analysed { device, .. }) in devices.iter().enumerate() {
        for (i, (work, seen)) in device.work.iter().zip(&device.swept.seen).enumerate() {
            let group = groups.entry((work.stage, work.kind, work.name)).or_default();
            group.members.push((d as u32, i as u32));
            group.total += work.duration();
            group.exclusive += seen.exclusive;
            group.hidden += seen.hidden;
            group.hidden_by_compute += seen.hidden_by_compute;
            group.exposed += seen.exposed;
            *totals.entry(work.stage).or_default() += work.duration();
        }
    }
    (groups, totals)
}

/// Whether enough of the work runs alone while something else could run.
fn has_headroom(
    context: &Run,
    devices: &[Analysed],
    (stage, kind, _): Key,
    group: &Group,
    stage_total: i64,
) -> bool {
    let exclusive_pct = percent(group.exclusive, group.total);
    let exposed_pct = percent(group.exposed, stage_total);
    // Computation can only overlap with computation on another stream.
    let possible =
        kind != WorkKind::Compute || devices.iter().any(|d| d.device.computing_apart.contains(&stage));
    let worth = exposed_pct >= context.min_share_pct && group.exposed > 0;
    worth && possible && exclusive_pct >= Rules::built_in().kind(kind).min_exclusive_pct
}

/// Exposed time of one step of one device, and how much of it the order leaves free to hide.
#[derive(Default)]
struct StepSum {
    exposed: i64,
    free: i64,
}

fn opportunity(
    context: &Run,
    devices: &[Analysed],
    (stage, kind, name): Key,
    group: Group,
    stage_total: i64,
) -> Opportunity {
    let mut risks = Risks::default();
    let mut steps: BTreeMap<(u32, StepKey), StepSum> = BTreeMap::new();
    let mut sites: BTreeMap<SiteId, i64> = BTreeMap::new();
    let mut pieces = Vec::with_capacity(group.members.len());
    let mut order_known = false;
    for &(d, i) in &group.members {
        let analysed = &devices[d as usize];
        let (work, seen) = (&analysed.device.work[i as usize], &analysed.device.swept.seen[i as usize]);
        *sites.entry(context.attribution.site_of(work.row)).or_default() += work.duration();
        pieces.push((work.row, seen.exposed));
        let scene = analysed.scene(context);
        let free = scene.tells(work).then(|| analysed.pools.free(&analysed.order, work));
        // With one stream the order is fully known and leaves nothing free.
        order_known |= free.is_some() || analysed.device.streams.len() == 1;
        let sum = steps.entry((d, work.step)).or_default();
        sum.exposed += seen.exposed;
        sum.free += free.map_or(0, |(free, _)| free.min(seen.exposed));
        let (risk, why) = scene.risk(work, seen.exposed, free);
        risks.add(risk, why, seen.exposed, work.duration(), (d as usize, i));
    }
    let mut all_beside = 0;
    let mut by_device: BTreeMap<u32, (i64, i64)> = BTreeMap::new();
    for ((d, step), sum) in &steps {
        let pool = devices[*d as usize].pools.in_step(*step, kind);
        let beside = if kind == WorkKind::Compute { pool - sum.exposed } else { pool };
        all_beside += beside;
        let (gain, free_gain) = by_device.entry(*d).or_default();
        *gain += sum.exposed.min(beside);
        *free_gain += sum.free.min(beside);
    }
    // GPUs run in parallel: the run gets shorter by the gain of one GPU, not by the sum.
    let gain = by_device.values().map(|(gain, _)| *gain).max().unwrap_or(0);
    let free_gain = by_device.values().map(|(_, free)| *free).max().unwrap_or(0);
    let (risk, why, representative) = risks.most();
    // If several sites have the same time, take the first known one.
    let site = sites.into_iter().max_by_key(|&(site, time)| (time, std::cmp::Reverse(site)));
    Opportunity {
        stage,
        name,
        kind,
        risk,
        why,
        calls: group.members.len(),
        total: group.total,
        exclusive: group.exclusive,
        hidden: group.hidden,
        hidden_by_compute: group.hidden_by_compute,
        exposed: group.exposed,
        beside: all_beside,
        free_gain: order_known.then_some(free_gain),
        gain,
        stage_total,
        representative,
        pieces,
        site: site.map_or(SiteId::UNKNOWN, |(site, _)| site),
    }
}

/// Exposed time by risk, with a representative instance for each.
#[derive(Default)]
struct Risks([Option<RiskSum>; 3]);

struct RiskSum {
    risk: Risk,
    exposed: i64,
    duration: i64,
    longest: (i64, i64),
    why: Why,
    piece: (usize, u32),
}

impl Risks {
    fn add(&mut self, risk: Risk, why: Why, exposed: i64, duration: i64, piece: (usize, u32)) {
        let longest = (exposed, duration);
        let fresh = RiskSum { risk, exposed: 0, duration: 0, longest: (-1, -1), why, piece };
        let sum = self.0[risk as usize].get_or_insert(fresh);
        sum.exposed += exposed;
        sum.duration += duration;
        if longest > sum.longest {
            (sum.longest, sum.why, sum.piece) = (longest, why, piece);
        }
    }

    /// The risk with the most exposed time; if several tie, the highest risk.
    fn most(self) -> (Risk, Why, (usize, u32)) {
        let most = self.0.into_iter().flatten().max_by_key(|sum| (sum.exposed, sum.duration, sum.risk));
        most.map_or((Risk::Unclear, Why::Apart, (0, 0)), |sum| (sum.risk, sum.why, sum.piece))
    }
}

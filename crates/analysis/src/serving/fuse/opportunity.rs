//! The report data of a fusion: its figures, its kernels, where they come from and where the fused kernel is.

use std::collections::BTreeMap;

use trace::{Map, RowRef, StrId};

use super::{Active, Fuse, LeftOut, Match, Saving, Search, StageFusion};
use model::classify::Platform;
use model::names::display_name;
use model::stages::Stage;
use stats::percent;

/// One fusion in one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct FuseOpportunity {
    /// Id of the fusion in the catalogue.
    pub pattern: String,
    /// What it fuses.
    pub title: String,
    /// The rule that reports it.
    pub rule: String,
    /// The stage it occurs in.
    pub stage: Stage,
    /// How certain it is.
    pub confidence: Confidence,
    /// How regularly it occurs once per layer.
    pub regularity_pct: f64,
    /// GPU time of the kernels that are not main work.
    pub related_ns: i64,
    /// Share of the GPU time of its stage.
    pub time_share_pct: f64,
    /// Upper limit of the gain.
    pub gain_ceiling_ns: i64,
    /// The gain as a share of its stage.
    pub gain_pct: f64,
    /// The part of the gain that is kernel time.
    pub gain_gpu_ns: i64,
    /// The part of the gain that is idle time before launches.
    pub gain_host_ns: i64,
    /// Idle time before its kernels that counts as gain.
    pub gaps_ns: i64,
    /// The gain from gaps and memory traffic alone.
    pub saving_ns: i64,
    /// How much sooner the run would end without the replaced kernels; absent if this was not computed.
    pub removal_saves_ns: Option<i64>,
    /// Launches saved.
    pub launches_removed: usize,
    /// Bytes no longer moved; absent if the trace does not record the shapes of all kernels.
    pub not_moved_bytes: Option<u64>,
    /// The kernels of the most common instance, in order.
    pub kernels: String,
    /// The Python line with most of the time.
    pub location: Option<String>,
    /// The fused kernel.
    pub fused_path: String,
    /// How to turn it on.
    pub switch: String,
    /// Whether AMD GPUs have it.
    pub rocm: &'static str,
    /// Why it is worth it.
    pub rationale: String,
    /// The source for that.
    pub source: String,
    /// Every instance.
    pub instances: Vec<FuseInstance>,
}

/// One place where separate kernels run that could be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuseInstance {
    /// Id of the fusion in the catalogue.
    pub pattern: String,
    /// Its kernels in order, main work included.
    pub rows: Vec<RowRef>,
    /// The kernels that no longer run when fused.
    pub removed: Vec<RowRef>,
    /// GPU time of the kernels that are not main work.
    pub related_ns: i64,
    /// Idle time before its kernels that counts as gain.
    pub gaps_ns: i64,
    /// Upper limit of the gain.
    pub gain_ceiling_ns: i64,
    /// The part of the gain that is kernel time.
    pub gain_gpu_ns: i64,
    /// The part of the gain that is idle time before launches.
    pub gain_host_ns: i64,
}

/// How certain an opportunity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// At most one fact supports it.
    Candidate,
    /// Two facts support it.
    Likely,
    /// All three facts support it.
    Confirmed,
}

impl Confidence {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Candidate => "candidate",
            Confidence::Likely => "likely",
            Confidence::Confirmed => "confirmed",
        }
    }
}

/// The opportunities above the minimum share, largest first in each stage.
pub(super) fn told(
    search: &Search<'_>,
    mut found: Vec<StageFusion<'_>>,
    mut left_out: LeftOut,
    active: Vec<Active<'_>>,
) -> Fuse {
    let mut wholes: BTreeMap<Stage, i64> = BTreeMap::new();
    for &row in &search.context.rows {
        *wholes.entry(search.context.stage(row)).or_default() += search.context.duration(row);
    }
    let least = search.context.min_share_pct;
    let before = found.len();
    found.retain(|one| one.related_ns() > 0 && percent(one.related_ns(), wholes[&one.stage]) >= least);
    left_out.small = before - found.len();
    let mut opportunities: Vec<FuseOpportunity> =
        found.iter().map(|one| opportunity(search, one, wholes[&one.stage])).collect();
    opportunities.retain(|one| one.gain_ceiling_ns > 0);
    opportunities.sort_by_key(|one| {
        (one.stage, std::cmp::Reverse((one.gain_ceiling_ns, one.related_ns)), one.pattern.clone())
    });
    let mut notes = notes(least, &left_out, &active);
    if search.program.platform == Platform::Cuda && !opportunities.is_empty() {
        notes.push("the trace is of NVIDIA GPUs, but fused paths and switches are those for AMD GPUs".into());
    }
    Fuse { opportunities, notes }
}

fn opportunity(search: &Search<'_>, one: &StageFusion<'_>, whole: i64) -> FuseOpportunity {
    let gain = one.sum(|saving| saving.ceiling_ns);
    let unverified = if one.path.verified { "" } else { " (unverified)" };
    FuseOpportunity {
        pattern: one.fusion.id.clone(),
        title: one.fusion.title.clone(),
        rule: one.fusion.finding.clone().unwrap_or_else(|| "fusable-chain".into()),
        stage: one.stage,
        confidence: one.confidence,
        regularity_pct: 100.0 * one.regularity,
        related_ns: one.related_ns(),
        time_share_pct: percent(one.related_ns(), whole),
        gain_ceiling_ns: gain,
        gain_pct: percent(gain, whole),
        gain_gpu_ns: one.sum(|saving| saving.gpu_ns),
        gain_host_ns: one.sum(|saving| saving.host_ns),
        gaps_ns: one.sum(|saving| saving.gaps_ns),
        saving_ns: one.sum(|saving| saving.saving_ns),
        removal_saves_ns: None,
        launches_removed: one.matches.iter().map(|(_, saving)| saving.launches).sum(),
        not_moved_bytes: one
            .matches
            .iter()
            .try_fold(0u64, |all, (_, saving)| Some(all.saturating_add(saving.bytes?))),
        kernels: kernels(search, one),
        location: location(search, one),
        fused_path: one.path.fused.clone(),
        switch: one.path.switch.clone(),
        rocm: one.path.rocm.name(),
        rationale: one.fusion.rationale.clone(),
        source: format!("{}{unverified}", one.path.source),
        instances: one.matches.iter().map(|(found, saving)| instance(search, one, found, saving)).collect(),
    }
}

fn instance(search: &Search<'_>, one: &StageFusion<'_>, found: &Match, saving: &Saving) -> FuseInstance {
    let items = &search.lanes.lanes[found.lane];
    let time = |&(place, _): &(usize, bool)| items[place].end - items[place].start;
    let small: Vec<(usize, bool)> = found.places.iter().copied().filter(|(_, main)| !main).collect();
    // If no main work absorbs them, one kernel remains and takes at least as long as the fastest of them.
    let absorbed = small.len() < found.places.len();
    let kept = small.iter().min_by_key(|place| time(place)).copied().filter(|_| !absorbed);
    FuseInstance {
        pattern: one.fusion.id.clone(),
        rows: found.places.iter().map(|&(place, _)| items[place].row).collect(),
        removed: small.iter().filter(|&&it| Some(it) != kept).map(|&(place, _)| items[place].row).collect(),
        related_ns: saving.related_ns,
        gaps_ns: saving.gaps_ns,
        gain_ceiling_ns: saving.ceiling_ns,
        gain_gpu_ns: saving.gpu_ns,
        gain_host_ns: saving.host_ns,
    }
}

/// The kernels of the most common match, in order.
fn kernels(search: &Search<'_>, one: &StageFusion<'_>) -> String {
    let mut counts: Map<Vec<StrId>, (usize, usize)> = Map::default();
    for (number, (found, _)) in one.matches.iter().enumerate() {
        let name =
            |&(place, _): &(usize, bool)| search.context.name(search.lanes.lanes[found.lane][place].row);
        let entry = counts.entry(found.places.iter().map(name).collect()).or_insert((0, number));
        entry.0 += 1;
    }
    let usual = counts.into_iter().max_by_key(|(_, (count, first))| (*count, std::cmp::Reverse(*first)));
    let mut shown: Vec<(String, usize)> = Vec::new();
    for name in usual.map(|(names, _)| names).unwrap_or_default() {
        let name = display_name(search.context.trace.strings.get(name));
        match shown.last_mut().filter(|(last, _)| *last == name) {
            Some((_, times)) => *times += 1,
            None => shown.push((name, 1)),
        }
    }
    let spoken = |(name, times): &(String, usize)| {
        if *times > 1 { format!("{name} ×{times}") } else { name.clone() }
    };
    shown.iter().map(spoken).collect::<Vec<_>>().join(" → ")
}

/// The Python line with most of the time.
fn location(search: &Search<'_>, one: &StageFusion<'_>) -> Option<String> {
    let mut times: BTreeMap<&str, i64> = BTreeMap::new();
    for (found, _) in &one.matches {
        for &(place, main) in &found.places {
            let item = &search.lanes.lanes[found.lane][place];
            if let Some(text) = where_from(search, item.row).filter(|_| !main) {
                *times.entry(text).or_default() += item.end - item.start;
            }
        }
    }
    times
        .into_iter()
        .max_by_key(|&(text, time)| (time, std::cmp::Reverse(text)))
        .map(|(text, _)| text.to_string())
}

fn where_from<'a>(search: &Search<'a>, row: RowRef) -> Option<&'a str> {
    let site = search.context.site(row);
    let texts = [site.location, site.model_frame, site.leaf, site.cpu_op];
    texts.into_iter().find(|id| !id.is_empty()).map(|id| search.context.attribution.text(id))
}

fn notes(least: f64, left_out: &LeftOut, active: &[Active<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    if left_out.small > 0 {
        let what = plural(left_out.small, "fusion opportunity", "fusion opportunities");
        notes.push(format!("{what} below {least} % of a stage left out"));
    }
    if left_out.irregular > 0 {
        let what = plural(left_out.irregular, "sequence", "sequences");
        notes
            .push(format!("{what} of fusable kernels left out: not once per layer, so neighbours by chance"));
    }
    if left_out.of_unknown_model > 0 {
        let what = plural(left_out.of_unknown_model, "fusion", "fusions");
        notes.push(format!("{what} for specific models skipped: the trace does not name the model"));
    }
    if !active.is_empty() {
        let spoken = |one: &Active<'_>| {
            format!("{} ({}, {})", one.fusion.title, one.stage.name(), plural(one.calls, "call", "calls"))
        };
        notes.push(format!("fused already: {}", active.iter().map(spoken).collect::<Vec<_>>().join("; ")));
    }
    notes
}

fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

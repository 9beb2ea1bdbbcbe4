//! The table and the findings of `fuse`.

use std::collections::BTreeMap;

use report::{Column, Finding, Severity, Table, Unit, Value};
use trace::{Map, RowRef, StrId};

use super::{Active, Confidence, Fuse, FuseInstance, LeftOut, Opportunity, Search};
use model::classify::Platform;
use model::names::display_name;
use model::stages::Stage;
use stats::percent;

/// A finding whose ceiling is at least this share of its stage is of high, or of medium, severity.
const HIGH_PCT: f64 = 5.0;
const MEDIUM_PCT: f64 = 1.0;

const FORMULA: &str = "gaps removed + bytes not moved at the kernels' own bandwidth; at most the time of the \
                       kernels beside the main one, less the quickest where no main kernel takes them in";

fn table() -> Table {
    let columns = vec![
        Column::text("stage"),
        Column::text("pattern"),
        Column::text("confidence"),
        Column::int("instances", Unit::None).key(),
        Column::int("related_ns", Unit::Ns).key(),
        Column::int("time_share_pct", Unit::Pct).key(),
        Column::int("gain_ceiling_ns", Unit::Ns).key(),
        Column::int("gain_gpu_ns", Unit::Ns),
        Column::int("gain_host_ns", Unit::Ns),
        Column::int("saving_ns", Unit::Ns).detail(),
        Column::int("launches_removed", Unit::None).detail(),
        Column::int("not_moved_bytes", Unit::Bytes).detail(),
        normal("evidence"),
        normal("current_location"),
        normal("candidate_fused_path"),
        detail("switch"),
        normal("rocm"),
        detail("rationale"),
        detail("source"),
        detail("pattern_id"),
    ];
    Table::new("fuse_opportunities", "Fusion opportunities", columns)
}

fn normal(key: &str) -> Column {
    Column { importance: report::Importance::Normal, ..Column::text(key) }
}

fn detail(key: &str) -> Column {
    Column::text(key).detail()
}

pub(super) fn show(
    search: &Search<'_>,
    mut found: Vec<Opportunity<'_>>,
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
    let gain = |one: &Opportunity<'_>| one.sum(|saving| saving.ceiling_ns);
    found.retain(|one| gain(one) > 0);
    found.sort_by_key(|one| {
        (one.stage, std::cmp::Reverse((gain(one), one.related_ns())), one.fusion.id.clone())
    });
    let mut fuse = Fuse { table: table(), ..Fuse::default() };
    for one in &found {
        let row = Row::of(search, one, wholes[&one.stage]);
        fuse.findings.push(row.finding(one));
        fuse.table.push(row.cells(one));
        fuse.instances.extend(instances(search, one));
    }
    fuse.notes = notes(least, &left_out, &active);
    if search.program.platform == Platform::Cuda && !found.is_empty() {
        fuse.notes
            .push("the trace is of NVIDIA GPUs, but fused paths and switches are those for AMD GPUs".into());
    }
    fuse
}

/// What is shown of an opportunity.
struct Row {
    share_pct: f64,
    gain_pct: f64,
    evidence: String,
    location: Option<String>,
}

impl Row {
    fn of(search: &Search<'_>, one: &Opportunity<'_>, whole: i64) -> Self {
        Self {
            share_pct: percent(one.related_ns(), whole),
            gain_pct: percent(one.sum(|saving| saving.ceiling_ns), whole),
            evidence: evidence(search, one),
            location: location(search, one),
        }
    }

    fn cells(&self, one: &Opportunity<'_>) -> Vec<Value> {
        let bytes = one
            .matches
            .iter()
            .map(|(_, saving)| saving.bytes)
            .try_fold(0u64, |all, more| Some(all.saturating_add(more?)));
        let source = if one.path.verified {
            one.path.source.clone()
        } else {
            format!("{} (unverified)", one.path.source)
        };
        vec![
            Value::from(one.stage.name()),
            Value::from(one.fusion.title.as_str()),
            Value::from(one.confidence.name()),
            Value::from(one.matches.len()),
            Value::Int(one.related_ns()),
            Value::Float(self.share_pct),
            Value::Int(one.sum(|saving| saving.ceiling_ns)),
            Value::Int(one.sum(|saving| saving.gpu_ns)),
            Value::Int(one.sum(|saving| saving.host_ns)),
            Value::Int(one.sum(|saving| saving.saving_ns)),
            Value::Int(one.sum(|saving| saving.launches as i64)),
            Value::int_or(
                bytes.and_then(|bytes| i64::try_from(bytes).ok()),
                "the trace does not tell the shapes of all kernels",
            ),
            Value::Text(self.evidence.clone()),
            self.location
                .clone()
                .map_or_else(|| Value::absent("nothing tells where it comes from"), Value::Text),
            Value::from(one.path.fused.as_str()),
            Value::from(one.path.switch.as_str()),
            Value::from(one.path.rocm.name()),
            Value::from(one.fusion.rationale.as_str()),
            Value::Text(source),
            Value::from(one.fusion.id.as_str()),
        ]
    }

    fn finding(&self, one: &Opportunity<'_>) -> Finding {
        let severity = match self.gain_pct {
            _ if one.confidence == Confidence::Candidate => Severity::Info,
            share if share >= HIGH_PCT => Severity::High,
            share if share >= MEDIUM_PCT => Severity::Medium,
            _ => Severity::Info,
        };
        let count = one.matches.len();
        let mut evidence = vec![
            ("pattern".to_string(), Value::from(one.fusion.id.as_str())),
            ("stage".to_string(), Value::from(one.stage.name())),
            ("kernels".to_string(), Value::Text(self.evidence.clone())),
            ("instances".to_string(), Value::from(count)),
            ("related_ns".to_string(), Value::Int(one.related_ns())),
            ("gaps_ns".to_string(), Value::Int(one.sum(|saving| saving.gaps_ns))),
            ("launches_removed".to_string(), Value::Int(one.sum(|saving| saving.launches as i64))),
            ("saving_ns".to_string(), Value::Int(one.sum(|saving| saving.saving_ns))),
            ("gain_gpu_ns".to_string(), Value::Int(one.sum(|saving| saving.gpu_ns))),
            ("gain_host_ns".to_string(), Value::Int(one.sum(|saving| saving.host_ns))),
            ("regularity_pct".to_string(), Value::Float(100.0 * one.regularity)),
            ("formula".to_string(), Value::from(FORMULA)),
        ];
        if let Some(location) = &self.location {
            evidence.push(("location".to_string(), Value::Text(location.clone())));
        }
        let mut title =
            format!("{} runs as separate kernels in {} ({count} times)", one.fusion.title, one.stage.name());
        if one.sum(|saving| saving.host_ns) > one.sum(|saving| saving.gpu_ns) {
            title.push_str("; most of the gain is launch time");
        }
        let id = one.fusion.finding.as_deref().unwrap_or("fusable-chain");
        let recommendation = format!("use {}; {}", one.path.fused, one.path.switch);
        let gain_ceiling_ns = Some(one.sum(|saving| saving.ceiling_ns));
        Finding {
            id: id.into(),
            severity,
            title,
            evidence,
            gain_ceiling_ns,
            gain_gpu_ns: Some(one.sum(|saving| saving.gpu_ns)),
            gain_host_ns: Some(one.sum(|saving| saving.host_ns)),
            key: format!("{id}:{}:{}", one.fusion.id, one.stage.name()),
            recommendation,
            next_step: Some(report::NextStep::Explain),
            ..Finding::default()
        }
    }
}

/// The kernels of the usual match, in order.
fn evidence(search: &Search<'_>, one: &Opportunity<'_>) -> String {
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
fn location(search: &Search<'_>, one: &Opportunity<'_>) -> Option<String> {
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

fn instances(search: &Search<'_>, one: &Opportunity<'_>) -> Vec<FuseInstance> {
    let instance = |(found, saving): &(super::Match, super::Saving)| FuseInstance {
        pattern: one.fusion.id.clone(),
        rows: found.places.iter().map(|&(place, _)| search.lanes.lanes[found.lane][place].row).collect(),
        related_ns: saving.related_ns,
        gaps_ns: saving.gaps_ns,
        gain_ceiling_ns: saving.ceiling_ns,
        gain_gpu_ns: saving.gpu_ns,
        gain_host_ns: saving.host_ns,
    };
    one.matches.iter().map(instance).collect()
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
        notes.push(format!("{what} of certain models not looked for: the trace does not tell the model"));
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

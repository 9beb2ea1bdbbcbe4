//! The tables of the overlap analysis.

use report::{Column, Table, Unit, Value};

use super::opportunities::{Analysed, Opportunity};
use super::rules::Kind;
use crate::base;
use model::Run;
use model::attribution::Source;
use model::names;
use model::stages::Stage;
use stats::percent;

/// The stage when the run is not told apart into stages.
const ONE_STAGE: &str = "all";

pub(super) fn stage_word(context: &Run, stage: Stage) -> &'static str {
    let staged = context.stages.present().iter().any(|&stage| stage != Stage::Other);
    if staged { stage.name() } else { ONE_STAGE }
}

pub(super) fn opportunities(context: &Run, devices: &[Analysed], found: &[Opportunity]) -> Table {
    let columns = vec![
        Column::text("stage"),
        Column::text("priority"),
        normal(Column::text("verdict")),
        Column::text("kernel_name").detail(),
        Column::text("display_name"),
        normal(Column::text("category")),
        normal(Column::text("python_scope")),
        Column::int("calls", Unit::None).detail(),
        Column::int("total_ns", Unit::Ns),
        Column::int("time_share_pct", Unit::Pct),
        Column::int("exclusive_pct", Unit::Pct),
        Column::int("hidden_pct", Unit::Pct),
        Column::int("hidden_by_compute_pct", Unit::Pct).detail(),
        Column::int("exposed_ns", Unit::Ns),
        Column::text("dependency_risk"),
        normal(Column::text("risk_reason")),
        Column::text("recommendation"),
        Column::int("gain_ceiling_ns", Unit::Ns).key(),
        Column::int("free_gain_ns", Unit::Ns),
        normal(Column::text("confidence")),
    ];
    let mut table = Table::new("overlap_opportunities", "What could overlap", columns);
    for found in found {
        let name = context.trace.strings.get(found.name);
        let (device, work) = found.representative;
        let row = devices[device].device.work[work as usize].row;
        let decision = found.decision();
        table.push(vec![
            Value::from(stage_word(context, found.stage)),
            Value::from(decision.priority.as_str()),
            Value::from(found.verdict.name()),
            Value::from(name),
            Value::Text(names::display_name(name)),
            Value::from(context.category(row).name()),
            scope(context, found),
            Value::from(found.calls),
            Value::Int(found.total),
            Value::Float(found.share_pct()),
            Value::Float(percent(found.exclusive, found.total)),
            Value::Float(percent(found.hidden, found.total)),
            Value::Float(percent(found.hidden_by_compute, found.total)),
            Value::Int(found.exposed),
            Value::from(found.risk.name()),
            Value::Text(devices[device].scene(context).words(&found.why)),
            Value::from(decision.recommendation.as_str()),
            Value::Int(found.gain),
            Value::int_or(found.free_gain, "the order between streams is not recorded"),
            Value::from(found.confidence()),
        ]);
    }
    table
}

fn normal(column: Column) -> Column {
    Column { importance: report::Importance::Normal, ..column }
}

/// The Python line that most of a kernel's time comes from.
pub(super) fn scope(context: &Run, found: &Opportunity) -> Value {
    let site = &context.attribution.sites[found.site.0 as usize];
    if site.source == Source::GraphLaunch {
        return Value::absent("only the launch of its graph is known; a mapping trace tells the rest");
    }
    let places = [site.location, site.model_frame, site.leaf, site.module, site.cpu_op];
    match places.into_iter().find(|place| !place.is_empty()) {
        Some(place) => Value::Text(context.attribution.text(place).to_string()),
        None => Value::absent("no Python frame, module or op is recorded for it"),
    }
}

/// What each GPU ran at once.
pub(super) fn concurrency(context: &Run, devices: &[Analysed]) -> Table {
    let columns = vec![
        Column::int("rank", Unit::None).key(),
        Column::int("agent", Unit::None).key(),
        Column::int("events", Unit::None).key(),
        Column::int("streams", Unit::None),
        Column::int("busy_ns", Unit::Ns),
        Column::int("overlapped_ns", Unit::Ns),
        Column::int("overlapped_pct", Unit::Pct).key(),
        Column::int("peak_streams", Unit::None),
        Column::int("exposed_communication_ns", Unit::Ns).key(),
        Column::int("exposed_memcpy_ns", Unit::Ns).key(),
        Column::int("event_waits", Unit::None),
        Column::int("blocking_calls", Unit::None),
    ];
    let mut table = Table::new("concurrency", "What ran at once", columns);
    for Analysed { device, knowledge, .. } in devices {
        let exposed = |kind: Kind| {
            let pairs = device.work.iter().zip(&device.swept.seen);
            Value::Int(pairs.filter(|(work, _)| work.kind == kind).map(|(_, seen)| seen.exposed).sum())
        };
        let swept = &device.swept;
        table.push(vec![
            base::rank_of(device.gpu.rank),
            base::agent_of(context.trace, device.gpu.agent),
            Value::from(device.work.len()),
            Value::from(device.streams.len()),
            Value::Int(swept.busy),
            Value::Int(swept.overlapped),
            Value::Float(percent(swept.overlapped, swept.busy)),
            Value::Int(i64::from(swept.peak)),
            exposed(Kind::Communication),
            exposed(Kind::Copy),
            Value::from(knowledge.waits),
            Value::from(knowledge.blocks),
        ]);
    }
    table
}

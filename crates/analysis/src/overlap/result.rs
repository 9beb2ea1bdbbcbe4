//! What is told of each opportunity and of each GPU, as plain values.

use report::Severity;
use trace::RowRef;

use super::opportunities::{Analysed, Opportunity};
use super::order::Cause;
use super::risk::Why;
use super::rules::{Rules, WorkKind};
use model::Run;
use model::attribution::Source;
use model::names;
use model::stages::Stage;
use model::work::Gpu;
use stats::percent;

/// The stage when the run is not told apart into stages.
const ONE_STAGE: &str = "all";

/// Which priorities are worth a finding.
const PRIORITIES: [&str; 2] = ["P1", "P2"];

/// Kernels or copies of one name in one stage that could run beside something else.
#[derive(Clone, Debug, PartialEq)]
pub struct OverlapOpportunity {
    /// `all` where the run has no stages.
    pub stage: &'static str,
    /// `P1` to `P5`.
    pub priority: &'static str,
    /// As recorded.
    pub kernel_name: String,
    /// Short enough for a table.
    pub display_name: String,
    /// What kind of kernel it is.
    pub category: &'static str,
    /// The Python line that most of its time comes from, or why there is none.
    pub python_scope: Result<String, &'static str>,
    /// How often it runs.
    pub calls: usize,
    /// All its time.
    pub total_ns: i64,
    /// That, of its stage.
    pub time_share_pct: f64,
    /// Part of its time when it is alone on its GPU.
    pub exclusive_pct: f64,
    /// Part of its time beside anything.
    pub hidden_pct: f64,
    /// Part of its time beside computation.
    pub hidden_by_compute_pct: f64,
    /// Time that the run waits for it.
    pub exposed_ns: i64,
    /// Computation of its steps that it could hide beside.
    pub beside_ns: i64,
    /// What that computation is.
    pub beside: &'static str,
    /// `low`, `unclear`, `high`.
    pub dependency_risk: &'static str,
    /// Why.
    pub risk_reason: String,
    /// What to do.
    pub recommendation: &'static str,
    /// Most that can be won.
    pub gain_ceiling_ns: i64,
    /// That, of the time the busiest GPU works.
    pub gain_share_of_busy_pct: f64,
    /// Part of it which the recorded order leaves free; absent where the order is not recorded.
    pub free_gain_ns: Option<i64>,
    /// How sure the risk is.
    pub confidence: &'static str,
    /// The rule whose finding it is, where it is worth one.
    pub rule: Option<&'static str>,
    /// How much that matters.
    pub severity: Severity,
    /// The piece that stands for all.
    pub example: Piece,
    /// The operation and size of the collective, when the trace says.
    pub collective: Option<String>,
    /// Every piece and how much of it is exposed.
    pub pieces: Vec<(RowRef, i64)>,
}

/// One piece of work to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// When it starts.
    pub start_ns: i64,
    /// When it ends.
    pub end_ns: i64,
    /// How much of it is exposed.
    pub exposed_ns: i64,
    /// Where it runs.
    pub stream: String,
    /// On which GPU.
    pub gpu: String,
}

/// What one GPU ran at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Concurrency {
    /// Whose.
    pub gpu: Gpu,
    /// Kernels and copies.
    pub events: usize,
    /// Streams with work.
    pub streams: usize,
    /// Time with any work.
    pub busy_ns: i64,
    /// Time with work of several streams.
    pub overlapped_ns: i64,
    /// Most streams at once.
    pub peak_streams: u32,
    /// Communication that the run waits for.
    pub exposed_communication_ns: i64,
    /// Copies that the run waits for.
    pub exposed_memcpy_ns: i64,
    /// Waits for events.
    pub event_waits: usize,
    /// Calls that block the host.
    pub blocking_calls: usize,
}

pub(super) fn opportunities(
    context: &Run,
    devices: &[Analysed],
    found: &[Opportunity],
) -> Vec<OverlapOpportunity> {
    let busy = devices.iter().map(|analysed| analysed.device.swept.busy).max().unwrap_or(0);
    found.iter().map(|found| opportunity(context, devices, found, busy)).collect()
}

fn opportunity(context: &Run, devices: &[Analysed], found: &Opportunity, busy: i64) -> OverlapOpportunity {
    let (device, i) = found.representative;
    let analysed = &devices[device];
    let (work, seen) = (&analysed.device.work[i as usize], &analysed.device.swept.seen[i as usize]);
    let name = context.trace.strings.get(found.name);
    let decision = found.decision();
    let gain_share_of_busy_pct = percent(found.gain, busy);
    let rules = Rules::built_in();
    OverlapOpportunity {
        stage: stage_word(context, found.stage),
        priority: decision.priority.as_str(),
        kernel_name: name.to_string(),
        display_name: names::display_name(name),
        category: context.category(work.row).name(),
        python_scope: scope(context, found),
        calls: found.calls,
        total_ns: found.total,
        time_share_pct: found.share_pct(),
        exclusive_pct: percent(found.exclusive, found.total),
        hidden_pct: percent(found.hidden, found.total),
        hidden_by_compute_pct: percent(found.hidden_by_compute, found.total),
        exposed_ns: found.exposed,
        beside_ns: found.beside,
        beside: match found.kind {
            WorkKind::Communication => "computation without communication beside it, in the same step",
            WorkKind::Copy => "computation without a copy beside it, in the same step",
            WorkKind::Compute => "other matrix and attention kernels that run alone in the same step",
            _ => "matrix and attention kernels that run alone in the same step",
        },
        dependency_risk: found.risk.name(),
        risk_reason: analysed.scene(context).words(&found.why),
        recommendation: decision.recommendation.as_str(),
        gain_ceiling_ns: found.gain,
        gain_share_of_busy_pct,
        free_gain_ns: found.free_gain,
        confidence: found.confidence(),
        rule: is_worth_a_finding(found).then(|| rule(found.kind)),
        severity: match gain_share_of_busy_pct {
            pct if pct >= rules.severity.high_pct => Severity::High,
            pct if pct >= rules.severity.medium_pct => Severity::Medium,
            _ => Severity::Info,
        },
        example: Piece {
            start_ns: work.start,
            end_ns: work.end,
            exposed_ns: seen.exposed,
            stream: analysed.device.streams[work.stream as usize].label.clone(),
            gpu: analysed.device.gpu.label.clone(),
        },
        collective: collective(context, found),
        pieces: found.pieces.clone(),
    }
}

fn stage_word(context: &Run, stage: Stage) -> &'static str {
    let staged = context.stages.present().iter().any(|&stage| stage != Stage::Other);
    if staged { stage.name() } else { ONE_STAGE }
}

fn is_worth_a_finding(found: &Opportunity) -> bool {
    PRIORITIES.contains(&found.decision().priority.as_str()) || is_serialised(found)
}

/// Computation that events keep from computation on another stream.
fn is_serialised(found: &Opportunity) -> bool {
    let by_event = matches!(
        found.why,
        Why::Followed { cause: Cause::Event, .. } | Why::Follows { cause: Cause::Event, .. }
    );
    found.kind == WorkKind::Compute && by_event && found.gain > 0
}

fn rule(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::Communication => "exposed-communication",
        WorkKind::Copy => "exposed-copies",
        WorkKind::Compute => "serialised-streams",
        _ => "overlap-headroom",
    }
}

/// The Python line that most of a kernel's time comes from.
fn scope(context: &Run, found: &Opportunity) -> Result<String, &'static str> {
    let site = &context.attribution.sites[found.site.0 as usize];
    if site.source == Source::GraphLaunch {
        return Err("only the launch of its graph is known; a mapping trace tells the rest");
    }
    let places = [site.location, site.model_frame, site.leaf, site.module, site.cpu_op];
    let place = places.into_iter().find(|place| !place.is_empty());
    place
        .map(|place| context.attribution.text(place).to_string())
        .ok_or("no Python frame, module or op is recorded for it")
}

/// The operation and size of the collective, when the trace says.
fn collective(context: &Run, found: &Opportunity) -> Option<String> {
    if found.kind != WorkKind::Communication {
        return None;
    }
    let collectives = &context.trace.collectives;
    let mut of_name = (0..collectives.len()).filter(|&i| {
        let kernel = collectives.row[i].row_of(trace::Table::Kernels);
        kernel.is_some_and(|kernel| context.trace.kernels.name[kernel] == found.name)
    });
    let first = of_name.next()?;
    let operation = context.trace.strings.get(collectives.operation[first]);
    Some(match collectives.bytes[first].get() {
        Some(bytes) => format!("{operation} of {bytes} bytes"),
        None => operation.to_string(),
    })
}

/// What each GPU ran at once.
pub(super) fn concurrency(devices: &[Analysed]) -> Vec<Concurrency> {
    let of_device = |Analysed { device, knowledge, .. }: &Analysed| {
        let exposed = |kind: WorkKind| {
            let pairs = device.work.iter().zip(&device.swept.seen);
            pairs.filter(|(work, _)| work.kind == kind).map(|(_, seen)| seen.exposed).sum()
        };
        Concurrency {
            gpu: device.gpu.clone(),
            events: device.work.len(),
            streams: device.streams.len(),
            busy_ns: device.swept.busy,
            overlapped_ns: device.swept.overlapped,
            peak_streams: device.swept.peak,
            exposed_communication_ns: exposed(WorkKind::Communication),
            exposed_memcpy_ns: exposed(WorkKind::Copy),
            event_waits: knowledge.waits,
            blocking_calls: knowledge.blocks,
        }
    };
    devices.iter().map(of_device).collect()
}

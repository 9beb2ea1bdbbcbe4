//! The results of the overlap analysis as plain values: opportunities and GPUs.

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

/// The stage name when the run is not split into stages.
const ONE_STAGE: &str = "all";

/// The priorities that are worth a finding.
const PRIORITIES: [&str; 2] = ["P1", "P2"];

/// Kernels or copies with one name in one stage that could overlap with other work.
#[derive(Clone, Debug, PartialEq)]
pub struct OverlapOpportunity {
    /// `all` if the run has no stages.
    pub stage: &'static str,
    /// `P1` to `P5`.
    pub priority: &'static str,
    /// The recorded name.
    pub kernel_name: String,
    /// A name short enough for a table.
    pub display_name: String,
    /// What kind of kernel it is.
    pub category: &'static str,
    /// The Python line with most of its time, or why there is none.
    pub python_scope: Result<String, &'static str>,
    /// How often it ran.
    pub calls: usize,
    /// Total GPU time.
    pub total_ns: i64,
    /// Share of the GPU time of its stage.
    pub time_share_pct: f64,
    /// Share of its time when it runs alone on its GPU.
    pub exclusive_pct: f64,
    /// Share of its time overlapped by anything.
    pub hidden_pct: f64,
    /// Share of its time overlapped by computation.
    pub hidden_by_compute_pct: f64,
    /// Time that the run waits for it.
    pub exposed_ns: i64,
    /// Computation in the same steps that could hide it.
    pub beside_ns: i64,
    /// What that computation is.
    pub beside: &'static str,
    /// `low`, `unclear`, `high`.
    pub dependency_risk: &'static str,
    /// Why the risk is what it is.
    pub risk_reason: String,
    /// What to do.
    pub recommendation: &'static str,
    /// Upper limit of the gain.
    pub gain_ceiling_ns: i64,
    /// The gain as a share of the busy time of the busiest GPU.
    pub gain_share_of_busy_pct: f64,
    /// The part of the gain that the recorded order allows as it is; absent if the order is not recorded.
    pub free_gain_ns: Option<i64>,
    /// How certain the risk is.
    pub confidence: &'static str,
    /// The rule that reports it, if it is worth a finding.
    pub rule: Option<&'static str>,
    /// Severity of that finding.
    pub severity: Severity,
    /// A representative instance.
    pub example: Piece,
    /// The operation and size of the collective, if the trace records them.
    pub collective: Option<String>,
    /// Every instance and its exposed time.
    pub pieces: Vec<(RowRef, i64)>,
}

/// One instance to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// When it starts.
    pub start_ns: i64,
    /// When it ends.
    pub end_ns: i64,
    /// How much of its time is exposed.
    pub exposed_ns: i64,
    /// The stream it runs on.
    pub stream: String,
    /// The GPU it runs on.
    pub gpu: String,
}

/// What one GPU ran in parallel.
#[derive(Clone, Debug, PartialEq)]
pub struct Concurrency {
    /// The GPU.
    pub gpu: Gpu,
    /// Kernels and copies.
    pub events: usize,
    /// Streams with work.
    pub streams: usize,
    /// Time with any work.
    pub busy_ns: i64,
    /// Time with work on several streams.
    pub overlapped_ns: i64,
    /// Most streams busy at once.
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
            WorkKind::Communication => "computation in the same step that does not overlap communication",
            WorkKind::Copy => "computation in the same step that does not overlap a copy",
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

/// Computation that an event keeps from overlapping with computation on another stream.
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

/// The Python line with most of a kernel's time.
fn scope(context: &Run, found: &Opportunity) -> Result<String, &'static str> {
    let site = &context.attribution.sites[found.site.0 as usize];
    if site.source == Source::GraphLaunch {
        return Err("only the launch of its graph is known; add a mapping trace to see the op");
    }
    let places = [site.location, site.model_frame, site.leaf, site.module, site.cpu_op];
    let place = places.into_iter().find(|place| !place.is_empty());
    place
        .map(|place| context.attribution.text(place).to_string())
        .ok_or("no Python frame, module or op is recorded for it")
}

/// The operation and size of the collective, if the trace records them.
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

/// What each GPU ran in parallel.
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

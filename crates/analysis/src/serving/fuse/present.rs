//! The table and the findings of `fuse`.

use report::{Column, Finding, Severity, Table, Unit, Value};

use super::{Confidence, Fuse, FuseOpportunity};
use crate::words::times;
use model::stages::Stage;

/// A finding is of high or medium severity if its ceiling is at least this share of its stage.
const HIGH_PCT: f64 = 5.0;
const MEDIUM_PCT: f64 = 1.0;

const FORMULA: &str = "gaps removed + bytes not moved at the kernels' own bandwidth; at most the time of the \
                       kernels beside the main one, less the quickest where no main kernel takes them in";

fn empty() -> Table {
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
        Column::int("removal_saves_ns", Unit::Ns),
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

impl Fuse {
    /// The table `fuse_opportunities`.
    pub fn table(&self) -> Table {
        let mut table = empty();
        self.opportunities.iter().for_each(|one| table.push(cells(one)));
        table
    }

    /// One finding per opportunity.
    pub fn findings(&self) -> Vec<Finding> {
        self.opportunities.iter().map(FuseOpportunity::finding).collect()
    }
}

fn cells(one: &FuseOpportunity) -> Vec<Value> {
    let location = one.location.clone();
    vec![
        Value::from(one.stage.name()),
        Value::from(one.title.as_str()),
        Value::from(one.confidence.name()),
        Value::from(one.instances.len()),
        Value::Int(one.related_ns),
        Value::Float(one.time_share_pct),
        Value::Int(one.gain_ceiling_ns),
        Value::Int(one.gain_gpu_ns),
        Value::Int(one.gain_host_ns),
        Value::int_or(one.removal_saves_ns, "the run has no graph to propagate through"),
        Value::Int(one.saving_ns),
        Value::from(one.launches_removed),
        Value::int_or(
            one.not_moved_bytes.and_then(|bytes| i64::try_from(bytes).ok()),
            "the trace does not record the shapes of all kernels",
        ),
        Value::from(one.kernels.as_str()),
        location.map_or_else(|| Value::absent("no Python line is recorded for it"), Value::Text),
        Value::from(one.fused_path.as_str()),
        Value::from(one.switch.as_str()),
        Value::from(one.rocm),
        Value::from(one.rationale.as_str()),
        Value::from(one.source.as_str()),
        Value::from(one.pattern.as_str()),
    ]
}

impl FuseOpportunity {
    /// The opportunity as a finding, with its kernels as evidence.
    pub fn finding(&self) -> Finding {
        let severity = match self.gain_pct {
            _ if self.confidence == Confidence::Candidate => Severity::Info,
            share if share >= HIGH_PCT => Severity::High,
            share if share >= MEDIUM_PCT => Severity::Medium,
            _ => Severity::Info,
        };
        let count = self.instances.len();
        let mut evidence = vec![
            ("pattern".to_string(), Value::from(self.pattern.as_str())),
            ("stage".to_string(), Value::from(self.stage.name())),
            ("kernels".to_string(), Value::from(self.kernels.as_str())),
            ("instances".to_string(), Value::from(count)),
            ("related_ns".to_string(), Value::Int(self.related_ns)),
            ("gaps_ns".to_string(), Value::Int(self.gaps_ns)),
            ("launches_removed".to_string(), Value::from(self.launches_removed)),
            ("saving_ns".to_string(), Value::Int(self.saving_ns)),
            ("gain_gpu_ns".to_string(), Value::Int(self.gain_gpu_ns)),
            ("gain_host_ns".to_string(), Value::Int(self.gain_host_ns)),
            ("regularity_pct".to_string(), Value::Float(self.regularity_pct)),
            ("formula".to_string(), Value::from(FORMULA)),
        ];
        if let Some(location) = &self.location {
            evidence.push(("location".to_string(), Value::from(location.as_str())));
        }
        let place = match self.stage {
            Stage::Other => String::new(),
            stage => format!(" in {}", stage.name()),
        };
        let mut title = format!("{} runs as separate kernels{place} ({})", self.title, times(count));
        if self.gain_host_ns > self.gain_gpu_ns {
            title.push_str("; most of the gain is launch time");
        }
        Finding {
            id: self.rule.clone(),
            severity,
            title,
            evidence,
            gain_ceiling_ns: Some(self.gain_ceiling_ns),
            gain_gpu_ns: Some(self.gain_gpu_ns),
            gain_host_ns: Some(self.gain_host_ns),
            key: format!("{}:{}:{}", self.rule, self.pattern, self.stage.name()),
            recommendation: format!("use {}; {}", self.fused_path, self.switch),
            next_step: Some(report::NextStep::Explain),
            ..Finding::default()
        }
    }
}

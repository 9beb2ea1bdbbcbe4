//! How much of the GPU time is located, classified and staged: always reported, good or bad.

use report::{HealthCheck, HealthStatus, Note, Remedy, Report};

use super::sites::mapping_source;
use model::Run;
use model::attribution::Source;
use model::classify::Category;
use model::stages::StageSource;
use stats::percent;

/// Less located GPU time than this is a warning.
const WELL_LOCATED_PCT: f64 = 95.0;
/// More GPU time in `other` than this is a warning.
const MOST_OTHER_PCT: f64 = 0.5;

/// GPU time of a run by how much is known about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coverage {
    /// All GPU time.
    pub total_ns: i64,
    /// Located to an op, module or line, by how that was found.
    pub located_ns: [i64; Source::ALL.len()],
    /// Known to be from a graph, but nothing else.
    pub graph_ns: i64,
    /// In category `other`.
    pub other_ns: i64,
    /// Names of those kernels, most time first.
    pub other_names: Vec<(trace::StrId, i64)>,
    /// GPU time without a stage.
    pub unstaged_ns: i64,
}

impl Coverage {
    pub(super) fn of(context: &Run) -> Self {
        let mut coverage = Self::default();
        let mut others: trace::Map<trace::StrId, i64> = trace::Map::default();
        for &row in &context.rows {
            let (site, duration) = (context.site(row), context.duration(row));
            coverage.total_ns += duration;
            if site.is_located() {
                coverage.located_ns[site.source as usize] += duration;
            } else if site.source == Source::GraphLaunch {
                coverage.graph_ns += duration;
            }
            if context.category(row) == Category::Other {
                coverage.other_ns += duration;
                *others.entry(context.name(row)).or_default() += duration;
            }
            if context.stages.told_by(row) == StageSource::None {
                coverage.unstaged_ns += duration;
            }
        }
        coverage.other_names = others.into_iter().collect();
        coverage.other_names.sort_by_key(|(name, ns)| (std::cmp::Reverse(*ns), *name));
        coverage
    }

    /// Share of GPU time located to an op, module or line.
    pub fn located_pct(&self) -> f64 {
        percent(self.located_ns.iter().sum(), self.total_ns)
    }

    /// Share of GPU time in category `other`.
    pub fn other_pct(&self) -> f64 {
        percent(self.other_ns, self.total_ns)
    }

    fn located_sentence(&self) -> String {
        let mut parts: Vec<(i64, &str)> =
            Source::ALL.into_iter().map(|s| (self.located_ns[s as usize], mapping_source(s))).collect();
        parts.retain(|(ns, _)| *ns > 0);
        parts.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
        let parts: Vec<String> =
            parts.iter().map(|(ns, word)| format!("{:.1} % {word}", percent(*ns, self.total_ns))).collect();
        let by = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
        let mut text =
            format!("{:.1} % of GPU time located to an op, module or Python line{by}", self.located_pct());
        if self.graph_ns > 0 {
            text.push_str(&format!(
                "; {:.1} % only to the launch of its graph, since no capture trace or graph-off trace was given",
                percent(self.graph_ns, self.total_ns)
            ));
        }
        text
    }

    fn classified_sentence(&self, context: &Run) -> String {
        let text = format!("{:.2} % of GPU time in category `other`", self.other_pct());
        match self.other_names.first() {
            None => text,
            Some((name, _)) if context.trace.strings.get(*name).is_empty() => {
                format!("{text}, most of it without a name")
            }
            Some((name, _)) => format!(
                "{text}, most of it `{}`",
                model::names::display_name(context.trace.strings.get(*name))
            ),
        }
    }
}

/// Adds the checks `located`, `classified` and `join` to a report, and their messages as notes.
pub(super) fn add(context: &Run, coverage: &Coverage, report: &mut Report) {
    let good = |good: bool| if good { HealthStatus::Pass } else { HealthStatus::Warn };
    let mut checks = vec![
        HealthCheck {
            id: "located".into(),
            status: good(coverage.located_pct() >= WELL_LOCATED_PCT),
            value: Some(coverage.located_pct()),
            message: coverage.located_sentence(),
        },
        HealthCheck {
            id: "classified".into(),
            status: good(coverage.other_pct() <= MOST_OTHER_PCT),
            value: Some(100.0 - coverage.other_pct()),
            message: coverage.classified_sentence(context),
        },
    ];
    if let Some(join) = context.attribution.join.filter(|join| join.by_position + join.by_name > 0) {
        checks.push(HealthCheck {
            id: "graph_join".into(),
            status: good(join.by_position == join.rows),
            value: Some(join.match_pct()),
            message: format!(
                "{} of {} replayed kernels joined by position with equal names, {} by name",
                join.by_position, join.rows, join.by_name
            ),
        });
    }
    // Terminals only show checks that do not pass, so passing ones are repeated as notes.
    let perfect = checks.iter().filter(|check| check.status == HealthStatus::Pass);
    report.notes.extend(perfect.map(|check| Note::from(check.message.as_str())));
    if !coverage.other_names.is_empty() {
        report.notes.push(Note::new("kernels in category `other` can be named", Remedy::KernelRules));
    }
    if coverage.unstaged_ns > 0 {
        report.notes.push(
            format!(
                "{:.1} % of GPU time has no stage (no annotation, file name or graph names it) and is shown as `other`",
                percent(coverage.unstaged_ns, coverage.total_ns)
            )
            .into(),
        );
    }
    report.health.extend(checks);
}

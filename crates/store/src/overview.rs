//! The overview of experiments: status, verdict, trend lines, open alerts; searched, filtered, page by page.
//!
//! Reading every trial of every experiment for one page would take seconds, so each change of an experiment
//! also updates its overview row, in the same transaction.

use serde::{Deserialize, Serialize};

use crate::database::{Cell, Database, Row};
use crate::error::StoreError;
use crate::experiments::{self, Conclusion, EXPERIMENT, ExperimentRow, Metric, TrialRow};
use crate::gate::{Judgement, Verdict, judge_last};
use crate::trends::{AlertState, SeriesDecisions, alerts_of, series_of};
use crate::{Store, now_ns, progress};

/// Most values of a trend line.
const TREND_POINTS: usize = 30;
/// Most metrics with a trend line, those that fail first.
const TREND_METRICS: usize = 8;
/// Most experiments of a page.
const MOST_ROWS: usize = 500;
/// Most names of one kind that a filter offers.
const MOST_CHOICES: i64 = 200;

/// The status of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It has no trial.
    Empty,
    /// A metric of the latest trial got worse or is out of its limits.
    Regressed,
    /// Too few trials to judge every metric of the latest.
    Unjudged,
    /// Every metric of the latest trial passes.
    Passing,
}

impl Status {
    /// All statuses.
    pub const ALL: [Status; 4] = [Status::Regressed, Status::Passing, Status::Unjudged, Status::Empty];

    /// `empty`, `regressed`, `unjudged` or `passing`.
    pub fn name(self) -> &'static str {
        match self {
            Status::Empty => "empty",
            Status::Regressed => "regressed",
            Status::Unjudged => "unjudged",
            Status::Passing => "passing",
        }
    }

    /// The status with that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    fn of(trials: &[TrialRow], judgements: &[Judgement]) -> Self {
        let any = |verdict| judgements.iter().any(|judgement| judgement.verdict == verdict);
        match () {
            () if trials.is_empty() => Status::Empty,
            () if any(Verdict::Fail) => Status::Regressed,
            () if judgements.is_empty() || any(Verdict::CannotJudge) => Status::Unjudged,
            () => Status::Passing,
        }
    }
}

/// Which experiments an overview shows; the default means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverviewFilter {
    /// Part of the name or the description, in any case.
    pub search: Option<String>,
    /// Tag of the experiment or of one of its trials.
    pub tag: Option<String>,
    /// Branch of one of its trials.
    pub branch: Option<String>,
    /// Testbed of one of its trials, on the branch if one is given.
    pub testbed: Option<String>,
    /// Its status.
    pub status: Option<Status>,
    /// Only those where something runs now.
    pub running: bool,
    /// Those that were removed.
    pub removed: bool,
}

/// The order of experiments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverviewOrder {
    /// The one that changed last first.
    #[default]
    Changed,
    /// By name.
    Name,
    /// Most open alerts first.
    Alerts,
    /// Most trials first.
    Trials,
}

impl OverviewOrder {
    fn sql(self) -> &'static str {
        match self {
            OverviewOrder::Changed => "e.changed_ns DESC, e.id DESC",
            OverviewOrder::Name => "e.name, e.id",
            OverviewOrder::Alerts => "e.open_alerts DESC, e.changed_ns DESC, e.id DESC",
            OverviewOrder::Trials => "e.trial_count DESC, e.changed_ns DESC, e.id DESC",
        }
    }
}

/// Which part of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Rows before it.
    pub offset: usize,
    /// Its rows, at most 500.
    pub limit: usize,
    /// The order of the rows.
    pub order: OverviewOrder,
}

impl Default for PageRequest {
    fn default() -> Self {
        Self { offset: 0, limit: 50, order: OverviewOrder::default() }
    }
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// Its rows.
    pub rows: Vec<T>,
    /// Rows before it.
    pub offset: usize,
    /// Rows of the whole list.
    pub total: usize,
}

/// An experiment in the overview.
#[derive(Clone, Debug, PartialEq)]
pub struct OverviewRow {
    /// Its row in the list.
    pub experiment: ExperimentRow,
    /// Its status.
    pub status: Status,
    /// Whether something runs now.
    pub running: bool,
    /// Alerts that nobody answered.
    pub open_alerts: usize,
    /// Summary of its latest trials.
    pub summary: Summary,
}

/// Summary of an experiment's latest trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Branch of the latest trial.
    pub branch: String,
    /// Testbed of the latest trial.
    pub testbed: String,
    /// When the latest trial was made.
    pub last_ns: Option<i64>,
    /// The latest conclusion.
    pub conclusion: Option<Conclusion>,
    /// The trial with that conclusion.
    pub conclusion_trial: Option<String>,
    /// Metrics on the branch and the testbed of the latest trial, those that fail first.
    pub trends: Vec<Trend>,
    /// How many further metrics there are.
    pub more_metrics: usize,
}

/// A metric and how it got there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// Its last value.
    pub last: Metric,
    /// The trial with that value.
    pub trial: String,
    /// Its latest values, oldest first, with the last.
    pub points: Vec<f64>,
    /// `pass`, `fail` or `cannot_judge`; of the latest trial.
    pub verdict: String,
    /// Why.
    pub reason: String,
}

/// Names that filters can choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Choices {
    /// Tags.
    pub tags: Vec<String>,
    /// Branches.
    pub branches: Vec<String>,
    /// Testbeds.
    pub testbeds: Vec<String>,
}

impl Store {
    /// A page of the experiments that pass a filter.
    pub fn overview(
        &mut self,
        filter: &OverviewFilter,
        page: PageRequest,
    ) -> Result<Page<OverviewRow>, StoreError> {
        let database = self.database.as_mut();
        let (condition, mut values) = filter.sql();
        let counted =
            database.query(&format!("SELECT count(*) FROM experiments e WHERE {condition}"), &values)?;
        let total = counted.first().map_or(0, |row| row[0].int()) as usize;
        let limit = page.limit.min(MOST_ROWS);
        values.extend([Cell::Int(limit as i64), Cell::Int(page.offset.min(i64::MAX as usize) as i64)]);
        // Choose rows before looking up summaries: a late page would look up those of all pages before it.
        let order = page.order.sql();
        let chosen = format!(
            "(SELECT e.* FROM experiments e WHERE {condition} ORDER BY {order} LIMIT ${} OFFSET ${}) e",
            values.len() - 1,
            values.len()
        );
        let rows = database.query(&format!("{} ORDER BY {order}", select(&chosen)), &values)?;
        Ok(Page { rows: told(database, rows)?, offset: page.offset, total })
    }

    /// The overview row of one experiment.
    pub fn overview_of(&mut self, name: &str) -> Result<OverviewRow, StoreError> {
        let database = self.database.as_mut();
        let id = experiments::living(database, name)?;
        let rows = database.query(&format!("{} WHERE e.id = $1", select("experiments e")), &[id.into()])?;
        told(database, rows)?.pop().ok_or_else(|| StoreError::NoExperiment(name.to_string()))
    }

    /// Rebuilds the overview row of every experiment, after rows were added without this store.
    pub fn refresh_overview(&mut self) -> Result<(), StoreError> {
        self.whole(refresh_all)
    }

    /// The choices for the overview's filters.
    pub fn choices(&mut self) -> Result<Choices, StoreError> {
        let mut names = |column: &str, table: &str| -> Result<Vec<String>, StoreError> {
            let sql = format!(
                "SELECT DISTINCT {column} FROM {table} WHERE {column} <> '' ORDER BY {column} LIMIT $1"
            );
            Ok(self.database.query(&sql, &[MOST_CHOICES.into()])?.iter().map(|row| row[0].text()).collect())
        };
        Ok(Choices {
            tags: names("tag", "tags")?,
            branches: names("branch", "places")?,
            testbeds: names("testbed", "places")?,
        })
    }
}

/// What the overview needs of experiments, which `from` calls `e`.
fn select(from: &str) -> String {
    format!(
        "SELECT {EXPERIMENT}, e.status, e.open_alerts, o.summary FROM {from} \
         LEFT JOIN overview o ON o.experiment_id = e.id"
    )
}

/// Rows of [`select`], with tags and running state.
fn told(database: &mut dyn Database, rows: Vec<Row>) -> Result<Vec<OverviewRow>, StoreError> {
    let ids: Vec<i64> = rows.iter().map(|row| row[0].int()).collect();
    let mut tags = experiments::tags_of(database, &ids)?;
    let running = progress::running(database)?;
    let row = |row: Row| OverviewRow {
        experiment: experiments::experiment_row(&row, tags.remove(&row[0].int())),
        status: Status::of_name(&row[9].text()).unwrap_or(Status::Unjudged),
        running: running.contains(&row[0].int()),
        open_alerts: row[10].int() as usize,
        summary: serde_json::from_str(&row[11].text()).unwrap_or_default(),
    };
    Ok(rows.into_iter().map(row).collect())
}

impl OverviewFilter {
    /// The condition on an experiment `e`, and its values.
    fn sql(&self) -> (String, Vec<Cell>) {
        let mut values: Vec<Cell> = Vec::new();
        let mut parts = vec![format!("e.removed_ns IS {}NULL", if self.removed { "NOT " } else { "" })];
        let mut value = |cell: Cell| {
            values.push(cell);
            format!("${}", values.len())
        };
        if let Some(search) = self.search.as_deref().filter(|text| !text.is_empty()) {
            let pattern = Cell::Text(format!("%{}%", escaped(&search.to_lowercase())));
            let (name, description) = (value(pattern.clone()), value(pattern));
            parts.push(format!(
                "(lower(e.name) LIKE {name} ESCAPE '\\' OR lower(e.description) LIKE {description} ESCAPE '\\')"
            ));
        }
        if let Some(status) = self.status {
            parts.push(format!("e.status = {}", value(status.name().into())));
        }
        if let Some(tag) = &self.tag {
            let tag = value(tag.into());
            parts.push(format!(
                "EXISTS (SELECT 1 FROM tags g WHERE g.experiment_id = e.id AND g.tag = {tag})"
            ));
        }
        let mut places = Vec::new();
        for (column, name) in [("branch", &self.branch), ("testbed", &self.testbed)] {
            if let Some(name) = name {
                places.push(format!(" AND p.{column} = {}", value(name.into())));
            }
        }
        if !places.is_empty() {
            parts.push(format!(
                "EXISTS (SELECT 1 FROM places p WHERE p.experiment_id = e.id{})",
                places.concat()
            ));
        }
        if self.running {
            let since = value(Cell::Int(now_ns() - progress::SILENCE_NS));
            parts.push(format!(
                "EXISTS (SELECT 1 FROM progress r WHERE r.experiment_id = e.id AND r.ended = 0 AND r.at_ns > {since})"
            ));
        }
        (parts.join(" AND "), values)
    }
}

/// Escapes text for a pattern.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

/// Rebuilds the overview row of an experiment. The caller holds the row of the experiment.
pub(crate) fn refresh(database: &mut dyn Database, experiment: i64) -> Result<(), StoreError> {
    let said = SeriesDecisions::read(database, experiment)?;
    let trials = experiments::trials_of(database, experiment, false)?;
    let judgements = judge_last(&trials, &[], &said);
    let alerts = alerts_of(&series_of(&trials), &said);
    let open = alerts.iter().filter(|alert| alert.state == AlertState::Open).count();
    let summary = summary(&trials, &judgements);
    let text = serde_json::to_string(&summary).map_err(|error| StoreError::Malformed(error.to_string()))?;
    database.query(
        "UPDATE experiments SET status = $1, open_alerts = $2, trial_count = $3, artifact_count = $4, \
         last_trial = $5 WHERE id = $6",
        &[
            Status::of(&trials, &judgements).name().into(),
            Cell::Int(open as i64),
            Cell::Int(trials.len() as i64),
            trials.iter().map(|trial| trial.artifacts).sum::<i64>().into(),
            trials.last().map(|trial| trial.name.as_str()).into(),
            experiment.into(),
        ],
    )?;
    database.query(
        "INSERT INTO overview (experiment_id, summary) VALUES ($1, $2) \
         ON CONFLICT (experiment_id) DO UPDATE SET summary = excluded.summary",
        &[experiment.into(), Cell::Text(text)],
    )?;
    places(database, experiment, &trials)
}

/// Rebuilds the overview row of every experiment.
pub(crate) fn refresh_all(database: &mut dyn Database) -> Result<(), StoreError> {
    let ids = database.query("SELECT id FROM experiments", &[])?;
    ids.iter().try_for_each(|row| refresh(database, row[0].int()))
}

/// Branches and testbeds of the trials.
fn places(database: &mut dyn Database, experiment: i64, trials: &[TrialRow]) -> Result<(), StoreError> {
    let of = |trial: &TrialRow| (trial.branch.clone(), trial.testbed.clone());
    let mut now: Vec<(String, String)> = trials.iter().map(of).collect();
    now.sort_unstable();
    now.dedup();
    let rows = database
        .query("SELECT branch, testbed FROM places WHERE experiment_id = $1", &[experiment.into()])?;
    let mut there: Vec<(String, String)> = rows.iter().map(|row| (row[0].text(), row[1].text())).collect();
    there.sort_unstable();
    if now == there {
        return Ok(());
    }
    database.query("DELETE FROM places WHERE experiment_id = $1", &[experiment.into()])?;
    for (branch, testbed) in &now {
        database.query(
            "INSERT INTO places (experiment_id, branch, testbed) VALUES ($1, $2, $3)",
            &[experiment.into(), branch.into(), testbed.into()],
        )?;
    }
    Ok(())
}

fn summary(trials: &[TrialRow], judgements: &[Judgement]) -> Summary {
    let Some(latest) = trials.last() else { return Summary::default() };
    let peers = trials.iter().filter(|row| row.branch == latest.branch && row.testbed == latest.testbed);
    let peers: Vec<&TrialRow> = peers.collect();
    let trend = |judgement: &Judgement| {
        let name = &judgement.key.metric;
        let of = |row: &&TrialRow| row.metrics.iter().find(|metric| metric.name == *name).cloned();
        let mut values: Vec<f64> =
            peers.iter().rev().filter_map(of).map(|metric| metric.value).take(TREND_POINTS).collect();
        values.reverse();
        let (trial, last) = peers.iter().rev().find_map(|row| Some((row.name.clone(), of(row)?)))?;
        let verdict = judgement.verdict.name().to_string();
        Some(Trend { last, trial, points: values, verdict, reason: judgement.reason.clone() })
    };
    let mut trends: Vec<Trend> = judgements.iter().filter_map(trend).collect();
    trends.sort_by_key(|trend| trend.verdict != Verdict::Fail.name());
    let more_metrics = trends.len().saturating_sub(TREND_METRICS);
    trends.truncate(TREND_METRICS);
    let concluded = trials.iter().rev().find(|row| row.conclusion.is_some());
    Summary {
        branch: latest.branch.clone(),
        testbed: latest.testbed.clone(),
        last_ns: Some(latest.created_ns),
        conclusion: concluded.and_then(|row| row.conclusion.clone()),
        conclusion_trial: concluded.map(|row| row.name.clone()),
        trends,
        more_metrics,
    }
}

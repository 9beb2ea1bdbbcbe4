//! What `autotune` reports: the best configurations with their confidence, what failed, which parameters matter.

mod chart;

use report::{Column, Finding, Note, Report, Severity, Table, Unit, Value};
use serde_json::{Value as Json, json};

use crate::autotune::Tuned;
use crate::measure::Metric;
use crate::search::{Phase, TRUSTED_R2};
use crate::space::{Size, Space};
use crate::tuner::{Status, Trial, TunerOptions, mean};

/// Two configurations count as equal if the probability that they differ by chance is above this.
const LUCK: f64 = 0.05;
const NOT_REPEATED: &str = "no configuration ran more than once";

/// The whole report of a search.
pub fn autotune_report(space: &Space, metric: &Metric, options: &TunerOptions, tuned: &Tuned) -> Report {
    let view = View { space, metric, options, tuned };
    let mut report = Report {
        command: "autotune".into(),
        tables: vec![view.configurations()],
        notes: view.notes().into_iter().map(Note::from).collect(),
        charts: vec![view.chart()],
        result: Some(view.result()),
        ..Report::default()
    };
    if tuned.outcome.trials.iter().any(|trial| trial.status != Status::Ok) {
        report.tables.push(view.failures());
    }
    if !tuned.skipped.is_empty() {
        report.tables.push(view.skipped());
    }
    report.tables.extend([view.parameters(), view.phases()]);
    if view.is_unsure() {
        report.findings.push(view.low_confidence());
    }
    report
}

struct View<'a> {
    space: &'a Space,
    metric: &'a Metric,
    options: &'a TunerOptions,
    tuned: &'a Tuned,
}

impl View<'_> {
    fn describe(&self, trial: &Trial) -> String {
        self.space.describe(self.tuned.candidates.get(trial.candidate))
    }

    /// The centre of a trial's values, in the metric's unit.
    fn value(&self, trial: &Trial) -> f64 {
        self.tuned.outcome.scale.centre(&trial.values)
    }

    fn cell(&self, value: f64) -> Value {
        if self.metric.is_time { Value::Int(value.round() as i64) } else { Value::Float(value) }
    }

    /// A column of the metric: `mean` gives `mean_ns` for times.
    fn column(&self, name: &str) -> Column {
        if self.metric.is_time {
            Column::int(&format!("{name}_ns"), Unit::Ns)
        } else {
            Column::int(name, Unit::None)
        }
    }

    fn interval(&self, trial: &Trial) -> Option<(f64, f64)> {
        let outcome = &self.tuned.outcome;
        let half = outcome.noise.half_width(trial.values.len())?;
        let middle = mean(&trial.values, outcome.scale);
        let (a, b) = (outcome.scale.back(middle - half), outcome.scale.back(middle + half));
        Some((a.min(b), a.max(b)))
    }

    fn best(&self) -> Option<&Trial> {
        self.tuned.outcome.ranking.first().map(|&place| &self.tuned.outcome.trials[place])
    }

    /// Whether a trial is statistically equal to the best.
    fn is_equal(&self, trial: &Trial) -> Option<bool> {
        let (outcome, best) = (&self.tuned.outcome, self.best()?);
        let behind = mean(&trial.values, outcome.scale) - mean(&best.values, outcome.scale);
        let luck = outcome.noise.chance_of_luck(behind, best.values.len(), trial.values.len())?;
        Some(luck > LUCK)
    }

    fn configurations(&self) -> Table {
        let apart = self.apart();
        let mut columns = vec![Column::int("rank", Unit::Exact).key()];
        columns.extend(apart.iter().map(|name| Column { unit: Unit::Exact, ..Column::text(name) }));
        let whole = Column::text("configuration");
        columns.extend([
            if apart.is_empty() { whole } else { whole.data() },
            self.column("mean").key(),
            self.column("ci_low"),
            self.column("ci_high"),
            Column::int("behind_pct", Unit::Pct).key(),
            Column::int("runs", Unit::None).key(),
            Column::text("verdict"),
            Column::text("phase").detail(),
            Column::text("parameters").data(),
            Column::text("values").data(),
        ]);
        let mut table = Table::new("configurations", "Configurations, best first", columns);
        let outcome = &self.tuned.outcome;
        let Some(best) = self.best().map(|best| self.value(best)) else { return table };
        for (i, &place) in outcome.ranking.iter().enumerate() {
            let trial = &outcome.trials[place];
            let value = self.value(trial);
            let bound = |bound: Option<f64>| bound.map_or(Value::absent(NOT_REPEATED), |b| self.cell(b));
            let interval = self.interval(trial);
            let behind = match (outcome.scale.logarithmic, self.options.maximise) {
                (false, _) => Value::absent("no ratio: some values are not above zero"),
                (true, false) => Value::Float(100.0 * (value / best - 1.0)),
                (true, true) => Value::Float(100.0 * (1.0 - value / best)),
            };
            let verdict = match self.is_equal(trial) {
                _ if i == 0 => "best",
                Some(true) => "as good",
                Some(false) => "worse",
                None => "unknown",
            };
            let mut row = vec![Value::from(i + 1)];
            let settings = self.space.settings(self.tuned.candidates.get(trial.candidate));
            let shown = settings.iter().filter(|(name, _)| apart.contains(name));
            row.extend(shown.map(|(_, setting)| Value::Text(setting.to_string())));
            row.extend([
                Value::Text(self.describe(trial)),
                self.cell(value),
                bound(interval.map(|interval| interval.0)),
                bound(interval.map(|interval| interval.1)),
                behind,
                Value::from(trial.values.len()),
                Value::from(verdict),
                Value::from(trial.phase.name()),
                Value::Json(self.space.to_json(self.tuned.candidates.get(trial.candidate))),
                Value::Json(trial.values.clone().into()),
            ]);
            table.push(row);
        }
        table
    }

    /// Parameters that vary and get their own columns; none if there are too many, or one has the name of
    /// another column.
    fn apart(&self) -> Vec<&str> {
        const MOST: usize = 5;
        const TAKEN: &[&str] = &[
            "rank",
            "configuration",
            "mean",
            "mean_ns",
            "ci_low",
            "ci_low_ns",
            "ci_high",
            "ci_high_ns",
            "behind_pct",
            "runs",
            "verdict",
            "phase",
            "parameters",
            "values",
            "absent",
        ];
        let varying = self.space.parameters.iter().filter(|parameter| parameter.values.len() > 1);
        let names: Vec<&str> = varying.map(|parameter| parameter.name.as_str()).collect();
        let usable = names.len() <= MOST && !names.iter().any(|name| TAKEN.contains(name));
        if usable { names } else { Vec::new() }
    }

    fn failures(&self) -> Table {
        let columns = vec![
            Column::text("configuration"),
            Column::text("status"),
            Column::text("detail"),
            Column::text("parameters").data(),
        ];
        let mut table = Table::new("failures", "Configurations without a result", columns);
        for trial in self.tuned.outcome.trials.iter().filter(|trial| trial.status != Status::Ok) {
            table.push(vec![
                Value::Text(self.describe(trial)),
                Value::from(trial.status.name()),
                Value::Text(trial.detail.lines().last().unwrap_or_default().to_string()),
                Value::Json(self.space.to_json(self.tuned.candidates.get(trial.candidate))),
            ]);
        }
        table
    }

    fn skipped(&self) -> Table {
        let columns = vec![
            Column::text("reason"),
            Column::int("configurations", Unit::None).key(),
            Column::text("first").detail(),
            Column::text("status").data(),
        ];
        let mut table = Table::new("skipped", "Skipped: cannot be launched", columns);
        let mut reasons: Vec<(&str, usize, &[u16])> = Vec::new();
        for one in &self.tuned.skipped {
            match reasons.iter_mut().find(|(reason, _, _)| *reason == one.reason) {
                Some((_, count, _)) => *count += 1,
                None => reasons.push((&one.reason, 1, &one.levels)),
            }
        }
        reasons.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
        for (reason, count, levels) in reasons {
            table.push(vec![
                Value::from(reason),
                Value::from(count),
                Value::Text(self.space.describe(levels)),
                Value::from(Status::Skipped.name()),
            ]);
        }
        table
    }

    fn parameters(&self) -> Table {
        let columns = vec![
            Column::text("parameter"),
            Column::int("share_pct", Unit::Pct).key(),
            Column::int("range_pct", Unit::Pct).key(),
            Column::text("best_on_average"),
            Column::text("in_best"),
        ];
        let mut table = Table::new("parameters", "Parameters by how much each explains on its own", columns);
        let best = self.best().map(|best| self.space.settings(self.tuned.candidates.get(best.candidate)));
        for one in &self.tuned.importance {
            let parameter = &self.space.parameters[one.parameter];
            let range =
                one.range_pct.map_or(Value::absent("no ratio: some values are not above zero"), Value::Float);
            table.push(vec![
                Value::from(parameter.name.as_str()),
                Value::Float(one.share_pct),
                range,
                Value::Text(parameter.values[one.best_level].to_string()),
                Value::Text(best.as_ref().map_or(String::new(), |best| best[one.parameter].1.to_string())),
            ]);
        }
        table
    }

    fn phases(&self) -> Table {
        let columns = vec![
            Column::text("phase"),
            Column::int("trials", Unit::None).key(),
            Column::int("failed", Unit::None),
            self.column("best").key(),
        ];
        let mut table = Table::new("phases", "Phases of the search", columns);
        for phase in [Phase::Seed, Phase::Confirm, Phase::Explore] {
            let trials = || self.tuned.outcome.trials.iter().filter(move |trial| trial.phase == phase);
            if trials().count() == 0 {
                continue;
            }
            let scale = self.tuned.outcome.scale;
            let ok = trials().filter(|trial| trial.status == Status::Ok);
            let best = ok.min_by(|a, b| mean(&a.values, scale).total_cmp(&mean(&b.values, scale)));
            table.push(vec![
                Value::from(phase.name()),
                Value::from(trials().count()),
                Value::from(trials().filter(|trial| trial.status != Status::Ok).count()),
                best.map_or(Value::absent("none worked"), |best| self.cell(self.value(best))),
            ]);
        }
        table
    }

    fn notes(&self) -> Vec<String> {
        let (outcome, mut notes) = (&self.tuned.outcome, Vec::new());
        let equals = outcome.ranking.iter().skip(1);
        let equals = equals.filter(|&&place| self.is_equal(&outcome.trials[place]) == Some(true)).count();
        match (outcome.noise.freedom, equals) {
            (0, _) => notes.push(NOT_REPEATED.to_string() + ": the ranking may be noise"),
            (_, 0) if outcome.exhausted => {
                notes.push("the best beats all others, beyond noise".into());
            }
            (_, 0) => notes.push("the best beats all others that were tried, beyond noise".into()),
            (_, 1) => notes.push("1 other configuration is as good as the best, within noise".into()),
            (_, n) => notes.push(format!("{n} other configurations are as good as the best, within noise")),
        }
        if outcome.by_simplicity {
            notes.push(
                "of the configurations within 1 % of each other, the one closest to the defaults was chosen"
                    .into(),
            );
        }
        if outcome.noise.freedom > 0 && outcome.scale.logarithmic {
            let percent = 100.0 * outcome.noise.deviation;
            notes.push(format!("runs of one configuration differ by {percent:.1} % (standard deviation)"));
        }
        if let Size::AtMost(combinations) = self.tuned.candidates.size {
            notes.push(format!(
                "the space has up to {combinations:.3e} combinations; the search sampled {} valid ones",
                self.tuned.candidates.len()
            ));
        }
        let (tried, all) = (outcome.trials.len(), self.tuned.candidates.len());
        notes.push(match outcome.exhausted {
            true => "every configuration was tried".into(),
            false => format!("{tried} of {all} configurations were tried"),
        });
        if self.tuned.reused > 0 {
            let (reused, made) = (self.tuned.reused, self.tuned.made);
            notes.push(format!("{reused} runs came from the journal, {made} are new"));
        }
        if self.tuned.damaged > 0 {
            notes.push(format!(
                "{} lines of the journal could not be read; those configurations ran again",
                self.tuned.damaged
            ));
        }
        notes
    }

    fn is_unsure(&self) -> bool {
        !self.tuned.outcome.exhausted
            && self.tuned.outcome.quality.as_ref().is_none_or(|quality| quality.r2 < TRUSTED_R2)
    }

    fn low_confidence(&self) -> Finding {
        let quality = self.tuned.outcome.quality.as_ref();
        let r2 = quality.map_or(Value::absent("too few configurations worked"), |q| Value::Float(q.r2));
        Finding {
            id: "low_model_confidence".into(),
            severity: Severity::Medium,
            title: "the model predicts unseen configurations poorly, so better ones may have been missed"
                .into(),
            evidence: vec![
                ("cross_validated_r2".into(), r2),
                ("trusted_from".into(), Value::Float(TRUSTED_R2)),
                ("samples".into(), Value::from(quality.map_or(0, |quality| quality.samples))),
            ],
            gain_ceiling_ns: None,
            recommendation: "allow more trials, or add `derived` features that explain the metric".into(),
            ..Finding::default()
        }
    }

    fn result(&self) -> Json {
        let outcome = &self.tuned.outcome;
        let size = match self.tuned.candidates.size {
            Size::Exact(n) => json!(n),
            Size::AtMost(_) => Json::Null,
        };
        let best = self.best().map_or(Json::Null, |best| {
            let value = self.value(best);
            let runtime = if self.metric.is_time { json!(value / 1e6) } else { Json::Null };
            let interval = self.interval(best).map_or(Json::Null, |(low, high)| json!([low, high]));
            json!({
                "parameters": self.space.to_json(self.tuned.candidates.get(best.candidate)),
                "runtime_ms": runtime,
                "value": value,
                "ci": interval,
                "runs": best.values.len(),
            })
        });
        let model = outcome.quality.as_ref().map_or(Json::Null, |quality| {
            json!({
                "r2": quality.r2,
                "residual_std": quality.residual_std,
                "rank_correlation": quality.rank_correlation,
                "samples": quality.samples,
                "validation": "held-out prediction: leave-one-out, five folds for the forest",
            })
        });
        let mut result = json!({
            "search_space_size": size,
            "evaluated_configs": outcome.trials.len(),
            "skipped_configs": self.tuned.skipped.len(),
            "failed_configs": outcome.trials.iter().filter(|trial| trial.status != Status::Ok).count(),
            "best_config": best,
            "model": model,
            "strategy": self.options.strategy.name(),
            "seed": self.options.seed,
            "metric": self.metric.name,
            "direction": if self.options.maximise { "maximise" } else { "minimise" },
            "noise_pct": (outcome.noise.freedom > 0 && outcome.scale.logarithmic)
                .then_some(100.0 * outcome.noise.deviation),
            "spent_seconds": outcome.spent,
        });
        if self.is_unsure() {
            result["warning"] = "low_model_confidence".into();
        }
        result
    }
}

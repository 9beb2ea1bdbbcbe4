//! Gates: `total>+3%`, `kernel:gemm>+5%` and similar, which fail a build if something got slower.

use std::fmt;

use regex::Regex;
use report::{Column, Remedy, Table, Unit, Value};

use super::rows::{ComparedRow, ComparedRows, percent};
use model::names;

/// Figures of whole runs that a gate may name: (word, row of `end_to_end`).
const WHOLE: &[(&str, &str)] = &[
    ("total", "kernels"),
    ("span", "span"),
    ("busy", "busy"),
    ("idle", "idle"),
    ("exposed_communication", "exposed_communication"),
    ("exposed_copies", "exposed_copies"),
];

/// A limit on how much something may grow.
#[derive(Clone, Debug)]
pub struct Gate {
    text: String,
    target: Target,
    limit_pct: f64,
}

#[derive(Clone, Debug)]
enum Target {
    /// A row of `end_to_end`.
    Whole(&'static str),
    Kernel(Regex),
    Category(String),
    Region(Regex),
}

/// A gate that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// Not of the form `WHAT>+N%`.
    #[error("gate `{gate}`: {why} at character {place}")]
    Malformed {
        /// The gate as written.
        gate: String,
        /// Character position, counted from 1.
        place: usize,
        /// What is wrong.
        why: String,
    },
}

/// The status of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateStatus {
    /// Within its limit.
    Pass,
    /// Beyond its limit.
    Fail,
    /// Not decidable; never a pass.
    CannotJudge(Unjudged),
}

/// Why a gate cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unjudged {
    /// The runs may not be comparable.
    #[error("{0}")]
    Ground(String),
    /// No row with this name.
    #[error("there is no such {0} on either side")]
    Missing(&'static str),
    /// Only the candidate has it.
    #[error("it is only in the candidate, so there is nothing to compare with")]
    New,
    /// The base took no time.
    #[error("it took no time in the base, so there is no change in percent")]
    NoBase,
    /// One value on each side.
    #[error("with one value per side there is no spread, so the change has no interval")]
    NoInterval,
}

impl Unjudged {
    /// What would make it decidable, as text.
    pub fn advice(&self) -> &'static str {
        match self {
            Unjudged::Ground(_) => {
                "use runs that record the GPU and the model or command, or state that they are comparable"
            }
            Unjudged::Missing(_) => "the tables of this report list every name",
            Unjudged::New | Unjudged::NoBase => "give a gate on something that both sides have",
            Unjudged::NoInterval => "record several runs of each side, or let the change itself decide",
        }
    }

    /// The remedy to show.
    pub fn remedy(&self) -> Remedy {
        match self {
            Unjudged::Ground(_) => Remedy::AssumeComparable,
            Unjudged::NoInterval => Remedy::GateInterval,
            other => Remedy::Advice(other.advice().into()),
        }
    }
}

impl GateStatus {
    /// The word in reports.
    pub fn name(&self) -> &'static str {
        match self {
            GateStatus::Pass => "pass",
            GateStatus::Fail => "fail",
            GateStatus::CannotJudge(_) => "cannot_judge",
        }
    }
}

/// The outcome of a gate and the row that decided it: the closest to failing, or one that cannot be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct GateOutcome {
    /// The gate as written.
    pub gate: String,
    /// The limit.
    pub limit_pct: f64,
    /// The row; `None` if all rows are gone.
    pub name: Option<String>,
    /// Its change.
    pub delta_pct: Option<f64>,
    /// Bounds of the change that hold for all rows of the gate jointly.
    pub interval_pct: Option<(f64, f64)>,
    /// Pass, fail or neither.
    pub status: GateStatus,
}

impl GateOutcome {
    /// Whether the build passes.
    pub fn passed(&self) -> bool {
        self.status == GateStatus::Pass
    }
}

impl fmt::Display for GateOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gate `{}`", self.gate)?;
        if let GateStatus::CannotJudge(why) = &self.status {
            write!(f, " cannot be judged: {why}")?;
        }
        if let (Some(name), Some(delta)) = (&self.name, self.delta_pct) {
            write!(f, ": `{}` changed by {delta:+.2} %", names::display_name(name))?;
        }
        match self.interval_pct {
            Some((low, high)) => write!(f, " (between {low:+.2} % and {high:+.2} %)"),
            None => Ok(()),
        }
    }
}

impl Gate {
    /// Parses `WHAT>+N%`, where WHAT is `total`, `span`, `busy`, `idle`, `kernel:REGEX`, `category:NAME` or
    /// `region:REGEX`.
    pub fn parse(text: &str) -> Result<Self, GateError> {
        let wrong = |byte: usize, why: &str| GateError::Malformed {
            gate: text.to_string(),
            place: text[..byte].chars().count() + 1,
            why: why.to_string(),
        };
        let gate = expr::gate::parse(text).map_err(|error| wrong(error.at, error.why))?;
        let pattern = |pattern: &str| {
            Regex::new(pattern).map_err(|error| {
                let why = error.to_string();
                let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_string();
                wrong(gate.name_at, &format!("no regular expression ({why})"))
            })
        };
        let unknown = |what: &str| wrong(0, &format!("`{what}` cannot be compared"));
        let target = match gate.kind {
            Some("kernel") => Target::Kernel(pattern(gate.name)?),
            Some("region") => Target::Region(pattern(gate.name)?),
            Some("category") => Target::Category(gate.name.to_string()),
            Some(kind) => return Err(unknown(&format!("{kind}:{}", gate.name))),
            None => {
                let whole = WHOLE.iter().find(|(word, _)| *word == gate.name);
                Target::Whole(whole.ok_or_else(|| unknown(gate.name))?.1)
            }
        };
        Ok(Self { text: text.to_string(), target, limit_pct: gate.limit_pct })
    }

    fn rows<'a>(&self, rows: &'a ComparedRows) -> (&'static str, Vec<&'a ComparedRow>) {
        let named = |pattern: &Regex, row: &ComparedRow| {
            let spellings = [Some(&row.name), row.matched_name.as_ref()];
            spellings.iter().flatten().any(|name| pattern.is_match(name))
        };
        let kernel = |pattern: &Regex, row: &ComparedRow| {
            named(pattern, row) || pattern.is_match(&names::display_name(&row.name))
        };
        match &self.target {
            Target::Whole(name) => {
                ("figure", rows.end_to_end.iter().filter(|row| row.name == *name).collect())
            }
            Target::Kernel(pattern) => {
                ("kernel", rows.kernels.iter().filter(|row| kernel(pattern, row)).collect())
            }
            Target::Category(name) => {
                ("category", rows.categories.iter().filter(|row| row.name == *name).collect())
            }
            Target::Region(pattern) => {
                ("region", rows.regions.iter().filter(|row| named(pattern, row)).collect())
            }
        }
    }
}

/// Options of gates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GateOptions {
    /// Judge the change itself, not its lower bound.
    pub on_point: bool,
    /// Treat runs as comparable even if they do not show it.
    pub assume_comparable: bool,
}

/// The outcome of each gate: undecidable ones first, then failures. A gate fails if the lower bound of a
/// change (with `on_point`, the change) is above the limit; it passes only if every row can be judged.
pub(super) fn outcomes(
    rows: &ComparedRows,
    gates: &[Gate],
    confidence: f64,
    options: &GateOptions,
    gap: Option<String>,
) -> Vec<GateOutcome> {
    let gap = gap.filter(|_| !options.assume_comparable);
    let mut outcomes: Vec<GateOutcome> = gates
        .iter()
        .map(|gate| {
            let outcome = gate.outcome(rows, confidence, options.on_point);
            match &gap {
                // Figures of incomparable runs mean nothing, whichever way they went.
                Some(why) => {
                    GateOutcome { status: GateStatus::CannotJudge(Unjudged::Ground(why.clone())), ..outcome }
                }
                None => outcome,
            }
        })
        .collect();
    outcomes.sort_by_key(|outcome| match outcome.status {
        GateStatus::CannotJudge(_) => 0,
        GateStatus::Fail => 1,
        GateStatus::Pass => 2,
    });
    outcomes
}

impl Gate {
    fn outcome(&self, rows: &ComparedRows, confidence: f64, on_point: bool) -> GateOutcome {
        let (what, looked_at) = self.rows(rows);
        let estimated = looked_at.iter().filter(|row| row.estimate.is_some()).count();
        let outcome = |row: Option<&ComparedRow>, delta_pct, interval_pct, status| GateOutcome {
            gate: self.text.clone(),
            limit_pct: self.limit_pct,
            name: row.map(|row| row.name.clone()),
            delta_pct,
            interval_pct,
            status,
        };
        if looked_at.is_empty() {
            return outcome(None, None, None, GateStatus::CannotJudge(Unjudged::Missing(what)));
        }
        let mut worst: Option<(f64, GateOutcome)> = None;
        let mut unjudged: Option<(f64, GateOutcome)> = None;
        let keep = |kept: &mut Option<(f64, GateOutcome)>, figure: f64, outcome: GateOutcome| {
            if kept.as_ref().is_none_or(|(most, _)| figure > *most) {
                *kept = Some((figure, outcome));
            }
        };
        for row in looked_at {
            let taken = |side: Option<super::rows::SideFigures>| side.map_or(0, |figures| figures.total);
            let Some(estimate) = row.estimate else {
                // A row that is gone, or takes no time, did not grow.
                if taken(row.candidate) > 0 {
                    let why = if row.base.is_none() { Unjudged::New } else { Unjudged::NoBase };
                    let new = outcome(Some(row), None, None, GateStatus::CannotJudge(why));
                    keep(&mut unjudged, f64::INFINITY, new);
                }
                continue;
            };
            let delta = percent(estimate.ratio);
            let interval = estimate.bounds_among(estimated, confidence);
            let interval = interval.map(|(low, high)| (percent(low), percent(high)));
            match if on_point { Some(delta) } else { interval.map(|(low, _)| low) } {
                Some(figure) => {
                    let status = if figure > self.limit_pct { GateStatus::Fail } else { GateStatus::Pass };
                    keep(&mut worst, figure, outcome(Some(row), Some(delta), interval, status));
                }
                None => {
                    let status = GateStatus::CannotJudge(Unjudged::NoInterval);
                    keep(&mut unjudged, delta, outcome(Some(row), Some(delta), None, status));
                }
            }
        }
        match (worst, unjudged) {
            (Some((_, worst)), _) if worst.status == GateStatus::Fail => worst,
            (_, Some((_, unjudged))) => unjudged,
            (Some((_, worst)), None) => worst,
            (None, None) => outcome(None, None, None, GateStatus::Pass),
        }
    }
}

/// The outcomes as a table.
pub(super) fn table(outcomes: &[GateOutcome]) -> Table {
    let columns = vec![
        Column::text("gate"),
        Column::text("name"),
        Column::int("limit_pct", Unit::Pct).key(),
        Column::int("delta_pct", Unit::Pct).key(),
        Column::int("ci_low_pct", Unit::Pct).key(),
        Column::int("ci_high_pct", Unit::Pct).key(),
        Column::text("status").key(),
        Column::text("reason").detail(),
    ];
    let mut table = Table::new("gates", "Gates", columns);
    for outcome in outcomes {
        let number = |number: Option<f64>, why: &str| number.map_or_else(|| Value::absent(why), Value::Float);
        let (alone, no_spread) = ("new or gone", "one value on each side shows no spread");
        table.push(vec![
            Value::from(outcome.gate.as_str()),
            outcome.name.as_deref().map_or_else(|| Value::absent(alone), Value::from),
            Value::Float(outcome.limit_pct),
            number(outcome.delta_pct, alone),
            number(outcome.interval_pct.map(|interval| interval.0), no_spread),
            number(outcome.interval_pct.map(|interval| interval.1), no_spread),
            Value::from(outcome.status.name()),
            match &outcome.status {
                GateStatus::CannotJudge(why) => Value::Text(why.to_string()),
                _ => Value::absent("it was judged"),
            },
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read_with_their_limits() {
        for (text, limit) in [
            ("total>+3%", 3.0),
            ("span > 0.5 %", 0.5),
            ("busy>-2%", -2.0),
            ("kernel:f<int, g<1>>>+5%", 5.0),
            ("category:communication>+2%", 2.0),
            ("region:hip.*Sync>10%", 10.0),
        ] {
            assert_eq!(Gate::parse(text).unwrap().limit_pct, limit, "{text}");
        }
        let gate = Gate::parse("kernel:f<int, g<1>>>+5%").unwrap();
        assert!(matches!(gate.target, Target::Kernel(pattern) if pattern.as_str() == "f<int, g<1>>"));
    }

    #[test]
    fn bad_gates_say_where_and_why() {
        for (text, expected) in [
            ("total", "gate `total`: no `>` before a limit at character 6"),
            ("total>3", "gate `total>3`: no `%` after the limit at character 8"),
            ("total> x%", "gate `total> x%`: no number before `%` at character 8"),
            ("total>nan%", "gate `total>nan%`: no number before `%` at character 7"),
            ("speed>3%", "gate `speed>3%`: `speed` cannot be compared at character 1"),
            ("kernel:>3%", "gate `kernel:>3%`: no name at character 8"),
            ("kernel:(>3%", "gate `kernel:(>3%`: no regular expression (unclosed group) at character 8"),
            ("", "gate ``: no `>` before a limit at character 1"),
        ] {
            assert_eq!(Gate::parse(text).unwrap_err().to_string(), expected);
        }
    }
}

//! Gates: `total>+3%`, `kernel:gemm>+5%` and the like, which fail a build when something got slower.

use std::fmt;

use regex::Regex;
use report::{Column, Table, Unit, Value};

use super::rows::{Row, Rows, percent};
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

/// Something that may grow by so much and no more.
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

/// A gate that cannot be understood or looks at nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// Not of the form `WHAT>+N%`.
    #[error("gate `{gate}`: {why} at character {place}")]
    Malformed {
        /// As given.
        gate: String,
        /// Counted from 1.
        place: usize,
        /// What is wrong.
        why: String,
    },
    /// No row is of that name, so the gate could never fail.
    #[error("gate `{gate}`: there is no such {what} on either side")]
    Nothing {
        /// As given.
        gate: String,
        /// Kernel, category, region or figure.
        what: &'static str,
    },
}

/// What came of a gate: the row that is nearest to failing it, or fails it most.
#[derive(Clone, Debug, PartialEq)]
pub struct GateOutcome {
    /// As given.
    pub gate: String,
    /// The most that is allowed.
    pub limit_pct: f64,
    /// The row; none where all rows are new or gone.
    pub name: Option<String>,
    /// Its change.
    pub delta_pct: Option<f64>,
    /// Bounds of the change that hold for all rows of the gate together.
    pub interval_pct: Option<(f64, f64)>,
    /// Whether the gate fails.
    pub failed: bool,
}

impl fmt::Display for GateOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gate `{}`", self.gate)?;
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
    /// Understands `WHAT>+N%`, where WHAT is `total`, `span`, `busy`, `idle`, `kernel:REGEX`, `category:NAME` or
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
        let unknown = |what: &str| wrong(0, &format!("`{what}` is nothing that can be compared"));
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

    fn rows<'a>(&self, rows: &'a Rows) -> (&'static str, Vec<&'a Row>) {
        let named = |pattern: &Regex, row: &Row| {
            let spellings = [Some(&row.name), row.matched_name.as_ref()];
            spellings.iter().flatten().any(|name| pattern.is_match(name))
        };
        let kernel = |pattern: &Regex, row: &Row| {
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

/// What comes of each gate. It fails when the lower bound of a change is above the limit, or with `on_point` the
/// change itself.
pub(super) fn outcomes(
    rows: &Rows,
    gates: &[Gate],
    confidence: f64,
    on_point: bool,
) -> Result<Vec<GateOutcome>, GateError> {
    let outcome = |gate: &Gate| {
        let (what, looked_at) = gate.rows(rows);
        if looked_at.is_empty() {
            return Err(GateError::Nothing { gate: gate.text.clone(), what });
        }
        let judged = looked_at.iter().filter(|row| row.estimate.is_some()).count();
        let mut outcome = GateOutcome {
            gate: gate.text.clone(),
            limit_pct: gate.limit_pct,
            name: None,
            delta_pct: None,
            interval_pct: None,
            failed: false,
        };
        let mut worst = f64::NEG_INFINITY;
        for row in looked_at {
            let Some(estimate) = row.estimate else { continue };
            let delta = percent(estimate.ratio);
            let interval = estimate.bounds_among(judged, confidence);
            let interval = interval.map(|(low, high)| (percent(low), percent(high)));
            let figure = if on_point { Some(delta) } else { interval.map(|(low, _)| low) };
            // Without an interval a row cannot fail; it is shown only where no other is.
            let figure = figure.unwrap_or(f64::MIN);
            if figure > worst {
                worst = figure;
                outcome.name = Some(row.name.clone());
                outcome.delta_pct = Some(delta);
                outcome.interval_pct = interval;
                outcome.failed = figure > gate.limit_pct;
            }
        }
        Ok(outcome)
    };
    gates.iter().map(outcome).collect()
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
        Column::text("status"),
    ];
    let mut table = Table::new("gates", "Gates", columns);
    for outcome in outcomes {
        let number = |number: Option<f64>, why: &str| number.map_or_else(|| Value::absent(why), Value::Float);
        let (alone, no_spread) = ("new or gone", "one value on each side tells no spread");
        table.push(vec![
            Value::from(outcome.gate.as_str()),
            outcome.name.as_deref().map_or_else(|| Value::absent(alone), Value::from),
            Value::Float(outcome.limit_pct),
            number(outcome.delta_pct, alone),
            number(outcome.interval_pct.map(|interval| interval.0), no_spread),
            number(outcome.interval_pct.map(|interval| interval.1), no_spread),
            Value::from(if outcome.failed { "fail" } else { "pass" }),
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
            ("total>3", "gate `total>3`: no `%` behind the limit at character 8"),
            ("total> x%", "gate `total> x%`: no number before `%` at character 8"),
            ("total>nan%", "gate `total>nan%`: no number before `%` at character 7"),
            ("speed>3%", "gate `speed>3%`: `speed` is nothing that can be compared at character 1"),
            ("kernel:>3%", "gate `kernel:>3%`: no name at character 8"),
            ("kernel:(>3%", "gate `kernel:(>3%`: no regular expression (unclosed group) at character 8"),
            ("", "gate ``: no `>` before a limit at character 1"),
        ] {
            assert_eq!(Gate::parse(text).unwrap_err().to_string(), expected);
        }
    }
}

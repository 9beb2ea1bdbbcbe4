//! Why filters cannot be used on a trace, and what would do.

use report::Remedy;
use trace::Ns;

/// Filters that do not fit the trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// A window on nothing.
    #[error("a window needs rows with a time, and the trace has none")]
    NoTime,
    /// The window ends before it starts.
    #[error("the window ends at {end} ns, before it starts at {start} ns")]
    EndBeforeStart {
        /// Where it starts.
        start: Ns,
        /// Where it ends.
        end: Ns,
    },
    /// The window and the trace have no time in common.
    #[error("the window {edge} at {at} ns, outside the trace, which goes from {} ns to {} ns", bounds.0, bounds.1)]
    OutsideTrace {
        /// `starts`, after the trace, or `ends`, before it.
        edge: &'static str,
        /// When it does.
        at: Ns,
        /// Of the trace.
        bounds: (Ns, Ns),
    },
    /// A moment of the clock, of recordings that have several.
    #[error(
        "{at} ns is a moment of one clock, and these recordings have {clocks} that are not aligned ({})",
        listed_clocks(recordings, *clocks)
    )]
    SeveralClocks {
        /// Asked for.
        at: Ns,
        /// How many clocks there are.
        clocks: usize,
        /// One recording of each of the first clocks.
        recordings: Vec<String>,
    },
    /// No region or sample of that name.
    #[error("there is no region or sample named `{name}`")]
    NoMarker {
        /// Asked for.
        name: String,
        /// Names like it.
        near: Vec<String>,
    },
    /// More than one of that name.
    #[error("there are {count} regions or samples named `{name}`, the first at {}", listed_ns(starts))]
    SeveralMarkers {
        /// Asked for.
        name: String,
        /// How many there are.
        count: usize,
        /// When the first of them start.
        starts: Vec<Ns>,
    },
    /// No kernel, copy or fill matches.
    #[error("no kernel matches `{pattern}`")]
    NoKernel {
        /// The regular expression.
        pattern: String,
        /// Kernels that match but for upper and lower case.
        other_case: Vec<String>,
        /// Those with most rows.
        frequent: Vec<String>,
    },
    /// A value that nothing in the trace has.
    #[error("there is no {what} {wanted} in the trace{}", has(present))]
    NoSuch {
        /// `agent`, `stream`, `rank`, `process`, `category`, `GPU work of stage`.
        what: &'static str,
        /// Asked for.
        wanted: String,
        /// What there is.
        present: String,
    },
    /// Each filter matches something, all together nothing.
    #[error("nothing is left of the trace: {label}{}", if *gpu { ", no GPU work" } else { "" })]
    NothingLeft {
        /// The filters in words.
        label: String,
        /// Whether rows had to lie wholly inside a window.
        inside_only: bool,
        /// Whether GPU work was asked for.
        gpu: bool,
    },
}

fn has(present: &str) -> String {
    if present.is_empty() { String::new() } else { format!("; it has {present}") }
}

fn listed_ns(starts: &[Ns]) -> String {
    starts.iter().map(|ns| format!("{ns} ns")).collect::<Vec<_>>().join(", ")
}

fn listed_clocks(recordings: &[String], clocks: usize) -> String {
    let more = if recordings.len() < clocks { ", …" } else { "" };
    format!("{}{more}", recordings.join(", "))
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

impl FilterError {
    /// What to type instead, when that can be said.
    pub fn help(&self) -> Option<Remedy> {
        match self {
            FilterError::NoMarker { near, .. } if !near.is_empty() => {
                Some(format!("the nearest names are {}", quoted(near)).into())
            }
            FilterError::SeveralClocks { .. } => Some(Remedy::OneClock),
            FilterError::SeveralMarkers { .. } => Some(Remedy::OneMarker),
            FilterError::NoKernel { pattern, other_case, .. } if !other_case.is_empty() => {
                Some(format!("`(?i){pattern}` matches {}", quoted(other_case)).into())
            }
            FilterError::NoKernel { frequent, .. } if !frequent.is_empty() => {
                Some(format!("the most frequent are {}", quoted(frequent)).into())
            }
            FilterError::OutsideTrace { .. } => {
                Some("shares (`30%`) and times with a unit (`1.2s`) count from the trace's start".into())
            }
            FilterError::NothingLeft { inside_only: true, .. } => Some(Remedy::Overlapping),
            FilterError::NothingLeft { .. } => Some("leave out one of the filters".into()),
            _ => None,
        }
    }
}

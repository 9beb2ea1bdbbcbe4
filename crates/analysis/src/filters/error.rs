//! Why filters cannot be used on a trace, and what to use instead.

use report::Remedy;
use trace::Ns;

/// Filters that do not fit the trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// A window on a trace without times.
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
    /// The window does not overlap the trace.
    #[error("the window {edge} at {at} ns, outside the trace, which goes from {} ns to {} ns", bounds.0, bounds.1)]
    OutsideTrace {
        /// `starts`, after the trace, or `ends`, before it.
        edge: &'static str,
        /// When it starts or ends.
        at: Ns,
        /// First and last time of the trace.
        bounds: (Ns, Ns),
    },
    /// A clock time, for recordings with several clocks.
    #[error(
        "{at} ns is a time on one clock, but these recordings have {clocks} unaligned clocks ({})",
        listed_clocks(recordings, *clocks)
    )]
    SeveralClocks {
        /// The requested time.
        at: Ns,
        /// How many clocks there are.
        clocks: usize,
        /// One recording for each of the first clocks.
        recordings: Vec<String>,
    },
    /// No region or sample has this name.
    #[error("there is no region or sample named `{name}`")]
    NoMarker {
        /// The requested name.
        name: String,
        /// Similar names.
        near: Vec<String>,
    },
    /// Several regions or samples have this name.
    #[error("there are {count} regions or samples named `{name}`, the first at {}", listed_ns(starts))]
    SeveralMarkers {
        /// The requested name.
        name: String,
        /// How many there are.
        count: usize,
        /// Start times of the first few.
        starts: Vec<Ns>,
    },
    /// No kernel, copy or fill matches.
    #[error("no kernel matches `{pattern}`")]
    NoKernel {
        /// The regular expression.
        pattern: String,
        /// Kernels that match if case is ignored.
        other_case: Vec<String>,
        /// Kernels with the most rows.
        frequent: Vec<String>,
    },
    /// A value that does not occur in the trace.
    #[error("there is no {what} {wanted} in the trace{}", has(present))]
    NoSuch {
        /// `agent`, `stream`, `rank`, `process`, `category`, `GPU work of stage`.
        what: &'static str,
        /// The requested value.
        wanted: String,
        /// The values that do occur.
        present: String,
    },
    /// Each filter matches something, but all together match nothing.
    #[error("nothing is left of the trace: {label}{}", if *gpu { ", no GPU work" } else { "" })]
    NothingLeft {
        /// The filters as text.
        label: String,
        /// Whether rows had to lie entirely inside a window.
        inside_only: bool,
        /// Whether GPU work was requested.
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
    /// What to type instead, if known.
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

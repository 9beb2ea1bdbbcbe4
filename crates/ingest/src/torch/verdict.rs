//! What is wrong with a file: an error, or something for the trace's health.

use trace::{Status, Trace};

use super::document::{DocumentPosition, Stop};
use super::join::JoinLosses;
use super::worker::Tally;
use crate::{Error, Input};

/// How the read of a document went.
pub(super) struct Verdict {
    /// Where it ended.
    pub stop: Stop,
    /// Whether it is just a list of events.
    pub bare: bool,
    /// Bytes of the document, uncompressed.
    pub bytes: u64,
    pub tally: Tally,
    /// Why the underlying stream ended early, if it did.
    pub damage: Option<String>,
}

impl Tally {
    /// Whether the trace contains graph captures: launches without the kernels they would run.
    pub fn is_capture(&self) -> bool {
        self.captures > 0 && self.launches > 4 * self.kernels
    }
}

impl Verdict {
    /// An error if there is nothing to read in the file.
    pub fn refuse(&self, input: &Input) -> Result<(), Error> {
        let Tally { events, lost, bad, .. } = self.tally;
        if events > bad {
            return Ok(());
        }
        let path = input.path.clone();
        if let Some(why) = &self.damage {
            return Err(Error::Damaged { path, format: "a torch trace", why: why.clone() });
        }
        let why = match (events, lost) {
            (0, 0) => "it has no trace events".to_string(),
            (0, _) => "none of its events can be read".to_string(),
            _ => "none of its events has a phase and a time".to_string(),
        };
        Err(Error::NotATrace { path, why })
    }

    /// Adds the problems of the read to the trace's health.
    pub fn report(&self, found: &JoinLosses, trace: &mut Trace) {
        let mut warn = |id, value: u64, message: String| {
            trace.health.report(id, Status::Warn, Some(value as f64), message);
        };
        let Stop { at, place } = self.stop;
        let events = self.tally.events;
        if let Some(why) = &self.damage {
            let bytes = self.bytes;
            warn("truncated", bytes, format!("{why}: {events} events in {bytes} readable bytes were kept"));
        } else if let Some(inside) = cut(place, self.bare) {
            let message =
                format!("the file ends inside {inside} (byte {at}): {events} events before it were kept");
            warn("truncated", at as u64, message);
        }
        let Tally { lost, bad, untabled, .. } = self.tally;
        if lost > 0 {
            warn("lost_events", lost, format!("{lost} damaged events could not be read"));
        }
        let bad = bad + found.overflows;
        if bad > 0 {
            let message = format!("{bad} events lack a phase, a usable time or a duration and were left out");
            warn("bad_values", bad, message);
        }
        if found.lossy > 0 {
            let message = format!("{} names are not UTF-8; their invalid bytes became U+FFFD", found.lossy);
            warn("utf8", found.lossy, message);
        }
        if found.alone > 0 {
            let message = format!("{} begin, end or flow events have no counterpart", found.alone);
            warn("unmatched", found.alone as u64, message);
        }
        if untabled > 0 {
            let message =
                format!("{untabled} events of kinds that rocm-perf does not analyse (flows, object states)");
            trace.health.report("other_events", Status::Pass, Some(untabled as f64), message);
        }
    }
}

/// What a document ended in, unless it is complete.
fn cut(place: DocumentPosition, bare: bool) -> Option<&'static str> {
    match place {
        // Writers of plain lists may omit the bracket, so that they can append at any time.
        DocumentPosition::Done => None,
        DocumentPosition::Events if bare => None,
        DocumentPosition::Start | DocumentPosition::Top | DocumentPosition::AfterValue => {
            Some("its metadata")
        }
        DocumentPosition::Events => Some("its list of events"),
        DocumentPosition::Cut => Some("an event"),
        DocumentPosition::Lost => Some("damaged text"),
    }
}

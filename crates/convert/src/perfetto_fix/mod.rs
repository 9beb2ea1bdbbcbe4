//! Fixes a torch trace for Perfetto: slices that cross others on their lane move to new lanes.
//!
//! Works on the file itself and loses nothing: every event and every other member of the file is kept, byte
//! for byte except for what must change (`tid` of slices and flows that move, `dur` of slices that are
//! trimmed).
//!
//! ```text
//! pass 1: file ─► pieces ─► slices by lane ─► plan (who moves, who is trimmed)
//! pass 2: file ─► pieces ─► the same bytes, edited by the plan ─► output
//! ```
//!
//! Memory is 24 bytes per slice; the file is never in memory.

mod event;
mod plan;
mod rewrite;
mod scan;
mod source;
mod split;
mod survey;
mod time;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use trace::Ns;

use event::Event;
use plan::{Content, Edit, Plan};
use rewrite::Change;
use source::{Sink, open};
use split::{Ending, Piece, Pieces};
use survey::{FlowMoves, Lane, Start, Survey};

/// How to fix a trace.
#[derive(Clone, Debug)]
pub struct Options {
    /// Trim crossings up to this (the earlier slice ends where the later one starts).
    pub snap_ns: Ns,
    /// Leave the lanes of host threads unchanged.
    pub gpu_only: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { snap_ns: 500, gpu_only: false }
    }
}

/// A lane that was added.
#[derive(Clone, Debug, PartialEq)]
pub struct AddedLane {
    /// Process, as the file spells it.
    pub pid: String,
    /// Its number.
    pub tid: i64,
    /// Its name.
    pub name: String,
    /// The lane its slices come from.
    pub parent_tid: String,
    /// Slices on it.
    pub slices: u64,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fixed {
    /// Events read, all of which were written.
    pub events_in: u64,
    /// Events written: those read, and names of added lanes.
    pub events_out: u64,
    /// Slices that went to another lane.
    pub slices_moved: u64,
    /// Slices whose end was trimmed.
    pub slices_snapped: u64,
    /// Flows that moved with their slice.
    pub flows_moved: u64,
    /// Complete events without readable times, left unchanged.
    pub unreadable: u64,
    /// What was missing at the end of the file, if it was cut.
    pub cut: Option<String>,
    /// Lanes added.
    pub lanes: Vec<AddedLane>,
}

/// Why a trace could not be fixed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input cannot be read.
    #[error("cannot read `{}`: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The input is not a trace.
    #[error("`{}` has no `traceEvents`: perfetto-fix works on torch (Chrome JSON) traces", path.display())]
    NoEvents {
        /// The file.
        path: PathBuf,
    },
    /// More events than the index can hold.
    #[error("`{}` has more than {} events", path.display(), u32::MAX)]
    TooManyEvents {
        /// The file.
        path: PathBuf,
    },
    /// The input changed between the two passes.
    #[error("`{}` changed while it was read", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The output is the input.
    #[error("the output `{}` is the input, which is never modified", path.display())]
    SameFile {
        /// The file.
        path: PathBuf,
    },
    /// The output cannot be written.
    #[error("cannot write `{}`: {why}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

/// Fixes `input` into `output`, compressed if its name ends in `.gz`. Calls `advance` with the bytes read;
/// the input is read twice.
pub fn fix(input: &Path, output: &Path, options: &Options, advance: &dyn Fn(u64)) -> Result<Fixed, Error> {
    if let (Ok(from), Ok(to)) = (input.canonicalize(), output.canonicalize())
        && from == to
    {
        return Err(Error::SameFile { path: output.into() });
    }
    let (mut survey, ending) = look(input, advance)?;
    let (plan, flows) = decide(&mut survey, options);
    let lanes = name_lanes(&survey, &plan);
    let unwritable =
        |e: io::Error| Error::Unwritable { path: output.into(), why: e.to_string().to_lowercase() };
    let sink = Sink::create(output).map_err(unwritable)?;
    let pieces = Pieces::new(open(input, advance)?);
    let mut writer = Rewriter { sink, survey, plan, flows, lanes, fixed: Fixed::default(), event: 0 };
    let same = writer.copy(pieces, &ending).map_err(unwritable)?;
    if !same {
        return Err(Error::Changed { path: input.into() });
    }
    writer.finish(&ending).map_err(unwritable)
}

fn look(input: &Path, advance: &dyn Fn(u64)) -> Result<(Survey, Ending), Error> {
    let mut survey = Survey::default();
    let mut pieces = Pieces::new(open(input, advance)?);
    while let Some(piece) = pieces.next() {
        if let Piece::Event(bytes) = piece {
            survey.see(bytes);
        }
    }
    let ending = pieces.ending();
    if !ending.has_events {
        return Err(match &ending.damage {
            Some(why) => Error::Unreadable { path: input.into(), why: why.clone() },
            None => Error::NoEvents { path: input.into() },
        });
    }
    if survey.events > u64::from(u32::MAX) {
        return Err(Error::TooManyEvents { path: input.into() });
    }
    Ok((survey, ending))
}

/// Plans the lanes, and the flows of slices that move; drops the slices afterwards.
fn decide(survey: &mut Survey, options: &Options) -> (Plan, FlowMoves) {
    let mut work = std::mem::take(&mut survey.work);
    let mut annotations = std::mem::take(&mut survey.annotations);
    if options.gpu_only {
        work.retain(|slice| survey.is_gpu[slice.lane as usize]);
        annotations.retain(|slice| survey.is_gpu[slice.lane as usize]);
    }
    let plan = plan::plan(&mut work, &mut annotations, options.snap_ns, &survey.is_gpu);
    let destination = |event: u32| plan.edits.get(&event).and_then(|edit| edit.to);
    let all = || work.iter().chain(&annotations);
    let mut times: Vec<(u32, Ns)> =
        all().filter(|slice| destination(slice.event).is_some()).map(|s| (s.lane, s.start)).collect();
    times.sort_unstable();
    let mut starting: Vec<_> =
        all().filter(|slice| times.binary_search(&(slice.lane, slice.start)).is_ok()).collect();
    starting.sort_unstable_by_key(|slice| slice.event);
    let mut flows = FlowMoves::default();
    for slice in starting {
        let start =
            Start { correlation: survey.correlation(slice.event), to: destination(slice.event), flows: 0 };
        flows.add(slice.lane, slice.start, start);
    }
    (plan, flows)
}

/// An added lane with its names as JSON.
struct NewLane {
    parent: u32,
    tid: i64,
    name: Vec<u8>,
    slices: u64,
}

fn name_lanes(survey: &Survey, plan: &Plan) -> Vec<NewLane> {
    let named = plan.added.iter().zip(survey.free_numbers()).map(|(added, tid)| {
        let parent = &survey.lanes[added.parent as usize];
        let mut name = parent.name.clone();
        if name.is_empty() {
            name.extend_from_slice(if survey.is_gpu[added.parent as usize] {
                b"stream "
            } else {
                b"thread "
            });
            name.extend_from_slice(scan::unquoted(&parent.tid));
        }
        let suffix = match added.content {
            Content::Overlap(n) => format!(" (overlap {n})"),
            Content::Annotations(0) => " (annotations)".into(),
            Content::Annotations(n) => format!(" (annotations, overlap {n})"),
        };
        name.extend_from_slice(suffix.as_bytes());
        NewLane { parent: added.parent, tid, name, slices: added.slices }
    });
    named.collect()
}

/// The second pass.
struct Rewriter {
    sink: Sink,
    survey: Survey,
    plan: Plan,
    flows: FlowMoves,
    lanes: Vec<NewLane>,
    fixed: Fixed,
    event: u32,
}

impl Rewriter {
    /// Copies the pieces, edited; `false` if they differ from those of the first pass.
    fn copy(&mut self, mut pieces: Pieces<impl Read>, ending: &Ending) -> io::Result<bool> {
        let mut at = 0u64;
        let mut blank = Vec::new();
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Between(bytes) => {
                    let kept = ending.kept.saturating_sub(at).min(bytes.len() as u64) as usize;
                    self.sink.write_all(&bytes[..kept])?;
                    at += bytes.len() as u64;
                    if self.event == 0 {
                        let start = bytes.trim_ascii_end().len();
                        blank = bytes[start..].to_vec();
                    }
                }
                Piece::Event(bytes) => {
                    at += bytes.len() as u64;
                    if u64::from(self.event) == self.survey.events {
                        return Ok(false);
                    }
                    if self.event == 0 {
                        self.name_added_lanes(&blank)?;
                    }
                    self.write_event(bytes)?;
                    self.event += 1;
                }
            }
        }
        Ok(u64::from(self.event) == self.survey.events && pieces.ending() == *ending)
    }

    /// Writes names of added lanes before the first event, with the same layout.
    fn name_added_lanes(&mut self, blank: &[u8]) -> io::Result<()> {
        for new in &self.lanes {
            let Lane { pid, sort_index, .. } = &self.survey.lanes[new.parent as usize];
            // The parent's own index: the longer name is then sorted right after it.
            let sort_index = if sort_index.is_empty() { b"0" } else { &sort_index[..] };
            let facts: [(&str, &str, &[u8], &str); 2] = [
                ("thread_name", "name\": \"", &new.name, "\""),
                ("thread_sort_index", "sort_index\": ", sort_index, ""),
            ];
            for (kind, before, value, after) in facts {
                let sink = &mut self.sink;
                write!(sink, "{{\"ph\": \"M\", \"name\": \"{kind}\", \"pid\": ")?;
                sink.write_all(pid)?;
                write!(sink, ", \"tid\": {}, \"args\": {{\"{before}", new.tid)?;
                sink.write_all(value)?;
                write!(sink, "{after}}}}},")?;
                sink.write_all(blank)?;
                self.fixed.events_out += 1;
            }
        }
        Ok(())
    }

    fn write_event(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.fixed.events_out += 1;
        if let Some(&Edit { to, duration }) = self.plan.edits.get(&self.event) {
            let tid = to.map(|lane| self.lanes[lane as usize].tid);
            return rewrite::write(&Event::of(bytes), Change { tid, duration }, &mut self.sink);
        }
        if !self.flows.is_empty() {
            let event = Event::of(bytes);
            if let Some(tid) = self.flow_destination(&event) {
                self.fixed.flows_moved += 1;
                return rewrite::write(&event, Change { tid: Some(tid), duration: None }, &mut self.sink);
            }
        }
        self.sink.write_all(bytes)
    }

    fn flow_destination(&mut self, event: &Event<'_>) -> Option<i64> {
        if !matches!(event.phase, b's' | b't' | b'f') {
            return None;
        }
        let (lane, time) = (self.survey.find_lane(event)?, event.start()?);
        let to = self.flows.destination(lane, time, event.flow_id())?;
        Some(self.lanes[to as usize].tid)
    }

    fn finish(mut self, ending: &Ending) -> io::Result<Fixed> {
        if ending.is_cut() {
            self.sink.write_all(ending.closing.as_bytes())?;
            let why = ending.damage.as_ref().map_or(String::new(), |why| format!(" ({why})"));
            let lost = ending.lost;
            self.fixed.cut =
                Some(format!("the file is cut off{why}: left out {lost} bytes of the unfinished part"));
        }
        self.sink.finish()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(scan::unquoted(bytes)).into_owned();
        let lanes = self.lanes.iter().map(|new| {
            let parent = &self.survey.lanes[new.parent as usize];
            AddedLane {
                pid: text(&parent.pid),
                tid: new.tid,
                name: text(&new.name),
                parent_tid: text(&parent.tid),
                slices: new.slices,
            }
        });
        Ok(Fixed {
            events_in: self.survey.events,
            slices_moved: self.plan.moved,
            slices_snapped: self.plan.snapped,
            unreadable: self.survey.unreadable,
            lanes: lanes.collect(),
            ..self.fixed
        })
    }
}

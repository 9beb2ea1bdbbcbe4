//! `.xplane.pb`: output of JAX's and TensorFlow's profilers.
//!
//! ```text
//! XSpace ─► planes ─┬─► /device:GPU:N: lines are streams ─► kernels, copies, fills
//!                   ├─► /host:CPU: lines are threads ─► calls, Python frames, annotations
//!                   └─► the rest: metadata ─► HLO ops laid over the launches of their kernels
//! ```
//!
//! Names and values of events are numbers into tables of their plane, which may come after the events; so
//! each plane is read twice. Times are picoseconds from the start of a line; they become nanoseconds, rounded
//! down.

mod details;
mod device;
mod hlo;
mod host;
mod ops;
mod plane;

use rapidhash::v3::rapidhash_v3;
use trace::{Map, Needs, OptI64, Process, ProcessId, Source, SourceId, Status, Trace};

use self::plane::Plane;
use crate::bytes::read_whole;
use crate::protobuf::Fields;
use crate::{Error, Input, Progress};

/// Field of `XSpace`.
const PLANES: u32 = 1;

/// Category of the calls that launch GPU work.
const RUNTIME: &str = "cuda_runtime";

/// Arguments of ops, under torch's names.
const INPUT_DIMS: &str = "Input Dims";
const INPUT_TYPES: &str = "Input type";

/// Reads a file.
pub fn read(input: &Input, needs: &Needs, progress: &Progress) -> Result<Trace, Error> {
    let bytes = read_whole(&input.path, progress)?;
    let mut fields = Fields::of(&bytes);
    let planes: Vec<&[u8]> =
        (&mut fields).filter(|(field, _)| *field == PLANES).map(|(_, value)| value.bytes()).collect();
    let planes: Vec<Plane> = planes.into_iter().map(Plane::of).collect();
    let damaged = planes.iter().filter(|plane| !plane.whole).count() + usize::from(!fields.whole);
    if bytes.mapped_len() > 0 {
        progress.advance(bytes.len() as u64);
    }
    let known = |plane: &&Plane| plane.is_gpu() || plane.is_host();
    if !planes.iter().any(|plane| known(&plane)) {
        let why = "it has neither a GPU nor a host plane".to_string();
        return Err(Error::Damaged { path: input.path.clone(), format: "an XSpace profile", why });
    }
    let mut reader = Reader::new(input, needs, rapidhash_v3(&bytes), &planes);
    for plane in planes.iter().filter(|plane| plane.is_gpu()) {
        reader.device(plane);
    }
    for plane in planes.iter().filter(|plane| plane.is_host()) {
        reader.host(plane);
    }
    if let Some(damage) = &bytes.damage {
        let message = format!("`{}` stops early: {damage}", input.path.display());
        reader.trace.health.report("truncated", Status::Warn, None, message);
    }
    let unknown: Vec<&str> =
        planes.iter().filter(|plane| !known(plane) && plane.has_events()).map(|plane| plane.name).collect();
    if !unknown.is_empty() {
        let message = format!("planes left out: `{}`", unknown.join("`, `"));
        reader.trace.health.report("unknown_planes", Status::Warn, Some(unknown.len() as f64), message);
    }
    reader.damaged += damaged as u64;
    Ok(reader.finish())
}

struct Reader<'n> {
    trace: Trace,
    needs: &'n Needs,
    process: ProcessId,
    /// The row in `regions` of each call with a correlation id.
    calls: Map<i64, u32>,
    /// The HLO op of GPU work, by correlation id, with the start of the work.
    ops: Vec<ops::Launched>,
    /// Shapes of the ops' inputs, if wanted.
    shapes: hlo::Shapes,
    /// Messages that end in the middle, and events without a name.
    damaged: u64,
    /// Events at impossible times.
    timeless: u64,
}

impl<'n> Reader<'n> {
    fn new(input: &Input, needs: &'n Needs, identity: u64, planes: &[Plane]) -> Self {
        let mut trace = Trace::default();
        let path = input.path.to_string_lossy();
        let source = Source { bytes: input.bytes, ..Source::named(&path, input.format.name()) };
        let source = trace.add_source(source);
        let facts = || planes.iter().flat_map(Plane::facts);
        let pid = facts().find(|(key, _)| *key == "process_id").and_then(|(_, value)| value.number());
        let guid = trace.strings.intern(&format!("xplane-{identity:016x}"));
        let host = host_of(&path).map_or_else(Default::default, |host| trace.strings.intern(host));
        let process =
            Process { guid, hostname: host, ppid: OptI64::NONE, ..Process::new(source, pid.unwrap_or(0)) };
        let process = trace.add_process(process);
        metadata(&mut trace, source, planes);
        let wanted = [INPUT_DIMS, INPUT_TYPES].iter().any(|key| needs.args.wants(key));
        let shapes = if wanted { hlo::shapes(planes) } else { Map::default() };
        Self {
            trace,
            needs,
            process,
            calls: Map::default(),
            ops: Vec::new(),
            shapes,
            damaged: 0,
            timeless: 0,
        }
    }

    fn finish(mut self) -> Trace {
        self.lay_ops();
        let checks = [
            (self.damaged, "messages are cut off"),
            (self.timeless, "events have no usable time and were left out"),
        ];
        for (count, what) in checks.into_iter().filter(|(count, _)| *count > 0) {
            let message = format!("{count} {what}");
            self.trace.health.report("damaged_rows", Status::Warn, Some(count as f64), message);
        }
        self.trace
    }
}

/// Facts from planes without events: versions, start and end of the profile.
fn metadata(trace: &mut Trace, source: SourceId, planes: &[Plane]) {
    for plane in planes.iter().filter(|plane| !plane.is_gpu() && !plane.is_host()) {
        for (key, value) in plane.facts().filter(|(key, _)| !key.is_empty()) {
            if let Some(text) = value.text() {
                trace.add_metadata(source, key, &text);
            }
        }
    }
}

/// The host that a file is named after: `plugins/profile/TIME/HOST.xplane.pb`.
fn host_of(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    let host = name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".xplane.pb")?;
    path.contains("plugins/profile/").then_some(host)
}

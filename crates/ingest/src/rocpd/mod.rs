//! rocpd databases: schemas 3 and 4 in all versions, of rocprofv3 and of rocprof-sys, merged or not.
//!
//! ```text
//! sqlite::Database ─► groups (one per recording) ─► identity ─► events ─► kernels, copies, regions …
//! ```
//!
//! Tables are found by name and suffix, columns by name; missing ones are left empty and reported.

mod counters;
mod device;
mod events;
mod groups;
mod host;
mod identity;
mod materialise;
mod places;
mod probe;
mod refs;

use formats::rocpd::table;
use formats::rocpd::versions::{self, Version};
use std::cell::Cell;
use std::path::Path;

use trace::{ArgNeeds, Needs, Source, SourceId, Status, Trace};

pub use probe::{Probe, guids, probe};

use crate::sqlite::{Database, OpenError};
use crate::{Error, Input, Progress};
use events::{Events, Wanted};
use groups::{Group, Loss, Losses, base_of};
use identity::Identity;
use places::Stamps;

/// Reads one database into a trace that is not finished yet.
pub fn read(input: &Input, needs: &Needs, progress: &Progress) -> Result<Trace, Error> {
    let path = &input.path;
    let mut database = open(path)?;
    let _copy;
    if let Some(copy) = materialise::needed(&database).then(|| materialise::tables(path)).transpose()? {
        database = open(&copy.path())?;
        _copy = copy;
    }
    let advanced = Cell::new(0);
    let groups = groups::find(&database, progress, &advanced);
    if groups.is_empty() {
        return Err(Error::NotATrace { path: path.clone(), why: Probe::of(&database).why().into() });
    }
    let mut trace = Trace::default();
    let source = Source { bytes: input.bytes, ..Source::named(&path.to_string_lossy(), "rocpd") };
    let source = trace.add_source(source);
    let mut losses = Losses::new();
    let mut tally = Tally::default();
    for group in &groups {
        check_version(group, source, &mut trace);
        read_group(group, source, needs, &mut trace, &mut tally);
        losses.extend(group.losses());
    }
    trace.sources[0].frames_skipped = tally.frames;
    report(&mut trace, &database, &groups, &losses, &tally);
    progress.advance(input.bytes.saturating_sub(advanced.get()));
    drop(groups);
    // Unmapping a large file takes a while: do it in the background.
    rayon::spawn(move || drop(database));
    Ok(trace)
}

/// Counts of what could not be read, or only in part.
#[derive(Default)]
struct Tally {
    /// Rows without a time.
    lost_rows: u64,
    /// Rows whose name is not in the database.
    nameless: u64,
    /// Arguments and counter values without a row.
    ownerless: u64,
    /// Python frames that were not requested.
    frames: u64,
    /// Threads, agents … that rows name but no table describes.
    made_up: u64,
    /// Rows that name a missing track.
    lost_tracks: u64,
}

/// Reads one recording, table by table.
struct Reader<'a> {
    group: &'a Group<'a>,
    needs: &'a Needs,
    trace: &'a mut Trace,
    identity: Identity,
    events: Events,
    stamps: Stamps,
    passes: counters::Passes,
    tally: &'a mut Tally,
}

fn read_group(group: &Group<'_>, source: SourceId, needs: &Needs, trace: &mut Trace, tally: &mut Tally) {
    let identity = Identity::read(group, source, trace);
    // Read first, since most recordings have none of the requested arguments: then events need no owners.
    let args = if needs.args == ArgNeeds::None { Vec::new() } else { host::find_args(group, needs, trace) };
    let any_args = !args.is_empty();
    let regions = needs.regions || needs.python_frames || needs.links || any_args;
    let kernels = needs.kernels || needs.counters || needs.links;
    let rows = regions || kernels || needs.memory_copies || needs.memory_allocations || needs.samples;
    // Most recordings have an empty sample table: then events need no owners.
    let samples = needs.samples && group.has_rows(table::SAMPLE);
    let wanted = Wanted { all_messages: samples, owners: any_args || needs.counters };
    let events =
        if rows || needs.syncs { Events::read(group, &identity, wanted, trace) } else { Events::default() };
    let stamps = if rows || needs.syncs { Stamps::read(group) } else { Stamps::default() };
    let passes = counters::Passes::default();
    let mut reader = Reader { group, needs, trace, identity, events, stamps, passes, tally };
    if regions {
        reader.regions();
        reader.graph_launches();
    }
    if kernels {
        reader.kernels();
    }
    if needs.memory_copies {
        reader.copies();
    }
    if needs.memory_allocations {
        reader.allocations();
    }
    if needs.syncs {
        reader.syncs();
    }
    if needs.counters || samples {
        reader.samples_and_counters();
    }
    if any_args {
        reader.args(args);
    }
    reader.tally.made_up += reader.identity.made_up;
    reader.tally.lost_tracks += reader.identity.lost_tracks();
}

/// Keeps the database's own facts, and warns about versions that are not fully supported.
fn check_version(group: &Group<'_>, source: SourceId, trace: &mut Trace) {
    let mut told = String::new();
    group.each(table::METADATA, |row| {
        let (tag, value) = (row.text("tag"), row.text("value"));
        if tag == "schema_version" {
            told = value.to_string();
        }
        trace.add_metadata(source, tag, value);
    });
    let Some(mut message) = versions::doubt(&told) else { return };
    let unknown = group.unknown();
    if !unknown.is_empty() {
        message.push_str(&format!("; not read: {}", unknown.join(", ")));
    }
    let major = Version::parse(&told).map(|version| f64::from(version.major));
    trace.health.report("schema", Status::Warn, major, message);
}

/// Opens a database for reading, with our error messages.
pub(crate) fn open(path: &Path) -> Result<Database, Error> {
    Database::open(path).map_err(|error| match error {
        OpenError::Io(why) => Error::Unreadable { path: path.into(), why: why.to_string() },
        OpenError::Empty => Error::Empty { path: path.into() },
        OpenError::NotSqlite => Error::NotATrace { path: path.into(), why: Probe::NotSqlite.why().into() },
        OpenError::Damaged(why) => Error::Damaged { path: path.into(), format: "rocpd", why },
    })
}

/// Reports losses: figures of such a trace are wrong, so its health fails.
fn report_damage(trace: &mut Trace, database: &Database, recordings: usize, losses: &Losses) {
    let mut fail = |id, count: u64, message: String| {
        if count > 0 {
            trace.health.report(id, Status::Fail, Some(count as f64), message);
        }
    };
    // A table has its recording in its name, which matters only if there are several.
    let short = |name: &str| match base_of(name) {
        Some((base, _)) if recordings == 1 => base.to_string(),
        _ => name.to_string(),
    };
    let lost = |(name, loss): (&String, &Loss)| format!("{} lost {}", short(name), loss.words());
    let list = losses.iter().map(lost).collect::<Vec<_>>().join(", ");
    let list = if list.is_empty() { "the tables read here are complete".into() } else { list };
    let missing = database.missing_pages();
    fail("truncated", missing, format!("the file is cut off: {missing} of its pages are missing; {list}"));
    let damaged = database.damaged_schema + losses.values().map(|loss| loss.damaged).sum::<u64>();
    if missing == 0 {
        let what = format!("{damaged} pages or rows of the database are damaged and were skipped; {list}");
        fail("damaged_pages", damaged, what);
    } else {
        let what = format!("{damaged} pages or rows of the database are missing or damaged");
        fail("damaged_pages", damaged, what);
    }
}

fn report(trace: &mut Trace, database: &Database, groups: &[Group<'_>], losses: &Losses, tally: &Tally) {
    report_damage(trace, database, groups.len(), losses);
    let mut warn = |id, count: u64, message: String| {
        if count > 0 {
            trace.health.report(id, Status::Warn, Some(count as f64), message);
        }
    };
    if database.companion() == Some("-journal") {
        let message = "the profiler was stopped while writing; its last, unfinished changes were rolled back";
        warn("journal", 1, message.into());
    }
    for group in groups {
        let missing = group.missing();
        let of = if groups.len() > 1 { format!(" of {}", group.guid) } else { String::new() };
        let message = format!("missing tables{of} were read as empty: {}", missing.join(", "));
        warn("missing_tables", missing.len() as u64, message);
        let missing = group.missing_columns();
        let message = format!("missing columns{of} were read as blank: {}", missing.join(", "));
        warn("missing_columns", missing.len() as u64, message);
    }
    let lost = tally.lost_rows;
    warn("lost_rows", lost, format!("{lost} rows have no usable time and were left out"));
    let nameless = tally.nameless;
    warn("lost_names", nameless, format!("{nameless} rows have a name that is not in the database"));
    let ownerless = tally.ownerless;
    warn(
        "ownerless",
        ownerless,
        format!("{ownerless} arguments or counter values belong to rows that were not read"),
    );
    let tracks = tally.lost_tracks;
    warn(
        "lost_tracks",
        tracks,
        format!("{tracks} rows have a track that is not in the database: thread, GPU and stream are unknown"),
    );
    let made_up = tally.made_up;
    warn(
        "undescribed",
        made_up,
        format!("{made_up} processes, threads, agents, queues or streams have no description, only a number"),
    );
}

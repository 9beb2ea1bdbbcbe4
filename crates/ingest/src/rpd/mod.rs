//! `.rpd`: databases of rocmProfileData, the profiler before rocprofv3's rocpd. Schemas 2 and 3.
//!
//! ```text
//! rocpd_api ─► regions ◄── rocpd_api_ops ──► rocpd_op ─► kernels, copies, fills
//!     ├─ rocpd_kernelapi: grid, workgroup, stream        rocpd_monitor ─► samples
//!     └─ rocpd_copyapi: bytes, devices, stream           rocpd_counter ─► counters
//! ```
//!
//! Only the prefix of the table names is rocpd's. Call ids are correlation ids.

mod device;
mod host;
mod lanes;

use formats::rpd::table;
use rapidhash::v3::rapidhash_v3;
use trace::{Needs, Source, SourceId, Status, StrId, Trace};

use self::lanes::Lanes;
use crate::by_id::ById;
use crate::rocpd::open;
use crate::sqlite::{Col, Database, Row};
use crate::{Error, Input, Progress};

/// Reads a database.
pub fn read(input: &Input, needs: &Needs, progress: &Progress) -> Result<Trace, Error> {
    let database = open(&input.path)?;
    let mut trace = Trace::default();
    let path = input.path.to_string_lossy();
    let source = trace.add_source(Source { bytes: input.bytes, ..Source::named(&path, input.format.name()) });
    let mut reader = Reader {
        database: &database,
        needs,
        strings: ById::default(),
        lanes: Lanes::new(source),
        calls: host::Calls::default(),
        damaged: 0,
        lost: 0,
        trace,
    };
    reader.strings = reader.texts(table::STRING);
    reader.metadata(source);
    reader.calls();
    reader.work();
    if needs.samples {
        reader.monitors();
    }
    progress.advance(input.bytes);
    Ok(reader.finish())
}

struct Reader<'a> {
    database: &'a Database,
    needs: &'a Needs,
    trace: Trace,
    /// The trace's texts by their id.
    strings: ById,
    lanes: Lanes,
    calls: host::Calls,
    /// Invalid pages and rows.
    damaged: u64,
    /// Rows without a time.
    lost: u64,
}

impl Reader<'_> {
    /// Reads columns of a table by name, row by row; nothing if the table is missing.
    fn each<const N: usize, T: Send>(
        &mut self,
        table: &str,
        columns: [&str; N],
        read: impl Fn(&Row<'_>, [Col; N]) -> Option<T> + Sync,
        mut take: impl FnMut(&mut Self, T),
    ) {
        let scanned = self.database.each(table, columns, read, |row| take(self, row));
        self.damaged += scanned.damaged;
    }

    /// A table of texts.
    fn texts(&mut self, table: &str) -> ById {
        let mut pairs = Vec::new();
        self.each(
            table,
            ["id", "string"],
            |row, [id, string]| Some((row.int(id)?, row.text(string)?.into_owned())),
            |reader, (id, text)| pairs.push((id, reader.trace.strings.intern(&text).0)),
        );
        ById::new(&pairs)
    }

    fn string(&self, id: Option<i64>) -> StrId {
        id.and_then(|id| self.strings.get(id)).map_or(StrId::EMPTY, StrId)
    }

    /// Facts about the file, and how it numbers processes and GPUs of several machines.
    fn metadata(&mut self, source: SourceId) {
        self.each(
            table::METADATA,
            ["tag", "value"],
            |row, [tag, value]| Some((row.text(tag)?.into_owned(), row.text(value)?.into_owned())),
            |reader, (tag, value)| {
                reader.lanes.stride(&tag, &value);
                reader.trace.add_metadata(source, &tag, &value);
            },
        );
    }

    fn finish(self) -> Trace {
        let Self { mut trace, damaged, lost, .. } = self;
        // The file has no identity of its own, so its times are used as a fingerprint.
        let bytes = |times: &[i64]| times.iter().flat_map(|time| time.to_le_bytes()).collect::<Vec<u8>>();
        let times =
            [rapidhash_v3(&bytes(&trace.kernels.start)), rapidhash_v3(&bytes(&trace.memory_copies.start))];
        let fingerprint = rapidhash_v3(&times.map(u64::to_le_bytes).concat()) ^ self.calls.fingerprint;
        let guid = trace.strings.intern(&format!("rpd-{fingerprint:016x}"));
        for process in &mut trace.processes {
            process.guid = guid;
        }
        let missing = self.database.missing_pages();
        if missing > 0 {
            let message = format!("the file is cut off: {missing} of its pages are missing");
            trace.health.report("truncated", Status::Fail, Some(missing as f64), message);
        }
        if damaged > 0 {
            let message = format!("{damaged} pages or rows of the database are damaged and were skipped");
            trace.health.report("damaged_pages", Status::Fail, Some(damaged as f64), message);
        }
        if lost > 0 {
            let message = format!("{lost} rows have no usable time and were left out");
            trace.health.report("lost_rows", Status::Warn, Some(lost as f64), message);
        }
        trace
    }
}

//! One counter table in memory: its dispatches, and one column per counter.

use std::path::{Path, PathBuf};

use memchr::{memchr, memchr2};
use trace::{StrId, Strings};

use super::header::{Field, Header, Role};
use super::number::number;
use super::spans::Spans;
use super::time::Time;
use crate::rocprofv3::csv::header::columns;

/// What a row records about its dispatch. Missing numbers are NaN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dispatch {
    pub id: f64,
    pub kernel: StrId,
    pub gpu: f64,
    pub grid: f64,
    pub workgroup: f64,
    pub lds: f64,
    pub scratch: f64,
    pub vgpr: f64,
    pub agpr: f64,
    pub sgpr: f64,
    pub start: Time,
    pub end: Time,
    /// The call that launched it, unique only within its recording. Zero: unknown.
    pub correlation: i64,
    /// The recording's guid, if the table has one.
    pub recording: StrId,
}

impl Default for Dispatch {
    fn default() -> Self {
        let none = f64::NAN;
        Self {
            id: none,
            kernel: StrId::EMPTY,
            gpu: none,
            grid: none,
            workgroup: none,
            lds: none,
            scratch: none,
            vgpr: none,
            agpr: none,
            sgpr: none,
            start: Time::NONE,
            end: Time::NONE,
            correlation: 0,
            recording: StrId::EMPTY,
        }
    }
}

/// A column of values, by its counter's name.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    pub name: String,
    pub values: Vec<f64>,
}

/// A table: each column has one value per dispatch.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub file: PathBuf,
    pub dispatches: Vec<Dispatch>,
    pub counters: Vec<Counter>,
    /// Duration of each dispatch in nanoseconds, if it is not the difference of its times; else empty.
    pub durations: Vec<f64>,
    /// Durations of each dispatch in each pass, in tables with one row per dispatch and counter; else empty.
    pub spans: Vec<Spans>,
    /// Lines with too few or too many fields.
    pub damaged: u64,
    /// Cells that do not hold a number.
    pub odd_cells: u64,
    /// Whether the last line is cut.
    pub cut: bool,
    /// Whether a time is in exponent notation, as a spreadsheet writes it.
    pub rounded_times: bool,
}

impl Table {
    /// Reads a table with one row per dispatch.
    pub fn wide(file: &Path, bytes: &[u8], strings: &mut Strings) -> Option<Self> {
        let (header, body) = split_header(bytes)?;
        let header = Header::of(&header);
        if !header.is_dispatches() || header.is_long() {
            return None;
        }
        let mut table = Table { file: file.into(), ..Table::default() };
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); header.counters.len()];
        for (line, whole) in Lines(body) {
            let mut dispatch = Dispatch::default();
            let (mut place, mut odd, mut rounded) = (0, 0, false);
            for field in Fields(Some(line)) {
                match header.roles.get(place) {
                    Some(Role::Counter(counter)) => {
                        values[*counter].push(number(field).unwrap_or_else(|| {
                            odd += 1;
                            f64::NAN
                        }));
                    }
                    Some(Role::Field(what)) => {
                        rounded |=
                            matches!(what, Field::Start | Field::End) && memchr2(b'e', b'E', field).is_some();
                        dispatch.set(*what, field, strings);
                    }
                    Some(Role::Skip) | None => {}
                }
                place += 1;
            }
            if place == header.roles.len() {
                table.dispatches.push(dispatch);
                table.odd_cells += odd;
                table.rounded_times |= rounded;
                continue;
            }
            // Remove what a broken line has added.
            for column in &mut values {
                column.truncate(table.dispatches.len());
            }
            if whole { table.damaged += 1 } else { table.cut = true }
        }
        let named = header.counters.into_iter().zip(values);
        table.counters = named.map(|(name, values)| Counter { name, values }).collect();
        Some(table)
    }

    /// The counter with this name.
    pub fn column(&self, name: &str) -> Option<&Counter> {
        self.counters.iter().find(|counter| counter.name == name)
    }
}

impl Dispatch {
    /// Duration in nanoseconds; NaN if a time is missing.
    pub fn duration(&self) -> f64 {
        self.end.since(self.start)
    }

    /// Sets one field of its row.
    pub fn set(&mut self, what: Field, field: &[u8], strings: &mut Strings) {
        let number = |field| number(field).unwrap_or(f64::NAN);
        match what {
            Field::Dispatch => self.id = number(field),
            Field::Kernel => self.kernel = text(field, strings),
            Field::Gpu => self.gpu = number(field),
            Field::Grid => self.grid = number(field),
            Field::Workgroup => self.workgroup = number(field),
            Field::Lds => self.lds = number(field),
            Field::Scratch => self.scratch = number(field),
            Field::Vgpr => self.vgpr = number(field),
            Field::Agpr => self.agpr = number(field),
            Field::Sgpr => self.sgpr = number(field),
            Field::Start => self.start = Time::parse(field),
            Field::End => self.end = Time::parse(field),
            Field::Correlation => self.correlation = number(field).max(0.0) as i64,
            Field::Recording => self.recording = text(field, strings),
            Field::CounterName | Field::CounterValue => {}
        }
    }
}

/// A text field without its quotes.
pub(super) fn text(field: &[u8], strings: &mut Strings) -> StrId {
    let Some(inner) = field.strip_prefix(b"\"").and_then(|f| f.strip_suffix(b"\"")) else {
        return strings.intern_bytes(field).0;
    };
    if memchr::memmem::find(inner, b"\"\"").is_none() {
        return strings.intern_bytes(inner).0;
    }
    let text = String::from_utf8_lossy(inner).replace("\"\"", "\"");
    strings.intern(&text)
}

/// Column names and the bytes after the header line.
pub(super) fn split_header(bytes: &[u8]) -> Option<(Vec<String>, &[u8])> {
    let end = memchr(b'\n', bytes)?;
    Some((columns(&bytes[..end]), &bytes[end + 1..]))
}

/// Non-empty lines, and whether each ends with a line break.
pub(super) struct Lines<'b>(pub &'b [u8]);

impl<'b> Iterator for Lines<'b> {
    type Item = (&'b [u8], bool);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.0.is_empty() {
            let end = memchr(b'\n', self.0);
            let (line, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
            self.0 = rest.get(1..).unwrap_or_default();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.is_empty() {
                return Some((line, end.is_some()));
            }
        }
        None
    }
}

/// Fields of a line; quotes keep commas together.
pub(super) struct Fields<'b>(pub Option<&'b [u8]>);

impl<'b> Iterator for Fields<'b> {
    type Item = &'b [u8];

    #[inline]
    fn next(&mut self) -> Option<&'b [u8]> {
        let line = self.0?;
        let end = if line.first() == Some(&b'"') {
            quoted_end(line)
        } else {
            // Counters are short: a plain loop beats a search that sets up vectors.
            line.iter().position(|&b| b == b',')
        };
        match end {
            Some(end) => {
                self.0 = Some(&line[end + 1..]);
                Some(&line[..end])
            }
            None => {
                self.0 = None;
                Some(line)
            }
        }
    }
}

/// The comma after a quoted field.
fn quoted_end(line: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr(b'"', &line[at..])?;
        match line.get(at + 1) {
            Some(b'"') => at += 2,
            Some(b',') => return Some(at + 1),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Table, Strings) {
        let mut strings = Strings::default();
        let table = Table::wide(Path::new("pmc_perf.csv"), text.as_bytes(), &mut strings).unwrap();
        (table, strings)
    }

    #[test]
    fn rows_become_columns_and_broken_lines_are_counted() {
        let (table, strings) = read(
            "Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,A,B\n0,\"f(int, \"\"x\"\")\",2,64,1,2.5\n1,g,2,64,3\n2,g,2,64,,x\n3,g,2,6",
        );
        assert_eq!(table.dispatches.len(), 2);
        assert_eq!(strings.get(table.dispatches[0].kernel), "f(int, \"x\")");
        assert_eq!(table.column("A").unwrap().values[0], 1.0);
        assert!(table.column("A").unwrap().values[1].is_nan());
        assert_eq!(table.column("B").unwrap().values[0], 2.5);
        assert_eq!((table.damaged, table.odd_cells, table.cut), (1, 1, true));
    }

    #[test]
    fn times_of_a_spreadsheet_are_noticed() {
        let (table, _) = read("Kernel_Name,GPU_ID,Grid_Size,Start_Timestamp\nf,0,1,8.1097E+14\n");
        assert!(table.rounded_times);
        assert_eq!(table.dispatches[0].start.ns, 810_970_000_000_000);
    }
}

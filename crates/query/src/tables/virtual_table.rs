//! The one virtual table module behind all tables of a trace.
//!
//! An id is a row number, a time range a binary search, rows are sorted by start, and equality of any other
//! columns is answered from an index that is built if it is needed repeatedly: no join is a nested loop.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_int};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::vtab::{
    Context, CreateVTab, Filters, IndexFlags, IndexInfo, VTab, VTabConnection, VTabCursor, VTabKind,
    sqlite3_vtab, sqlite3_vtab_cursor,
};
use rusqlite::{Error, Result};

use super::definition::TableDef;
use super::index::{Entries, Indexes};
use super::model::Model;
use crate::plan::{self, Compare, Plan};
use crate::result::owned;

/// Reads the trace behind the tables.
pub(super) type ReadTrace = Box<dyn Fn() -> std::result::Result<Model, String> + Send + Sync>;

/// What all tables of a session share.
pub(super) struct SharedModel {
    model: OnceLock<std::result::Result<Model, String>>,
    read: ReadTrace,
    indexes: Indexes,
}

impl SharedModel {
    /// For a trace that was read.
    pub fn new(model: Model) -> SharedModel {
        let read: ReadTrace = Box::new(|| Err("the trace was not read".into()));
        SharedModel { model: OnceLock::from(Ok(model)), read, indexes: Indexes::default() }
    }

    /// For a trace that is read when a statement first uses its rows.
    pub fn later(read: ReadTrace) -> SharedModel {
        SharedModel { model: OnceLock::new(), read, indexes: Indexes::default() }
    }

    fn model(&self) -> Result<&Model> {
        let model = self.model.get_or_init(|| (self.read)());
        model.as_ref().map_err(|why| Error::ModuleError(why.clone()))
    }
}

/// Assumed rows of an unread table, for SQLite's query planner.
const UNREAD_ROWS: usize = 100_000;

/// Columns that are almost unique.
const NARROW: &[&str] =
    &["id", "stack_id", "event_id", "dispatch_id", "start", "end", "timestamp", "address"];

/// A table of a trace.
#[repr(C)]
pub(super) struct TraceTable {
    base: sqlite3_vtab,
    shared: Arc<SharedModel>,
    table: &'static TableDef,
}

// SAFETY: the struct is `repr(C)` and begins with SQLite's base struct.
unsafe impl<'vtab> VTab<'vtab> for TraceTable {
    type Aux = Arc<SharedModel>;
    type Cursor = TraceCursor<'vtab>;

    fn connect(
        _: &mut VTabConnection,
        aux: Option<&Self::Aux>,
        _module: &[u8],
        _database: &[u8],
        name: &[u8],
        _arguments: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        let shared = aux.ok_or_else(|| Error::ModuleError("no trace".into()))?.clone();
        let name = String::from_utf8_lossy(name);
        let table = super::definitions().find(|table| table.name == name);
        let table = table.ok_or_else(|| Error::ModuleError(format!("no such table: {name}")))?;
        let columns: Vec<String> =
            table.columns.iter().map(|c| format!("\"{}\" {}", c.name, c.declared)).collect();
        let sql = CString::new(format!("CREATE TABLE x({})", columns.join(", ")))?;
        Ok((Cow::Owned(sql), TraceTable { base: sqlite3_vtab::default(), shared, table }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let time = self.table.time.and_then(|(name, _)| self.table.column(name));
        let mut plan =
            Plan::choose(info, |column, compare| compare == Compare::Equal || Some(column) == time);
        if let Some(time) = time {
            plan.descending = self.follows_order(info, time);
        }
        let known = self.shared.model.get().and_then(|model| model.as_ref().ok());
        let rows = known.map_or(UNREAD_ROWS, |model| (self.table.rows)(model)) as f64;
        let id = self.table.column("id").filter(|_| self.table.numbered);
        let bounds = plan.terms.iter().filter(|t| t.compare != Compare::Equal).count();
        let expected = if id.is_some_and(|id| plan.has(id, Compare::Equal)) {
            info.set_idx_flags(IndexFlags::SQLITE_INDEX_SCAN_UNIQUE);
            1.0
        } else if plan.equal().next().is_some() {
            let narrow = plan.equal().any(|c| NARROW.contains(&self.table.columns[c].name));
            if narrow { 3.0 } else { (rows / 20.0).max(3.0) }
        } else {
            rows / f64::from(1 << (2 * bounds.min(3)))
        };
        info.set_estimated_rows(expected.max(1.0) as i64);
        info.set_estimated_cost(2.0 + expected);
        info.set_idx_str(&plan.encode());
        Ok(true)
    }

    fn open(&'vtab mut self) -> Result<TraceCursor<'vtab>> {
        Ok(TraceCursor {
            base: sqlite3_vtab_cursor::default(),
            shared: self.shared.clone(),
            table: self.table,
            rows: Rows::Range(0..0),
            descending: false,
            row: None,
            vtab: PhantomData,
        })
    }
}

impl TraceTable {
    /// Tells SQLite if rows already come in the requested order; returns whether that is backwards.
    fn follows_order(&self, info: &mut IndexInfo, time: usize) -> bool {
        let end = self.table.column("end");
        let terms: Vec<(Option<usize>, bool)> =
            info.order_bys().map(|o| (usize::try_from(o.column()).ok(), o.is_order_by_desc())).collect();
        let backwards = terms.first().is_some_and(|(_, descending)| *descending);
        let one_way = terms.iter().all(|(_, descending)| *descending == backwards);
        let wanted: Vec<Option<usize>> = terms.iter().map(|(column, _)| *column).collect();
        let sorted = wanted == [Some(time)] || (end.is_some() && wanted == [Some(time), end]);
        if sorted && one_way {
            info.set_order_by_consumed(true);
        }
        sorted && one_way && backwards
    }
}

impl CreateVTab<'_> for TraceTable {
    const KIND: VTabKind = VTabKind::Default;
}

/// Rows that a cursor still has to visit.
enum Rows {
    Range(Range<usize>),
    Entries(Entries, Range<usize>),
}

impl Rows {
    fn next(&mut self, descending: bool) -> Option<usize> {
        let range = match self {
            Rows::Range(range) | Rows::Entries(_, range) => range,
        };
        let at = if descending { range.next_back() } else { range.next() }?;
        Some(match self {
            Rows::Range(_) => at,
            Rows::Entries(entries, _) => entries[at].1 as usize,
        })
    }
}

#[repr(C)]
pub(super) struct TraceCursor<'vtab> {
    base: sqlite3_vtab_cursor,
    shared: Arc<SharedModel>,
    table: &'static TableDef,
    rows: Rows,
    descending: bool,
    row: Option<usize>,
    vtab: PhantomData<&'vtab TraceTable>,
}

impl TraceCursor<'_> {
    fn find(&self, model: &Model, plan: &Plan, values: &[Value]) -> Rows {
        let all = 0..(self.table.rows)(model);
        let equal = || (0..).zip(&plan.terms).filter(|(_, t)| t.compare == Compare::Equal);
        let id = self.table.column("id").filter(|_| self.table.numbered);
        if let Some((i, _)) = equal().find(|(_, term)| Some(term.column) == id) {
            return match whole(&values[i]) {
                Some(number) => {
                    let row = number.checked_sub(1).and_then(|row| usize::try_from(row).ok());
                    let row = row.filter(|row| all.contains(row));
                    Rows::Range(row.map_or(0..0, |row| row..row + 1))
                }
                None => Rows::Range(all),
            };
        }
        let columns: Vec<usize> = plan.equal().collect();
        if !columns.is_empty() {
            let key = equal()
                .try_fold(0, |key, (i, _)| Some(plan::combine(key, plan::key(ValueRef::from(&values[i]))?)));
            let Some(key) = key else { return Rows::Range(0..0) };
            let (entries, range) = self.shared.indexes.find(model, self.table, &columns, key);
            return Rows::Entries(entries, range);
        }
        let Some((_, times)) = self.table.time else { return Rows::Range(all) };
        let times = times(model);
        let (mut from, mut to) = (0, times.len());
        for (term, value) in plan.terms.iter().zip(values) {
            let bound = match value {
                Value::Integer(bound) => *bound as i128,
                Value::Real(bound) if term.compare == Compare::Above || term.compare == Compare::AtMost => {
                    bound.floor() as i128
                }
                Value::Real(bound) => bound.ceil() as i128,
                Value::Null => return Rows::Range(0..0),
                // Text sorts above every number, subject to its affinity; SQLite handles that.
                _ => continue,
            };
            match term.compare {
                Compare::Above => from = from.max(times.partition_point(|t| i128::from(*t) <= bound)),
                Compare::AtLeast => from = from.max(times.partition_point(|t| i128::from(*t) < bound)),
                Compare::Below => to = to.min(times.partition_point(|t| i128::from(*t) < bound)),
                Compare::AtMost => to = to.min(times.partition_point(|t| i128::from(*t) <= bound)),
                Compare::Equal => {}
            }
        }
        Rows::Range(from..to.max(from))
    }
}

/// A number without a fraction; `None` leaves the comparison to SQLite.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(value) => Some(*value),
        Value::Real(value) if value.fract() == 0.0 && value.abs() < 9.0e15 => Some(*value as i64),
        // No id equals it.
        Value::Null => Some(0),
        _ => None,
    }
}

// SAFETY: the struct is `repr(C)` and begins with SQLite's base struct.
unsafe impl VTabCursor for TraceCursor<'_> {
    fn filter(&mut self, _: c_int, text: Option<&str>, arguments: &Filters<'_>) -> Result<()> {
        let plan = Plan::decode(text.unwrap_or_default());
        let values: Vec<Value> = arguments.iter().map(owned).collect();
        self.rows = self.find(self.shared.model()?, &plan, &values);
        self.descending = plan.descending;
        self.next()
    }

    fn next(&mut self) -> Result<()> {
        self.row = self.rows.next(self.descending);
        Ok(())
    }

    fn eof(&self) -> bool {
        self.row.is_none()
    }

    fn column(&self, context: &mut Context, i: c_int) -> Result<()> {
        let (Some(row), Some(column)) = (self.row, self.table.columns.get(i as usize)) else { return Ok(()) };
        let cell = (column.get)(self.shared.model()?, row);
        context.set_result(ToSqlOutput::Borrowed(cell.as_value()))
    }

    fn rowid(&self) -> Result<i64> {
        Ok(self.row.map_or(0, |row| row as i64 + 1))
    }
}

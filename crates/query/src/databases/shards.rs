//! More databases than SQLite attaches: one virtual table per table and row view that walks the files.
//!
//! Each file is opened when a query reaches it, with its own tables and row views, and a few stay open.
//! Comparisons are passed to the file: a guid selects the files, an id is a rowid look-up. Equality of other
//! columns, looked up repeatedly by a join, is answered from an index of ids that is built on the way.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use convert::rocpd::recordings::quoted;
use convert::rocpd::views::{self, Scope};
use rusqlite::fallible_streaming_iterator::FallibleStreamingIterator;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::vtab::{
    Context, CreateVTab, Filters, IndexInfo, Module, VTab, VTabConnection, VTabCursor, VTabKind,
    sqlite3_vtab, sqlite3_vtab_cursor,
};
use rusqlite::{Connection, Error, Result, Statement};
use trace::Map;

use super::discover::Group;
use super::{file, unions};
use crate::plan::{self, Compare, Plan};
use crate::result::owned;

/// Files that stay open for the next query.
const OPEN_FILES: usize = 128;

/// Look-ups of one kind in one file before an index is built for them.
const LOOKUPS_BEFORE_INDEX: u32 = 3;

/// Creates the virtual tables of many databases, and the totals over them.
pub(super) fn create(connection: &Connection, databases: Vec<(String, Vec<Group>)>) -> Result<()> {
    let columns = unions::columns_of(databases.iter().flat_map(|(_, groups)| groups));
    let shards: Vec<Shard> = databases
        .into_iter()
        .filter(|(_, groups)| !groups.is_empty())
        .map(|(uri, groups)| Shard { uri, groups })
        .collect();
    let by_guid = (0..)
        .zip(&shards)
        .flat_map(|(number, shard)| {
            shard.groups.iter().flat_map(move |g| g.guids.iter().map(move |guid| (guid.clone(), number)))
        })
        .collect();
    let names: Vec<String> = columns.keys().cloned().collect();
    let mut set = Set {
        shards,
        by_guid,
        columns,
        relations: Map::default(),
        open: Mutex::default(),
        closed: AtomicUsize::new(0),
        indexes: Mutex::default(),
    };
    let row_views = views::known().iter().filter(|v| v.scope == Scope::Rows).map(|v| v.name.to_string());
    for name in names.into_iter().chain(row_views) {
        let first = set.connect(0, &name)?;
        let statement = first.prepare(&format!("SELECT * FROM {}", quoted(&name)))?;
        let columns = statement.columns();
        let columns = columns.map(|c| (c.name().to_string(), c.decl_type().unwrap_or_default().to_string()));
        set.relations.insert(name, columns.collect());
    }
    let names: Vec<String> = set.relations.keys().cloned().collect();
    const MODULE: &Module<'static, ShardTable> = &Module::read_only_module();
    connection.create_module(c"rocpd_shards", MODULE, Some(Arc::new(set)))?;
    for name in names {
        connection
            .execute_batch(&format!("CREATE VIRTUAL TABLE temp.{} USING rocpd_shards", quoted(&name)))?;
    }
    unions::create_totals(connection)
}

/// One file.
struct Shard {
    uri: String,
    groups: Vec<Group>,
}

/// Row ids by the key of some columns' values, for one file.
type Index = Map<u64, Vec<i64>>;

/// An index, or how often it would have helped.
enum Indexing {
    Asked(u32),
    Made(Arc<Index>),
}

/// (relation, columns, file)
type IndexName = (String, Vec<usize>, usize);

struct Set {
    shards: Vec<Shard>,
    by_guid: Map<String, usize>,
    /// Columns of tables.
    columns: BTreeMap<String, Vec<String>>,
    /// Columns and declared types of tables and row views.
    relations: Map<String, Vec<(String, String)>>,
    /// Open files that no cursor uses.
    open: Mutex<Vec<(usize, String, Connection)>>,
    /// Grows with every file closed to make room.
    closed: AtomicUsize,
    indexes: Mutex<Map<IndexName, Indexing>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Set {
    /// A connection to a file that knows one table or row view.
    fn connect(&self, shard: usize, relation: &str) -> Result<Connection> {
        {
            let mut open = lock(&self.open);
            if let Some(at) = open.iter().rposition(|(number, name, _)| *number == shard && name == relation)
            {
                return Ok(open.remove(at).2);
            }
        }
        let connection = file::open(&self.shards[shard].uri)?;
        let groups: Vec<(String, &Group)> =
            self.shards[shard].groups.iter().map(|group| ("main".to_string(), group)).collect();
        unions::create_one(&connection, &groups, &self.columns, relation)?;
        Ok(connection)
    }

    fn put_back(&self, shard: usize, relation: &str, connection: Connection) {
        let mut open = lock(&self.open);
        if open.len() == OPEN_FILES {
            // Queries walk the files in order, over and over, so closing the oldest would be worst.
            let any = self.closed.fetch_add(7_919, Ordering::Relaxed) % OPEN_FILES;
            open.swap_remove(any);
        }
        open.push((shard, relation.to_string(), connection));
    }

    /// The index of some columns of a relation in a file, once it pays off.
    fn index(
        &self,
        relation: &str,
        columns: &[usize],
        id: usize,
        shard: usize,
    ) -> Result<Option<Arc<Index>>> {
        let name = (relation.to_string(), columns.to_vec(), shard);
        match lock(&self.indexes).entry(name.clone()).or_insert(Indexing::Asked(0)) {
            Indexing::Made(index) => return Ok(Some(index.clone())),
            Indexing::Asked(times) if *times < LOOKUPS_BEFORE_INDEX => {
                *times += 1;
                return Ok(None);
            }
            Indexing::Asked(_) => {}
        }
        let list = &self.relations[relation];
        let select: Vec<String> = [id].iter().chain(columns).map(|&c| quoted(&list[c].0)).collect();
        let connection = self.connect(shard, relation)?;
        let mut index = Index::default();
        {
            let mut statement =
                connection.prepare(&format!("SELECT {} FROM {}", select.join(", "), quoted(relation)))?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let keys = (1..=columns.len()).map(|i| plan::key(row.get_ref(i).unwrap_or(ValueRef::Null)));
                if let (Ok(id), Some(key)) = (row.get(0), whole_key(keys)) {
                    index.entry(key).or_default().push(id);
                }
            }
        }
        self.put_back(shard, relation, connection);
        let index = Arc::new(index);
        lock(&self.indexes).insert(name, Indexing::Made(index.clone()));
        Ok(Some(index))
    }
}

/// One key for several columns; `None` if one of them is NULL.
fn whole_key(keys: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    keys.into_iter().try_fold(0, |whole, key| Some(plan::combine(whole, key?)))
}

/// A virtual table over all files.
#[repr(C)]
struct ShardTable {
    base: sqlite3_vtab,
    set: Arc<Set>,
    relation: String,
    id: Option<usize>,
    guid: Option<usize>,
}

// SAFETY: the struct is `repr(C)` and begins with SQLite's base struct.
unsafe impl<'vtab> VTab<'vtab> for ShardTable {
    type Aux = Arc<Set>;
    type Cursor = ShardCursor<'vtab>;

    fn connect(
        _: &mut VTabConnection,
        aux: Option<&Self::Aux>,
        _module: &[u8],
        _database: &[u8],
        table: &[u8],
        _arguments: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        let set = aux.ok_or_else(|| Error::ModuleError("no databases".into()))?.clone();
        let relation = String::from_utf8_lossy(table).into_owned();
        let columns = set
            .relations
            .get(&relation)
            .ok_or_else(|| Error::ModuleError(format!("no such table: {relation}")))?;
        let list: Vec<String> =
            columns.iter().map(|(name, declared)| format!("{} {declared}", quoted(name))).collect();
        let sql = CString::new(format!("CREATE TABLE x({})", list.join(", ")))?;
        let place = |wanted: &str| columns.iter().position(|(name, _)| name == wanted);
        let (id, guid) = (place("id"), place("guid"));
        Ok((Cow::Owned(sql), ShardTable { base: sqlite3_vtab::default(), set, relation, id, guid }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let plan = Plan::choose(info, |_, _| true);
        let files = self.set.shards.len() as f64;
        let is_equal = |column: Option<usize>| column.is_some_and(|c| plan.has(c, Compare::Equal));
        let one_file = is_equal(self.guid);
        let searched = if one_file { 1.0 } else { files };
        let others = plan.equal().filter(|c| Some(*c) != self.guid).count();
        const ROWS: f64 = 20_000.0;
        let (cost, rows) = match (is_equal(self.id), others) {
            (true, _) => (searched * 20.0, 1.0),
            (false, 0) => (searched * ROWS * 4.0, searched * ROWS),
            // An index of the file answers it once it is used often.
            (false, n) => (searched * 200.0 / n as f64, searched * 5.0),
        };
        info.set_estimated_cost(cost);
        info.set_estimated_rows(rows as i64);
        info.set_idx_str(&plan.encode());
        Ok(true)
    }

    fn open(&'vtab mut self) -> Result<ShardCursor<'vtab>> {
        Ok(ShardCursor {
            base: sqlite3_vtab_cursor::default(),
            set: self.set.clone(),
            relation: self.relation.clone(),
            id: self.id,
            guid: self.guid,
            plan: Plan::default(),
            values: Vec::new(),
            files: 0..0,
            running: None,
            has_row: false,
            row: 0,
            table: PhantomData,
        })
    }
}

impl CreateVTab<'_> for ShardTable {
    const KIND: VTabKind = VTabKind::Default;
}

#[repr(C)]
struct ShardCursor<'vtab> {
    base: sqlite3_vtab_cursor,
    set: Arc<Set>,
    relation: String,
    id: Option<usize>,
    guid: Option<usize>,
    plan: Plan,
    values: Vec<Value>,
    files: std::ops::Range<usize>,
    running: Option<Running>,
    has_row: bool,
    row: i64,
    table: PhantomData<&'vtab ShardTable>,
}

impl ShardCursor<'_> {
    /// Starts on the next file that may have rows.
    fn next_file(&mut self) -> Result<bool> {
        while let Some(shard) = self.files.next() {
            let (terms, ids) = self.what_to_ask(shard)?;
            if ids.as_ref().is_some_and(Vec::is_empty) {
                continue;
            }
            let sql = self.sql(&terms, ids.as_deref());
            let values: Vec<Value> = terms.iter().map(|&i| self.values[i].clone()).collect();
            let same = self.running.as_ref().is_some_and(|r| r.shard == shard && r.sql == sql);
            if !same {
                self.stop();
                self.running = Some(Running::start(shard, self.set.connect(shard, &self.relation)?, sql)?);
            }
            if let Some(running) = &mut self.running {
                running.run(&values)?;
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// The comparisons to pass to a file, and the ids to look up there if an index has them.
    fn what_to_ask(&self, shard: usize) -> Result<(Vec<usize>, Option<Vec<i64>>)> {
        let all: Vec<usize> = (0..self.plan.terms.len()).collect();
        let by_id = self.id.is_some_and(|id| self.plan.has(id, Compare::Equal));
        let keyed: Vec<usize> = all
            .iter()
            .copied()
            .filter(|&i| {
                let term = self.plan.terms[i];
                term.compare == Compare::Equal && Some(term.column) != self.guid
            })
            .collect();
        let Some(id) = self.id.filter(|_| !by_id && !keyed.is_empty()) else { return Ok((all, None)) };
        let columns: Vec<usize> = keyed.iter().map(|&i| self.plan.terms[i].column).collect();
        let Some(index) = self.set.index(&self.relation, &columns, id, shard)? else {
            return Ok((all, None));
        };
        let key = whole_key(keyed.iter().map(|&i| plan::key((&self.values[i]).into())));
        Ok((Vec::new(), Some(key.and_then(|key| index.get(&key).cloned()).unwrap_or_default())))
    }

    fn sql(&self, terms: &[usize], ids: Option<&[i64]>) -> String {
        let columns = &self.set.relations[&self.relation];
        let list: Vec<String> = (0..)
            .zip(columns)
            .map(|(i, (name, _))| if self.plan.reads(i) { quoted(name) } else { "NULL".into() })
            .collect();
        let mut conditions: Vec<String> = terms
            .iter()
            .map(|&i| self.plan.terms[i])
            .map(|t| format!("{} {} ?", quoted(&columns[t.column].0), t.compare.sql()))
            .collect();
        if let Some(ids) = ids {
            let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
            conditions.push(format!("id IN ({})", ids.join(", ")));
        }
        let filter = if conditions.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", conditions.join(" AND "))
        };
        format!("SELECT {} FROM {}{filter}", list.join(", "), quoted(&self.relation))
    }

    fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            let (shard, connection) = running.end();
            self.set.put_back(shard, &self.relation, connection);
        }
    }
}

impl Drop for ShardCursor<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

// SAFETY: the struct is `repr(C)` and begins with SQLite's base struct.
unsafe impl VTabCursor for ShardCursor<'_> {
    fn filter(&mut self, _: c_int, text: Option<&str>, arguments: &Filters<'_>) -> Result<()> {
        self.plan = Plan::decode(text.unwrap_or_default());
        self.values = arguments.iter().map(owned).collect();
        let all = 0..self.set.shards.len();
        let guid =
            self.plan.terms.iter().position(|t| t.compare == Compare::Equal && Some(t.column) == self.guid);
        self.files = match guid.map(|i| &self.values[i]) {
            Some(Value::Text(guid)) => self.set.by_guid.get(guid).map_or(0..0, |&shard| shard..shard + 1),
            _ => all,
        };
        self.row = 0;
        self.has_row = self.next_file()?;
        if self.has_row { self.next() } else { Ok(()) }
    }

    fn next(&mut self) -> Result<()> {
        loop {
            if let Some(running) = &mut self.running
                && running.step()?
            {
                self.row += 1;
                return Ok(());
            }
            if !self.next_file()? {
                self.has_row = false;
                return Ok(());
            }
        }
    }

    fn eof(&self) -> bool {
        !self.has_row
    }

    fn column(&self, context: &mut Context, i: c_int) -> Result<()> {
        let value = self.running.as_ref().map_or(ValueRef::Null, |running| running.value(i as usize));
        context.set_result(ToSqlOutput::Borrowed(value))
    }

    fn rowid(&self) -> Result<i64> {
        Ok(self.row)
    }
}

/// A statement that runs on a file's connection and owns the connection.
struct Running {
    shard: usize,
    sql: String,
    connection: *mut Connection,
    statement: *mut Statement<'static>,
    rows: Option<rusqlite::Rows<'static>>,
}

impl Running {
    fn start(shard: usize, connection: Connection, sql: String) -> Result<Running> {
        let connection = Box::into_raw(Box::new(connection));
        // SAFETY: the connection does not move until `end` or `drop`, which free the statement first.
        match unsafe { (*connection).prepare(&sql) } {
            Ok(statement) => {
                let statement = Box::into_raw(Box::new(statement));
                Ok(Running { shard, sql, connection, statement, rows: None })
            }
            Err(error) => {
                // SAFETY: nothing refers to the connection any more.
                drop(unsafe { Box::from_raw(connection) });
                Err(error)
            }
        }
    }

    fn run(&mut self, values: &[Value]) -> Result<()> {
        self.rows = None;
        // SAFETY: the rows that borrowed the statement are gone; the new ones are dropped before it is freed.
        let statement = unsafe { &mut *self.statement };
        for (i, value) in values.iter().enumerate() {
            statement.raw_bind_parameter(i + 1, value)?;
        }
        self.rows = Some(statement.raw_query());
        Ok(())
    }

    fn step(&mut self) -> Result<bool> {
        match &mut self.rows {
            Some(rows) => Ok(rusqlite::Rows::next(rows)?.is_some()),
            None => Ok(false),
        }
    }

    fn value(&self, i: usize) -> ValueRef<'_> {
        let row = self.rows.as_ref().and_then(FallibleStreamingIterator::get);
        row.and_then(|row| row.get_ref(i).ok()).unwrap_or(ValueRef::Null)
    }

    fn end(mut self) -> (usize, Connection) {
        self.free_statement();
        // SAFETY: the statement is gone, so the connection can be moved; `drop` checks for the null pointer.
        let connection =
            unsafe { Box::from_raw(std::mem::replace(&mut self.connection, std::ptr::null_mut())) };
        (self.shard, *connection)
    }

    fn free_statement(&mut self) {
        self.rows = None;
        if !self.statement.is_null() {
            // SAFETY: it came from a box, and nothing borrows it any more.
            drop(unsafe { Box::from_raw(std::mem::replace(&mut self.statement, std::ptr::null_mut())) });
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.free_statement();
        if !self.connection.is_null() {
            // SAFETY: it came from a box, and its statement is gone.
            drop(unsafe { Box::from_raw(self.connection) });
        }
    }
}

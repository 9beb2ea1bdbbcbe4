//! SQL on an open trace: the inputs are opened once, statements have limits of rows and time.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use app::query::{Session, names_ops, open, query_pieces};
use app::{Input, Observer};
use report::{Report, Table};

use crate::desk::locked;
use crate::refusal::Refusal;

/// More rows than this are not useful to an agent.
const MOST_ROWS: usize = 10_000;
/// Time limit of a statement.
const LONGEST: Duration = Duration::from_secs(10);
/// SQLite steps between two checks of the clock.
const STEPS: i32 = 10_000;

/// Inputs that are open for statements.
pub struct Sql {
    session: Session,
    ends: Arc<Mutex<Option<Instant>>>,
}

impl Sql {
    fn open(input: &Input, sql: Option<&str>, observer: &dyn Observer) -> Result<Self, Refusal> {
        let mut session = open(input, sql, observer)?;
        let ends: Arc<Mutex<Option<Instant>>> = Arc::default();
        let clock = ends.clone();
        let late = move || locked(&clock).is_some_and(|ends| Instant::now() > ends);
        session.watch(STEPS, late).map_err(|error| Refusal::from(app::Failure::from(error)))?;
        Ok(Self { session, ends })
    }

    fn run(&self, sql: &str) -> Result<Report, Refusal> {
        *locked(&self.ends) = Some(Instant::now() + LONGEST);
        let mut found: Option<Table> = None;
        let ran = query_pieces(&self.session, sql, MOST_ROWS + 1, &mut |piece, _| {
            match &mut found {
                Some(table) => table.rows.extend(piece.rows.iter().cloned()),
                None => found = Some(piece.clone()),
            }
            true
        });
        let late = locked(&self.ends).take().is_some_and(|ends| Instant::now() > ends);
        if let Err(failure) = ran {
            return Err(match late {
                true => Refusal::new(format!("the statement was stopped after {} s", LONGEST.as_secs()))
                    .with_help("aggregate, join on id, or look at a shorter time"),
                false => failure.into(),
            });
        }
        let mut report = Report { command: "query".into(), ..Report::default() };
        if let Some(table) = found {
            if table.rows.len() > MOST_ROWS {
                return Err(Refusal::new(format!("the statement gives more than {MOST_ROWS} rows"))
                    .with_help("aggregate in SQL (GROUP BY, count, sum), or add LIMIT and OFFSET"));
            }
            report.tables.push(table);
        }
        Ok(report)
    }
}

/// Runs statements on a trace; the session is kept for the next ones.
pub fn run(
    kept: &Mutex<Option<Sql>>,
    path: PathBuf,
    sql: &str,
    observer: &dyn Observer,
) -> Result<Report, Refusal> {
    let input = Input::of(vec![path]);
    // The tables of ops are only made for a statement that names them.
    if names_ops(sql) {
        return Sql::open(&input, Some(sql), observer)?.run(sql);
    }
    let mut kept = locked(kept);
    opened(&mut kept, &input, observer)?.run(sql)
}

/// Opens a trace for statements before someone asks.
pub fn prepare(kept: &Mutex<Option<Sql>>, path: PathBuf, observer: &dyn Observer) {
    // The error is returned to the client that asks.
    let _ = opened(&mut locked(kept), &Input::of(vec![path]), observer);
}

fn opened<'a>(kept: &'a mut Option<Sql>, input: &Input, observer: &dyn Observer) -> Result<&'a Sql, Refusal> {
    if kept.is_none() {
        *kept = Some(Sql::open(input, None, observer)?);
    }
    kept.as_ref().ok_or_else(|| Refusal::new("the trace could not be opened for SQL"))
}

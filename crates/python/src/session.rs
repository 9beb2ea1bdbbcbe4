//! SQL on inputs that were opened.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use app::query::{Rows, Session, SqlValue, names_ops};
use app::{Failure, Input, Kept};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::failure::Failed;
use crate::report::NativeReport;
use crate::work::{interruptible, work};

/// A session that several threads may ask, one at a time.
pub type Shared = Arc<Mutex<Session>>;

/// The session of a handle, once it is worth keeping.
#[derive(Default)]
pub struct Opened {
    kept: Option<Shared>,
    asked: usize,
}

/// A session on inputs: the first statements read only the tables they name, later ones use a full session.
pub fn open(
    opened: &Mutex<Opened>,
    py: Python<'_>,
    input: &Input,
    sql: Option<&str>,
    kept: Arc<Kept>,
) -> Result<Shared, Failed> {
    let narrowed = {
        let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.asked += 1;
        let narrowed = sql.filter(|sql| opened.asked == 1 || names_ops(sql));
        match (&opened.kept, narrowed) {
            (Some(session), None) => return Ok(Arc::clone(session)),
            (_, narrowed) => narrowed.map(str::to_string),
        }
    };
    let (input, is_kept) = (input.clone(), narrowed.is_none());
    let session =
        work(py, Some(kept), move |observer| app::query::open(&input, narrowed.as_deref(), observer))?;
    let session = Arc::new(Mutex::new(session));
    if is_kept {
        opened.lock().unwrap_or_else(PoisonError::into_inner).kept = Some(Arc::clone(&session));
    }
    Ok(session)
}

/// Runs something on a session; Ctrl-C stops the statement.
fn on<T: Send + 'static>(
    session: &Shared,
    py: Python<'_>,
    run: impl FnOnce(&Session) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failed> {
    let handle = py.detach(|| lock(session).interrupt_handle());
    let session = Arc::clone(session);
    let result = interruptible(py, None, || handle.interrupt(), move |_| run(&lock(&session)));
    result.map_err(|failed| match failed {
        Failed::Request(failure) => Failed::Sql(failure),
        other => other,
    })
}

fn lock(session: &Shared) -> std::sync::MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Inputs that can be queried.
#[pyclass(frozen, module = "rocm_perf._rocm_perf")]
pub struct NativeSession(Shared);

#[pymethods]
impl NativeSession {
    /// Runs statements with values for their `?`; gives names of columns and rows.
    #[pyo3(signature = (sql, values = None))]
    fn execute<'py>(
        &self,
        py: Python<'py>,
        sql: String,
        values: Option<&Bound<'py, PyAny>>,
    ) -> Result<(Vec<String>, Bound<'py, PyList>), Failed> {
        let values = values.map_or(Ok(Vec::new()), sql_values)?;
        let Rows { columns, rows } =
            on(&self.0, py, move |session| app::query::rows(session, &sql, &values))?;
        let list = PyList::empty(py);
        for row in rows {
            let cells = row.into_iter().map(|value| python_value(py, value)).collect::<PyResult<Vec<_>>>()?;
            list.append(PyTuple::new(py, cells)?)?;
        }
        Ok((columns, list))
    }

    /// Tables and views with the names of their columns.
    fn relations(&self, py: Python<'_>) -> Result<Vec<(String, Vec<String>)>, Failed> {
        on(&self.0, py, |session| {
            let columns = |relation: app::query::Relation| {
                (relation.name, relation.columns.into_iter().map(|column| column.name).collect())
            };
            Ok(session.relations().into_iter().map(columns).collect())
        })
    }
}

impl NativeSession {
    pub fn of(session: Shared) -> Self {
        Self(session)
    }

    /// Runs statements; the report has all rows of the last one's result.
    pub fn query(
        session: &Shared,
        py: Python<'_>,
        sql: String,
        paths: Vec<PathBuf>,
    ) -> Result<NativeReport, Failed> {
        Ok(NativeReport::of(on(session, py, move |session| app::query::query(session, &paths, &sql, 0))?))
    }
}

fn sql_values(values: &Bound<'_, PyAny>) -> Result<Vec<SqlValue>, Failed> {
    values.try_iter()?.map(|value| Ok(sql_value(&value?)?)).collect()
}

fn sql_value(value: &Bound<'_, PyAny>) -> PyResult<SqlValue> {
    if value.is_none() {
        return Ok(SqlValue::Null);
    }
    if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyInt>() {
        return Ok(SqlValue::Integer(value.extract()?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(SqlValue::Real(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(SqlValue::Text(value.extract()?));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(SqlValue::Blob(bytes.as_bytes().to_vec()));
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("a value of SQL is None, int, float, str or bytes, not {kind}")))
}

fn python_value(py: Python<'_>, value: SqlValue) -> PyResult<Bound<'_, PyAny>> {
    match value {
        SqlValue::Null => Ok(py.None().into_bound(py)),
        SqlValue::Integer(number) => number.into_bound_py_any(py),
        SqlValue::Real(number) => number.into_bound_py_any(py),
        SqlValue::Text(text) => text.into_bound_py_any(py),
        SqlValue::Blob(bytes) => Ok(PyBytes::new(py, &bytes).into_any()),
    }
}

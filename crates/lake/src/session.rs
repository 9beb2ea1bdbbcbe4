//! SQL on a lake in this process.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use futures::StreamExt;
use tokio::runtime::Runtime;

use crate::rows::{Cell, Piece, Take};
use crate::store::Stores;
use crate::{Address, Engine, Error, Lake, Partition, tables};

/// Memory for a query if the machine's memory is unknown.
const SOME_MEMORY: usize = 4 << 30;

/// A lake that can be queried.
pub struct Session {
    runtime: Runtime,
    context: SessionContext,
    unfinished: BTreeSet<Partition>,
}

impl Session {
    /// Opens a lake; queries use half of the machine's memory at most, then they use the disk.
    pub fn open(address: &Address) -> Result<Self, Error> {
        let failed = |why: String| Error::Store { lake: address.to_string(), doing: "read", why };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            // Plans are trees that are walked recursively.
            .thread_stack_size(16 << 20)
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let environment = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(FairSpillPool::new(half_of_memory())))
            .with_object_store_registry(Arc::new(Stores::default()))
            .build_arc()
            .map_err(|error| failed(error.to_string()))?;
        let config = settings(SessionConfig::new());
        let context = SessionContext::new_with_config_rt(config, environment);
        let unfinished = runtime.block_on(async {
            let lake = Lake::open(address).await?;
            let unfinished = lake.unfinished().await?;
            let whole = lake.whole().await?;
            tables::register(&context, &lake, &whole).await.map_err(|error| failed(error.to_string()))?;
            Ok::<_, Error>(unfinished)
        })?;
        Ok(Self { runtime, context, unfinished })
    }

    /// Ranks that are half-written, which queries do not see.
    pub fn unfinished(&self) -> &BTreeSet<Partition> {
        &self.unfinished
    }
}

impl Engine for Session {
    fn run(&self, sql: &str, take: &mut Take<'_>) -> Result<(), Error> {
        self.runtime.block_on(async {
            let rows = checked(&self.context, sql).await?;
            send(rows, take).await.map_err(explain)
        })
    }
}

/// Settings shared by all engines, so that all give the same rows.
pub fn settings(config: SessionConfig) -> SessionConfig {
    let mut config = config.with_information_schema(true);
    // rocpd's views are sorted, and people look at the first rows of them.
    config.options_mut().sql_parser.enable_subquery_sort_elimination = false;
    config
}

/// Plans one statement that only reads.
pub async fn checked(context: &SessionContext, sql: &str) -> Result<DataFrame, Error> {
    let only_reads =
        SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    context.sql_with_options(sql, only_reads).await.map_err(explain)
}

/// Runs a plan and hands its rows over.
pub async fn send(rows: DataFrame, take: &mut Take<'_>) -> Result<(), DataFusionError> {
    let columns: Vec<String> = rows.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mut stream = rows.execute_stream().await?;
    if !take(Piece { columns: columns.clone(), rows: Vec::new() }) {
        return Ok(());
    }
    while let Some(batch) = stream.next().await {
        let rows = cells(&batch?)?;
        if !rows.is_empty() && !take(Piece { columns: columns.clone(), rows }) {
            break;
        }
    }
    Ok(())
}

/// The engine's error for a statement, without the names of its modules.
pub fn explain(error: DataFusionError) -> Error {
    let root = error.find_root();
    let message = root.strip_backtrace();
    let message = ["Error during planning: ", "Schema error: ", "SQL error: ", "Execution error: "]
        .iter()
        .fold(message, |text, start| text.strip_prefix(start).map(str::to_string).unwrap_or(text));
    let message = message.replace("datafusion.public.", "");
    let (message, rest) = match message.split_once('\n') {
        Some((first, rest)) => (first.to_string(), Some(rest.replace('\n', " "))),
        None => (message, None),
    };
    let mut hint = rest;
    if message.contains("table '") && message.contains("not found") {
        let names: Vec<&str> = tables::names().collect();
        hint = Some(format!("there are {}", names.join(", ")));
    } else if message.starts_with("DDL") || message.starts_with("DML") || message.starts_with("Statement") {
        hint = Some("a query only reads: begin it with SELECT or WITH".into());
    }
    Error::Sql { message, hint }
}

/// Half of the machine's memory: what queries may use before they use the disk.
pub fn half_of_memory() -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = total.and_then(|text| text.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok());
    kilobytes.map_or(SOME_MEMORY, |kilobytes| kilobytes * 1024 / 2)
}

/// The rows of a batch.
fn cells(batch: &RecordBatch) -> Result<Vec<Vec<Cell>>, ArrowError> {
    let mut rows = vec![Vec::with_capacity(batch.num_columns()); batch.num_rows()];
    for column in batch.columns() {
        for (row, cell) in rows.iter_mut().zip(column_cells(column)?) {
            row.push(cell);
        }
    }
    Ok(rows)
}

fn column_cells(column: &Arc<dyn Array>) -> Result<Vec<Cell>, ArrowError> {
    use DataType as T;
    let known = |row: usize| column.is_valid(row);
    let rows = 0..column.len();
    Ok(match column.data_type() {
        T::Null => vec![Cell::Null; column.len()],
        T::Boolean
        | T::Int8
        | T::Int16
        | T::Int32
        | T::Int64
        | T::UInt8
        | T::UInt16
        | T::UInt32
        | T::UInt64 => {
            let numbers = cast(column, &T::Int64)?;
            let numbers = numbers.as_primitive::<Int64Type>();
            let cell = |row| if numbers.is_valid(row) { Cell::Int(numbers.value(row)) } else { Cell::Null };
            rows.map(cell).collect()
        }
        T::Float16 | T::Float32 | T::Float64 | T::Decimal128(..) | T::Decimal256(..) => {
            let numbers = cast(column, &T::Float64)?;
            let numbers = numbers.as_primitive::<Float64Type>();
            let is_number = |row| numbers.is_valid(row) && !numbers.value(row).is_nan();
            rows.map(|row| if is_number(row) { Cell::Real(numbers.value(row)) } else { Cell::Null }).collect()
        }
        _ => {
            let texts = ArrayFormatter::try_new(column, &FormatOptions::default())?;
            let cell = |row| if known(row) { Cell::Text(texts.value(row).to_string()) } else { Cell::Null };
            rows.map(cell).collect()
        }
    })
}

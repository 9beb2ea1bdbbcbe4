//! One table as a Parquet file: row groups, written column by column, so that memory holds only one column of
//! a group.

use std::io;
use std::path::Path;
use std::sync::Arc;

use formats::secrets::redact_text;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};
use trace::{Map, Trace};

use super::columns::{Column, TextOf, Values};
use super::tables::Table;
use files::OutputFile;

/// Rows per row group: the unit of work for readers.
pub(super) const GROUP: usize = 1 << 19;

/// Rows written at once.
const BATCH: usize = 1 << 13;

/// Distinct strings of a column and row group are stored once up to this size.
const DICTIONARY_BYTES: usize = 4 << 20;

/// Writes a table to a temporary file; the caller renames it.
pub(super) fn write(trace: &Trace, table: &Table, target: &Path) -> io::Result<(OutputFile, u64)> {
    let output = OutputFile::create(target)?;
    let mut output = fill(trace, table.name, (table.rows)(trace), &(table.columns)(), GROUP, output)?;
    let bytes = output.file()?.metadata()?.len();
    Ok((output, bytes))
}

/// Writes rows of a table to any output, in groups of this many rows.
pub(super) fn fill<W: io::Write + Send>(
    trace: &Trace,
    table: &str,
    rows: usize,
    columns: &[Column],
    group: usize,
    output: W,
) -> io::Result<W> {
    fill_groups(trace, table, rows, columns, group, output).map_err(failure)
}

fn fill_groups<W: io::Write + Send>(
    trace: &Trace,
    table: &str,
    rows: usize,
    columns: &[Column],
    group: usize,
    output: W,
) -> Result<W, ParquetError> {
    let mut writer = SerializedFileWriter::new(output, schema(table, columns)?, properties(table, columns))?;
    for start in (0..rows).step_by(group) {
        let rows = start..rows.min(start + group);
        let mut group = writer.next_row_group()?;
        for column in columns {
            let Some(mut chunk) = group.next_column()? else { break };
            match (&column.values, chunk.untyped()) {
                (Values::Time(of), ColumnWriter::Int64ColumnWriter(chunk)) => {
                    required(chunk, rows.clone(), |row| of(trace, row))?;
                }
                (Values::Number(of) | Values::Code(of), ColumnWriter::Int64ColumnWriter(chunk)) => {
                    optional(chunk, rows.clone(), |row| of(trace, row))?;
                }
                (Values::Real(of), ColumnWriter::DoubleColumnWriter(chunk)) => {
                    optional(chunk, rows.clone(), |row| of(trace, row))?;
                }
                (Values::CommandLine(of), ColumnWriter::ByteArrayColumnWriter(chunk)) => {
                    let text = |row| of(trace, row).map(|text| ByteArray::from(redact_text(text).as_ref()));
                    optional(chunk, rows.clone(), text)?;
                }
                (Values::Text(of), ColumnWriter::ByteArrayColumnWriter(chunk)) => {
                    let mut texts = Texts { trace, of, known: Map::default() };
                    optional(chunk, rows.clone(), |row| texts.get(row))?;
                }
                _ => return Err(ParquetError::General(format!("column {} has another type", column.name))),
            }
            chunk.close()?;
        }
        group.close()?;
    }
    writer.into_inner()
}

fn schema(table: &str, columns: &[Column]) -> Result<Arc<Type>, ParquetError> {
    let field = |column: &Column| {
        let (physical, repetition, logical) = match column.values {
            Values::Time(_) => (Physical::INT64, Repetition::REQUIRED, None),
            Values::Number(_) | Values::Code(_) => (Physical::INT64, Repetition::OPTIONAL, None),
            Values::Real(_) => (Physical::DOUBLE, Repetition::OPTIONAL, None),
            Values::Text(_) | Values::CommandLine(_) => {
                (Physical::BYTE_ARRAY, Repetition::OPTIONAL, Some(LogicalType::String))
            }
        };
        let builder = Type::primitive_type_builder(column.name, physical);
        Ok(Arc::new(builder.with_repetition(repetition).with_logical_type(logical).build()?))
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, ParquetError>>()?;
    Ok(Arc::new(Type::group_type_builder(table).with_fields(fields).build()?))
}

fn properties(table: &str, columns: &[Column]) -> Arc<WriterProperties> {
    let facts = vec![KeyValue::new("rocm-perf.table".to_string(), table.to_string())];
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("rocm-perf {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(facts))
        .set_compression(Compression::SNAPPY)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for column in columns {
        if let Values::Time(_) | Values::Number(_) = column.values {
            let path = ColumnPath::from(column.name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    Arc::new(properties.build())
}

fn required<T: DataType>(
    chunk: &mut ColumnWriterImpl<'_, T>,
    mut rows: std::ops::Range<usize>,
    of: impl Fn(usize) -> T::T,
) -> Result<(), ParquetError> {
    let mut values = Vec::with_capacity(BATCH);
    while !rows.is_empty() {
        values.clear();
        values.extend(rows.by_ref().take(BATCH).map(&of));
        chunk.write_batch(&values, None, None)?;
    }
    Ok(())
}

fn optional<T: DataType>(
    chunk: &mut ColumnWriterImpl<'_, T>,
    mut rows: std::ops::Range<usize>,
    mut of: impl FnMut(usize) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let (mut values, mut present) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    while !rows.is_empty() {
        values.clear();
        present.clear();
        for row in rows.by_ref().take(BATCH) {
            let value = of(row);
            present.push(i16::from(value.is_some()));
            values.extend(value);
        }
        chunk.write_batch(&values, Some(&present), None)?;
    }
    Ok(())
}

/// Strings for Parquet: repeated ones are shared, not copied.
struct Texts<'t> {
    trace: &'t Trace,
    of: &'t TextOf,
    /// By address, which for names of a trace identifies the string.
    known: Map<(usize, usize), ByteArray>,
}

/// Maximum strings to remember.
const MOST_TEXTS: usize = 1 << 12;

impl Texts<'_> {
    fn get(&mut self, row: usize) -> Option<ByteArray> {
        let text = (self.of)(self.trace, row)?;
        if self.known.len() >= MOST_TEXTS {
            self.known.clear();
        }
        let place = (text.as_ptr() as usize, text.len());
        Some(self.known.entry(place).or_insert_with(|| ByteArray::from(text)).clone())
    }
}

fn failure(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

//! The tables of a lake as an engine sees them: files, the ranks that are whole, and rocpd's views over those.

use std::collections::BTreeSet;
use std::sync::Arc;

use convert::parquet::dataset::{self, Holds};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::MemorySchemaProvider;
use datafusion::datasource::ViewTable;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::error::{DataFusionError, Result};
use datafusion::prelude::SessionContext;
use trace::COLUMNAR_TABLES;

use crate::{Lake, Partition};

/// Columns that come from folder names.
pub(crate) const WITHOUT: &[&str] = &["rank"];

/// The table and column of a region's self time: without the regions inside it.
pub(crate) const SELF_TIME: (&str, &str) = ("regions", "self_duration");

/// The columns that files are partitioned by.
const PARTITIONS: [(&str, DataType); 3] =
    [("run", DataType::Utf8), ("node", DataType::Utf8), ("rank", DataType::Int64)];

/// Schema of the tables over all files.
const FILES: &str = "files";

/// Schema of the tables over complete ranks.
const WHOLE: &str = "whole";

/// rocpd's views; each uses only those before it.
const VIEWS: &[(&str, &str)] = &[
    ("kernels", include_str!("views/kernels.sql")),
    ("regions", include_str!("views/regions.sql")),
    ("memory_copies", include_str!("views/memory_copies.sql")),
    ("memory_allocations", include_str!("views/memory_allocations.sql")),
    ("samples", include_str!("views/samples.sql")),
    ("region_args", include_str!("views/region_args.sql")),
    ("pmc_events", include_str!("views/pmc_events.sql")),
    ("hip_events", include_str!("views/hip_events.sql")),
    ("processes", include_str!("views/processes.sql")),
    ("markers", include_str!("views/markers.sql")),
    ("ranks", include_str!("views/ranks.sql")),
    ("top_kernels", include_str!("views/top_kernels.sql")),
    ("top", include_str!("views/top.sql")),
    ("busy", include_str!("views/busy.sql")),
    ("kernel_summary", include_str!("views/kernel_summary.sql")),
    ("memory_copy_summary", include_str!("views/memory_copy_summary.sql")),
    ("memory_allocation_summary", include_str!("views/memory_allocation_summary.sql")),
];

/// Names that a query can use.
pub fn names() -> impl Iterator<Item = &'static str> {
    let as_they_are = COLUMNAR_TABLES.into_iter().filter(|table| VIEWS.iter().all(|(view, _)| view != table));
    VIEWS.iter().map(|(name, _)| *name).chain(as_they_are)
}

/// Registers the complete ranks of a lake with a context.
pub async fn register(context: &SessionContext, lake: &Lake, whole: &BTreeSet<Partition>) -> Result<()> {
    let catalog = context
        .catalog("datafusion")
        .ok_or_else(|| DataFusionError::Plan("the context has no catalog of its own".into()))?;
    for schema in [FILES, WHOLE] {
        catalog.register_schema(schema, Arc::new(MemorySchemaProvider::new()))?;
    }
    let only_whole = only_whole(whole);
    for table in COLUMNAR_TABLES {
        context.register_table(format!("{FILES}.{table}"), files_of(table, &lake.table_url(table))?)?;
        define(context, &format!("{WHOLE}.{table}"), &format!("SELECT * FROM {FILES}.{table}{only_whole}"))
            .await?;
    }
    for (name, select) in VIEWS {
        define(context, name, select).await?;
    }
    for table in COLUMNAR_TABLES.into_iter().filter(|table| VIEWS.iter().all(|(view, _)| view != table)) {
        define(context, table, &format!("SELECT * FROM {WHOLE}.{table}")).await?;
    }
    Ok(())
}

async fn define(context: &SessionContext, name: &str, select: &str) -> Result<()> {
    // The plan is kept here and becomes a part of the queries over it: a cluster knows files, not views.
    let plan = context.sql(select).await?.into_unoptimized_plan();
    context.register_table(name, Arc::new(ViewTable::new(plan, Some(select.to_string()))))?;
    Ok(())
}

/// All files of a table. The columns are given, not looked up, so that a table without files is empty and not an error.
fn files_of(table: &str, url: &str) -> Result<Arc<ListingTable>> {
    let options = ListingOptions::new(Arc::new(ParquetFormat::default()))
        .with_file_extension(".parquet")
        .with_table_partition_cols(
            PARTITIONS.iter().map(|(name, holds)| ((*name).to_string(), holds.clone())).collect(),
        );
    let mut fields: Vec<Field> = dataset::columns(table, WITHOUT)
        .iter()
        .map(|column| {
            let holds = match column.holds {
                Holds::Number => DataType::Int64,
                Holds::Real => DataType::Float64,
                Holds::Text => DataType::Utf8,
            };
            Field::new(column.name, holds, !column.required)
        })
        .collect();
    if table == SELF_TIME.0 {
        fields.push(Field::new(SELF_TIME.1, DataType::Int64, true));
    }
    let config = ListingTableConfig::new(ListingTableUrl::parse(url)?)
        .with_listing_options(options)
        .with_schema(Arc::new(Schema::new(fields)));
    Ok(Arc::new(ListingTable::try_new(config)?))
}

/// Keeps complete ranks; the folders of others are skipped, not read. Others may write while we read, so the
/// condition lists the complete ranks, not the others.
fn only_whole(whole: &BTreeSet<Partition>) -> String {
    if whole.is_empty() {
        return " WHERE 1 = 0".into();
    }
    // Parts are sorted, so that consecutive ranks of a node are one condition.
    let mut ranges: Vec<(&Partition, i64)> = Vec::new();
    for part in whole {
        match ranges.last_mut() {
            Some((first, last))
                if first.run == part.run && first.node == part.node && *last + 1 == part.rank =>
            {
                *last = part.rank;
            }
            _ => ranges.push((part, part.rank)),
        }
    }
    // Names of parts have no quotes in them.
    let one = |(first, last): &(&Partition, i64)| {
        let (run, node, rank) = (&first.run, &first.node, first.rank);
        format!("(run = '{run}' AND node = '{node}' AND rank BETWEEN {rank} AND {last})")
    };
    let all: Vec<String> = ranges.iter().map(one).collect();
    format!(" WHERE {}", all.join(" OR "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_ranks_are_one_condition() {
        let ranks = |node: &str, ranks: &[i64]| -> Vec<Partition> {
            ranks.iter().map(|&rank| Partition::new("job", node, rank)).collect()
        };
        let whole: BTreeSet<Partition> =
            ranks("a", &[0, 1, 2, 9, 10]).into_iter().chain(ranks("b", &[11])).collect();
        assert_eq!(
            only_whole(&whole),
            " WHERE (run = 'job' AND node = 'a' AND rank BETWEEN 0 AND 2) \
             OR (run = 'job' AND node = 'a' AND rank BETWEEN 9 AND 10) \
             OR (run = 'job' AND node = 'b' AND rank BETWEEN 11 AND 11)"
        );
    }
}

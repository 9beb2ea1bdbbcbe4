//! An index of rows by some columns, built when a join looks them up repeatedly.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use trace::Map;

use super::definition::TableDef;
use super::model::Model;
use crate::plan;

/// (key, row), sorted: rows of one key are in the table's order.
pub(super) type Entries = Arc<Vec<(u64, u32)>>;

/// Look-ups of one kind before an index is built; each of them costs one pass over the table.
const LOOKUPS_BEFORE_INDEX: u32 = 3;

enum Indexing {
    Asked(u32),
    Made(Entries),
}

/// The indexes of all tables.
#[derive(Default)]
pub(super) struct Indexes(Mutex<Map<(&'static str, Vec<usize>), Indexing>>);

impl Indexes {
    /// The rows of a table whose `columns` have the key `key`, and their range among the entries.
    pub fn find(
        &self,
        model: &Model,
        table: &'static TableDef,
        columns: &[usize],
        key: u64,
    ) -> (Entries, Range<usize>) {
        let mut indexes = self.0.lock().unwrap_or_else(|e| e.into_inner());
        let indexing = indexes.entry((table.name, columns.to_vec())).or_insert(Indexing::Asked(0));
        let entries = match indexing {
            Indexing::Made(entries) => entries.clone(),
            Indexing::Asked(times) if *times < LOOKUPS_BEFORE_INDEX => {
                *times += 1;
                let entries: Entries =
                    Arc::new(entries(model, table, columns).filter(|(k, _)| *k == key).collect());
                let all = 0..entries.len();
                return (entries, all);
            }
            Indexing::Asked(_) => {
                let mut made: Vec<(u64, u32)> = entries(model, table, columns).collect();
                made.sort_unstable();
                let made: Entries = Arc::new(made);
                *indexing = Indexing::Made(made.clone());
                made
            }
        };
        let from = entries.partition_point(|(k, _)| *k < key);
        let count = entries[from..].iter().take_while(|(k, _)| *k == key).count();
        (entries, from..from + count)
    }
}

fn entries<'m>(
    model: &'m Model,
    table: &'static TableDef,
    columns: &'m [usize],
) -> impl Iterator<Item = (u64, u32)> + 'm {
    (0..(table.rows)(model)).filter_map(move |row| {
        let key = columns.iter().try_fold(0, |whole, &column| {
            Some(plan::combine(whole, plan::key((table.columns[column].get)(model, row).as_value())?))
        })?;
        Some((key, row as u32))
    })
}

//! The long form of newer releases: one row per dispatch and counter, one pass after another.

use std::cmp::Ordering;
use std::path::Path;

use trace::{Map, StrId, Strings};

use super::header::{Field, Header, Role};
use super::number::number;
use super::spans::Spans;
use super::table::{Counter, Dispatch, Fields, Lines, Table, split_header, text};

/// A dispatch while its rows are gathered.
struct Gathered {
    dispatch: Dispatch,
    spans: Spans,
}

/// What identifies a dispatch across rows; all fields are whole numbers.
type Key = (i64, StrId, i64, i64, i64);

/// Reads a table with one row per dispatch and counter.
pub(super) fn read(file: &Path, bytes: &[u8], strings: &mut Strings) -> Option<Table> {
    let (names, body) = split_header(bytes)?;
    let header = Header::of(&names);
    if !header.is_dispatches() || !header.is_long() {
        return None;
    }
    let mut table = Table { file: file.into(), ..Table::default() };
    let mut found: Vec<(Key, Gathered)> = Vec::new();
    let mut places: Map<Key, usize> = Map::default();
    let mut counters: Map<Vec<u8>, usize> = Map::default();
    let mut columns: Vec<Counter> = Vec::new();
    for (line, whole) in Lines(body) {
        let mut dispatch = Dispatch::default();
        let (mut place, mut counter, mut value) = (0, None, None);
        for field in Fields(Some(line)) {
            match header.roles.get(place) {
                Some(Role::Field(Field::CounterName)) => counter = Some(field),
                Some(Role::Field(Field::CounterValue)) => value = number(field),
                Some(Role::Field(what)) => dispatch.set(*what, field, strings),
                _ => {}
            }
            place += 1;
        }
        let (Some(counter), Some(value), true) = (counter, value, place == names.len()) else {
            if whole {
                table.damaged += 1
            } else {
                table.cut = true
            }
            continue;
        };
        let whole = |number: f64| number as i64;
        let key = (
            whole(dispatch.id),
            dispatch.kernel,
            whole(dispatch.grid),
            whole(dispatch.workgroup),
            whole(dispatch.lds),
        );
        let row = *places.entry(key).or_insert_with(|| {
            found.push((key, Gathered { dispatch, spans: Spans::default() }));
            found.len() - 1
        });
        let column = match counters.get(counter) {
            Some(&column) => column,
            None => {
                let name = text(counter, strings);
                columns.push(Counter { name: strings.get(name).to_string(), values: Vec::new() });
                counters.insert(counter.to_vec(), columns.len() - 1);
                columns.len() - 1
            }
        };
        let values = &mut columns[column].values;
        if values.len() <= row {
            values.resize(row + 1, f64::NAN);
        }
        values[row] = value;
        found[row].1.spans.took(dispatch.duration());
    }
    let order = in_order(&found, strings);
    let gpus = dense_ranks(&found);
    for column in &mut columns {
        column.values =
            order.iter().map(|&row| column.values.get(row).copied().unwrap_or(f64::NAN)).collect();
    }
    for (number, &row) in order.iter().enumerate() {
        let gathered = &mut found[row].1;
        let dispatch = &mut gathered.dispatch;
        dispatch.id = number as f64;
        dispatch.gpu = gpus.get(&(dispatch.gpu as i64)).map_or(f64::NAN, |&rank| rank as f64);
        table.dispatches.push(*dispatch);
        let spans = std::mem::take(&mut gathered.spans);
        table.durations.push(spans.median());
        table.spans.push(spans);
    }
    table.counters = columns;
    Some(table)
}

/// Dispatches by number, then name and shape.
fn in_order(found: &[(Key, Gathered)], strings: &Strings) -> Vec<usize> {
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&found[a].0, &found[b].0);
        let names = || strings.get(a.1).cmp(strings.get(b.1));
        let shapes = || (a.2, a.3, a.4).cmp(&(b.2, b.3, b.4));
        a.0.cmp(&b.0).then_with(names).then_with(shapes).then(Ordering::Equal)
    });
    order
}

/// GPUs are numbered from 0 in the order of their agents.
fn dense_ranks(found: &[(Key, Gathered)]) -> Map<i64, usize> {
    let mut gpus: Vec<i64> = found.iter().map(|(_, gathered)| gathered.dispatch.gpu as i64).collect();
    gpus.sort_unstable();
    gpus.dedup();
    gpus.into_iter().enumerate().map(|(rank, gpu)| (gpu, rank)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_all_passes_become_dispatches() {
        let text = "GPU_ID,Dispatch_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Kernel_Name,Start_Timestamp,End_Timestamp,Counter_Name,Counter_Value\n\
            4,2,64,64,0,f,100,110,A,1\n\
            4,1,64,64,0,f,10,30,A,2\n\
            4,1,64,64,0,f,510,514,B,7\n\
            4,1,64,64,0,f,510,514,C,8\n\
            4,1,64,64,0,f,510,514,B,9\n";
        let mut strings = Strings::default();
        let table = read(Path::new("x"), text.as_bytes(), &mut strings).unwrap();
        assert_eq!(table.dispatches.len(), 2);
        assert_eq!(table.dispatches[0].gpu, 0.0);
        assert_eq!(table.durations, [4.0, 10.0]);
        assert_eq!(table.column("A").unwrap().values, [2.0, 1.0]);
        let b = &table.column("B").unwrap().values;
        assert!(b[0] == 9.0 && b[1].is_nan(), "the last value of a counter counts");
    }
}

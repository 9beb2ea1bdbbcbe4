//! The tables of places and of changes.

use model::names::display_name;
use report::{Column, Table, Unit, Value};

use super::super::tables::{cells, figures};
use super::{PlaceRow, Structure};

/// Most kernels named in a cell.
const MOST_KERNELS: usize = 3;

/// The tables `changes` and `places`.
pub(crate) fn tables(structure: &Structure) -> Vec<Table> {
    vec![changes(structure), places(structure)]
}

fn changes(structure: &Structure) -> Table {
    let columns = vec![
        Column::text("change"),
        Column::text("place"),
        Column::text("base"),
        Column::text("candidate"),
        Column::int("base_ns", Unit::Ns),
        Column::int("candidate_ns", Unit::Ns),
        Column::int("difference_ns", Unit::Ns).key(),
        Column::int("base_calls", Unit::None).detail(),
        Column::int("candidate_calls", Unit::None).detail(),
    ];
    let mut table = Table::new("changes", "What changed in the program", columns);
    let text = |text: &str, why: &str| if text.is_empty() { Value::absent(why) } else { Value::from(text) };
    for change in &structure.changes {
        table.push(vec![
            Value::from(change.kind.name()),
            text(&change.path, "at the top of the program"),
            text(&change.base, "not in the base"),
            text(&change.candidate, "not in the candidate"),
            Value::Int(change.base_ns),
            Value::Int(change.candidate_ns),
            Value::Int(change.candidate_ns - change.base_ns),
            Value::Float(change.base_calls),
            Value::Float(change.candidate_calls),
        ]);
    }
    table
}

fn places(structure: &Structure) -> Table {
    let own = vec![
        Column::text("path").normal(),
        Column::text("shapes").detail(),
        Column::text("match").normal(),
        Column::text("matched_name").detail(),
        Column::text("base_kernels").detail(),
        Column::text("candidate_kernels").detail(),
    ];
    let columns = [vec![Column::text("name")], figures(true), own].concat();
    let mut table = Table::new("places", "Modules and ops by the GPU work of their own", columns);
    let mut rows: Vec<&PlaceRow> = structure.rows.iter().collect();
    let total = |side: Option<super::super::SideFigures>| side.map_or(0, |figures| figures.total);
    rows.sort_by(|a, b| {
        let size = |place: &PlaceRow| (total(place.row.candidate) - total(place.row.base)).abs();
        (size(b), &a.path, &a.row.name, &a.shapes).cmp(&(size(a), &b.path, &b.row.name, &b.shapes))
    });
    for place in rows {
        let text =
            |text: &str, why: &str| if text.is_empty() { Value::absent(why) } else { Value::from(text) };
        let kernels = |side: usize| {
            let names = place.kernels[side].iter().take(MOST_KERNELS).map(|name| display_name(name));
            text(&names.collect::<Vec<_>>().join(" + "), "no kernel on this side")
        };
        let mut all = vec![Value::from(place.row.name.as_str())];
        all.extend(cells(&place.row, true));
        all.push(text(&place.path, "at the top of the program"));
        all.push(text(&place.shapes, "the trace does not record them"));
        all.push(Value::from(place.how.name()));
        all.push(
            place.row.matched_name.as_deref().map_or_else(|| Value::absent("the same name"), Value::from),
        );
        all.extend([kernels(0), kernels(1)]);
        table.push(all);
    }
    table
}

//! One line of help for a statement that SQLite rejects: the nearest name that exists.

use crate::catalogue::Relation;

/// Functions that people look for under other names, in addition to SQLite's.
const FUNCTIONS: &[&str] = &[
    "abs",
    "avg",
    "ceil",
    "coalesce",
    "count",
    "exp",
    "floor",
    "group_concat",
    "iif",
    "instr",
    "json_extract",
    "length",
    "ln",
    "log",
    "lower",
    "max",
    "median",
    "min",
    "percentile",
    "percentile_cont",
    "pow",
    "regexp",
    "replace",
    "round",
    "sqrt",
    "stddev",
    "stddev_pop",
    "substr",
    "sum",
    "total",
    "upper",
    "variance",
    "variance_pop",
];

/// Help for SQLite's message on `sql`, given the existing relations.
pub(crate) fn hint(message: &str, sql: &str, relations: &[Relation]) -> Option<String> {
    if let Some(name) = message.strip_prefix("no such table: ") {
        let name = name.rsplit('.').next().unwrap_or(name);
        let near = nearest(name, relations.iter().map(|r| r.name.as_str()));
        return Some(match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "list all tables with `SELECT name FROM pragma_table_list`".to_string(),
        });
    }
    if let Some(name) = message.strip_prefix("no such column: ") {
        // SQLite may add its own advice after a dash.
        let name = name.split(" - ").next().unwrap_or(name).trim_matches('"');
        let name = name.rsplit('.').next().unwrap_or(name);
        let used: Vec<&Relation> = relations.iter().filter(|r| mentions(sql, &r.name)).collect();
        let columns = used.iter().flat_map(|r| &r.columns).map(|c| c.name.as_str());
        return match nearest(name, columns) {
            Some(near) => Some(format!("did you mean `{near}`?")),
            None => used.first().map(|relation| {
                let names: Vec<&str> = relation.columns.iter().map(|c| c.name.as_str()).collect();
                format!("`{}` has {}", relation.name, names.join(", "))
            }),
        };
    }
    let name = message.strip_prefix("no such function: ")?;
    nearest(name, FUNCTIONS.iter().copied()).map(|near| format!("did you mean `{near}`?"))
}

fn mentions(sql: &str, name: &str) -> bool {
    sql.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word.eq_ignore_ascii_case(name))
}

/// The name with the fewest edits, if that is few for its length.
fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    expr::names::closest(name, names, (name.chars().count() / 3).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        assert_eq!(nearest("kernel", ["regions", "kernels", "top"].into_iter()), Some("kernels"));
        assert_eq!(nearest("xyz", ["regions", "kernels"].into_iter()), None);
    }
}

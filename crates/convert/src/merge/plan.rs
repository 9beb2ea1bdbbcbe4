//! Plans the merged file before a byte is written: every recording once.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::Connection;
use trace::{Health, Map, Status};

use super::contents::{Contents, Group, contents};
use super::same::same_groups;
use super::source::Source;
use super::{Error, Input};

/// One input, and the suffix that each of its recordings gets.
pub(super) struct Planned {
    pub source: Source,
    pub bytes: u64,
    /// Rank in the file's name, if the file holds one recording.
    pub rank: Option<u32>,
    /// New suffixes by old suffix; a recording that is not here is a duplicate.
    pub suffixes: Map<String, String>,
}

/// Names under which databases are attached.
pub(super) const SOURCE: &str = "source";
const FIRST: &str = "first";

/// Examines every input.
pub(super) fn plan(
    connection: &Connection,
    inputs: &[Input],
    target: &Path,
    health: &mut Health,
) -> Result<Vec<Planned>, Error> {
    let mut plan: Vec<Planned> = Vec::with_capacity(inputs.len());
    let mut first_with: Map<String, usize> = Map::default();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for (number, input) in inputs.iter().enumerate() {
        let source = Source::find(&input.path, number, target, health)?;
        source.attach(connection, SOURCE)?;
        let found = contents(connection, SOURCE).map_err(|e| Error::input(&input.path, &e))?;
        if found.groups.is_empty() {
            return Err(Error::NotRocpd { path: input.path.clone() });
        }
        let bytes = std::fs::metadata(&input.path).map_or(0, |meta| meta.len());
        let rank = input.rank.filter(|_| found.groups.len() == 1);
        let mut planned = Planned { source, bytes, rank, suffixes: Map::default() };
        warn(&found, &input.path, health);
        for group in &found.groups {
            let guids = identity(group, &input.path);
            if let Some((guid, first)) = guids.iter().find_map(|guid| Some((guid, *first_with.get(guid)?))) {
                let Some(first) = plan.get(first) else {
                    // Two suffixes in one file.
                    return Err(Error::conflict(guid, &input.path, &input.path));
                };
                if !is_again(connection, first, group, planned.rank)? {
                    return Err(Error::conflict(guid, &first.source.path, &input.path));
                }
                let (again, first) = (input.path.display(), first.source.path.display());
                let message =
                    format!("skipped `{again}`: it has the same recording as `{first}` (guid {guid})");
                health.report("duplicate_input", Status::Warn, None, message);
                continue;
            }
            let suffix = free_suffix(&group.suffix, &guids[0], &taken);
            taken.insert(suffix.to_ascii_lowercase());
            first_with.extend(guids.into_iter().map(|guid| (guid, plan.len())));
            planned.suffixes.insert(group.suffix.clone(), suffix);
        }
        planned.source.detach(connection, SOURCE)?;
        plan.push(planned);
    }
    Ok(plan)
}

/// Whether a recording equals an earlier one with the same guid.
fn is_again(
    connection: &Connection,
    first: &Planned,
    group: &Group,
    rank: Option<u32>,
) -> Result<bool, Error> {
    first.source.attach(connection, FIRST)?;
    let failed = |e: rusqlite::Error| Error::input(&first.source.path, &e);
    let before = contents(connection, FIRST).map_err(failed)?;
    let twin = before.groups.iter().find(|twin| twin.guids.iter().any(|guid| group.guids.contains(guid)));
    let twin = twin.or_else(|| before.groups.iter().find(|twin| twin.suffix == group.suffix));
    let same = match twin {
        Some(twin) => {
            same_groups(connection, (FIRST, twin, first.rank), (SOURCE, group, rank)).map_err(failed)?
        }
        None => false,
    };
    first.source.detach(connection, FIRST)?;
    Ok(same)
}

/// The identity of a recording: its guids, else its suffix, else its file.
fn identity(group: &Group, path: &Path) -> Vec<String> {
    if !group.guids.is_empty() {
        return group.guids.clone();
    }
    let digits = group.suffix.trim_start_matches('_');
    match digits.is_empty() {
        true => vec![path.file_stem().unwrap_or_default().to_string_lossy().into_owned()],
        false => vec![digits.replace('_', "-")],
    }
}

/// The recording's own suffix; if it has none or it is taken, one made from its guid.
fn free_suffix(own: &str, guid: &str, taken: &BTreeSet<String>) -> String {
    let free = |suffix: &String| !suffix.is_empty() && !taken.contains(&suffix.to_ascii_lowercase());
    let of_guid = format!("_{}", guid.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
    let numbered = (2..).map(|n| format!("{of_guid}_{n}"));
    let mut choices = [own.to_string(), of_guid.clone()].into_iter().chain(numbered);
    choices.find(free).unwrap_or(of_guid)
}

/// Warns the user about an input.
fn warn(found: &Contents, path: &Path, health: &mut Health) {
    let path = path.display();
    for group in &found.groups {
        if let Some(doubt) = &group.doubt {
            health.report("schema", Status::Warn, None, format!("`{path}`: {doubt}"));
        }
        let missing = group.missing();
        if !missing.is_empty() {
            let message = format!("`{path}` has no {}, so none were merged", missing.join(", "));
            health.report("missing_tables", Status::Warn, Some(missing.len() as f64), message);
        }
    }
    if !found.virtual_tables.is_empty() {
        let names = found.virtual_tables.join("`, `");
        let message =
            format!("left out the virtual tables `{names}` of `{path}`: their rows are not in the file");
        health.report("left_out", Status::Warn, Some(found.virtual_tables.len() as f64), message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_suffix_gives_way_to_one_of_the_guid() {
        let taken = BTreeSet::from(["_a".to_string(), "_0_1".to_string()]);
        assert_eq!(free_suffix("_b", "x", &taken), "_b");
        assert_eq!(free_suffix("", "0-2", &taken), "_0_2");
        assert_eq!(free_suffix("_A", "0-1", &taken), "_0_1_2");
    }
}

//! The most frequent names.

use std::cmp::Reverse;

/// The `count` names with the most rows, most frequent first.
pub(super) fn most_frequent<'n>(rows: impl Iterator<Item = (&'n str, usize)>, count: usize) -> Vec<String> {
    let mut names: Vec<(Reverse<usize>, &str)> = rows.map(|(name, rows)| (Reverse(rows), name)).collect();
    names.sort_unstable();
    names.iter().take(count).map(|(_, name)| name.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_names_come_first() {
        let rows = [("b", 2), ("a", 2), ("c", 9)];
        assert_eq!(most_frequent(rows.into_iter(), 2), ["c", "a"]);
    }
}

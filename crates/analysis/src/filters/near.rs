//! Names like the one that was not found.

use std::cmp::Reverse;

/// Longer texts are compared by their beginnings, which is where names differ in kind.
const COMPARED: usize = 80;

/// Up to `count` names that contain the text, or nearly are it.
pub fn nearest(text: &str, names: &[&str], count: usize) -> Vec<String> {
    let wanted: Vec<char> = text.to_lowercase().chars().take(COMPARED).collect();
    let whole: String = wanted.iter().collect();
    let near = (wanted.len() / 2).max(2);
    let mut scored: Vec<(usize, &str)> = Vec::new();
    for name in names {
        let lower = name.to_lowercase();
        if !whole.is_empty() && lower.contains(&whole) {
            scored.push((0, name));
            continue;
        }
        let candidate: Vec<char> = lower.chars().take(COMPARED).collect();
        if candidate.len().abs_diff(wanted.len()) <= near {
            let distance = edits(&wanted, &candidate);
            if distance <= near {
                scored.push((distance, name));
            }
        }
    }
    scored.sort_unstable();
    scored.iter().take(count).map(|(_, name)| name.to_string()).collect()
}

/// Insertions, deletions and replacements between two words.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replace = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The `count` names with most rows, most first.
pub(super) fn most_frequent<'n>(rows: impl Iterator<Item = (&'n str, usize)>, count: usize) -> Vec<String> {
    let mut names: Vec<(Reverse<usize>, &str)> = rows.map(|(name, rows)| (Reverse(rows), name)).collect();
    names.sort_unstable();
    names.iter().take(count).map(|(_, name)| name.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_nearest_first_and_far_ones_not_at_all() {
        let names = ["decode step 1", "decode stop", "prefill", "decode"];
        assert_eq!(nearest("decode step", &names, 2), ["decode step 1", "decode stop"]);
        assert_eq!(nearest("DECODE", &names, 9), ["decode", "decode step 1", "decode stop"]);
        assert!(nearest("attention", &names, 9).is_empty());
    }

    #[test]
    fn frequent_names_come_first() {
        let rows = [("b", 2), ("a", 2), ("c", 9)];
        assert_eq!(most_frequent(rows.into_iter(), 2), ["c", "a"]);
    }
}

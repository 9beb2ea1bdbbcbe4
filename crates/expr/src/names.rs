//! Finds names similar to one that does not exist.

/// Only this many characters of long texts are compared: that is where names differ in kind.
const COMPARED: usize = 80;

/// Up to `count` names that contain the text, or are close to it.
pub fn nearest(text: &str, names: &[&str], count: usize) -> Vec<String> {
    let beginning = |text: &str| -> String { text.to_lowercase().chars().take(COMPARED).collect() };
    let wanted = beginning(text);
    let length = wanted.chars().count();
    let near = (length / 2).max(2);
    let mut scored: Vec<(usize, &str)> = Vec::new();
    for name in names {
        let lower = name.to_lowercase();
        if !wanted.is_empty() && lower.contains(&wanted) {
            scored.push((0, name));
            continue;
        }
        let candidate = beginning(&lower);
        if candidate.chars().count().abs_diff(length) <= near {
            let distance = edits(&wanted, &candidate);
            if distance <= near {
                scored.push((distance, name));
            }
        }
    }
    scored.sort_unstable();
    scored.iter().take(count).map(|(_, name)| name.to_string()).collect()
}

/// The name with the fewest edits, if those are at most `most`; case does not matter.
pub fn closest<'n>(text: &str, names: impl IntoIterator<Item = &'n str>, most: usize) -> Option<&'n str> {
    let wanted = text.to_lowercase();
    let scored = names.into_iter().map(|name| (edits(&wanted, &name.to_lowercase()), name));
    scored.filter(|(edits, _)| *edits <= most).min().map(|(_, name)| name)
}

/// Insertions, deletions, replacements and swaps of neighbours between two words.
pub fn edits(a: &str, b: &str) -> usize {
    strsim::osa_distance(a, b)
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
    fn the_closest_name_is_found_when_it_is_close() {
        let names = ["regions", "kernels", "top"];
        assert_eq!(closest("kernel", names, 2), Some("kernels"));
        assert_eq!(closest("KERNLES", names, 1), Some("kernels"));
        assert_eq!(closest("xyz", names, 1), None);
    }

    #[test]
    fn edits_are_counted_as_by_hand() {
        assert_eq!((edits("kitten", "sitting"), edits("", "abc"), edits("same", "same")), (3, 3, 0));
        assert_eq!(edits("kernles", "kernels"), 1);
    }
}

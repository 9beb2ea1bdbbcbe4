//! Suggestions for an unknown counter name: the nearest names of the architecture.

use expr::names::edits;

use super::catalogue::{bare_name, catalogue};

/// Names of the architecture that resemble a name, best first, at most three.
pub fn nearest(arch: &str, name: &str) -> Vec<&'static str> {
    let Some(catalogue) = catalogue(arch) else { return Vec::new() };
    let wanted = bare_name(name).to_ascii_uppercase();
    let mut scored: Vec<(usize, &'static str)> = Vec::new();
    for counter in catalogue.iter() {
        let candidate = counter.name.to_ascii_uppercase();
        let distance = if shares_words(&wanted, &candidate) {
            // The same words in another order or with one left out count as a slip, however long the names.
            edits(&wanted, &candidate).min(2)
        } else {
            edits(&wanted, &candidate)
        };
        if distance <= (wanted.len() / 4).max(1) {
            scored.push((distance, &counter.name));
        }
    }
    scored.sort_by_key(|&(distance, name)| (distance, name.len().abs_diff(wanted.len()), name));
    scored.truncate(3);
    scored.into_iter().map(|(_, name)| name).collect()
}

/// Whether one name has all the words of the other and at most one more.
fn shares_words(a: &str, b: &str) -> bool {
    let words = |text: &'_ str| -> Vec<String> {
        let mut words: Vec<String> = text.split('_').map(str::to_owned).collect();
        words.sort();
        words
    };
    let (mut few, mut many) = (words(a), words(b));
    if few.len() > many.len() {
        std::mem::swap(&mut few, &mut many);
    }
    few.len() >= 2 && many.len() - few.len() <= 1 && few.iter().all(|word| many.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_the_name_that_was_meant() {
        assert_eq!(nearest("gfx942", "SQ_WAVE")[0], "SQ_WAVES");
        assert_eq!(nearest("gfx942", "sq_insts_valu")[0], "SQ_INSTS_VALU");
        assert_eq!(nearest("gfx942", "TCC_HITS_sum")[0], "TCC_HIT_sum");
        assert_eq!(nearest("gfx942", "TCC_EA_RDREQ_sum")[0], "TCC_EA0_RDREQ_sum");
        assert_eq!(nearest("gfx942", "FETCHSIZE")[0], "FetchSize");
        assert!(nearest("gfx942", "qwertyuiop").is_empty());
        assert!(nearest("gfx000", "SQ_WAVES").is_empty());
        assert!(nearest("gfx942", "").is_empty());
    }
}

//! The step language of the catalogue: `"qk_copy? qk_norm{2} rope"` is two norms before a rope, a copy allowed first.

use std::collections::BTreeMap;

/// Repetitions that `+` allows.
const MANY: usize = 64;

/// One step of a pattern: any of its groups, with repetitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Indices into the catalogue's list of groups.
    pub groups: Vec<usize>,
    pub min: usize,
    pub max: usize,
    /// It may run between the others without being part of the sequence.
    pub passes: bool,
}

/// Reads steps: group names between blanks, `a|b` for either, then `?`, `+`, `{2}` or `{2,4}`; `(a)` passes by.
pub(super) fn parse(text: &str, groups: &BTreeMap<String, usize>) -> Result<Vec<Step>, String> {
    let steps: Vec<Step> =
        text.split_whitespace().map(|word| step(word, groups)).collect::<Result<_, _>>()?;
    if steps.iter().filter(|step| !step.passes).map(|step| step.min).sum::<usize>() < 2 {
        return Err(format!("`{text}` needs at least two kernels"));
    }
    Ok(steps)
}

fn step(word: &str, groups: &BTreeMap<String, usize>) -> Result<Step, String> {
    let end = word.find(['?', '+', '{']).unwrap_or(word.len());
    let (names, repeat) = word.split_at(end);
    let inner = names.strip_prefix('(').and_then(|names| names.strip_suffix(')'));
    let (names, passes) = (inner.unwrap_or(names), inner.is_some());
    let (min, max) =
        repetitions(repeat).ok_or_else(|| format!("`{repeat}` in `{word}` is not a repetition"))?;
    let place = |name: &str| groups.get(name).copied().ok_or_else(|| format!("there is no group `{name}`"));
    let groups = names.split('|').map(place).collect::<Result<_, _>>()?;
    Ok(Step { groups, min, max, passes })
}

fn repetitions(text: &str) -> Option<(usize, usize)> {
    match text {
        "" => Some((1, 1)),
        "?" => Some((0, 1)),
        "+" => Some((1, MANY)),
        _ => {
            let inner = text.strip_prefix('{')?.strip_suffix('}')?;
            let (min, max) = inner.split_once(',').unwrap_or((inner, inner));
            let min = min.parse().ok()?;
            let max = if max.is_empty() { MANY } else { max.parse().ok()? };
            (min <= max && (1..=MANY).contains(&max)).then_some((min, max))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups() -> BTreeMap<String, usize> {
        [("a", 0), ("b", 1)].map(|(name, place)| (name.to_string(), place)).into()
    }

    #[test]
    fn steps_are_groups_with_repetitions() {
        let step = |groups: &[usize], min, max| Step { groups: groups.to_vec(), min, max, passes: false };
        let found = parse("a b? a|b{2} b{2,} a+ (a)?", &groups()).unwrap();
        let expected = [
            step(&[0], 1, 1),
            step(&[1], 0, 1),
            step(&[0, 1], 2, 2),
            step(&[1], 2, MANY),
            step(&[0], 1, MANY),
            Step { passes: true, ..step(&[0], 0, 1) },
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, message) in [
            ("a c", "there is no group `c`"),
            ("a b*", "there is no group `b*`"),
            ("a b{x}", "`{x}` in `b{x}` is not a repetition"),
            ("a b{3,2}", "is not a repetition"),
            ("a b?", "needs at least two kernels"),
            ("a (b)", "needs at least two kernels"),
            ("a (b", "there is no group `(b`"),
            ("", "needs at least two kernels"),
        ] {
            let error = parse(text, &groups()).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}

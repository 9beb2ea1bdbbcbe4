//! The names in a counter's formula, which is in the profiler's own language: `+ - * /`, parentheses, numbers,
//! `reduce(expression, how[, [dimensions]])`, `select(name, [dimensions])`, `accumulate(name, resolution)`.

/// A name that a formula refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operand<'a> {
    /// The counter or GPU property.
    pub name: &'a str,
    /// Whether its level is accumulated over time.
    pub accumulated: bool,
}

/// The counters and properties that a formula refers to, in order, including repeated ones.
pub(super) fn operands(formula: &str) -> Vec<Operand<'_>> {
    let mut found = Vec::new();
    // For each open parenthesis: the function before it, and the current argument.
    let mut calls: Vec<(&str, usize)> = Vec::new();
    let mut rest = formula;
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (word, tail) = rest.split_at(end);
            rest = tail;
            if let Some(inside) = tail.strip_prefix('(') {
                calls.push((word, 0));
                rest = inside;
            } else if calls.iter().all(|&(function, argument)| function.is_empty() || argument == 0) {
                let accumulated = calls.iter().any(|&(function, _)| function == "accumulate");
                found.push(Operand { name: word, accumulated });
            }
            continue;
        }
        if first.is_ascii_digit() {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
            rest = &rest[end..];
            continue;
        }
        match first {
            '(' => calls.push(("", 0)),
            ')' => {
                calls.pop();
            }
            ',' => {
                if let Some((_, argument)) = calls.last_mut() {
                    *argument += 1;
                }
            }
            _ => {}
        }
        rest = &rest[first.len_utf8()..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_not_counters_are_left_out() {
        let names = |formula| -> Vec<(&str, bool)> {
            operands(formula).into_iter().map(|operand| (operand.name, operand.accumulated)).collect()
        };
        assert_eq!(
            names("100*reduce(accumulate(SQ_LEVEL, HIGH_RES),sum)/(reduce(B,max,[DIMENSION_XCC])*CU_NUM)"),
            [("SQ_LEVEL", true), ("B", false), ("CU_NUM", false)]
        );
        assert_eq!(names("select(TCC_HIT,[DIMENSION_INSTANCE=[0:3]])/2e3"), [("TCC_HIT", false)]);
        assert_eq!(names("((("), []);
        assert_eq!(names("é)),(A"), [("A", false)]);
    }
}

//! Formulas on hand-made columns, and column-wise versus row-wise evaluation.

use std::borrow::Cow;

use proptest::prelude::*;

use super::*;

/// Columns A, B, C and a channel counter; D is missing.
struct Columns(Vec<(&'static str, Vec<f64>)>);

impl<'d> Inputs<'d> for &'d Columns {
    fn find(&self, name: &str, channel: Option<u32>) -> Result<Source<'d>, Absent> {
        let name = channel.map_or(name.to_string(), |channel| format!("{name}[{channel}]"));
        let column = self.0.iter().find(|(known, _)| *known == name);
        let values = column.ok_or(Absent::Counter { name, pass: None })?;
        Ok(Source::Column(Cow::Borrowed(&values.1)))
    }

    fn channels(&self) -> u32 {
        2
    }

    fn rows(&self) -> usize {
        self.0[0].1.len()
    }
}

fn columns() -> Columns {
    Columns(vec![
        ("A", vec![1.0, 2.0, 0.0, 6.0]),
        ("B", vec![2.0, 0.0, 0.0, 3.0]),
        ("C", vec![1.5, 2.0, 3.0, f64::NAN]),
        ("T[0]", vec![1.0; 4]),
        ("T[1]", vec![2.0; 4]),
    ])
}

fn bound<'d>(text: &str, columns: &'d Columns) -> Result<Bound<'d>, Absent> {
    Bound::of(&parse(text).unwrap(), &columns, None)
}

fn values(text: &str) -> Vec<f64> {
    bound(text, &columns()).unwrap().evaluate(4)
}

fn same(found: &[f64], expected: &[f64]) -> bool {
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()))
}

#[test]
fn arithmetic_follows_the_usual_order() {
    assert_eq!(values("1 + 2 * A - -B / 2"), [4.0, 5.0, 1.0, 14.5]);
    assert_eq!(values("(1 + 2) * A"), [3.0, 6.0, 0.0, 18.0]);
    assert_eq!(values("12 / 2 / 3 + 0 * A"), [2.0; 4]);
    assert_eq!(values("MAX(A - B, 0)"), [0.0, 2.0, 0.0, 3.0]);
    assert_eq!(values("CHANNELS(T[CH] * 10)"), [30.0; 4]);
    assert_eq!(values("CHANNELS(T[CH], 1, 1) + T[0]"), [3.0; 4]);
}

#[test]
fn division_by_zero_is_infinite_and_zero_by_zero_missing() {
    assert!(same(&values("A / B"), &[0.5, f64::INFINITY, f64::NAN, 2.0]));
    assert!(same(&values("-A / B"), &[-0.5, f64::NEG_INFINITY, f64::NAN, -2.0]));
    assert!(same(&values("(B != 0) ? A / B : none"), &[0.5, f64::NAN, f64::NAN, 2.0]));
    assert!(same(&values("(B != 0) ? A / B : 0"), &[0.5, 0.0, 0.0, 2.0]));
}

#[test]
fn a_missing_counter_empties_the_whole_cell() {
    let absent = Absent::Counter { name: "E".into(), pass: None };
    assert_eq!(bound("A + 0 * E", &columns()).unwrap_err(), absent);
    let absent = Absent::Counter { name: "T[7]".into(), pass: None };
    assert_eq!(bound("T[7]", &columns()).unwrap_err(), absent);
    assert_eq!(bound("T[CH]", &columns()).unwrap_err(), Absent::NoChannel);
}

#[test]
fn conditions_and_functions_of_tuning_spaces_work_on_columns() {
    assert_eq!(values("0 < A <= 2 and not B == 0"), [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(values("A in [1, B, 6] or B == 3"), [1.0, 0.0, 1.0, 1.0]);
    assert_eq!(values("min(A, B, 2) + A // 4 + A % 4"), [2.0, 2.0, 0.0, 5.0]);
    assert_eq!(bound("A == 'fp16'", &columns()).unwrap_err(), Absent::Word { text: "fp16".into() });
}

#[test]
fn whole_numbers_are_asked_for() {
    assert_eq!(bound("INT(C)", &columns()).unwrap_err(), Absent::NotWhole { name: "C".into() });
    assert_eq!(values("INT(A) / 2"), [0.5, 1.0, 0.0, 3.0]);
}

#[test]
fn totals_are_ratios_of_sums() {
    let total = |text: &str| bound(text, &columns()).unwrap().total(4);
    assert_eq!(total("A"), Some(9.0 / 4.0));
    assert_eq!(total("100 * A / B"), Some(100.0 * 9.0 / 5.0));
    assert_eq!(total("100 - 100 * A / B"), Some(100.0 - 100.0 * 9.0 / 5.0));
    // The guard removes the dispatches without B from both sums.
    assert_eq!(total("(B != 0) ? A / B : none"), Some(7.0 / 5.0));
    // A dispatch without C counts on neither side.
    assert_eq!(total("A / C"), Some(3.0 / 6.5));
    assert_eq!(total("A / C / 2"), Some(3.0 / 6.5 / 2.0));
    assert_eq!(total("(B != B) ? A : none"), None);
    assert_eq!(total("A / (B - B)"), Some(f64::INFINITY));
}

#[test]
fn what_cannot_be_read_is_named() {
    for (text, why) in [
        ("", "expected a value, but it ends there"),
        ("A +", "expected a value, but it ends there"),
        ("(A", "expected ), but it ends there"),
        ("A B", "expected an operator at column 3, not `B`"),
        ("A ? B", "expected :, but it ends there"),
        ("MAX(A)", "`MAX` takes 2 arguments, not 1"),
        ("T[x]", "expected a whole number at column 3, not `x`"),
        ("1.2.3", "expected an operator at column 4, not `.3`"),
        ("CHANNELS(A, 0.5, 1)", "expected a whole number at column 13, not `0.5`"),
        ("A @ B", "unexpected `@` at column 3"),
        ("A § B", "unexpected `§` at column 3"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.to_string().contains(why), "{text}: {error}");
    }
    assert!(parse(&"(".repeat(100_000)).is_err());
    assert_eq!(
        parse("A @").unwrap_err().to_string(),
        "cannot read the formula `A @`: unexpected `@` at column 3"
    );
    assert!(parse(&"-".repeat(100_000)).is_err());
}

/// A random formula over A, B and C.
fn formula() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("A".to_string()),
        Just("B".to_string()),
        Just("C".to_string()),
        Just("none".to_string()),
        (0u32..9).prop_map(|n| n.to_string()),
    ];
    leaf.prop_recursive(5, 40, 3, |inner| {
        let sign =
            prop_oneof!["\\+", "-", "\\*", "/", "!=", "<", ">="].prop_map(|sign| sign.replace('\\', ""));
        prop_oneof![
            (inner.clone(), sign, inner.clone()).prop_map(|(a, sign, b)| format!("(({a}) {sign} ({b}))")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(c, a, b)| format!("({c} ? {a} : {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("MAX({a}, {b})")),
            inner.prop_map(|a| format!("-{a}")),
        ]
    })
}

proptest! {
    /// Evaluation in blocks gives the same as one dispatch at a time, across block borders too.
    #[test]
    fn columns_equal_rows(text in formula(), seed in 0u64..1000) {
        let rows = 2500;
        let column = |salt: u64| -> Vec<f64> {
            (0..rows).map(|row| match (seed + salt + row * 7919) % 11 {
                0 => f64::NAN,
                n => (n as f64 - 4.0) * 0.5,
            }).collect()
        };
        let columns = Columns(vec![("A", column(1)), ("B", column(5)), ("C", column(9))]);
        let bound = bound(&text, &columns).unwrap();
        let together = bound.evaluate(rows as usize);
        let one_by_one: Vec<f64> = (0..rows as usize).map(|row| bound.value(row)).collect();
        prop_assert!(same(&together, &one_by_one), "{}", text);
    }

    /// For any input, parsing ends with a formula or an error.
    #[test]
    fn parsing_never_panics(text in ".{0,80}") {
        let _ = parse(&text);
    }
}

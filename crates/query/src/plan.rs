//! The query plan of a virtual table, passed as text from `best_index` to `filter`.

use rusqlite::types::ValueRef;
use rusqlite::vtab::{IndexConstraintOp, IndexInfo};

/// A comparison that a virtual table handles itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Equal,
    Above,
    AtLeast,
    Below,
    AtMost,
}

impl Compare {
    const ALL: [(Compare, &'static str, IndexConstraintOp); 5] = [
        (Compare::Equal, "=", IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ),
        (Compare::Above, ">", IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_GT),
        (Compare::AtLeast, ">=", IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_GE),
        (Compare::Below, "<", IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_LT),
        (Compare::AtMost, "<=", IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_LE),
    ];

    /// Its SQL operator.
    pub fn sql(self) -> &'static str {
        Self::ALL.iter().find(|(compare, ..)| *compare == self).map_or("=", |(_, sql, _)| sql)
    }
}

/// A comparison of a column; its value is the argument with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub column: usize,
    pub compare: Compare,
}

/// How a virtual table is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// In the order of the arguments.
    pub terms: Vec<Term>,
    /// From the last row to the first.
    pub descending: bool,
    /// Bit `i`: column `i` is read; bit 63 stands for all from 63 on.
    pub used: u64,
}

impl Plan {
    /// Takes every comparison that `wanted` accepts. SQLite still checks the rows it gets.
    pub fn choose(info: &mut IndexInfo, wanted: impl Fn(usize, Compare) -> bool) -> Plan {
        let mut plan = Plan { used: info.col_used(), ..Plan::default() };
        let exact: Vec<bool> = (0..info.constraints().count())
            // A comparison under another collation matches more than equal bytes.
            .map(|i| info.collation(i).is_ok_and(|name| name == "BINARY"))
            .collect();
        for ((constraint, mut usage), exact) in info.constraints_and_usages().zip(exact) {
            let operator = constraint.operator();
            let compare = Compare::ALL.iter().find(|(.., op)| *op == operator).map(|(compare, ..)| *compare);
            if let (true, true, Some(compare), Ok(column)) =
                (constraint.is_usable(), exact, compare, usize::try_from(constraint.column()))
                && wanted(column, compare)
            {
                plan.terms.push(Term { column, compare });
                usage.set_argv_index(plan.terms.len() as i32);
            }
        }
        plan
    }

    /// Whether a column has this comparison.
    pub fn has(&self, column: usize, compare: Compare) -> bool {
        self.terms.contains(&Term { column, compare })
    }

    /// Columns that must equal something.
    pub fn equal(&self) -> impl Iterator<Item = usize> + '_ {
        self.terms.iter().filter(|t| t.compare == Compare::Equal).map(|t| t.column)
    }

    /// Whether column `i` is read.
    pub fn reads(&self, i: usize) -> bool {
        self.used >> i.min(63) & 1 == 1
    }

    /// The text for `filter`.
    pub fn encode(&self) -> String {
        let terms: Vec<String> =
            self.terms.iter().map(|t| format!("{}{}", t.column, t.compare.sql())).collect();
        format!("{:x} {} {}", self.used, u8::from(self.descending), terms.join(" "))
    }

    /// Parses the plan from a text.
    pub fn decode(text: &str) -> Plan {
        let mut words = text.split(' ').filter(|word| !word.is_empty());
        let used = words.next().and_then(|w| u64::from_str_radix(w, 16).ok()).unwrap_or(u64::MAX);
        let descending = words.next() == Some("1");
        let terms = words
            .filter_map(|word| {
                let split = word.find(|c: char| !c.is_ascii_digit())?;
                let (compare, ..) = Compare::ALL.iter().find(|(_, sql, _)| *sql == &word[split..])?;
                Some(Term { column: word[..split].parse().ok()?, compare: *compare })
            })
            .collect();
        Plan { terms, descending, used }
    }
}

/// A hash that is equal for values that SQLite may find equal, whatever their affinity: `1`, `1.0` and `'1'` share
/// one. NULL equals nothing and has none.
pub(crate) fn key(value: ValueRef<'_>) -> Option<u64> {
    let number = |value: f64| {
        // Integers that a double holds exactly have the same hash in both forms.
        let exact = value.fract() == 0.0 && value.abs() < EXACT as f64;
        spread(if exact { value as i64 as u64 } else { value.to_bits() })
    };
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(value) => Some(integer(value)),
        ValueRef::Real(value) => Some(number(value)),
        ValueRef::Text(text) => Some(key_of_text(text, number)),
        ValueRef::Blob(bytes) => Some(rapidhash::v3::rapidhash_v3(bytes)),
    }
}

fn key_of_text(text: &[u8], number: impl Fn(f64) -> u64) -> u64 {
    let trimmed = text.trim_ascii();
    let numeric = trimmed.first().is_some_and(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.'));
    let as_text = if numeric { std::str::from_utf8(trimmed).ok() } else { None };
    match as_text {
        Some(digits) => match (digits.parse::<i64>(), digits.parse::<f64>()) {
            (Ok(value), _) => integer(value),
            (_, Ok(value)) => number(value),
            _ => rapidhash::v3::rapidhash_v3(text),
        },
        None => rapidhash::v3::rapidhash_v3(text),
    }
}

fn integer(value: i64) -> u64 {
    // Beyond what a double holds, the nearest double decides, as an equal REAL would.
    spread(if value.unsigned_abs() < EXACT { value as u64 } else { (value as f64).to_bits() })
}

/// Integers below this are exact as doubles.
const EXACT: u64 = 9_000_000_000_000_000;

fn spread(bits: u64) -> u64 {
    bits.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// Combines two keys.
pub(crate) fn combine(a: u64, b: u64) -> u64 {
    (a ^ b.rotate_left(32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_survives_its_text() {
        let term = |column, compare| Term { column, compare };
        let plan = Plan {
            terms: vec![term(0, Compare::Equal), term(12, Compare::AtLeast), term(12, Compare::Below)],
            descending: true,
            used: 0x8000_0000_0000_1001,
        };
        assert_eq!(Plan::decode(&plan.encode()), plan);
        assert!(plan.reads(0) && plan.reads(12) && !plan.reads(1) && plan.reads(70));
        assert_eq!(Plan::decode(&Plan::default().encode()), Plan::default());
    }

    #[test]
    fn what_sqlite_finds_equal_has_one_key() {
        let text = |t: &'static str| key(ValueRef::Text(t.as_bytes()));
        for (integer, real, word) in
            [(1, 1.0, "1"), (-7, -7.0, " -7.0"), (i64::MAX, i64::MAX as f64, "9.3e99")]
        {
            assert_eq!(key(ValueRef::Integer(integer)), key(ValueRef::Real(real)), "{integer}");
            if integer < 9 {
                assert_eq!(key(ValueRef::Integer(integer)), text(word));
            }
        }
        assert_eq!(text("9223372036854775807"), key(ValueRef::Integer(i64::MAX)));
        assert_ne!(text("gemm"), text("gemv"));
        assert_eq!(key(ValueRef::Null), None);
    }
}

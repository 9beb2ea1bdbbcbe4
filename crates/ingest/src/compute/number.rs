//! Numbers in counter tables: mostly whole numbers, some fractions, a few in exponent notation.

/// Powers of ten that a double holds exactly.
const EXACT: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The largest whole number below which every whole number is a double.
const WHOLE: u64 = 1 << 53;

/// The number in a field: NaN if empty, `None` if it is not a number.
#[inline]
pub(super) fn number(field: &[u8]) -> Option<f64> {
    let (negative, digits) = match field {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (mut value, mut seen, mut fraction) = (0u64, 0usize, None);
    for &byte in digits {
        match byte {
            b'0'..=b'9' if seen < 19 => {
                value = value * 10 + u64::from(byte - b'0');
                seen += 1;
            }
            b'.' if fraction.is_none() => fraction = Some(seen),
            _ => return slow(field),
        }
    }
    if seen == 0 {
        return slow(field);
    }
    let places = fraction.map_or(0, |at| seen - at);
    // The quotient of two exact doubles is the double nearest to the written number.
    let value = if places == 0 {
        value as f64
    } else if value < WHOLE {
        value as f64 / EXACT[places]
    } else {
        return slow(field);
    };
    Some(if negative { -value } else { value })
}

#[cold]
fn slow(field: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(field).ok()?.trim().trim_matches('"');
    if text.is_empty() || text.eq_ignore_ascii_case("nan") {
        return Some(f64::NAN);
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn odd_spellings() {
        assert_eq!(number(b"8.1097E+14"), Some(8.1097e14));
        assert_eq!(number(b"-12.50"), Some(-12.5));
        assert_eq!(number(b"13386742234691895"), Some(13386742234691895.0));
        assert_eq!(number(b"123456789012345678901234"), Some(1.2345678901234568e23));
        assert!(number(b"").is_some_and(f64::is_nan));
        assert!(number(b"NaN").is_some_and(f64::is_nan));
        assert_eq!(number(b"0x7f"), None);
        assert_eq!(number(b"1.2.3"), None);
        assert_eq!(number(b"."), None);
        assert_eq!(number(b"-"), None);
    }

    proptest! {
        #[test]
        fn reads_as_the_standard_library_does(value: f64, whole: i64, places in 0usize..12) {
            for text in [format!("{value}"), format!("{whole}"), format!("{:.places$}", whole as f64 / 1e6)] {
                let expected: f64 = text.parse().unwrap();
                let found = number(text.as_bytes()).unwrap();
                prop_assert!(found == expected || (found.is_nan() && expected.is_nan()), "{text}: {found}");
            }
        }
    }
}

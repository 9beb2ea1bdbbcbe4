//! Decimal microseconds to integer nanoseconds and back, without floats where the text is decimal.

/// Microseconds as written in a trace, converted to nanoseconds; further digits are rounded.
pub(super) fn nanoseconds(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let plain = |b: &u8| b.is_ascii_digit() || *b == b'.';
    if !digits.iter().all(plain) {
        return exponential(text);
    }
    let dot = digits.iter().position(|b| *b == b'.').unwrap_or(digits.len());
    let (whole, fraction) = (&digits[..dot], digits.get(dot + 1..).unwrap_or_default());
    if whole.is_empty() && fraction.is_empty() || fraction.contains(&b'.') {
        return None;
    }
    let mut value: i64 = 0;
    let thousandths = (0..3).map(|i| fraction.get(i).unwrap_or(&b'0'));
    for digit in whole.iter().chain(thousandths) {
        value = value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
    }
    if fraction.get(3).is_some_and(|digit| *digit >= b'5') {
        value = value.checked_add(1)?;
    }
    Some(if negative { -value } else { value })
}

fn exponential(text: &[u8]) -> Option<i64> {
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let scaled = (number * 1000.0).round();
    (scaled.abs() < 9.0e18).then_some(scaled as i64)
}

/// Nanoseconds as microseconds with as many decimals as needed.
pub(super) fn microseconds(ns: i64) -> String {
    let (sign, ns) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
    match ns % 1000 {
        0 => format!("{sign}{}", ns / 1000),
        rest => format!("{sign}{}.{rest:03}", ns / 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        let cases: [(&str, Option<i64>); 12] = [
            ("0", Some(0)),
            ("12", Some(12_000)),
            ("12.5", Some(12_500)),
            ("4458676983423.243", Some(4_458_676_983_423_243)),
            ("0.0004", Some(0)),
            ("0.0005", Some(1)),
            ("-3.25", Some(-3_250)),
            ("6.5e12", Some(6_500_000_000_000_000)),
            ("NaN", None),
            ("", None),
            ("1.2.3", None),
            ("99999999999999999999", None),
        ];
        for (text, ns) in cases {
            assert_eq!(nanoseconds(text.as_bytes()), ns, "{text}");
        }
        for ns in [0, 1, 999, 1000, 1001, -5, 123_456_789, 4_458_676_983_423_243] {
            assert_eq!(nanoseconds(microseconds(ns).as_bytes()), Some(ns));
        }
    }
}

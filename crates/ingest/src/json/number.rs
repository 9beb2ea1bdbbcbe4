//! Parses decimal numbers exactly: rounded once, and without floats unless requested.

/// Decimal microseconds as nanoseconds.
#[inline]
pub fn micros(text: &[u8]) -> Option<i64> {
    quick(text, 3).or_else(|| decimal(text, 3))
}

/// A whole number; fractions are rounded (`12.0` is 12).
#[inline]
pub fn integer(text: &[u8]) -> Option<i64> {
    quick(text, 0).or_else(|| decimal(text, 0))
}

/// A floating-point number; `NaN`, `Infinity` and `inf` in any case are numbers too.
pub fn float(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// At most 15 digits, then at most `scale` more after the point: nearly every number in a trace.
#[inline]
fn quick(text: &[u8], scale: usize) -> Option<i64> {
    let (mut value, mut at) = match text.first_chunk().and_then(eight_digits) {
        Some(eight) => (eight, 8),
        None => (0, 0),
    };
    while let Some(digit) = text.get(at).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
        value = value * 10 + i64::from(digit);
        at += 1;
        if at > 15 {
            return None;
        }
    }
    if at == 0 {
        return None;
    }
    let fraction = match text.get(at) {
        None => &[][..],
        Some(b'.') => &text[at + 1..],
        Some(_) => return None,
    };
    if fraction.len() > scale {
        return None;
    }
    for place in 0..scale {
        let digit = fraction.get(place).map_or(0, |b| b.wrapping_sub(b'0'));
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(value)
}

/// Eight digits at once, if all are digits: combines neighbours into two, four and eight digits.
#[inline(always)]
fn eight_digits(text: &[u8; 8]) -> Option<i64> {
    let bytes = u64::from_le_bytes(*text);
    let high = bytes & 0xf0f0_f0f0_f0f0_f0f0;
    let above_nine = bytes.wrapping_add(0x0606_0606_0606_0606) & 0xf0f0_f0f0_f0f0_f0f0;
    if high != 0x3030_3030_3030_3030 || above_nine != 0x3030_3030_3030_3030 {
        return None;
    }
    let ones = bytes & 0x0f0f_0f0f_0f0f_0f0f;
    let twos = (ones.wrapping_mul(10) + (ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (twos.wrapping_mul(100) + (twos >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff) as i64)
}

/// `text` × 10^`scale` as a whole number, halves rounded away from zero; `None` if it is not a number or does
/// not fit.
pub fn decimal(text: &[u8], scale: i32) -> Option<i64> {
    let (negative, text) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, text),
    };
    let (mantissa, exponent) = match memchr::memchr2(b'e', b'E', text) {
        Some(at) => (&text[..at], parse_exponent(&text[at + 1..])?),
        None => (text, 0),
    };
    let (whole, fraction) = match memchr::memchr(b'.', mantissa) {
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        None => (mantissa, &[][..]),
    };
    let digits = || whole.iter().chain(fraction);
    if digits().next().is_none() || !digits().all(u8::is_ascii_digit) {
        return None;
    }
    let zeros = digits().take_while(|b| **b == b'0').count();
    let significant = whole.len() + fraction.len() - zeros;
    if significant == 0 {
        return Some(0);
    }
    // How many of the significant digits are before the point of the result.
    let places = whole.len() as i64 - zeros as i64 + exponent + i64::from(scale);
    if places > 19 {
        return None;
    }
    let mut value = 0i128;
    let mut rest = digits().skip(zeros).map(|b| i128::from(b - b'0'));
    for _ in 0..places.max(0) {
        value = value * 10 + rest.next().unwrap_or(0);
    }
    if places >= 0 && rest.next().unwrap_or(0) >= 5 {
        value += 1;
    }
    i64::try_from(if negative { -value } else { value }).ok()
}

/// Huge exponents are capped, so that sums cannot overflow.
fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0i64, |v, b| (v * 10 + i64::from(b - b'0')).min(1 << 40));
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference for `decimal`, by schoolbook arithmetic on digit strings: shift the point, cut, round.
    fn brute(negative: bool, whole: &str, fraction: &str, exponent: i32, scale: i32) -> Option<i64> {
        let shift = exponent + scale;
        let mut all = format!("{whole}{fraction}");
        let mut point = whole.len() as i32 + shift;
        while point < 0 {
            all.insert(0, '0');
            point += 1;
        }
        while all.len() < point as usize {
            all.push('0');
        }
        let (kept, cut) = all.split_at(point as usize);
        let mut carry = u8::from(cut.as_bytes().first().is_some_and(|b| *b >= b'5'));
        let mut digits: Vec<u8> = kept.bytes().map(|b| b - b'0').collect();
        for digit in digits.iter_mut().rev() {
            *digit += carry;
            carry = *digit / 10;
            *digit %= 10;
        }
        digits.insert(0, carry);
        let text: String = digits.iter().map(|d| char::from(d + b'0')).collect();
        let text = text.trim_start_matches('0');
        let text = if text.is_empty() { "0" } else { text };
        format!("{}{text}", if negative { "-" } else { "" }).parse().ok()
    }

    proptest! {
        #[test]
        fn decimals_equal_schoolbook_arithmetic(
            negative: bool,
            whole in "[0-9]{1,22}",
            fraction in proptest::option::of("[0-9]{1,12}"),
            exponent in proptest::option::of(-25i32..25),
        ) {
            let mut text = format!("{}{whole}", if negative { "-" } else { "" });
            if let Some(fraction) = &fraction {
                text += &format!(".{fraction}");
            }
            if let Some(exponent) = exponent {
                text += &format!("e{exponent}");
            }
            let fraction = fraction.unwrap_or_default();
            let exponent = exponent.unwrap_or(0);
            prop_assert_eq!(micros(text.as_bytes()), brute(negative, &whole, &fraction, exponent, 3));
            prop_assert_eq!(integer(text.as_bytes()), brute(negative, &whole, &fraction, exponent, 0));
        }

        #[test]
        fn microseconds_with_three_decimals_are_exact(whole in 0i64..9_000_000_000_000_000, part in 0i64..1000) {
            let text = format!("{whole}.{part:03}");
            prop_assert_eq!(micros(text.as_bytes()), Some(whole * 1000 + part));
        }
    }

    #[test]
    fn eight_digits_are_read_as_by_the_standard_library() {
        for value in (0..100_000_000u32).step_by(9973).chain([0, 99_999_999, 12_345_678, 87_654_321]) {
            let text = format!("{value:08}");
            assert_eq!(eight_digits(text.as_bytes().first_chunk().unwrap()), Some(i64::from(value)));
        }
        for byte in (0..=255u8).filter(|byte| !byte.is_ascii_digit()) {
            for place in 0..8 {
                let mut text = *b"12345678";
                text[place] = byte;
                assert_eq!(eight_digits(&text), None, "byte {byte} at {place}");
            }
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "-", ".", "e5", "1e", "NaN", "Infinity", "inf", "1.2.3", "0x10", "12a", "1e5.5"] {
            assert_eq!(micros(text.as_bytes()), None, "{text}");
        }
        assert_eq!(micros(b"9223372036854775.807"), Some(i64::MAX));
        assert_eq!(micros(b"9223372036854775.808"), None);
        assert_eq!(micros(b"1e99999999999999999999"), None);
        assert_eq!(micros(b"1e-99999999999999999999"), Some(0));
        assert_eq!(micros(b"0.0005"), Some(1));
        assert_eq!(micros(b"0.00049"), Some(0));
        assert_eq!(micros(b"6.5e12"), Some(6_500_000_000_000_000));
        assert!(float(b"NaN").unwrap().is_nan() && float(b"-Infinity") == Some(f64::NEG_INFINITY));
    }
}

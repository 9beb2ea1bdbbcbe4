//! Whole numbers as rocprofv3 prints them: 64 bits, signed, unsigned or hexadecimal.

/// A decimal or `0x` number; above `i64::MAX` (addresses, handles) its bit pattern.
#[inline]
pub(crate) fn whole(text: &[u8]) -> Option<i64> {
    match text {
        [b'0', b'x' | b'X', hex @ ..] => hexadecimal(hex),
        [b'-', digits @ ..] => decimal(digits).map(|value| (value as i64).wrapping_neg()),
        digits => decimal(digits).map(|value| value as i64),
    }
}

#[inline]
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    let mut value = 0u64;
    for byte in &digits[..digits.len().min(19)] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        // Nineteen digits always fit.
        value = value * 10 + u64::from(digit);
    }
    match digits.get(19) {
        None => Some(value),
        Some(last @ b'0'..=b'9') => value.checked_mul(10)?.checked_add(u64::from(last - b'0')),
        Some(_) => None,
    }
}

fn hexadecimal(digits: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(digits).ok()?;
    u64::from_str_radix(text, 16).ok().map(|value| value as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_64_bits_fit() {
        for (text, expected) in [
            ("0", Some(0)),
            ("-7", Some(-7)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("18446744073709551615", Some(-1)),
            ("18446744073709551616", None),
            ("0x00007f0000001000", Some(0x7f00_0000_1000)),
            ("0xffffffffffffffff", Some(-1)),
            ("", None),
            ("-", None),
            ("0x", None),
            ("12a", None),
            ("1.5", None),
        ] {
            assert_eq!(whole(text.as_bytes()), expected, "{text}");
        }
    }
}

//! Rows: a record's header says where each value is, and only requested values are decoded.

use std::borrow::Cow;

use super::create::{Column, DefaultValue};
use super::pager::Encoding;

/// Where a column's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Col(u16);

impl Col {
    /// The table has no such column: every value is NULL.
    pub const ABSENT: Col = Col(u16::MAX);
    /// The column is the rowid.
    pub const ROWID: Col = Col(u16::MAX - 1);

    /// The column at an index in the record.
    pub fn at(index: u16) -> Self {
        Col(index)
    }

    /// Whether the table has the column.
    pub fn is_present(self) -> bool {
        self != Col::ABSENT
    }

    /// Index in the record.
    pub(super) fn index(self) -> Option<usize> {
        (self.0 < Col::ROWID.0).then_some(usize::from(self.0))
    }
}

/// A value as it is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// A whole number.
    Int(i64),
    /// A real number.
    Real(f64),
    /// Text in the database's encoding.
    Text(&'a [u8]),
    /// Bytes.
    Blob(&'a [u8]),
}

/// Limit for the columns of a record; tables of traces have two dozen.
const MOST_COLUMNS: usize = 64;
/// Size of a value by serial type, for one-byte serial types.
const WIDTHS: [u8; 128] = widths();

const fn widths() -> [u8; 128] {
    let mut widths = [0; 128];
    let numbers = [0, 1, 2, 3, 4, 6, 8, 8];
    let mut serial = 0;
    while serial < 128 {
        widths[serial] = match serial {
            0..8 => numbers[serial],
            8..12 => 0,
            _ => (serial as u8 - 12) / 2,
        };
        serial += 1;
    }
    widths
}

/// Serial types and offsets of the current record.
pub(super) struct Fields {
    count: usize,
    serial: [u32; MOST_COLUMNS],
    start: [u32; MOST_COLUMNS],
}

impl Fields {
    pub fn new() -> Self {
        Self { count: 0, serial: [0; MOST_COLUMNS], start: [0; MOST_COLUMNS] }
    }

    /// Reads the header up to the first `upto` columns. False: the record is invalid.
    #[inline]
    pub fn parse(&mut self, payload: &[u8], upto: usize) -> bool {
        let Some((header, mut at)) = varint(payload, 0) else { return false };
        let header = header as usize;
        if header > payload.len() || header < at {
            return false;
        }
        let upto = upto.min(MOST_COLUMNS);
        let mut offset = header as u64;
        let mut count = 0;
        while at < header && count < upto {
            let byte = payload[at];
            self.start[count] = offset as u32;
            if byte < 0x80 {
                at += 1;
                self.serial[count] = u32::from(byte);
                offset += u64::from(WIDTHS[usize::from(byte)]);
            } else {
                let Some((serial, next)) = varint(&payload[..header], at) else { return false };
                let Ok(serial) = u32::try_from(serial) else { return false };
                at = next;
                self.serial[count] = serial;
                // Small types may be encoded in more bytes than they need.
                let width =
                    WIDTHS.get(serial as usize).map_or((serial.max(12) - 12) / 2, |&width| width.into());
                offset += u64::from(width);
            }
            count += 1;
        }
        self.count = count;
        // Offsets only grow: if the last value ends within the record, all do.
        offset <= payload.len() as u64
    }
}

/// A row of a table.
pub struct Row<'a> {
    pub(super) rowid: i64,
    pub(super) payload: &'a [u8],
    pub(super) fields: &'a Fields,
    pub(super) columns: &'a [Column],
    pub(super) encoding: Encoding,
}

impl<'a> Row<'a> {
    /// A column's value.
    #[inline]
    pub fn value(&self, col: Col) -> Value<'a> {
        let Some(i) = col.index() else {
            return if col == Col::ROWID { Value::Int(self.rowid) } else { Value::Null };
        };
        if i >= self.fields.count {
            return self.default(col);
        }
        let start = self.fields.start[i] as usize;
        let bytes = &self.payload[start..];
        match self.fields.serial[i] {
            1 => Value::Int(i64::from(bytes[0] as i8)),
            2 => Value::Int(i64::from(i16::from_be_bytes([bytes[0], bytes[1]]))),
            3 => Value::Int(i64::from(i32::from_be_bytes([bytes[0], bytes[1], bytes[2], 0]) >> 8)),
            4 => Value::Int(i64::from(i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))),
            5 => {
                let high = i64::from(i16::from_be_bytes([bytes[0], bytes[1]]));
                let low = u32::from_be_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]);
                Value::Int((high << 32) | i64::from(low))
            }
            6 => Value::Int(i64::from_be_bytes(eight(bytes))),
            7 => Value::Real(f64::from_bits(u64::from_be_bytes(eight(bytes)))),
            8 => Value::Int(0),
            9 => Value::Int(1),
            serial if serial >= 12 => {
                let bytes = &bytes[..(serial as usize - 12) / 2];
                if serial % 2 == 0 { Value::Blob(bytes) } else { Value::Text(bytes) }
            }
            _ => Value::Null,
        }
    }

    /// Rows older than a column have its default.
    #[cold]
    fn default(&self, col: Col) -> Value<'a> {
        match self.columns.iter().find(|c| c.place == col).map(|c| &c.default) {
            Some(DefaultValue::Int(i)) => Value::Int(*i),
            Some(DefaultValue::Real(f)) => Value::Real(*f),
            // Defaults are kept as UTF-8, whatever the file uses.
            Some(DefaultValue::Text(t)) if self.encoding == Encoding::Utf8 => Value::Text(t.as_bytes()),
            _ => Value::Null,
        }
    }

    /// A whole number; `None` for NULL and for anything else. Numbers beyond 64 bits were stored as reals,
    /// and some writers store text: a bit pattern up to 2^64 is restored.
    #[inline]
    pub fn int(&self, col: Col) -> Option<i64> {
        if let Some(i) = col.index().filter(|&i| i < self.fields.count) {
            match self.fields.serial[i] {
                0 => return None,
                serial @ 1..=6 => {
                    // The number is at the front of these eight bytes, sign first.
                    if let Some(bytes) = self.payload[self.fields.start[i] as usize..].first_chunk() {
                        let spare = 64 - 8 * u32::from(WIDTHS[serial as usize]);
                        return Some(i64::from_be_bytes(*bytes) >> spare);
                    }
                }
                serial @ 8..=9 => return Some(i64::from(serial) - 8),
                _ => {}
            }
        }
        self.other_int(col)
    }

    fn other_int(&self, col: Col) -> Option<i64> {
        match self.value(col) {
            Value::Int(i) => Some(i),
            Value::Null => None,
            other => unusual_int(other),
        }
    }

    /// A number.
    pub fn real(&self, col: Col) -> Option<f64> {
        match self.value(col) {
            Value::Int(i) => Some(i as f64),
            Value::Real(f) => Some(f),
            Value::Text(t) => std::str::from_utf8(t).ok()?.trim().parse().ok(),
            _ => None,
        }
    }

    /// Text, or the printed number; invalid bytes are replaced.
    pub fn text(&self, col: Col) -> Option<Cow<'a, str>> {
        match self.value(col) {
            Value::Null => None,
            Value::Int(i) => Some(i.to_string().into()),
            Value::Real(f) => Some(f.to_string().into()),
            Value::Blob(b) => Some(String::from_utf8_lossy(b)),
            Value::Text(t) => Some(match self.encoding {
                Encoding::Utf8 => String::from_utf8_lossy(t),
                Encoding::Utf16Le => utf16(t, u16::from_le_bytes),
                Encoding::Utf16Be => utf16(t, u16::from_be_bytes),
            }),
        }
    }
}

/// Bit patterns from here up to twice as much are negative numbers.
const TWO_TO_63: f64 = (1u64 << 63) as f64;

#[cold]
fn unusual_int(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Real(f) if (TWO_TO_63..=2.0 * TWO_TO_63).contains(&f) => Some(f as u64 as i64),
        Value::Real(f) if f.is_finite() => Some(f as i64),
        Value::Text(t) => {
            let text = std::str::from_utf8(t).ok()?.trim();
            match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
                Some(hex) => u64::from_str_radix(hex, 16).ok().map(|u| u as i64),
                None => text.parse().ok().or_else(|| text.parse::<u64>().ok().map(|u| u as i64)),
            }
        }
        _ => None,
    }
}

fn eight(bytes: &[u8]) -> [u8; 8] {
    [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]]
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Cow<'static, str> {
    let units = bytes.chunks_exact(2).map(|c| unit([c[0], c[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect::<String>().into()
}

/// SQLite's big-endian varint at a position; the second number is the position after it.
#[inline]
pub(super) fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let first = *bytes.get(at)?;
    if first < 0x80 {
        return Some((u64::from(first), at + 1));
    }
    let mut value = u64::from(first & 0x7f);
    for i in 1..8 {
        let byte = *bytes.get(at + i)?;
        value = (value << 7) | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((value, at + i + 1));
        }
    }
    Some(((value << 8) | u64::from(*bytes.get(at + 8)?), at + 9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_type_spelt_with_two_bytes_ended_the_program() {
        let mut fields = Fields::new();
        // A header of three bytes says "eight bytes follow" as 0x80 0x06.
        assert!(!fields.parse(&[3, 0x80, 6, 1, 2, 3], 1), "three of them follow");
        let payload = [3, 0x80, 6, 0, 0, 0, 0, 0, 0, 1, 2];
        assert!(fields.parse(&payload, 1));
        let row =
            Row { rowid: 1, payload: &payload, fields: &fields, columns: &[], encoding: Encoding::Utf8 };
        assert_eq!(row.value(Col::at(0)), Value::Int(258));
        assert_eq!(row.int(Col::at(0)), Some(258));
    }
}

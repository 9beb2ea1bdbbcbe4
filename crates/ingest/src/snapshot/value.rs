//! Handles of a pickle's values: on the stack, and packed into four bytes in the memo.

use trace::StrId;

/// A value on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Not needed.
    Opaque,
    /// A whole number, or a boolean as 0 or 1.
    Int(i64),
    Text(StrId),
    Frame(u32),
    /// Frames, as the number of a distinct stack.
    Stack(u32),
    /// A row of the events.
    Event(u32),
    Block(u32),
    Segment(u32),
    /// A list of rows of one kind.
    List(u32),
    EmptyList,
    /// A dictionary or list that is still being filled.
    Open(u32),
}

/// A value of the memo, packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Packed(u32);

const NUMBER_BITS: u32 = 28;

impl Packed {
    pub fn of(value: Value, numbers: &mut Vec<i64>) -> Self {
        let (kind, number) = match value {
            Value::Opaque => (0, 0),
            Value::Int(number) => {
                numbers.push(number);
                (1, numbers.len() as u32 - 1)
            }
            Value::Text(text) => (2, text.0),
            Value::Frame(number) => (3, number),
            Value::Stack(number) => (4, number),
            Value::Event(number) => (5, number),
            Value::Block(number) => (6, number),
            Value::Segment(number) => (7, number),
            Value::List(number) => (8, number),
            Value::EmptyList => (9, 0),
            Value::Open(number) => (10, number),
        };
        // Rows with larger numbers are never referenced again.
        if number >> NUMBER_BITS != 0 { Self(0) } else { Self(kind << NUMBER_BITS | number) }
    }

    #[inline]
    pub fn value(self, numbers: &[i64]) -> Value {
        let number = self.0 & ((1 << NUMBER_BITS) - 1);
        match self.0 >> NUMBER_BITS {
            1 => Value::Int(numbers[number as usize]),
            2 => Value::Text(StrId(number)),
            3 => Value::Frame(number),
            4 => Value::Stack(number),
            5 => Value::Event(number),
            6 => Value::Block(number),
            7 => Value::Segment(number),
            8 => Value::List(number),
            9 => Value::EmptyList,
            // An open container that contains itself: no snapshot has one.
            _ => Value::Opaque,
        }
    }
}

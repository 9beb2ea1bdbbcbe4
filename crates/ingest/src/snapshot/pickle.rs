//! A pickle machine that only builds data: protocols 2 to 5, without opcodes that name or call anything.
//!
//! Opcodes are decoded from a small window over the stream; [`Values`] stores and folds the values.

use super::value::Value;
use super::values::Values;

/// The pickle protocols that are read.
pub(super) const PROTOCOLS: std::ops::RangeInclusive<u8> = 2..=5;

const WINDOW: usize = 1 << 20;
/// Texts are names of files and functions; one beyond this is damage.
const LONGEST_TEXT: u64 = 64 << 20;

/// Gives bytes from front to back.
pub(super) trait Fill {
    /// Fills the slice with the bytes available, and returns how many there were.
    fn fill(&mut self, into: &mut [u8]) -> usize;
}

impl Fill for &[u8] {
    fn fill(&mut self, into: &mut [u8]) -> usize {
        let count = into.len().min(self.len());
        into[..count].copy_from_slice(&self[..count]);
        *self = &self[count..];
        count
    }
}

/// Why a pickle was not read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The bytes end before the pickle does.
    Cut,
    /// It asks for more than data.
    Refused { opcode: &'static str, asks: String, at: u64 },
    /// It is invalid from here on.
    Malformed { why: String, at: u64 },
}

/// Runs a pickle to its end. Its values are in `values`, even if it stops early.
pub(super) fn run(from: &mut impl Fill, values: &mut Values) -> Result<(), Stop> {
    let mut window = Window { from, bytes: vec![0; WINDOW], at: 0, end: 0, before: 0 };
    loop {
        let at = window.offset();
        match step(&mut window, values) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(Fault::Cut) => return Err(Stop::Cut),
            Err(Fault::Refused(opcode, asks)) => return Err(Stop::Refused { opcode, asks, at }),
            Err(Fault::Malformed(why)) => return Err(Stop::Malformed { why, at }),
        }
    }
}

/// How one step can fail.
#[derive(Debug)]
pub(super) enum Fault {
    Cut,
    Refused(&'static str, String),
    Malformed(String),
}

fn refused(opcode: &'static str, asks: impl Into<String>) -> Fault {
    Fault::Refused(opcode, asks.into())
}

/// One opcode; false at the end.
#[inline]
fn step(window: &mut Window<impl Fill>, values: &mut Values) -> Result<bool, Fault> {
    match window.byte()? {
        // BINGET, LONG_BINGET: most of a snapshot.
        b'h' => {
            let number = window.byte()?;
            values.get(usize::from(number))?;
        }
        b'j' => {
            let number = u32::from_le_bytes(window.array()?);
            values.get(number as usize)?;
        }
        // MEMOIZE, MARK, EMPTY_DICT, SETITEMS
        0x94 => values.memoize()?,
        b'(' => values.mark()?,
        b'}' => values.open_dict()?,
        b'u' => values.set_items()?,
        // BININT1, BININT2, BININT
        b'K' => {
            let number = window.byte()?;
            values.push(Value::Int(i64::from(number)))?;
        }
        b'M' => {
            let number = u16::from_le_bytes(window.array()?);
            values.push(Value::Int(i64::from(number)))?;
        }
        b'J' => {
            let number = i32::from_le_bytes(window.array()?);
            values.push(Value::Int(i64::from(number)))?;
        }
        // SHORT_BINUNICODE, BINUNICODE, BINUNICODE8
        0x8c => text(window, values, Length::Byte)?,
        b'X' => text(window, values, Length::Four)?,
        0x8d => text(window, values, Length::Eight)?,
        // LONG1, LONG4
        0x8a => long(window, values, Length::Byte)?,
        0x8b => long(window, values, Length::Four)?,
        // BINFLOAT, NONE, NEWTRUE, NEWFALSE
        b'G' => {
            window.array::<8>()?;
            values.push(Value::Opaque)?;
        }
        b'N' => values.push(Value::Opaque)?,
        0x88 => values.push(Value::Int(1))?,
        0x89 => values.push(Value::Int(0))?,
        // EMPTY_LIST, APPEND, APPENDS, LIST, SETITEM, DICT
        b']' => values.open_list()?,
        b'a' => values.append()?,
        b'e' => values.append_items()?,
        b'l' => values.list_of_items()?,
        b's' => values.set_item()?,
        b'd' => values.dict_of_items()?,
        // EMPTY_TUPLE, TUPLE1 to TUPLE3, TUPLE; EMPTY_SET, ADDITEMS, FROZENSET
        b')' | 0x8f => values.push(Value::Opaque)?,
        count @ 0x85..=0x87 => values.tuple(usize::from(count - 0x84))?,
        b't' | 0x91 => values.tuple_of_items()?,
        0x90 => values.drop_items()?,
        // POP, POP_MARK, DUP
        b'0' => values.pop()?,
        b'1' => values.drop_items()?,
        b'2' => values.duplicate()?,
        // BINPUT, LONG_BINPUT
        b'q' => {
            let number = window.byte()?;
            values.put(usize::from(number))?;
        }
        b'r' => {
            let number = u32::from_le_bytes(window.array()?);
            values.put(number as usize)?;
        }
        // PROTO, FRAME, STOP
        0x80 => {
            let protocol = window.byte()?;
            if !PROTOCOLS.contains(&protocol) {
                return Err(Fault::Malformed(format!("protocol {protocol} is unknown")));
            }
        }
        0x95 => drop(window.array::<8>()?),
        b'.' => return Ok(false),
        // SHORT_BINBYTES, BINBYTES, BINBYTES8, BYTEARRAY8, SHORT_BINSTRING, BINSTRING: not used by snapshots.
        b'C' | b'U' => skip(window, values, Length::Byte)?,
        b'B' | b'T' => skip(window, values, Length::Four)?,
        0x8e | 0x96 => skip(window, values, Length::Eight)?,
        other => return Err(not_data(other, window, values)),
    }
    Ok(true)
}

/// Opcodes that ask for more than data.
fn not_data(opcode: u8, window: &mut Window<impl Fill>, values: &Values) -> Fault {
    let named =
        |window: &mut Window<_>| Some(format!("the Python name `{}.{}`", window.line()?, window.line()?));
    let name = |window: &mut Window<_>| named(window).unwrap_or_else(|| "a Python name".into());
    let number = |number: Option<u64>| match number {
        Some(number) => format!("the registered extension {number}"),
        None => "a registered extension".into(),
    };
    match opcode {
        b'c' => refused("GLOBAL", name(window)),
        b'i' => refused("INST", name(window)),
        0x93 => refused("STACK_GLOBAL", values.name_on_top().unwrap_or_else(|| "a Python name".into())),
        b'R' => refused("REDUCE", "a call"),
        b'b' => refused("BUILD", "a change of an object's state"),
        b'o' => refused("OBJ", "an object of a class"),
        0x81 => refused("NEWOBJ", "an object of a class"),
        0x92 => refused("NEWOBJ_EX", "an object of a class"),
        b'P' => {
            let id = window.line().map_or_else(String::new, |id| format!(" `{id}`"));
            refused("PERSID", format!("the persistent id{id}"))
        }
        b'Q' => refused("BINPERSID", "a persistent id"),
        0x82 => refused("EXT1", number(window.byte().ok().map(u64::from))),
        0x83 => refused("EXT2", number(window.array().ok().map(|n| u64::from(u16::from_le_bytes(n))))),
        0x84 => refused("EXT4", number(window.array().ok().map(|n| u64::from(u32::from_le_bytes(n))))),
        0x97 => refused("NEXT_BUFFER", "a buffer outside the file"),
        0x98 => refused("READONLY_BUFFER", "a buffer outside the file"),
        other => Fault::Malformed(format!("opcode 0x{other:02x} is unknown")),
    }
}

/// How many bytes encode a length.
#[derive(Clone, Copy)]
enum Length {
    Byte,
    Four,
    Eight,
}

fn length(window: &mut Window<impl Fill>, of: Length) -> Result<u64, Fault> {
    Ok(match of {
        Length::Byte => u64::from(window.byte()?),
        Length::Four => u64::from(u32::from_le_bytes(window.array()?)),
        Length::Eight => u64::from_le_bytes(window.array()?),
    })
}

fn text(window: &mut Window<impl Fill>, values: &mut Values, of: Length) -> Result<(), Fault> {
    let length = length(window, of)?;
    if length > LONGEST_TEXT {
        return Err(Fault::Malformed(format!("a text of {length} bytes is too long")));
    }
    let bytes = window.take(length as usize)?;
    values.text(bytes)
}

/// A whole number; one beyond 64 bits is not an address, size or time.
fn long(window: &mut Window<impl Fill>, values: &mut Values, of: Length) -> Result<(), Fault> {
    let length = length(window, of)?;
    if length > LONGEST_TEXT {
        return Err(Fault::Malformed(format!("a number of {length} bytes is too long")));
    }
    let bytes = window.take(length as usize)?;
    let fits = bytes.len() <= 8 || bytes.len() == 9 && bytes[8] == 0;
    let value = fits.then(|| {
        let negative = bytes.len() < 9 && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
        let mut whole = [if negative { 0xff } else { 0 }; 8];
        let count = bytes.len().min(8);
        whole[..count].copy_from_slice(&bytes[..count]);
        // Addresses in the upper half keep their bits.
        Value::Int(i64::from_le_bytes(whole))
    });
    values.push(value.unwrap_or(Value::Opaque))
}

/// Bytes that are not text: skipped, however many there are.
fn skip(window: &mut Window<impl Fill>, values: &mut Values, of: Length) -> Result<(), Fault> {
    let mut left = length(window, of)?;
    while left > 0 {
        let part = left.min(WINDOW as u64 / 2);
        window.take(part as usize)?;
        left -= part;
    }
    values.push(Value::Opaque)
}

/// The part of the stream that is being decoded.
struct Window<'f, F> {
    from: &'f mut F,
    bytes: Vec<u8>,
    at: usize,
    end: usize,
    /// Bytes of the stream before the window.
    before: u64,
}

impl<F: Fill> Window<'_, F> {
    fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    #[inline]
    fn byte(&mut self) -> Result<u8, Fault> {
        if self.at == self.end {
            self.more(1)?;
        }
        let byte = self.bytes[self.at];
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    #[inline]
    fn take(&mut self, count: usize) -> Result<&[u8], Fault> {
        if self.end - self.at < count {
            self.more(count)?;
        }
        self.at += count;
        Ok(&self.bytes[self.at - count..self.at])
    }

    /// Refills the window until it has `count` bytes.
    #[cold]
    fn more(&mut self, count: usize) -> Result<(), Fault> {
        self.bytes.copy_within(self.at..self.end, 0);
        self.before += self.at as u64;
        (self.at, self.end) = (0, self.end - self.at);
        while self.end < count {
            // A long text grows the window as its bytes arrive, not by the length it claims.
            if self.end == self.bytes.len() {
                self.bytes.resize(2 * self.end, 0);
            }
            let got = self.from.fill(&mut self.bytes[self.end..]);
            if got == 0 {
                return Err(Fault::Cut);
            }
            self.end += got;
        }
        Ok(())
    }

    /// A line of text, to name what is refused.
    fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        while line.len() < 256 {
            match self.byte().ok()? {
                b'\n' => return Some(String::from_utf8_lossy(&line).into_owned()),
                byte => line.push(byte),
            }
        }
        None
    }
}

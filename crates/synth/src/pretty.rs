//! Readable JSON: one line for each deeply nested value, so that long lists stay short.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

/// Objects and lists deeper than this are on one line.
const DEEP: usize = 3;

/// The value as text.
pub(crate) fn json(value: &impl Serialize) -> serde_json::Result<String> {
    let mut text = Vec::new();
    let shallow = Shallow { depth: 0, pretty: PrettyFormatter::new(), compact: CompactFormatter };
    value.serialize(&mut Serializer::with_formatter(&mut text, shallow))?;
    // serde_json writes UTF-8.
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Pretty down to a depth, compact below.
struct Shallow {
    depth: usize,
    pretty: PrettyFormatter<'static>,
    compact: CompactFormatter,
}

macro_rules! either {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {
        $(fn $name<W: ?Sized + Write>(&mut self, writer: &mut W $(, $arg: $ty)*) -> io::Result<()> {
            if self.depth > DEEP {
                self.compact.$name(writer $(, $arg)*)
            } else {
                self.pretty.$name(writer $(, $arg)*)
            }
        })*
    };
}

macro_rules! nested {
    ($($begin:ident $end:ident;)*) => {
        $(fn $begin<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
            self.depth += 1;
            if self.depth > DEEP { self.compact.$begin(writer) } else { self.pretty.$begin(writer) }
        }

        fn $end<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
            self.depth -= 1;
            if self.depth >= DEEP { self.compact.$end(writer) } else { self.pretty.$end(writer) }
        })*
    };
}

impl Formatter for Shallow {
    nested! {
        begin_array end_array;
        begin_object end_object;
    }
    either! {
        begin_array_value(first: bool);
        end_array_value();
        begin_object_key(first: bool);
        begin_object_value();
        end_object_value();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_lists_are_on_one_line() {
        let value = serde_json::json!({ "a": { "b": [{ "c": [1, 2] }, { "c": [] }] } });
        let text = json(&value).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert!(text.contains("      {\"c\":[1,2]},\n"), "{text}");
    }
}

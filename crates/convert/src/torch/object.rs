//! The JSON of one event: its fixed fields, and its `args` object.

use trace::{Args, OptI64, RowRef, StrId, Strings, Table};

use super::bytes::{Text, int, micros};
use super::places::TrackSpan;

/// The `args` object of an event: separators in the right places.
pub(super) struct Object<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

impl<'a> Object<'a> {
    pub(super) fn open(out: &'a mut Vec<u8>) -> Self {
        out.extend_from_slice(b",\n    \"args\": {\n      ");
        Self { out, empty: true }
    }

    pub(super) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !self.empty {
            self.out.extend_from_slice(b", ");
        }
        self.empty = false;
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\": ");
        self.out
    }

    pub(super) fn int(&mut self, key: &str, value: i64) {
        int(self.key(key), value);
    }

    pub(super) fn some(&mut self, key: &str, value: OptI64) {
        if let Some(value) = value.get() {
            self.int(key, value);
        }
    }

    /// Arguments kept from the source, except those that are columns of the row and already written.
    pub(super) fn rest(
        &mut self,
        text: &mut Text,
        strings: &Strings,
        args: &Args,
        rows: std::ops::Range<usize>,
        own: &[&str],
    ) {
        for i in rows {
            let name = strings.get(args.name[i]);
            if own.contains(&name) {
                continue;
            }
            if !self.empty {
                self.out.extend_from_slice(b", ");
            }
            self.empty = false;
            text.name(self.out, strings, args.name[i]);
            self.out.extend_from_slice(b": ");
            text.value(self.out, strings, args.value[i]);
        }
    }

    pub(super) fn close(self) {
        self.out.extend_from_slice(b"\n    }\n  }");
    }
}

/// Walks through the arguments of a table's rows in order.
pub(super) struct ArgCursor<'a> {
    args: &'a Args,
    at: usize,
}

impl<'a> ArgCursor<'a> {
    pub(super) fn new(args: &'a Args, table: Table) -> Self {
        let first = RowRef::new(table, 0);
        Self { args, at: args.owner.partition_point(|owner| *owner < first) }
    }

    /// Indices of the arguments of the next row.
    pub(super) fn of(&mut self, owner: RowRef) -> std::ops::Range<usize> {
        let from = self.at;
        while self.at < self.args.len() && self.args.owner[self.at] == owner {
            self.at += 1;
        }
        from..self.at
    }
}

/// `"cat": …, "name": …, "pid": …, "tid": …, "ts": …, "dur": …`
pub(super) fn complete(
    out: &mut Vec<u8>,
    text: &mut Text,
    strings: &Strings,
    category: &[u8],
    name: StrId,
    at: &TrackSpan,
) {
    out.extend_from_slice(b"\"ph\": \"X\", \"cat\": \"");
    out.extend_from_slice(category);
    out.extend_from_slice(b"\", \"name\": ");
    text.name(out, strings, name);
    out.extend_from_slice(b", \"pid\": ");
    int(out, at.pid);
    out.extend_from_slice(b", \"tid\": ");
    int(out, at.tid);
    out.extend_from_slice(b",\n    \"ts\": ");
    micros(out, at.start);
    out.extend_from_slice(b", \"dur\": ");
    micros(out, at.end - at.start);
}

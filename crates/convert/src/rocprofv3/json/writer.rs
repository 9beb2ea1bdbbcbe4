//! JSON as text: keys, separators and lists, flushed to the file as it grows.

use std::io::{self, Write};

use files::OutputFile;

use crate::torch::{int, string};

pub(super) struct Json<'a> {
    pub(super) out: Vec<u8>,
    pub(super) file: &'a mut OutputFile,
}

impl Json<'_> {
    pub(super) fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    pub(super) fn key(&mut self, key: &str) {
        if !self.out.ends_with(b"{") {
            self.raw(", ");
        }
        self.raw("\"");
        self.raw(key);
        self.raw("\": ");
    }

    pub(super) fn int(&mut self, key: &str, value: i64) {
        self.key(key);
        int(&mut self.out, value);
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        string(&mut self.out, value);
    }

    pub(super) fn handle(&mut self, key: &str, value: i64) {
        self.key(key);
        self.raw("{\"handle\": ");
        int(&mut self.out, value);
        self.raw("}");
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    fn room(&mut self) -> io::Result<()> {
        if self.out.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// `"key": [ … ]` with one entry per item.
    pub(super) fn list<T>(
        &mut self,
        key: &str,
        items: impl Iterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> io::Result<()>,
    ) -> io::Result<()> {
        self.key(key);
        self.raw("[");
        for (i, item) in items.enumerate() {
            self.raw(if i == 0 { "\n" } else { ",\n" });
            write(self, item)?;
            self.room()?;
        }
        self.raw("]");
        Ok(())
    }
}

/// Size at which it is flushed.
pub(super) const BUFFER: usize = 1 << 20;

//! The workers' names as strings of the trace: unescaped and checked once per distinct name, numbered in
//! order of first use in the file.

use std::collections::BTreeSet;

use trace::{StrId, Strings};

use super::names::Names;
use crate::json::Text;

/// Names of all workers and their ids in the joined trace.
#[derive(Default)]
pub(super) struct Texts {
    names: Vec<Names>,
    known: Vec<Vec<Option<StrId>>>,
    /// Names that are not UTF-8; several workers may have met the same.
    lossy: BTreeSet<Vec<u8>>,
}

impl Texts {
    /// Adds the next worker's names.
    pub fn add(&mut self, names: Names) {
        self.known.push(vec![None; names.len()]);
        self.names.push(names);
    }

    /// Number of names of a worker.
    pub fn count(&self, worker: usize) -> usize {
        self.known[worker].len()
    }

    /// The string of a name that was looked up before.
    #[inline]
    pub fn known(&self, worker: usize, id: u32) -> StrId {
        self.known[worker][id as usize].unwrap_or(StrId::EMPTY)
    }

    /// The string for a name.
    #[inline]
    pub fn get(&mut self, worker: usize, id: u32, strings: &mut Strings) -> StrId {
        match self.known[worker][id as usize] {
            Some(string) => string,
            None => self.resolve(worker, id, strings, true),
        }
    }

    /// The string for JSON text, which keeps its escapes.
    #[inline]
    pub fn raw(&mut self, worker: usize, id: u32, strings: &mut Strings) -> StrId {
        match self.known[worker][id as usize] {
            Some(string) => string,
            None => self.resolve(worker, id, strings, false),
        }
    }

    /// The text of a name, for use outside the trace.
    pub fn plain(&self, worker: usize, id: u32) -> String {
        Text::of(self.names[worker].get(id)).text().into_owned()
    }

    /// How many distinct names are not UTF-8.
    pub fn lossy(&self) -> u64 {
        self.lossy.len() as u64
    }

    #[cold]
    fn resolve(&mut self, worker: usize, id: u32, strings: &mut Strings, unescape: bool) -> StrId {
        let raw = self.names[worker].get(id);
        let (string, lossy) = if unescape {
            strings.intern_bytes(&Text::of(raw).unescape())
        } else {
            strings.intern_bytes(raw)
        };
        if lossy {
            self.lossy.insert(raw.to_vec());
        }
        self.known[worker][id as usize] = Some(string);
        string
    }
}

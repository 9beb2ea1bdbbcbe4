//! Names that are sent once and then referred to by number.

use trace::{StrId, Trace};

use super::annotations::OWN;
use super::wire::{self, interned};
use crate::timeline::category_name;

/// Names that the reader of the stream knows, and those it gets with the next packet.
pub(super) struct Interned<'a> {
    trace: &'a Trace,
    names: Vec<bool>,
    arguments: Vec<bool>,
    /// The id of each region category, by its string.
    categories: Vec<u64>,
    known_categories: Vec<String>,
    /// Entries for the next packet.
    pub fresh: Vec<u8>,
}

impl<'a> Interned<'a> {
    pub fn new(trace: &'a Trace) -> Self {
        let strings = trace.strings.len();
        let mut fresh = Vec::new();
        for (id, name) in OWN.iter().enumerate().skip(1) {
            entry(&mut fresh, interned::ANNOTATIONS, id as u64, name);
        }
        Self {
            trace,
            names: vec![false; strings],
            arguments: vec![false; strings],
            categories: Vec::new(),
            known_categories: Vec::new(),
            fresh,
        }
    }

    /// The id of an event's name.
    #[inline]
    pub fn name(&mut self, name: StrId) -> u64 {
        let id = name_id(name);
        if !std::mem::replace(&mut self.names[name.0 as usize], true) {
            entry(&mut self.fresh, interned::NAMES, id, self.trace.strings.get(name));
        }
        id
    }

    /// The id of an annotation that the source named.
    pub fn argument(&mut self, name: StrId) -> u64 {
        let id = argument_id(name);
        if !std::mem::replace(&mut self.arguments[name.0 as usize], true) {
            entry(&mut self.fresh, interned::ANNOTATIONS, id, self.trace.strings.get(name));
        }
        id
    }

    pub fn category(&mut self, category: &str) -> u64 {
        if let Some(known) = self.known_categories.iter().position(|known| known == category) {
            return known as u64 + 1;
        }
        self.known_categories.push(category.to_string());
        let id = self.known_categories.len() as u64;
        entry(&mut self.fresh, interned::CATEGORIES, id, category);
        id
    }

    /// The id of a category of regions or samples.
    #[inline]
    pub fn category_of(&mut self, category: StrId) -> u64 {
        let slot = category.0 as usize;
        if slot >= self.categories.len() {
            self.categories.resize(slot + 1, 0);
        }
        if self.categories[slot] == 0 {
            let own = self.trace.strings.get(category);
            let name = category_name(own);
            self.categories[slot] = self.category(name);
        }
        self.categories[slot]
    }
}

/// The id of an event's name, once it was sent.
#[inline]
pub(super) fn name_id(name: StrId) -> u64 {
    u64::from(name.0) + 1
}

/// The id of an annotation that the source named, once it was sent.
#[inline]
pub(super) fn argument_id(name: StrId) -> u64 {
    OWN.len() as u64 + u64::from(name.0)
}

fn entry(out: &mut Vec<u8>, field: u32, id: u64, text: &str) {
    wire::message(out, field, |out| {
        wire::uint(out, interned::ID, id);
        wire::bytes(out, interned::TEXT, text.as_bytes());
    });
}

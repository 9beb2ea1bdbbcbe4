//! Names become numbers: each stream, call, frame and copy is kept once, and instructions name its place.

use std::collections::BTreeMap;

use super::Compiler;
use crate::program::{CopyWork, Frame, StreamPlace};

/// Names numbered in the order they are first seen.
#[derive(Default)]
pub(super) struct Numbered {
    pub(super) numbers: BTreeMap<String, u32>,
}

impl Numbered {
    pub(super) fn number(&mut self, name: &str) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(name.to_string()).or_insert(next)
    }
}

/// Frames are the same if these are: kind, name, sizes and types.
pub(super) type FrameKey = (u8, String, Option<String>, Option<String>);

impl Compiler<'_> {
    pub(super) fn add_copy(&mut self, work: CopyWork) -> u32 {
        self.program.copies.push(work);
        self.program.copies.len() as u32 - 1
    }

    pub(super) fn stream(&mut self, gpu: u32, id: u32) -> u32 {
        let place = StreamPlace { gpu, id };
        if let Some(known) = self.program.streams.iter().position(|s| *s == place) {
            return known as u32;
        }
        self.program.streams.push(place);
        self.program.owners.push(self.thread);
        self.program.streams.len() as u32 - 1
    }

    pub(super) fn api(&mut self, name: &str) -> u32 {
        if let Some(known) = self.api_ids.get(name) {
            return *known;
        }
        let number = self.program.apis.len() as u32;
        self.program.apis.push(name.to_string());
        self.api_ids.insert(name.to_string(), number);
        number
    }

    pub(super) fn frame(&mut self, frame: Frame) -> u32 {
        let key = (frame.kind as u8, frame.name.clone(), frame.dims.clone(), frame.types.clone());
        if let Some(known) = self.frame_ids.get(&key) {
            return *known;
        }
        let number = self.program.frames.len() as u32;
        self.program.frames.push(frame);
        self.frame_ids.insert(key, number);
        number
    }
}

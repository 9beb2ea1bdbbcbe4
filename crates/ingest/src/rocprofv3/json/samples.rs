//! PC samples: where a wave was, and with stochastic sampling why it waited.

use trace::{Arg, RowRef, Sample, StrId, Table};

use super::Reader;
use super::record::Record;
use crate::times::are_believable;

impl<'a> Reader<'a, '_> {
    pub(super) fn host_trap_sample(&mut self, record: &Record<'a>) {
        self.pc_sample(record, "host_trap");
    }

    pub(super) fn stochastic_sample(&mut self, record: &Record<'a>) {
        self.pc_sample(record, "stochastic");
    }

    fn pc_sample(&mut self, record: &Record<'a>, name: &str) {
        let Some(start) = record.timestamp.filter(|&at| are_believable(at, at)) else {
            self.lost.unusable += 1;
            return;
        };
        let location = self.location(record);
        let comment = self.names.comment(&mut self.trace.strings, record.instruction);
        let owner = RowRef::new(Table::Samples, self.trace.samples.len());
        let sample = Sample {
            start,
            end: start,
            kind: self.trace.strings.intern("pc_sampling"),
            name: self.trace.strings.intern(name),
            value: f64::NAN,
            location,
            process: self.process,
            correlation: record.correlation.internal.unwrap_or(0),
            dispatch: record.dispatch.into(),
            ..Sample::default()
        };
        self.trace.samples.push(sample);
        let mut position = 0;
        if let Some(value) = comment
            && self.needs.args.wants("Instruction_Comment")
        {
            self.detail(owner, &mut position, "Instruction_Comment", value);
        }
        for (key, value) in &record.details {
            let key = String::from_utf8_lossy(key);
            if self.needs.args.wants(&key) {
                let value = self.trace.strings.intern_bytes(value).0;
                self.detail(owner, &mut position, &key, value);
            }
        }
    }

    fn detail(&mut self, owner: RowRef, position: &mut u32, name: &str, value: StrId) {
        let name = self.trace.strings.intern(name);
        self.trace.args.push(Arg { owner, position: *position, name, value, ..Arg::default() });
        *position += 1;
    }

    /// The instruction, or its offset in the code object if the file has no text for it.
    fn location(&mut self, record: &Record<'a>) -> StrId {
        let strings = &mut self.trace.strings;
        if let Some(text) = self.names.instruction(strings, record.instruction) {
            return text;
        }
        match (record.code_object, record.code_offset) {
            (Some(object), Some(offset)) => strings.intern(&format!("code object {object} + {offset:#x}")),
            _ => StrId::EMPTY,
        }
    }
}

//! PC samples: where a wave was, and with stochastic sampling why it waited.

use trace::{Arg, RowRef, Sample, Table};

use super::Set;
use super::columns::{Column, Columns};
use super::rows::Identity;
use super::split::Rows;

/// Extra columns of a sample, kept as arguments under their own names.
const DETAILS: &[&str] = &[
    "Exec_Mask",
    "Instruction_Comment",
    "Wave_Issued_Instruction",
    "Instruction_Type",
    "Stall_Reason",
    "Wave_Count",
];

impl Set<'_> {
    pub(super) fn take_pc_samples(&mut self, columns: &Columns, rows: &mut Rows<'_>) {
        if !self.needs.samples {
            return;
        }
        let identity = Identity::of(columns);
        let (time, dispatch) = (columns.find(&["sample_timestamp"]), columns.find(&["dispatch_id"]));
        let (instruction, comment) = (columns.find(&["instruction"]), columns.find(&["instruction_comment"]));
        let stochastic = columns.find(&["stall_reason"]).0.is_some();
        let details: Vec<(&str, Column)> = DETAILS
            .iter()
            .filter(|name| self.needs.args.wants(name))
            .map(|name| (*name, columns.find(&[&name.to_ascii_lowercase()])))
            .filter(|(_, column)| column.0.is_some())
            .collect();
        let kind = self.trace.strings.intern("pc_sampling");
        let name = self.trace.strings.intern(if stochastic { "stochastic" } else { "host_trap" });
        let doubled = rows.doubled();
        let mut fields = Vec::new();
        while rows.next(&mut fields) {
            let Some(start) = time.whole(&fields) else {
                self.unusable += 1;
                continue;
            };
            let whose = identity.whose(self, &fields);
            let place = match instruction.text(&fields) {
                b"" => comment.text(&fields),
                text => text,
            };
            let owner = RowRef::new(Table::Samples, self.trace.samples.len());
            let sample = Sample {
                start,
                end: start,
                kind,
                name,
                value: f64::NAN,
                location: self.text(place, doubled),
                process: whose.process,
                thread: whose.thread,
                correlation: whose.correlation,
                dispatch: dispatch.optional(&fields),
                ..Sample::default()
            };
            self.trace.samples.push(sample);
            for (position, (key, column)) in details.iter().enumerate() {
                let value = self.text(column.text(&fields), doubled);
                let name = self.trace.strings.intern(key);
                self.trace.args.push(Arg { owner, position: position as u32, name, value, ..Arg::default() });
            }
        }
    }
}

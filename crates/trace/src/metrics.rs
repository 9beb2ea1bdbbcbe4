//! Metrics that another program computed: the panels of an analysis database.

use crate::columns::{Remap, Remapping};
use crate::ids::{ProcessId, StrId};

/// One value of a metric, for one kernel or for all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredMetric {
    /// The process that was measured.
    pub process: ProcessId,
    /// The kernel; empty: all kernels of the run.
    pub kernel: StrId,
    /// `16.3.4`: panel, table and row.
    pub id: StrId,
    /// Its name.
    pub name: StrId,
    /// The panel's heading.
    pub panel: StrId,
    /// The table's heading.
    pub table: StrId,
    /// Its unit, as the source writes it.
    pub unit: StrId,
    /// How many dispatches are combined: `Avg`, `Min`, `Peak` …
    pub statistic: StrId,
    /// The value; NaN: none.
    pub value: f64,
}

impl StoredMetric {
    pub(crate) fn remap(self, by: &Remapping) -> Self {
        Self {
            process: self.process.remap(by),
            kernel: self.kernel.remap(by),
            id: self.id.remap(by),
            name: self.name.remap(by),
            panel: self.panel.remap(by),
            table: self.table.remap(by),
            unit: self.unit.remap(by),
            statistic: self.statistic.remap(by),
            value: self.value,
        }
    }
}

//! One clock for all processes of a run: collectives end everywhere at almost the same moment.
//!
//! A process' offset is the median of how much later its collectives end than those of the process with most of
//! them. One process, or no collective in common, leaves times as they are.

use model::collectives::Meeting;
use stats::robust::upper_median;
use trace::{Map, ProcessId, Trace};

/// What is taken off each process' times.
#[derive(Default)]
pub(super) struct Clocks {
    offsets: Vec<i64>,
    /// How far the ends of a collective stay apart once aligned, in the median; absent where nothing was aligned.
    pub residual: Option<i64>,
}

impl Clocks {
    /// The clocks of a trace's processes.
    pub fn of(trace: &Trace, meetings: &[Meeting]) -> Self {
        let mut offsets = vec![0; trace.processes.len()];
        let kernels = &trace.kernels;
        let mut count: Map<ProcessId, usize> = Map::default();
        for meeting in meetings {
            for &kernel in &meeting.kernels {
                *count.entry(kernels.process[kernel as usize]).or_default() += 1;
            }
        }
        let Some(reference) = count.keys().copied().min_by_key(|p| (std::cmp::Reverse(count[p]), p.0)) else {
            return Self { offsets, residual: None };
        };
        let mut apart: Map<ProcessId, Vec<i64>> = Map::default();
        for meeting in meetings {
            let end_of = |k: u32| kernels.end[k as usize];
            let Some(&own) = meeting.kernels.iter().find(|&&k| kernels.process[k as usize] == reference)
            else {
                continue;
            };
            for &kernel in &meeting.kernels {
                let process = kernels.process[kernel as usize];
                // GPUs of one process have one clock.
                if process == reference {
                    continue;
                }
                apart.entry(process).or_default().push(end_of(kernel) - end_of(own));
            }
        }
        let mut residuals = Vec::new();
        for (process, mut differences) in apart {
            let offset = upper_median(&mut differences).unwrap_or(0);
            if let Some(process) = process.get() {
                offsets[process] = offset;
            }
            residuals.extend(differences.iter().map(|difference| (difference - offset).abs()));
        }
        let residual = upper_median(&mut residuals);
        Self { offsets, residual }
    }

    /// A process' time on the common clock.
    pub fn align(&self, process: ProcessId, time: i64) -> i64 {
        process
            .get()
            .and_then(|process| self.offsets.get(process))
            .map_or(time, |offset| time.saturating_sub(*offset))
    }

    /// The largest correction.
    pub fn largest(&self) -> i64 {
        self.offsets.iter().map(|offset| offset.abs()).max().unwrap_or(0)
    }
}

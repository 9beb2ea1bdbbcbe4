//! Draws several clocks on one axis: how far to shift each so that no blank time lies between them.

use trace::{Ns, ProcessId, Trace};

use super::Recordings;

/// How many recordings the note names.
const SHOWN: usize = 4;

/// Recordings on several clocks, drawn as if all started at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideBySide {
    /// By process: nanoseconds to add to its times.
    pub shift: Vec<Ns>,
    /// One recording per clock.
    pub clocks: Vec<String>,
}

impl SideBySide {
    /// The note for readers of the drawing.
    pub fn note(&self) -> String {
        let more = if self.clocks.len() > SHOWN { ", …" } else { "" };
        let named = &self.clocks[..self.clocks.len().min(SHOWN)];
        format!(
            "{} clocks are not aligned ({}{more}): each starts at its own zero, so only compare times on the same clock",
            self.clocks.len(),
            named.join(", ")
        )
    }
}

impl Recordings {
    /// How to draw the recordings together; `None` if all are on one clock, or if all use the time of day and
    /// their times already overlap.
    pub fn side_by_side(&self, trace: &Trace) -> Option<SideBySide> {
        if self.domains.len() < 2 {
            return None;
        }
        let domain = |process: ProcessId| Some(self.domain_of(self.of_process(process)?));
        let bounds: Vec<Option<(Ns, Ns)>> = (0..self.domains.len())
            .map(|wanted| trace.bounds_of(|process| domain(process) == Some(wanted)))
            .collect();
        let mut known: Vec<(Ns, Ns)> = bounds.iter().flatten().copied().collect();
        if known.len() < 2
            || (self.domains.iter().all(|domain| domain.is_time_of_day) && lie_together(&mut known))
        {
            return None;
        }
        let first = bounds.iter().flatten().next()?.0;
        let shift_of = |process: usize| {
            let own = domain(ProcessId::at(process)).and_then(|domain| bounds[domain]);
            own.map_or(0, |(start, _)| first.saturating_sub(start))
        };
        let label = |(number, _): (usize, &Option<(Ns, Ns)>)| {
            self.all[self.domains[number].recordings[0]].label.clone()
        };
        Some(SideBySide {
            shift: (0..trace.processes.len()).map(shift_of).collect(),
            clocks: bounds.iter().enumerate().filter(|(_, bounds)| bounds.is_some()).map(label).collect(),
        })
    }
}

/// Whether there is no gap between the first and the last.
fn lie_together(bounds: &mut [(Ns, Ns)]) -> bool {
    bounds.sort_unstable();
    let mut end = bounds[0].1;
    bounds.iter().all(|&(start, last)| {
        let touches = start <= end;
        end = end.max(last);
        touches
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Kernel, Process, Source};

    fn recorded(format: &str, starts: &[i64]) -> Trace {
        let mut trace = Trace::default();
        for (number, &start) in starts.iter().enumerate() {
            let source = trace.add_source(Source::named(&format!("{number}"), format));
            let guid = trace.strings.intern(&format!("guid {number}"));
            let hostname = trace.strings.intern(&format!("node{number}"));
            let process = trace.add_process(Process { guid, hostname, ..Process::new(source, 7) });
            trace.kernels.push(Kernel { start, end: start + 100, process, ..Kernel::default() });
        }
        trace.finish();
        trace
    }

    #[test]
    fn hosts_booted_days_apart_are_drawn_from_their_own_start() {
        let trace = recorded("rocpd", &[1_000, 400_000_000_000_000]);
        let drawn = Recordings::of(&trace).side_by_side(&trace).expect("two clocks");
        assert_eq!(drawn.shift, [0, 1_000 - 400_000_000_000_000]);
        assert!(
            drawn.note().starts_with("2 clocks are not aligned (node0:7, node1:7): "),
            "{}",
            drawn.note()
        );
        // Boot clocks that happen to overlap are still not aligned.
        let trace = recorded("rocpd", &[1_000, 1_040]);
        assert_eq!(Recordings::of(&trace).side_by_side(&trace).map(|drawn| drawn.shift), Some(vec![0, -40]));
    }

    #[test]
    fn times_of_day_that_lie_together_are_drawn_as_recorded() {
        let side_by_side = |starts: &[i64]| {
            let trace = recorded("torch", starts);
            Recordings::of(&trace).side_by_side(&trace)
        };
        assert_eq!(side_by_side(&[1_000, 1_040]), None);
        assert_eq!(side_by_side(&[1_000, 5_000]).map(|drawn| drawn.shift), Some(vec![0, -4_000]));
    }
}

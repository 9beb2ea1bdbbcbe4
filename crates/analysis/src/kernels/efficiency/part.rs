//! The parts that the time of a GPU is split into, from the peak down to what was reached.

use trace::Ns;

/// A part of a GPU's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaterfallStep {
    /// What the work takes at the machine's peak.
    AtPeak,
    /// The GPU ran below its peak clock.
    Clock,
    /// Tiles reach beyond the result, or the last round of workgroups does not fill the GPU.
    Quantisation,
    /// The arithmetic units did less than they can.
    Compute,
    /// Memory moved less than it can.
    Memory,
    /// Kernels whose work is not known.
    NotMeasured,
    /// Communication that no computation hides.
    Communication,
    /// Copies that nothing hides.
    Copies,
    /// The GPU waited for launches.
    Launch,
    /// The GPU waited for the host to do something else.
    Host,
    /// The GPU was idle for another reason.
    Idle,
}

impl WaterfallStep {
    /// All parts, from the peak down.
    pub const ALL: [WaterfallStep; 11] = [
        WaterfallStep::AtPeak,
        WaterfallStep::Clock,
        WaterfallStep::Quantisation,
        WaterfallStep::Compute,
        WaterfallStep::Memory,
        WaterfallStep::NotMeasured,
        WaterfallStep::Communication,
        WaterfallStep::Copies,
        WaterfallStep::Launch,
        WaterfallStep::Host,
        WaterfallStep::Idle,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            WaterfallStep::AtPeak => "work at peak",
            WaterfallStep::Clock => "clock below peak",
            WaterfallStep::Quantisation => "tile and wave quantisation",
            WaterfallStep::Compute => "matrix and vector units below peak",
            WaterfallStep::Memory => "memory below peak bandwidth",
            WaterfallStep::NotMeasured => "not measured",
            WaterfallStep::Communication => "exposed communication",
            WaterfallStep::Copies => "exposed copies",
            WaterfallStep::Launch => "launch",
            WaterfallStep::Host => "host",
            WaterfallStep::Idle => "idle",
        }
    }

    /// Its column in tables.
    pub fn key(self) -> &'static str {
        match self {
            WaterfallStep::AtPeak => "at_peak_ns",
            WaterfallStep::Clock => "clock_ns",
            WaterfallStep::Quantisation => "quantisation_ns",
            WaterfallStep::Compute => "compute_ns",
            WaterfallStep::Memory => "memory_ns",
            WaterfallStep::NotMeasured => "not_measured_ns",
            WaterfallStep::Communication => "exposed_communication_ns",
            WaterfallStep::Copies => "exposed_copies_ns",
            WaterfallStep::Launch => "launch_ns",
            WaterfallStep::Host => "host_ns",
            WaterfallStep::Idle => "idle_ns",
        }
    }
}

/// Time by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts([Ns; WaterfallStep::ALL.len()]);

impl Parts {
    /// The time of one part.
    pub fn get(&self, part: WaterfallStep) -> Ns {
        self.0[part as usize]
    }

    /// Adds time to a part.
    pub fn add(&mut self, part: WaterfallStep, ns: Ns) {
        self.0[part as usize] += ns;
    }

    /// Adds all parts of another.
    pub fn add_all(&mut self, other: &Parts) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own += other);
    }

    /// All parts together: the span.
    pub fn total(&self) -> Ns {
        self.0.iter().sum()
    }
}

//! The parts that the time of a GPU is split into, from the peak down to what was reached.

use trace::Ns;

/// A part of the time of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// What the work takes at the peak of the machine.
    AtPeak,
    /// The GPU ran below its peak clock.
    Clock,
    /// Tiles reach beyond the result, or the last round of workgroups does not fill the GPU.
    Quantisation,
    /// The arithmetic units did less than they can.
    Compute,
    /// Memory moved less than it can.
    Memory,
    /// Kernels of which the work is not known.
    NotMeasured,
    /// Communication that no computation hides.
    Communication,
    /// Copies that nothing hides.
    Copies,
    /// The GPU waited for launches.
    Launch,
    /// The GPU waited for the host to do something else.
    Host,
    /// The GPU had nothing to do for another reason.
    Idle,
}

impl Part {
    /// All, from the peak down.
    pub const ALL: [Part; 11] = [
        Part::AtPeak,
        Part::Clock,
        Part::Quantisation,
        Part::Compute,
        Part::Memory,
        Part::NotMeasured,
        Part::Communication,
        Part::Copies,
        Part::Launch,
        Part::Host,
        Part::Idle,
    ];

    /// Its words in tables.
    pub fn name(self) -> &'static str {
        match self {
            Part::AtPeak => "work at peak",
            Part::Clock => "clock below peak",
            Part::Quantisation => "tile and wave quantisation",
            Part::Compute => "matrix and vector units below peak",
            Part::Memory => "memory below peak bandwidth",
            Part::NotMeasured => "not measured",
            Part::Communication => "exposed communication",
            Part::Copies => "exposed copies",
            Part::Launch => "launch",
            Part::Host => "host",
            Part::Idle => "idle",
        }
    }

    /// Its column in tables.
    pub fn key(self) -> &'static str {
        match self {
            Part::AtPeak => "at_peak_ns",
            Part::Clock => "clock_ns",
            Part::Quantisation => "quantisation_ns",
            Part::Compute => "compute_ns",
            Part::Memory => "memory_ns",
            Part::NotMeasured => "not_measured_ns",
            Part::Communication => "exposed_communication_ns",
            Part::Copies => "exposed_copies_ns",
            Part::Launch => "launch_ns",
            Part::Host => "host_ns",
            Part::Idle => "idle_ns",
        }
    }
}

/// Time by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts([Ns; Part::ALL.len()]);

impl Parts {
    /// The time of one part.
    pub fn get(&self, part: Part) -> Ns {
        self.0[part as usize]
    }

    /// Adds time to a part.
    pub fn add(&mut self, part: Part, ns: Ns) {
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

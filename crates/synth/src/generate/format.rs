//! The formats that a run is written in, and their names on the command line.

/// A format that runs are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// rocpd database.
    Rocpd,
    /// rocpd database of schema 4.0.
    Rocpd40,
    /// rocpd database of schema 4.1.
    Rocpd41,
    /// Database of rocmProfileData.
    Rpd,
    /// torch JSON.
    Torch,
    /// torch JSON, compressed.
    TorchGz,
    /// Set of rocprofv3 CSV files.
    Rocprofv3Csv,
    /// rocprofv3 JSON.
    Rocprofv3Json,
    /// Memory snapshot of torch.
    Snapshot,
    /// Collectives as RCCL's Inspector writes them.
    Inspector,
    /// JAX profile.
    Xplane,
}

impl OutputFormat {
    /// All formats with their names.
    pub const ALL: [(&'static str, OutputFormat); 11] = [
        ("rocpd", OutputFormat::Rocpd),
        ("rocpd-4.0", OutputFormat::Rocpd40),
        ("rocpd-4.1", OutputFormat::Rocpd41),
        ("rpd", OutputFormat::Rpd),
        ("torch", OutputFormat::Torch),
        ("torch-gz", OutputFormat::TorchGz),
        ("rocprofv3-csv", OutputFormat::Rocprofv3Csv),
        ("rocprofv3-json", OutputFormat::Rocprofv3Json),
        ("snapshot", OutputFormat::Snapshot),
        ("inspector", OutputFormat::Inspector),
        ("xplane", OutputFormat::Xplane),
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// The format with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    pub(super) fn is_torch(self) -> bool {
        matches!(self, OutputFormat::Torch | OutputFormat::TorchGz)
    }
}

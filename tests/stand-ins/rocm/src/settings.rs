//! What the stand-ins simulate, from environment variables that begin with `STAND_IN_`.

use std::path::PathBuf;

/// A release of ROCm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl Version {
    /// `7.2` or `7.2.1`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|part| part.parse().ok());
        Some(Self(parts.next()??, parts.next().flatten().unwrap_or(0), parts.next().flatten().unwrap_or(0)))
    }
}

/// `STAND_IN_ROCM_VERSION`, or 7.0.0.
pub fn rocm_version() -> Version {
    value("STAND_IN_ROCM_VERSION").and_then(|text| Version::parse(&text)).unwrap_or(Version(7, 0, 0))
}

/// `STAND_IN_ARCH`, or gfx942.
pub fn arch() -> String {
    value("STAND_IN_ARCH").unwrap_or_else(|| "gfx942".into())
}

/// `STAND_IN_GPUS`, or 2.
pub fn gpus() -> usize {
    value("STAND_IN_GPUS").and_then(|text| text.parse().ok()).unwrap_or(2)
}

/// Whether `STAND_IN_FAULT` (a comma list) names a fault.
pub fn fault(name: &str) -> bool {
    value("STAND_IN_FAULT").is_some_and(|list| list.split(',').any(|fault| fault == name))
}

/// A variable that is set and not empty.
pub fn value(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A program on `PATH`.
pub fn on_path(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(name.into()).filter(|path: &PathBuf| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

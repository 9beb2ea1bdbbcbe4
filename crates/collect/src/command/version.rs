//! ROCm versions, which determine what the profiler supports.

use std::fmt;

/// Major and minor number of a ROCm release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 7 of 7.2.
    pub major: u32,
    /// 2 of 7.2.
    pub minor: u32,
}

impl Version {
    /// The release that introduced databases and `--version`; assumed if nothing is installed.
    pub const ASSUMED: Self = Self::new(7, 0);
    /// The oldest release with rocprofv3.
    pub const OLDEST: Self = Self::new(6, 2);
    /// Newer than every release: for features still in development.
    pub const DEVELOPMENT: Self = Self::new(u32::MAX, 0);

    /// A release.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// From `7.2`, `7.2.0` or `7.2.0-43`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.trim().split(['.', '-', '+', '_']);
        Some(Self::new(numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }

    /// The release that came with a version of the rocprofiler-sdk.
    pub fn of_sdk(text: &str) -> Option<Self> {
        let sdk = Self::parse(text)?;
        let patch = text.trim().split('.').nth(2).and_then(|patch| patch.parse::<u32>().ok());
        Some(match (sdk.major, sdk.minor, patch.unwrap_or(0)) {
            (0, ..=4, _) => Self::new(6, 2),
            (0, 5, _) => Self::new(6, 3),
            (0, _, _) => Self::new(6, 4),
            (1, 0, _) => Self::new(7, 0),
            (1, 1 | 2, _) => Self::new(7, 1),
            (1, 3, 0 | 1) => Self::new(7, 13),
            (1, 3, 2..=4) => Self::new(7, 14),
            _ => Self::new(10, 0),
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::DEVELOPMENT {
            return f.write_str("a release to come");
        }
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_in_order() {
        let parse = |text| Version::parse(text).unwrap();
        assert_eq!(parse("7.2.0-43"), Version::new(7, 2));
        assert!(parse("7.13.0") > parse("7.2.1") && parse("10.0") > parse("7.14"));
        assert!(Version::DEVELOPMENT > parse("10.0"));
        assert_eq!(Version::parse("rocm"), None);
    }

    #[test]
    fn the_sdk_tells_the_release() {
        let of = |text| Version::of_sdk(text).unwrap().to_string();
        let told = ["0.4.0", "0.5.0", "0.6.0", "1.0.0", "1.1.0", "1.3.0", "1.3.2", "1.3.5"].map(of);
        assert_eq!(told, ["6.2", "6.3", "6.4", "7.0", "7.1", "7.13", "7.14", "10.0"]);
    }
}

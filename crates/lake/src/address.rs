//! Where a lake is: a folder, or a place in an object store.

use std::fmt;
use std::path::{Path, PathBuf};

/// The file that makes a folder a lake.
pub(crate) const LAKE_FILE: &str = "lake.json";

/// Prefix of addresses in object stores.
const S3: &str = "s3://";

/// Where a lake is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A folder of a local or shared file system.
    Folder(PathBuf),
    /// A place in an S3-compatible object store.
    Bucket {
        /// The bucket.
        bucket: String,
        /// The folder in it, without slashes at its ends; may be empty.
        folder: String,
    },
}

impl Address {
    /// `s3://BUCKET/FOLDER`, or a folder.
    pub fn parse(text: &str) -> Self {
        let Some(rest) = text.strip_prefix(S3) else { return Address::Folder(PathBuf::from(text)) };
        let (bucket, folder) = rest.split_once('/').unwrap_or((rest, ""));
        Address::Bucket { bucket: bucket.into(), folder: folder.trim_matches('/').into() }
    }

    /// The lake that a path names: an address in an object store, or a folder that contains `lake.json`.
    pub fn of_lake(path: &Path) -> Option<Self> {
        let text = path.to_str()?;
        if text.starts_with(S3) {
            return Some(Self::parse(text));
        }
        path.join(LAKE_FILE).is_file().then(|| Address::Folder(path.into()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Folder(path) => path.display().fmt(f),
            Address::Bucket { bucket, folder } if folder.is_empty() => write!(f, "{S3}{bucket}"),
            Address::Bucket { bucket, folder } => write!(f, "{S3}{bucket}/{folder}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_alike() {
        for text in ["s3://traces/jobs/4711", "s3://traces", "lakes/4711"] {
            assert_eq!(Address::parse(text).to_string(), text);
        }
        assert_eq!(Address::parse("s3://b/a/"), Address::Bucket { bucket: "b".into(), folder: "a".into() });
        assert_eq!(Address::of_lake(Path::new("no/such/folder")), None);
    }
}

//! Where a store is.

use std::path::{Path, PathBuf};

/// The database file in the user's data folder.
const FILE: &str = "experiments.db";
/// The folder of artifact files next to it.
const ARTIFACTS: &str = "artifacts";

/// A database and the folder of its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A file.
    Sqlite {
        /// The database.
        path: PathBuf,
        /// The folder of artifact files.
        artifacts: PathBuf,
    },
    /// A server.
    PostgreSql {
        /// `postgres://user@host/name`
        url: String,
        /// The folder of artifact files.
        artifacts: PathBuf,
    },
}

impl Location {
    /// The given store, a file or the URL of a server; by default the user's own. Artifact files are next to
    /// a database file. Those of a server are in the user's data folder, unless another folder is given.
    pub fn find(database: Option<&str>, artifacts: Option<&Path>) -> Self {
        let data = data_folder();
        match database {
            Some(url) if is_url(url) => Location::PostgreSql {
                url: url.to_string(),
                artifacts: artifacts.map_or_else(|| data.join(ARTIFACTS), Path::to_path_buf),
            },
            other => {
                let path = other.map_or_else(|| data.join(FILE), PathBuf::from);
                let beside = path.with_file_name(match path.file_name() {
                    Some(name) if name != FILE => format!("{}.{ARTIFACTS}", name.to_string_lossy()),
                    _ => ARTIFACTS.into(),
                });
                Location::Sqlite { artifacts: artifacts.map_or(beside, Path::to_path_buf), path }
            }
        }
    }

    /// The folder of artifact files.
    pub fn artifacts(&self) -> &Path {
        match self {
            Location::Sqlite { artifacts, .. } | Location::PostgreSql { artifacts, .. } => artifacts,
        }
    }
}

fn is_url(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

/// `$XDG_DATA_HOME/rocm-perf`, as the base directory specification has it.
fn data_folder() -> PathBuf {
    let named = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map_or_else(|| PathBuf::from("."), PathBuf::from);
    named.unwrap_or_else(|| home().join(".local/share")).join("rocm-perf")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_beside_their_database() {
        let found = Location::find(Some("/data/team.db"), None);
        assert_eq!(found.artifacts(), Path::new("/data/team.db.artifacts"));
        let found = Location::find(Some("postgres://perf@db/perf"), Some(Path::new("/nfs/perf")));
        assert_eq!(
            found,
            Location::PostgreSql { url: "postgres://perf@db/perf".into(), artifacts: "/nfs/perf".into() }
        );
        assert!(Location::find(None, None).artifacts().ends_with("rocm-perf/artifacts"));
    }
}

//! Which files a client may name: those inside the allowed folders, with every link resolved.

use std::path::{Component, Path, PathBuf};

use crate::refusal::Refusal;

/// Allowed folders, with links resolved.
#[derive(Clone, Debug)]
pub struct Roots(Vec<PathBuf>);

impl Roots {
    /// These folders; if there are none, the one that the server was started in.
    pub fn new(folders: &[PathBuf]) -> Result<Self, Refusal> {
        let here = [PathBuf::from(".")];
        let folders = if folders.is_empty() { &here[..] } else { folders };
        let resolved = folders.iter().map(|folder| match folder.canonicalize() {
            Ok(path) if path.is_dir() => Ok(path),
            Ok(_) => Err(Refusal::new(format!("`{}` is not a folder", folder.display()))),
            Err(error) => {
                Err(Refusal::new(format!("cannot open the folder `{}`: {error}", folder.display())))
            }
        });
        Ok(Self(resolved.collect::<Result<_, _>>()?))
    }

    /// The file or folder that a client named; a relative path is tried in each allowed folder in turn.
    pub fn resolve(&self, named: &str) -> Result<PathBuf, Refusal> {
        let path = Path::new(named);
        let candidates: Vec<PathBuf> = match path.is_absolute() {
            true => vec![path.to_path_buf()],
            false => self.0.iter().map(|root| root.join(path)).collect(),
        };
        for candidate in &candidates {
            if let Ok(real) = candidate.canonicalize() {
                return if self.holds(&real) { Ok(real) } else { Err(self.outside(named)) };
            }
        }
        // Do not reveal whether something outside exists.
        match candidates.iter().any(|candidate| self.holds(&plain(candidate))) {
            true => Err(Refusal::new(format!("there is no `{named}`")).with_help(self.list())),
            false => Err(self.outside(named)),
        }
    }

    fn holds(&self, path: &Path) -> bool {
        self.0.iter().any(|root| path.starts_with(root))
    }

    fn outside(&self, named: &str) -> Refusal {
        Refusal::new(format!("`{named}` is outside of the folders that this server may read"))
            .with_help(self.list())
    }

    fn list(&self) -> String {
        let list: Vec<String> = self.0.iter().map(|root| format!("`{}`", root.display())).collect();
        format!("it reads traces in {}", list.join(", "))
    }
}

/// A path without `.` and `..`, resolved as text only.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_dots_do_not_lead_out_of_the_allowed_folders() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, secret) = (folder.path().join("traces"), folder.path().join("secret.json"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(&secret, "{}").unwrap();
        std::fs::write(inside.join("run.json"), "{}").unwrap();
        std::os::unix::fs::symlink(&secret, inside.join("link.json")).unwrap();
        std::os::unix::fs::symlink(folder.path(), inside.join("up")).unwrap();
        let roots = Roots::new(std::slice::from_ref(&inside)).unwrap();
        let real = inside.canonicalize().unwrap().join("run.json");
        assert_eq!(roots.resolve("run.json").unwrap(), real);
        assert!(roots.resolve("./x/../run.json").is_err(), "there is no folder x");
        for outside in ["link.json", "up/secret.json", "../secret.json", "../none.json", "/etc/passwd"] {
            let refusal = roots.resolve(outside).unwrap_err();
            assert!(refusal.message().contains("outside"), "{outside}: {refusal}");
        }
        assert!(roots.resolve("none.json").unwrap_err().message().contains("there is no"));
    }

    #[test]
    fn a_root_that_is_no_folder_is_refused_when_the_server_starts() {
        assert!(Roots::new(&["/no/such/folder".into()]).is_err());
        assert!(Roots::new(&[]).is_ok());
    }
}

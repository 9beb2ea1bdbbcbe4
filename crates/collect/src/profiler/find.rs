//! Looking for the profiler: the PATH, `$ROCM_PATH/bin`, `/opt/rocm*/bin`; rocprofv3 wherever it is, else rocprof.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Profiler, ProfilerKind};
use crate::command::{Mode, Version};
use crate::run::CollectError;

/// Where to look.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Folders of programs, in search order.
    pub folders: Vec<PathBuf>,
    /// Roots of ROCm installations.
    pub roots: Vec<PathBuf>,
}

impl Places {
    /// The places of this process.
    pub fn of_environment() -> Self {
        let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
        Self::new(&variable("PATH"), &variable("ROCM_PATH"), Path::new("/opt"))
    }

    /// From the values of `PATH` and `ROCM_PATH`, and the folder of installations.
    pub fn new(path: &OsString, rocm_path: &OsString, opt: &Path) -> Self {
        let folders = std::env::split_paths(path).filter(|folder| !folder.as_os_str().is_empty()).collect();
        let mut roots: Vec<PathBuf> = Vec::new();
        if !rocm_path.is_empty() {
            roots.push(rocm_path.into());
        }
        let mut installed: Vec<PathBuf> = std::fs::read_dir(opt)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("rocm"))
            .map(|entry| entry.path())
            .collect();
        // `/opt/rocm` is the chosen release; of the others, the newest comes first.
        installed.sort_by_key(|path| (path.file_name().is_some_and(|n| n == "rocm"), version_of_name(path)));
        roots.extend(installed.into_iter().rev());
        Self { folders, roots }
    }

    /// The program with this name.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let in_roots = self.roots.iter().map(|root| root.join("bin"));
        self.folders.iter().cloned().chain(in_roots).map(|folder| folder.join(name)).find(|p| is_program(p))
    }
}

fn version_of_name(path: &Path) -> Option<Version> {
    Version::parse(path.file_name()?.to_str()?.strip_prefix("rocm-")?)
}

/// A program as a shell finds it: by its path if it has one, else in the folders of `PATH`.
pub fn on_path(word: &str) -> Option<PathBuf> {
    if word.contains('/') {
        return Some(word.into());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(word)).find(|path| is_program(path))
}

/// Whether a path is an executable file.
pub fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Finds the profiler and asks for its version.
pub fn find(places: &Places) -> Result<Profiler, CollectError> {
    if let Some(path) = places.program("rocprofv3") {
        return rocprofv3(path);
    }
    if let Some(path) = places.program("rocprof") {
        let (version, from) = version_beside(&path)
            .unwrap_or((Version::new(6, 0), "assumed: the legacy rocprof reports no version".into()));
        let version_text = version.to_string();
        return Ok(Profiler { kind: ProfilerKind::Rocprof, path, version, version_text, version_from: from });
    }
    let folders = places.folders.iter().cloned().chain(places.roots.iter().map(|root| root.join("bin")));
    Err(CollectError::NoProfiler { looked: folders.collect() })
}

/// Finds ROCm Systems Profiler.
pub fn find_systems(places: &Places, mode: Mode) -> Result<Profiler, CollectError> {
    let name = mode.program();
    let Some(path) = places.program(name) else {
        let folders = places.folders.iter().cloned().chain(places.roots.iter().map(|root| root.join("bin")));
        return Err(CollectError::NoSystems { name, looked: folders.collect() });
    };
    let (version, version_from) =
        version_beside(&path).unwrap_or((Version::ASSUMED, "assumed: no version file beside it".into()));
    let version_text = version.to_string();
    Ok(Profiler { kind: ProfilerKind::RocprofSys(mode), path, version, version_text, version_from })
}

fn rocprofv3(path: PathBuf) -> Result<Profiler, CollectError> {
    let answer = Command::new(&path).arg("--version").stdin(Stdio::null()).output();
    let answer =
        answer.map_err(|error| CollectError::Start { program: path.clone(), why: super::reason(&error) })?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let field = |name: &str| {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_string()).filter(|value| !value.is_empty())
        })
    };
    let told = field("rocm_version")
        .and_then(|version| Some((Version::parse(&version)?, version)))
        .or_else(|| field("version").and_then(|version| Some((Version::of_sdk(&version)?, version))));
    let (version, version_text, version_from) = match told {
        Some((version, text)) => (version, text, "rocprofv3 --version".to_string()),
        // Before 7.0 there is no `--version`.
        None => match version_beside(&path) {
            Some((version, from)) => (version, version.to_string(), from),
            None => {
                let version = by_help(&path);
                (version, version.to_string(), "rocprofv3's options".into())
            }
        },
    };
    if version < Version::OLDEST {
        return Err(CollectError::TooOld {
            program: path,
            version,
            what: "rocprofv3".into(),
            since: Version::OLDEST,
        });
    }
    Ok(Profiler { kind: ProfilerKind::Rocprofv3, path, version, version_text, version_from })
}

/// The version in the installation next to the program.
fn version_beside(program: &Path) -> Option<(Version, String)> {
    let real = program.canonicalize().ok()?;
    let file = real.parent()?.parent()?.join(".info/version");
    let text = std::fs::read_to_string(&file).ok()?;
    Some((Version::parse(&text)?, file.display().to_string()))
}

/// Between 6.2 and 6.4 the options show the release.
fn by_help(program: &Path) -> Version {
    let help = Command::new(program).arg("--help").stdin(Stdio::null()).output();
    let text = help.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default();
    let has = |option: &str| text.contains(option);
    if has("--collection-period") {
        Version::new(6, 4)
    } else if has("--pmc") {
        Version::new(6, 3)
    } else {
        Version::new(6, 2)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn script(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn places(path: &Path, opt: &Path) -> Places {
        Places::new(&path.as_os_str().to_owned(), &OsString::new(), opt)
    }

    #[test]
    fn the_chosen_installation_comes_before_newer_ones() {
        let root = tempfile::tempdir().unwrap();
        let opt = root.path().join("opt");
        for (name, version) in [("rocm-6.4.0", "6.4.0"), ("rocm-7.1.0", "7.1.0"), ("rocm-7.13.0", "7.13.0")] {
            script(&opt.join(name).join("bin/rocprofv3"), &format!("echo 'rocm_version: {version}'"));
        }
        let nowhere = root.path().join("none");
        assert_eq!(find(&places(&nowhere, &opt)).unwrap().version, Version::new(7, 13));
        std::os::unix::fs::symlink(opt.join("rocm-6.4.0"), opt.join("rocm")).unwrap();
        assert_eq!(find(&places(&nowhere, &opt)).unwrap().version, Version::new(6, 4));
        let bin = root.path().join("bin");
        script(&bin.join("rocprofv3"), "printf '        version: 1.1.0\\n'");
        assert_eq!(find(&places(&bin, &opt)).unwrap().version, Version::new(7, 1));
    }

    #[test]
    fn versions_before_seven_are_told_otherwise() {
        let root = tempfile::tempdir().unwrap();
        let bin = root.path().join("bin");
        script(&bin.join("rocprofv3"), "[ \"$1\" = --help ] && echo 'options: --pmc --hip-trace'; exit 2");
        let found = find(&places(&bin, root.path())).unwrap();
        assert_eq!((found.version, found.kind), (Version::new(6, 3), ProfilerKind::Rocprofv3));
        std::fs::create_dir(root.path().join(".info")).unwrap();
        std::fs::write(root.path().join(".info/version"), "6.4.1-83\n").unwrap();
        assert_eq!(find(&places(&bin, root.path())).unwrap().version, Version::new(6, 4));
        std::fs::write(root.path().join(".info/version"), "6.1.0\n").unwrap();
        assert!(matches!(find(&places(&bin, root.path())), Err(CollectError::TooOld { .. })));
    }

    #[test]
    fn the_legacy_profiler_is_second_choice_and_nothing_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let bin = root.path().join("bin");
        assert!(matches!(find(&places(&bin, root.path())), Err(CollectError::NoProfiler { .. })));
        script(&bin.join("rocprof"), "");
        assert_eq!(find(&places(&bin, root.path())).unwrap().kind, ProfilerKind::Rocprof);
    }
}

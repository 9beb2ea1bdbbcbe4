//! How tests use the stand-ins: a folder of links to put first on `PATH`.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The programs there are stand-ins for.
pub const PROGRAMS: [&str; 5] = ["hipcc", "rocprofv3", "rocprofv3-avail", "rocprof", "amd-smi"];

/// A folder with stand-ins; it is removed when dropped.
pub struct StandIns {
    folder: tempfile::TempDir,
}

impl StandIns {
    /// All stand-ins.
    pub fn install() -> io::Result<Self> {
        Self::only(&PROGRAMS)
    }

    /// All stand-ins, in a folder below this one.
    pub fn install_in(parent: &Path) -> io::Result<Self> {
        Self::link(&PROGRAMS, tempfile::tempdir_in(parent)?)
    }

    /// Only these stand-ins.
    pub fn only(programs: &[&str]) -> io::Result<Self> {
        Self::link(programs, tempfile::tempdir()?)
    }

    fn link(programs: &[&str], folder: tempfile::TempDir) -> io::Result<Self> {
        let program = program()?;
        for name in programs {
            std::os::unix::fs::symlink(&program, folder.path().join(name))?;
        }
        Ok(Self { folder })
    }

    /// The folder.
    pub fn bin(&self) -> &Path {
        self.folder.path()
    }

    /// One of the programs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `PATH` with the folder first.
    pub fn path(&self) -> OsString {
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let folders = [self.folder.path().to_path_buf()].into_iter().chain(std::env::split_paths(&rest));
        std::env::join_paths(folders).unwrap_or(rest)
    }

    /// A command with `PATH` set.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("PATH", self.path()).env("TMPDIR", self.folder.path());
        command
    }

    /// Compiles one of the example programs (`vector_add`, `streams` …) into a folder; returns its path.
    pub fn example(&self, name: &str, folder: &Path) -> io::Result<PathBuf> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(format!("{name}.cu"));
        self.compile(&source, &folder.join(name))
    }

    /// Compiles a source file with the stand-in `hipcc`; returns the program.
    pub fn compile(&self, source: &Path, target: &Path) -> io::Result<PathBuf> {
        let made =
            Command::new(self.program("hipcc")).arg("-O2").arg(source).arg("-o").arg(target).output()?;
        if !made.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&made.stderr).into_owned()));
        }
        Ok(target.to_path_buf())
    }
}

/// Whether `hipcc` has a compiler to use; tests that need one are skipped without.
pub fn can_compile() -> bool {
    ["g++", "clang++", "c++"].iter().any(|name| crate::settings::on_path(name).is_some())
}

/// The stand-ins' program, built if it is missing or older than its sources.
fn program() -> io::Result<PathBuf> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PROGRAM.get_or_init(|| build().map_err(|e| e.to_string())).clone().map_err(io::Error::other)
}

fn build() -> io::Result<PathBuf> {
    // A test runs from target/PROFILE/deps.
    let test = std::env::current_exe()?;
    let profile = test.ancestors().find(|folder| folder.join("deps").is_dir());
    let profile = profile.ok_or_else(|| io::Error::other("tests must run from cargo's target folder"))?;
    let program = profile.join("stand-in-rocm");
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = program.metadata().and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    if newest(crate_folder)? <= made {
        return Ok(program);
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", env!("CARGO_PKG_NAME"), "--bin", "stand-in-rocm"]);
    if profile.ends_with("release") {
        command.arg("--release");
    }
    let output = command
        .arg("--target-dir")
        .arg(profile.parent().unwrap_or(profile))
        .current_dir(crate_folder)
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(program)
}

fn newest(folder: &Path) -> io::Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for name in ["src", "runtime"] {
        let mut folders = vec![folder.join(name)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    folders.push(entry.path());
                } else {
                    newest = newest.max(entry.metadata()?.modified()?);
                }
            }
        }
    }
    Ok(newest)
}

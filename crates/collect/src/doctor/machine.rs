//! The machine to examine: this one, or a copy of another machine's files below a root folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::gpus::{self, Topology, read_text};

/// The user who would run the profiler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// User.
    pub uid: u32,
    /// Groups.
    pub gids: Vec<u32>,
}

/// Everything that the checks look at.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Where `/` of the machine is.
    pub root: PathBuf,
    /// `PATH`.
    pub path: OsString,
    /// Environment variables.
    pub environment: BTreeMap<String, String>,
    /// The user.
    pub identity: Identity,
    /// Where traces would go.
    pub out_dir: PathBuf,
    /// Free bytes there, if it is another machine.
    pub free_bytes: Option<u64>,
    /// Limit of open files.
    pub open_files: u64,
    /// Version of KFD's interface, if it can be queried.
    pub kfd_interface: Option<(u32, u32)>,
    /// Whether the clock is synchronised, if it can be queried.
    pub synchronised: Option<bool>,
    /// What KFD says.
    pub topology: Topology,
}

impl Machine {
    /// The machine that this program runs on.
    pub fn this(out_dir: &Path) -> Self {
        let environment =
            std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        Self {
            path: std::env::var_os("PATH").unwrap_or_default(),
            environment: environment.collect(),
            identity: Identity::own(),
            kfd_interface: ask_kfd(Path::new("/dev/kfd")),
            synchronised: clock_is_synchronised(),
            ..Self::below(Path::new("/"), out_dir)
        }
    }

    /// This user on the machine whose files are below `root`, which is `/` except in tests.
    pub fn at(root: &Path, out_dir: &Path) -> Self {
        let this = Self::this(out_dir);
        if root == Path::new("/") {
            return this;
        }
        let (path, environment, identity) = (this.path, this.environment, this.identity);
        Self { path, environment, identity, ..Self::below(root, out_dir) }
    }

    /// A machine whose files are below `root`; without programs, environment or user.
    pub fn below(root: &Path, out_dir: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
            path: OsString::new(),
            environment: BTreeMap::new(),
            identity: Identity { uid: u32::MAX, gids: Vec::new() },
            out_dir: out_dir.to_path_buf(),
            free_bytes: None,
            open_files: open_file_limit(),
            kfd_interface: None,
            synchronised: None,
            topology: gpus::detect(root),
        }
    }

    /// A file's text.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        read_text(&self.root.join(path))
    }

    /// A file or folder below the root.
    pub(super) fn exists(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// An environment variable that is set and not empty.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A program on `PATH`, in ROCm's folder, or in any release below `/opt`.
    pub(super) fn program(&self, name: &str) -> Option<PathBuf> {
        let on_path = std::env::split_paths(&self.path).map(|folder| folder.join(name));
        let rocm = self.rocm_folders().into_iter().map(|folder| folder.join("bin").join(name));
        on_path.chain(rocm).find(|path| crate::profiler::is_program(path))
    }

    /// Folders that may contain ROCm, the likeliest first.
    pub(super) fn rocm_folders(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = self
            .variable("ROCM_PATH")
            .map(|path| self.root.join(path.trim_start_matches('/')))
            .into_iter()
            .collect();
        folders.push(self.root.join("opt/rocm"));
        let others = std::fs::read_dir(self.root.join("opt")).into_iter().flatten().flatten();
        let mut others: Vec<PathBuf> = others
            .filter(|e| e.file_name().to_string_lossy().starts_with("rocm-"))
            .map(|e| e.path())
            .collect();
        others.sort();
        folders.extend(others.into_iter().rev());
        folders
    }

    /// What a program prints, if it succeeds.
    pub(super) fn output(&self, program: &Path, arguments: &[&str]) -> Option<String> {
        let output = Command::new(program)
            .args(arguments)
            .env("PATH", &self.path)
            .stdin(Stdio::null())
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Whether the user may read and write a file: `Err` says why not.
    pub(super) fn may_open(&self, path: &str) -> Result<(), String> {
        let path = self.root.join(path);
        let facts = path.metadata().map_err(|_| "not there".to_string())?;
        let Identity { uid, gids } = &self.identity;
        let bits = match facts.mode() {
            mode if *uid == facts.uid() => mode >> 6,
            mode if gids.contains(&facts.gid()) => mode >> 3,
            mode => mode,
        };
        if *uid != 0 && bits & 6 != 6 {
            return Err(format!("permission denied (mode {:o})", facts.mode() & 0o777));
        }
        // The mode is not sufficient: a container may forbid the device.
        if self.root == Path::new("/") {
            let opened = std::fs::OpenOptions::new().read(true).write(true).open(&path);
            opened.map_err(|e| e.to_string().to_lowercase())?;
        }
        Ok(())
    }

    /// Whether the process has the capability with this number.
    pub(super) fn has_capability(&self, number: u32) -> bool {
        let status = self.text("proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let set = line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
        set >> number & 1 == 1
    }
}

impl Identity {
    fn own() -> Self {
        // SAFETY: these calls only read the process's own credentials; the list has room for what is asked.
        unsafe {
            let count = libc::getgroups(0, std::ptr::null_mut()).max(0);
            let mut gids = vec![0; count as usize];
            let count = libc::getgroups(count, gids.as_mut_ptr()).max(0);
            gids.truncate(count as usize);
            gids.push(libc::getegid());
            Self { uid: libc::geteuid(), gids }
        }
    }
}

fn open_file_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a live rlimit.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    limit.rlim_cur
}

/// Asks the driver for the version of its interface.
fn ask_kfd(path: &Path) -> Option<(u32, u32)> {
    use std::os::fd::AsRawFd;
    // AMDKFD_IOC_GET_VERSION: read eight bytes, type 'K', number 1.
    const GET_VERSION: libc::c_ulong = 0x8008_4b01;
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).ok()?;
    let mut version = [0u32; 2];
    // SAFETY: the request writes eight bytes, which the array holds.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), GET_VERSION as _, version.as_mut_ptr()) };
    (answer == 0).then_some((version[0], version[1]))
}

/// Whether the kernel says that the clock is synchronised.
fn clock_is_synchronised() -> Option<bool> {
    // SAFETY: all zeros asks for nothing to change, and the pointer is to a live value.
    unsafe {
        let mut state: libc::timex = std::mem::zeroed();
        let answer = libc::adjtimex(&mut state);
        (answer >= 0).then_some(state.status & libc::STA_UNSYNC == 0)
    }
}

//! A sandbox for untrusted programs: they write only in given folders and cannot use the network.
//!
//! It uses Linux's Landlock, which needs no privileges. Reading and executing stay unrestricted: compilers
//! and GPU runtimes need most of a system. [`Sandbox::limits`] says what the kernel cannot restrict.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// Accesses that change files, by the first version of Landlock that has them (`linux/landlock.h`).
const WRITE_FILE: u64 = 1 << 1;
const REMOVE_AND_MAKE: u64 = 0b1_1111_1111 << 4;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
/// Accesses to the network: bind and connect of TCP.
const TCP: u64 = 0b11;
/// Signals to processes outside, and their abstract sockets.
const SCOPES: u64 = 0b11;
/// Rules of folders.
const PATH_BENEATH: libc::c_int = 1;
const CREATE_RULESET_VERSION: libc::c_uint = 1;

/// Every program writes to devices: the terminal, null, and the GPU.
const DEVICES: &str = "/dev";

#[repr(C)]
#[derive(Default)]
struct RulesetAttr {
    fs: u64,
    net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneathAttr {
    allowed: u64,
    parent: i32,
}

/// What a program may do; created before it starts, entered only by it.
#[derive(Clone, Debug)]
pub struct Sandbox {
    ruleset: Arc<OwnedFd>,
    version: i64,
}

impl Sandbox {
    /// Lets programs write only in these folders. An error if the kernel has no Landlock.
    pub fn new(writable: &[&Path]) -> io::Result<Self> {
        // SAFETY: without attributes and with this flag the call only returns a number.
        let version = unsafe {
            libc::syscall(
                libc::SYS_landlock_create_ruleset,
                std::ptr::null::<libc::c_void>(),
                0usize,
                CREATE_RULESET_VERSION,
            )
        };
        if version < 1 {
            return Err(io::Error::last_os_error());
        }
        let mut writes = WRITE_FILE | REMOVE_AND_MAKE;
        for (since, access) in [(2, REFER), (3, TRUNCATE)] {
            writes |= if version >= since { access } else { 0 };
        }
        let attr = RulesetAttr {
            fs: writes,
            net: if version >= 4 { TCP } else { 0 },
            scoped: if version >= 6 { SCOPES } else { 0 },
        };
        // SAFETY: the attributes are plain numbers that outlive the call, and their size is given.
        let made = unsafe {
            libc::syscall(
                libc::SYS_landlock_create_ruleset,
                &raw const attr,
                size_of::<RulesetAttr>(),
                0 as libc::c_uint,
            )
        };
        if made < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just returned this descriptor.
        let ruleset = unsafe { OwnedFd::from_raw_fd(made as libc::c_int) };
        let sandbox = Self { ruleset: Arc::new(ruleset), version };
        for folder in writable {
            sandbox.allow(folder, writes)?;
        }
        sandbox.allow(Path::new(DEVICES), writes)?;
        Ok(sandbox)
    }

    fn allow(&self, folder: &Path, allowed: u64) -> io::Result<()> {
        let path = CString::new(folder.as_os_str().as_bytes()).map_err(io::Error::other)?;
        // SAFETY: the path is NUL-terminated.
        let opened = unsafe { libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC) };
        if opened < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just returned this descriptor.
        let parent = unsafe { OwnedFd::from_raw_fd(opened) };
        let rule = PathBeneathAttr { allowed, parent: parent.as_raw_fd() };
        // SAFETY: the rule is plain numbers that outlive the call.
        let added = unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.ruleset.as_raw_fd(),
                PATH_BENEATH,
                &raw const rule,
                0 as libc::c_uint,
            )
        };
        if added == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// What this kernel cannot restrict, in words.
    pub fn limits(&self) -> Option<&'static str> {
        (self.version < 4).then_some("network access (needs Linux 6.7)")
    }

    /// Permanently restricts this thread and everything it starts. Makes two system calls and nothing else,
    /// so it may be called between fork and exec.
    pub(crate) fn enter(&self) -> io::Result<()> {
        // SAFETY: plain system calls on numbers and our own descriptor.
        let entered = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::syscall(
                    libc::SYS_landlock_restrict_self,
                    self.ruleset.as_raw_fd(),
                    0 as libc::c_uint,
                ) == 0
        };
        if entered { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::process::{Confinement, Job, run};

    #[test]
    fn a_program_in_a_sandbox_writes_only_where_it_may_and_reaches_nobody() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let sandbox = match Sandbox::new(&[inside.path()]) {
            Ok(sandbox) => sandbox,
            Err(error) => return testing::skip(&format!("this kernel has no Landlock: {error}")),
        };
        let run_in = |script: &str| {
            let words = ["bash".to_string(), "-c".to_string(), script.to_string()];
            let confinement = Confinement { sandbox: Some(&sandbox), ..Confinement::default() };
            run(&Job { folder: Some(inside.path()), confinement, ..Job::of(&words) })
        };
        let made = run_in(
            "mkdir a && echo x > a/b && mv a/b c && cat /etc/passwd > d && echo x > /dev/null && rm d",
        );
        assert!(made.is_success(), "{}", made.explain());
        assert!(inside.path().join("c").exists());
        let kept = outside.path().join("kept");
        std::fs::write(&kept, "old").unwrap();
        let place = outside.path().display();
        for script in [
            format!("echo x > {place}/new"),
            format!("echo x > {place}/kept"),
            format!("rm {place}/kept"),
            format!("mkdir {place}/folder"),
            format!("mv {place}/kept ."),
        ] {
            assert!(!run_in(&script).is_success(), "{script}");
        }
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "old");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{}", port.local_addr().unwrap().port());
        let words = ["bash".to_string(), "-c".to_string(), connect.clone()];
        assert!(run(&Job::of(&words)).is_success(), "without a sandbox it is reached");
        assert_eq!(run_in(&connect).is_success(), sandbox.limits().is_some());
    }
}

//! An interrupt leaves no partial output and ends with 130.

use crate::common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{files, rocm_perf};

/// Interrupts a command once it writes below a folder; only what was there before may be left.
fn interrupt(mut child: Child, out: &Path) {
    let began = Instant::now();
    while !out.is_dir() || files(out, ".partial").is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60), "it never began to write");
        assert_eq!(child.try_wait().expect("a child"), None, "it ended before it could be interrupted");
        std::thread::sleep(Duration::from_millis(1));
    }
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupted.expect("kill runs").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(files(out, ""), Vec::<PathBuf>::new(), "no file, whole or partial");
}

#[test]
fn an_interrupted_merge_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = folder.path().join("ranks");
    let size = ["--ranks", "2", "--kernels", "60000", "--no-graphs", "--to", "rocpd"];
    common::synth(&inputs, &[&["--scenario", "training"], &size[..]].concat());
    let databases = files(&inputs, ".db");
    let before: Vec<u64> = databases.iter().map(|path| path.metadata().expect("a database").len()).collect();
    let package = ["--package"];
    for (form, name) in [(&["--out"], "merged.db"), (&package, "run.rpdb")] {
        let out = folder.path().join("out");
        let mut command = rocm_perf();
        command.arg("merge").arg(&inputs).args(form).arg(out.join(name));
        interrupt(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"), &out);
    }
    let after: Vec<u64> = databases.iter().map(|path| path.metadata().expect("a database").len()).collect();
    assert_eq!((files(&inputs, ".db"), after), (databases, before), "inputs stay as they were");
}

#[test]
fn an_interrupted_simulation_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let mut command = rocm_perf();
    command.args(["synth", "--size", "50GB", "--out"]).arg(&out).stdout(Stdio::null()).stderr(Stdio::null());
    interrupt(command.spawn().expect("it starts"), &out);
}

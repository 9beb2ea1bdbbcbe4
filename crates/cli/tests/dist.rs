//! Releases: packages are complete and reproducible, and the static binary needs nothing else.

use crate::common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::files;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// Standard output of a program that must succeed.
fn run(command: &mut Command) -> String {
    let output = command.output().expect("the program runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn packages_are_the_same_bytes_twice_and_hold_binary_pages_completions_and_licences() {
    if !has("python3") || !has("git") || !has("strip") {
        return testing::skip("no python3, git or strip");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    // The binary of a test is large because of its symbols.
    let binary = folder.path().join("rocm-perf");
    run(Command::new("strip").arg("-o").arg(&binary).arg(env!("CARGO_BIN_EXE_rocm-perf")));
    let mut dist = Command::new("python3");
    dist.arg(root().join("scripts/dist")).args(["--check", "--level", "1", "--binary"]).arg(&binary);
    let said = run(dist.arg("--out").arg(&out));
    assert!(said.contains("the same bytes twice"), "{said}");

    run(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(&out));
    let archive = files(&out, ".tar.gz").remove(0);
    let listed = run(Command::new("tar").arg("-tzf").arg(&archive));
    for wanted in [
        "/bin/rocm-perf\n",
        "/share/man/man1/rocm-perf-summary.1.gz\n",
        "/share/bash-completion/completions/rocm-perf\n",
        "/share/zsh/site-functions/_rocm-perf\n",
        "/share/fish/vendor_completions.d/rocm-perf.fish\n",
        "/share/doc/rocm-perf/copyright\n",
        "/share/doc/rocm-perf/THIRD-PARTY-LICENCES.txt\n",
    ] {
        assert!(listed.contains(wanted), "{wanted} of {listed}");
    }
    let materials: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&files(&out, ".cdx.json")[0]).unwrap()).expect("JSON");
    assert!(materials["components"].as_array().unwrap().len() > 50);

    if has("dpkg-deb") {
        let package = files(&out, ".deb").remove(0);
        assert_eq!(run(Command::new("dpkg-deb").arg("-f").arg(&package).arg("Package")).trim(), "rocm-perf");
        let installed = folder.path().join("installed");
        run(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&installed));
        let version = run(Command::new(installed.join("usr/bin/rocm-perf")).arg("--version"));
        assert_eq!(version, format!("rocm-perf {}\n", env!("CARGO_PKG_VERSION")));
    }
    if has("rpm") && has("rpmbuild") {
        let package = files(&out, ".rpm").remove(0);
        let listed = run(Command::new("rpm").arg("-qlp").arg("--nosignature").arg(&package));
        assert!(listed.contains("/usr/bin/rocm-perf\n"), "{listed}");
    }
}

#[test]
fn the_static_binary_runs_in_a_root_with_nothing_but_the_archive() {
    let made = root().join("target/dist");
    let archive = made.is_dir().then(|| files(&made, "musl.tar.gz").pop()).flatten();
    let Some(archive) = archive else { return testing::skip("no archive in target/dist: run scripts/dist") };
    let folder = tempfile::tempdir().expect("a folder");
    let mut unpack = Command::new("tar");
    unpack.arg("-xzf").arg(&archive).arg("-C").arg(folder.path()).arg("--strip-components=1");
    run(&mut unpack);
    std::fs::create_dir(folder.path().join("tmp")).unwrap();
    let bare = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.args(["--map-root-user", "chroot"]).arg(folder.path()).arg("/bin/rocm-perf").args(arguments);
        command
    };
    if !bare(&["--version"]).output().is_ok_and(|output| output.status.success()) {
        return testing::skip("no namespaces of our own");
    }
    let details = run(&mut bare(&["--version", "-v"]));
    assert!(details.contains("target:   x86_64-unknown-linux-musl"), "{details}");
    run(&mut bare(&["-q", "synth", "--kernels", "200", "--to", "torch-gz,rocpd", "--out", "/tmp/run"]));
    let summary = run(&mut bare(&["summary", "/tmp/run", "--format", "json", "--memory", "1G"]));
    let report: serde_json::Value = serde_json::from_str(&summary).expect("a report");
    assert!(!report["tables"]["kernels"].is_null(), "{summary}");
    // A report covers one run; the folder holds two recordings.
    run(&mut bare(&["-q", "report", "/tmp/run/rocpd", "-o", "/tmp/report.pdf"]));
}

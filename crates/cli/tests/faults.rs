//! What writing commands leave behind if a system call fails: the old output or the new one, never half of
//! one.
//!
//! A library that is loaded before the C library fails the n-th write, sync, rename, creation, read, mapping or start of
//! a program. `n` is swept; `ROCM_PERF_FAULTS=all` (in `scripts/faults`) tries every `n`.

use crate::common;
use crate::injected;
use crate::lab;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{files, rocm_perf};
use injected::{EAGAIN, EIO, ENOSPC, Fault, interposer, sweep};

/// A command that writes, and what it writes.
struct Writing {
    name: &'static str,
    arguments: Vec<String>,
    /// The file or folder that it makes.
    target: &'static str,
    /// Whether it writes several files one by one: each is whole, but some may be missing or from an earlier
    /// run.
    several: bool,
}

fn writing(name: &'static str, line: &str, target: &'static str) -> Writing {
    Writing { name, arguments: line.split(' ').map(String::from).collect(), target, several: false }
}

fn writing_several(name: &'static str, line: &str, target: &'static str) -> Writing {
    Writing { several: true, ..writing(name, line, target) }
}

/// What is below a folder: paths and bytes.
type State = BTreeMap<PathBuf, Vec<u8>>;

fn state(folder: &Path) -> State {
    let read = |path: PathBuf| (path.strip_prefix(folder).unwrap().into(), std::fs::read(&path).unwrap());
    files(folder, "").into_iter().map(read).collect()
}

/// Writes what a run had made, as it was.
fn restore(whole: &State, folder: &Path) {
    for (path, bytes) in whole {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

/// Sweeps one kind of fault over one command.
fn check(writing: &Writing, call: &'static str, errno: i32, of_output: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().canonicalize().unwrap();
    let (inputs, out) = (folder.join("in"), folder.join("out"));
    // Of several inputs, the readable ones are converted and the others named; so use one if the input fails.
    let ranks = if of_output { "2" } else { "1" };
    let format = if writing.arguments.contains(&"TORCH".into()) { "torch" } else { "rocpd" };
    common::synth(&inputs, &["--kernels", "40", "--to", format, "--ranks", ranks]);
    let torch = inputs.join("serving.rank0.json");
    std::fs::create_dir(&out).unwrap();
    let words: Vec<String> = writing
        .arguments
        .iter()
        .map(|word| {
            let word = word.replace("IN", &inputs.display().to_string());
            let word = word.replace("OUT", &out.display().to_string());
            word.replace("TORCH", &torch.display().to_string())
        })
        .collect();
    let run = |extra: &[&str]| {
        let mut command = rocm_perf();
        command.arg("-q").args(&words).args(extra);
        command
    };
    let made = run(&[]).output().unwrap();
    assert!(made.status.success(), "{}: {}", writing.name, String::from_utf8_lossy(&made.stderr));
    let whole = state(&out);
    assert!(out.join(writing.target).exists(), "{}", writing.name);
    assert!(run(&[]).output().unwrap().status.success(), "{}", writing.name);
    // Some outputs contain the time of writing.
    let second = state(&out);
    let is_whole = |(path, bytes): (&PathBuf, &Vec<u8>)| match (whole.get(path), second.get(path)) {
        (Some(first), Some(second)) => first != second || bytes == first,
        _ => false,
    };
    for at in sweep() {
        // Once over an old output, once without one.
        for over in [true, false] {
            let _ = std::fs::remove_dir_all(&out);
            std::fs::create_dir(&out).unwrap();
            if over {
                restore(&whole, &out);
            }
            let before = state(&out);
            let below = if of_output { &out } else { &inputs };
            let (output, happened) = Fault { call, at, below, errno }.run(&mut run(&[]), &folder);
            // A file that replaces an old one is exchanged with it, not renamed.
            if !happened && over {
                continue;
            }
            if !happened {
                return;
            }
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let what = format!("{} with {call} {at} over {over}: {:?} {said}", writing.name, output.status);
            let after = state(&out);
            match output.status.code() {
                Some(0) => assert_eq!(names(&after), names(&whole), "{what}"),
                Some(_) => {
                    if writing.several {
                        let is_old = |(path, bytes)| before.get(path) == Some(bytes);
                        let half = after.iter().find(|file| !is_old(*file) && !is_whole(*file));
                        assert!(half.is_none(), "{:?} of {what}", half.map(|(path, _)| path));
                    } else {
                        assert_eq!(after, before, "{what}");
                    }
                    assert!(said.starts_with("error: ") && !said.contains("panicked"), "{what}");
                }
                None => panic!("{what}"),
            }
        }
    }
}

fn names(state: &State) -> Vec<&PathBuf> {
    state.keys().collect()
}

fn commands() -> Vec<Writing> {
    vec![
        writing("convert chrome", "convert IN --to chrome --out OUT/t.json --force", "t.json"),
        writing("convert pftrace", "convert IN --to pftrace --out OUT/t.pftrace --force", "t.pftrace"),
        writing("convert rocpd", "convert IN --to rocpd --out OUT/t.db --force", "t.db"),
        writing("convert otf2", "convert IN --to otf2 --out OUT/t.otf2 --force", "t"),
        writing("merge", "merge IN --out OUT/m.db --force", "m.db"),
        writing("merge package", "merge IN --package OUT/p.rpdb --force", "p.rpdb"),
        writing("report html", "report IN -o OUT/r.html --force", "r.html"),
        writing("perfetto-fix", "perfetto-fix TORCH --out OUT/fixed.json", "fixed.json"),
        writing_several("convert csv", "convert IN --to csv --out OUT/csv --force", "csv"),
        writing_several("triage", "triage IN --out OUT/triage", "triage"),
        writing_several("synth", "synth --kernels 40 --to rocpd --out OUT/run --force", "run"),
        writing_several("digest", "digest IN --out OUT/digests --force", "digests"),
    ]
}

#[test]
fn a_failed_write_leaves_the_old_output_or_the_new_one() {
    if interposer().is_some() {
        commands().iter().for_each(|writing| check(writing, "write", ENOSPC, true));
    }
}

#[test]
fn a_failed_sync_leaves_the_old_output_or_the_new_one() {
    if interposer().is_some() {
        commands().iter().for_each(|writing| check(writing, "sync", EIO, true));
    }
}

#[test]
fn a_failed_rename_leaves_the_old_output_or_the_new_one() {
    if interposer().is_some() {
        commands().iter().for_each(|writing| check(writing, "rename", EIO, true));
    }
}

#[test]
fn a_file_that_cannot_be_created_leaves_the_old_output_or_the_new_one() {
    if interposer().is_some() {
        commands().iter().for_each(|writing| check(writing, "create", ENOSPC, true));
    }
}

#[test]
fn a_failed_read_or_mapping_of_the_input_leaves_the_old_output_or_the_new_one() {
    if interposer().is_some() {
        for call in ["read", "map"] {
            commands().iter().for_each(|writing| check(writing, call, EIO, false));
        }
    }
}

/// Fails the n-th program start until there is none; `whole` checks what a run may leave.
fn check_starts(make: &dyn Fn() -> Command, folder: &Path, whole: &dyn Fn(bool)) {
    for at in sweep() {
        let fault = Fault { call: "spawn", at, below: folder, errno: EAGAIN };
        let (output, happened) = fault.run(&mut make(), folder);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let all = format!("{}{said}", String::from_utf8_lossy(&output.stdout)).to_lowercase();
        let what = format!("start {at}: {:?} {said}", output.status);
        assert!(output.status.code().is_some() && !all.contains("panicked"), "{what}");
        if !output.status.success() {
            assert!(all.contains("resource temporarily unavailable"), "{what}");
        }
        whole(output.status.success());
        if !happened {
            return;
        }
    }
}

#[test]
fn a_program_that_cannot_be_started_while_tuning_is_named_and_the_journal_stays_whole() {
    if interposer().is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("space.json"), r#"{"params": {"N": [1, 2]}}"#).unwrap();
    let make = || {
        let _ = std::fs::remove_dir_all(folder.join("out"));
        let mut command = rocm_perf();
        command.current_dir(folder).args(["-q", "autotune", "--space", "space.json", "--out", "out"]);
        command.args(["--cmd-template", "echo time: {N} us", "--metric", r"time: (\d+) us"]);
        command
    };
    let whole = |succeeded: bool| {
        let best = std::fs::read(folder.join("out/best.json")).ok();
        assert!(best.is_some() || !succeeded);
        if let Some(best) = best {
            serde_json::from_slice::<serde_json::Value>(&best).expect("best.json is whole");
        }
    };
    check_starts(&make, folder, &whole);
}

#[test]
fn a_program_that_cannot_be_started_while_collecting_leaves_a_run_that_says_so() {
    let (Some(_), Some(lab)) = (interposer(), lab::Lab::get()) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let make = || {
        let _ = std::fs::remove_dir_all(&run);
        let mut command = lab.rocm_perf();
        command.args(["collect", "-q", "--out"]).arg(&run).arg("--").args([&lab.app("vector_add"), "2"]);
        command
    };
    let whole = |succeeded: bool| {
        let facts = std::fs::read(run.join("run.json")).ok();
        assert!(facts.is_some() || !succeeded);
        if let Some(facts) = facts {
            let facts: serde_json::Value = serde_json::from_slice(&facts).expect("run.json is whole");
            assert_eq!(facts["status"] == "done", succeeded, "{facts}");
        }
    };
    check_starts(&make, folder.path(), &whole);
}

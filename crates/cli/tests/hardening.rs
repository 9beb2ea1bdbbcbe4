//! What the program does under attack: links, kills, lost counters, memory.

use crate::common;
use crate::lab;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{is_running, rocm_perf, run};
use lab::Lab;

/// Waits until a condition holds.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn g8_a_killed_collect_ends_its_application_and_the_next_one_says_so() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (pids, runs_folder) = (folder.path().join("pids"), folder.path().join("runs"));
    // A grandchild process: the parent-death signal alone would miss it.
    let script = format!("sleep 300 & echo $! > {0}.new; mv {0}.new {0}; wait", pids.display());
    let mut command = lab.rocm_perf();
    command.args(["collect", "-q", "--out"]).arg(runs_folder.join("one")).args(["--", "sh", "-c", &script]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    until("the application starts", || pids.exists());
    let pid = std::fs::read_to_string(&pids).unwrap().trim().to_string();
    assert!(is_running(&pid));
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    until("the application ends with it", || !is_running(&pid));
    let mut command = lab.rocm_perf();
    command
        .args(["collect", "--out"])
        .arg(runs_folder.join("two"))
        .arg("--")
        .args([lab.app("vector_add").as_str(), "1"]);
    let next = command.output().expect("the binary runs");
    let said = String::from_utf8_lossy(&next.stderr);
    assert!(said.contains("was killed") && said.contains("one"), "{said}");
}

#[test]
fn g6_a_run_that_lost_every_counter_fails() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let options = ["--counters", "SQ_WAVES", "--arch", "gfx942"];
    let application = [lab.app("vector_add")];
    let application = [application[0].as_str(), "1"];
    let output = lab.collect(&[("STAND_IN_FAULT", "lost_counters")], &out, &options, &application);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no values of SQ_WAVES were recorded"));
    assert_eq!(lab::run_json(&out)["status"], "failed");
}

#[test]
fn g9_memory_that_is_used_up_is_one_line_and_no_half_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, out) = (folder.path().join("many.json"), folder.path().join("out"));
    let event = |i: usize| {
        format!(r#"{{"ph":"X","cat":"kernel","name":"kernel_number_{i}","pid":0,"tid":7,"ts":{i},"dur":1}}"#)
    };
    let events: Vec<String> = (0..500_000).map(event).collect();
    std::fs::write(&input, format!("{{\"traceEvents\": [{}]}}", events.join(",\n"))).unwrap();
    let output = rocm_perf()
        .args(["--memory", "64M", "convert", "--to", "rocpd", "--out"])
        .arg(out.join("x.db"))
        .arg(&input)
        .output()
        .expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("error: out of memory") && said.contains("--memory"), "{said}");
    assert!(!said.contains("panicked") && said.lines().count() == 2, "{said}");
    assert!(!out.exists() || common::files(&out, "").is_empty(), "nothing is left");
}

#[test]
fn g10_error_messages_do_not_act_on_the_terminal() {
    let output = run(&["summary", "no\u{1b}[2J\u{202e}file"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(r"no\u{1b}[2J\u{202e}file"), "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
}

#[test]
fn g7_follow_reads_what_a_link_leads_to() {
    let folder = tempfile::tempdir().expect("a folder");
    common::synth(&folder.path().join("real"), &["--kernels", "20"]);
    let inside = folder.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    std::os::unix::fs::symlink(folder.path().join("real"), inside.join("link")).unwrap();
    let output = run(&["summary".as_ref(), inside.as_os_str()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("outside the folder") && said.contains("--follow"), "{said}");
    let output = run(&["summary".as_ref(), "--follow".as_ref(), inside.as_os_str()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_unsafe_block_is_listed_with_its_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/reliability.md")).expect("the page");
    let sources = common::files(&root.join("crates"), ".rs");
    let of_product = sources.iter().filter(|path| path.components().any(|part| part.as_os_str() == "src"));
    let mut count = 0;
    for path in of_product {
        let text = std::fs::read_to_string(path).expect("a source file");
        let code = text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
        if code
            .clone()
            .any(|line| ["unsafe {", "unsafe impl", "unsafe fn"].iter().any(|word| line.contains(word)))
        {
            let file = path.strip_prefix(&root).expect("below the root").display().to_string();
            assert!(page.contains(&format!("`{file}`")), "{file} is missing in docs/reliability.md");
            count += 1;
        }
    }
    assert!(count > 5, "they were looked for");
}

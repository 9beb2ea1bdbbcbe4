//! `optimize` end to end: proposals that win, lose, lie and cheat; a model that answers well, badly and never; kills.

use crate::common;
use crate::optimize_lab;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::rocm_perf;
use optimize_lab::{SOURCE, optimize, prepared, session, text};
use serde_json::Value;

/// The outcome of a patch that replaces `from` by `to`.
fn patched(from: &str, to: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let folder = prepared();
    assert!(SOURCE.contains(from));
    let new = SOURCE.replacen(from, to, 1);
    let proposer = "cat proposals.json";
    let proposals = serde_json::json!({ "proposals": [{ "description": "a change", "source": new }] });
    std::fs::write(folder.path().join("proposals.json"), proposals.to_string()).expect("proposals");
    let mut options = vec!["--proposer", "command", "--proposer-cmd", proposer];
    options.extend(more);
    let (output, session) = session(&mut optimize(folder.path(), &options), folder.path());
    assert_eq!(std::fs::read_to_string(folder.path().join("k.cu")).expect("the source"), SOURCE, "untouched");
    let candidate = &session["candidates"][0];
    let word = |key: &str| candidate[key].as_str().unwrap_or_default().to_string();
    (output.status.code(), word("status"), word("reason"))
}

#[test]
fn a_win_is_accepted_and_everything_else_is_not() {
    let (code, status, reason) = patched("x[i] + x[i]", "x[i] * TWICE", &[]);
    assert_eq!((code, status.as_str()), (Some(0), "accepted"), "{reason}");
    let refused = [
        ("x[i] + x[i]", "x[i] * 3", "wrong_result"),
        ("x[i] + x[i]", "x[i] + BROKEN", "build_failed"),
        ("x[i] + x[i]", "2 * x[i]", "not_faster"),
        ("int n)", "long n)", "refused"),
        ("x[0] = 1", "x[0] = TWICE;", "refused"),
        ("#define TWICE 2", "#define TWICE 2;", "refused"),
        ("x[i] + x[i];", "x[i] + x[i]; // TWICE; \\", "refused"),
        ("x[i] + x[i];", "x[i] + x[i];\n#define TWICE;", "refused"),
        ("x[i] + x[i];\n  }", "x[i] + x[i];\n  }\n}\nvoid f() { // TWICE;", "refused"),
    ];
    for (from, to, expected) in refused {
        let (code, status, reason) = patched(from, to, &["--pairs", "15"]);
        assert_eq!((code, status.as_str()), (Some(1), expected), "{to}: {reason}");
    }
}

#[test]
fn the_rule_library_is_tried_one_by_one_and_applied_with_a_backup() {
    let folder = prepared();
    let options = ["--rule", "unroll", "--pairs", "20", "--apply", "--seed", "1"];
    let (output, session) = session(&mut optimize(folder.path(), &options), folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let statuses: Vec<(&str, &str)> = session["candidates"]
        .as_array()
        .expect("candidates")
        .iter()
        .map(|one| (one["description"].as_str().unwrap_or(""), one["status"].as_str().unwrap_or("")))
        .collect();
    assert_eq!(
        statuses[..2],
        [("unroll the loop in line 4 by 2", "not_faster"), ("unroll the loop in line 4 by 4", "accepted")]
    );
    let now = std::fs::read_to_string(folder.path().join("k.cu")).expect("the source");
    assert_eq!(now, SOURCE.replacen("  for", "  #pragma unroll 4\n  for", 1));
    let backup = session["backup"].as_str().expect("a backup");
    assert_eq!(std::fs::read_to_string(backup).expect("the backup"), SOURCE);
    assert_eq!(session["state"], "done");
    let speedup = session["speedup"].as_f64().expect("a speed-up");
    assert!((1.05..1.25).contains(&speedup), "{speedup}");
    let descriptions: Vec<&str> = statuses.iter().map(|(description, _)| *description).collect();
    assert_eq!(
        descriptions[2..],
        ["unroll the loop in line 5 by 8"],
        "what was accepted is not offered again"
    );
    for (file, part) in [
        ("diff", "+  #pragma unroll 4"),
        ("source", "#pragma unroll 4"),
        ("build.log", ""),
        ("metrics.json", "absent"),
        ("check.json", "checker 1"),
        ("timing.json", "end_to_end_pairs"),
        ("candidate.json", "accepted"),
    ] {
        let path = folder.path().join("rocm-perf-optimize/candidates/2").join(file);
        let held = std::fs::read_to_string(path).unwrap_or_else(|_| panic!("no {file}"));
        assert!(held.contains(part), "{file}: {held}");
        if file.ends_with(".json") {
            serde_json::from_str::<Value>(&held).expect("JSON");
        }
    }
    let chance = session["candidates"][1]["holm_chance"].as_f64().expect("a chance");
    assert!(chance <= 0.05, "{chance}");
    let floor = &session["noise_floor"]["end_to_end"]["speedup"];
    assert!(floor.as_f64().is_some_and(|floor| floor > 0.0), "{floor}");
    let shown = text(&output.stdout);
    assert!(shown.contains("accepted") && shown.contains("not_faster"), "{shown}");
    let whole = format!("make it {speedup:.3} times as fast");
    assert!(shown.contains(&whole), "{shown}");
}

#[test]
fn patches_are_proposals_like_any_other() {
    let folder = prepared();
    let patch = "--- a/k.cu\n+++ b/k.cu\n@@ -3,5 +3,5 @@\n __global__ void scale(float* x, int n) {\n   for (int i = 0; i < n; ++i) {\n-    x[i] = x[i] + x[i];\n+    x[i] = x[i] * TWICE;\n   }\n }\n";
    std::fs::write(folder.path().join("faster.diff"), patch).expect("a patch");
    let (output, audit) = session(
        &mut optimize(folder.path(), &["--proposer", "patch", "--patch", "faster.diff"]),
        folder.path(),
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(audit["candidates"][0]["status"], "accepted");
    assert_eq!(audit["applied"], false);
    let accepted =
        std::fs::read_to_string(folder.path().join("rocm-perf-optimize/accepted.diff")).expect("a diff");
    assert!(accepted.contains("+    x[i] = x[i] * TWICE;"), "{accepted}");
}

/// The requests to a server.
type Asked = Arc<Mutex<Vec<String>>>;

/// A server that gives one answer to every request; with `None` it never answers.
fn server(answer: Option<String>) -> (String, Asked) {
    let asked = Asked::default();
    let heard = Arc::clone(&asked);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let Some(answer) = &answer else {
                open.push(stream);
                continue;
            };
            let mut request = Vec::new();
            let mut block = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut block) {
                request.extend_from_slice(&block[..read]);
                let whole = String::from_utf8_lossy(&request).into_owned();
                let Some((head, body)) = whole.split_once("\r\n\r\n") else { continue };
                let length = head.lines().find_map(|line| {
                    line.to_lowercase()
                        .strip_prefix("content-length:")
                        .map(|n| n.trim().parse::<usize>().unwrap_or(0))
                });
                if body.len() >= length.unwrap_or(0) {
                    break;
                }
            }
            heard.lock().expect("a list").push(String::from_utf8_lossy(&request).into_owned());
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(answer.as_bytes()));
        }
    });
    (format!("http://{address}/v1"), asked)
}

fn answer(code: &str) -> Option<String> {
    let content = format!("Here it is:\n```cpp\n{code}\n```\n");
    Some(serde_json::json!({ "choices": [{ "message": { "content": content } }] }).to_string())
}

fn asked(answer: Option<String>) -> (Option<i32>, Vec<String>) {
    let folder = prepared();
    let (url, _) = server(answer);
    let options =
        ["--proposer", "llm", "--llm-url", &url, "--llm-timeout", "1", "--llm-attempts", "2", "--apply"];
    let (output, session) = session(&mut optimize(folder.path(), &options), folder.path());
    let accepted = output.status.success();
    let source = std::fs::read_to_string(folder.path().join("k.cu")).expect("the source");
    assert_eq!(source != SOURCE, accepted, "changed only when accepted");
    let candidates = session["candidates"].as_array().expect("candidates").iter();
    let told = candidates.map(|one| {
        format!("{}: {}", one["status"].as_str().unwrap_or(""), one["reason"].as_str().unwrap_or(""))
    });
    (output.status.code(), told.collect())
}

#[test]
fn a_model_may_answer_well_badly_or_never() {
    let kernel = |body: &str| format!("__global__ void scale(float* x, int n) {{ {body} }}");
    let (code, told) = asked(answer(&kernel("for (int i = 0; i < n; ++i) x[i] = x[i] * TWICE;")));
    assert_eq!(code, Some(0), "{told:?}");
    assert!(told[0].starts_with("accepted"), "{told:?}");
    let bad = [
        (
            answer("__global__ void scale(float* x, long n) { x[0] = TWICE; }"),
            "no_proposal: the response changes the kernel's signature",
        ),
        (
            answer(&kernel("for (int i = 0; i < n; ++i) x[i] = x[i] * 3;")),
            "wrong_result: checker 1 exited with 1",
        ),
        (
            answer(&kernel("for (int i = 0; i < n; ++i { x[i] }")),
            "no_proposal: the kernel in the response is not valid code",
        ),
        (answer("int main() {}"), "no_proposal: the response has no code block with kernel `scale`"),
        (Some("<html>busy</html>".into()), "did not respond with JSON"),
        (None, "did not respond"),
    ];
    for (answer, expected) in bad {
        let (code, told) = asked(answer);
        assert_eq!((code, told.len()), (Some(1), 2), "{told:?}");
        assert!(told[0].contains(expected), "{expected}: {told:?}");
    }
}

#[test]
fn a_model_hears_what_is_known_and_what_became_of_its_answers() {
    let folder = prepared();
    let broken = "__global__ void scale(float* x, int n) { for (int i = 0; i < n; ++i) x[i] = BROKEN; }";
    let (url, heard) = server(answer(broken));
    let evidence = serde_json::json!({ "tables": { "roofline": [
        { "name": "scale(float*, int)", "bound": "HBM", "peak_pct": 61.5 }, { "name": "other", "bound": "none of ours" },
    ] } });
    std::fs::write(folder.path().join("evidence.json"), evidence.to_string()).expect("evidence");
    let options =
        ["--proposer", "llm", "--llm-url", &url, "--llm-attempts", "2", "--evidence", "evidence.json"];
    let (_, session) = session(&mut optimize(folder.path(), &options), folder.path());
    assert_eq!(session["candidates"][1]["status"], "build_failed");
    let heard = heard.lock().expect("a list").clone();
    assert_eq!(heard.len(), 2);
    for part in ["61.5", "HBM", "x[i] = x[i] + x[i]"] {
        assert!(heard.iter().all(|one| one.contains(part)), "{part}: {heard:?}");
    }
    assert!(!heard[0].contains("Attempt") && !heard[0].contains("none of ours"), "{}", heard[0]);
    for part in [
        "Attempt 1: build_failed",
        "error: BROKEN is not declared",
        "+__global__ void scale",
        "x[i] = BROKEN",
    ] {
        assert!(heard[1].contains(part), "{part}: {}", heard[1]);
    }
}

#[test]
fn killed_at_random_moments_it_leaves_the_source_whole() {
    let folder = prepared();
    let new = SOURCE.replacen("  for", "  #pragma unroll 4\n  for", 1);
    let command = || {
        let mut command = optimize(folder.path(), &["--rule", "unroll", "--pairs", "12", "--apply"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    // How long a whole session takes here and now, without touching the source.
    let began = Instant::now();
    let whole = optimize(folder.path(), &["--rule", "unroll", "--pairs", "12"]).output().expect("it runs");
    // On a busy machine the gain may stay unproven (1); what kills leave behind is checked anyway.
    let ended = |output: &std::process::Output| matches!(output.status.code(), Some(0 | 1));
    assert!(ended(&whole), "{}", text(&whole.stderr));
    let lasts = began.elapsed();
    let audit = folder.path().join("rocm-perf-optimize/session.json");
    let mut seed = 0x9e37_79b9_u64;
    for kill in 0..12 {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        // The last kills are near the end, where the source is changed.
        let share = if kill < 8 {
            (seed >> 33) as f64 / (1u64 << 31) as f64
        } else {
            0.9 + 0.04 * f64::from(kill - 8)
        };
        let mut child = command().spawn().expect("it starts");
        let began = Instant::now();
        while began.elapsed() < lasts.mul_f64(share) && child.try_wait().expect("a status").is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = child.kill();
        child.wait().expect("it ends");
        let source = std::fs::read_to_string(folder.path().join("k.cu")).expect("the source");
        assert!(source == SOURCE || source == new, "half a source:\n{source}");
        let kept = std::fs::read_to_string(&audit).expect("an audit");
        let state = serde_json::from_str::<Value>(&kept).expect("a whole audit")["state"].clone();
        let states = ["building", "checking", "profiling", "trying", "done"];
        assert!(states.iter().any(|one| state == *one), "{state}");
        if source == new {
            std::fs::write(folder.path().join("k.cu"), SOURCE).expect("as before");
        }
    }
    let last = command().stderr(Stdio::piped()).output().expect("it runs");
    let errors = text(&last.stderr);
    assert!(ended(&last), "no lock of a killed one is in its way: {}: {errors}", last.status);
    let expected = if last.status.success() { new.as_str() } else { SOURCE };
    assert_eq!(std::fs::read_to_string(folder.path().join("k.cu")).expect("the source"), expected);
}

#[test]
fn nothing_of_an_earlier_session_is_taken_for_this_one() {
    let folder = prepared();
    let found = folder.path().join("rocm-perf-optimize");
    let rule = |name, more: &[&str]| {
        let options = [&["--rule", name, "--pairs", "15"], more].concat();
        optimize(folder.path(), &options).output().expect("it runs").status.code()
    };
    assert_eq!(rule("unroll", &[]), Some(0));
    assert!(found.join("accepted.diff").exists() && found.join("candidates/2").exists());
    assert_eq!(rule("waves_per_eu", &["--candidates", "1"]), Some(1));
    assert!(!found.join("accepted.diff").exists(), "nothing was accepted");
    assert!(found.join("candidates/1").exists() && !found.join("candidates/2").exists());
}

#[test]
fn what_is_edited_meanwhile_is_neither_measured_nor_overwritten() {
    // Someone makes the source faster by hand while the original program is being checked.
    let check = "[ -e $TREE/edited ] || { touch $TREE/edited; sed -i 's/x\\[i\\] + x\\[i\\]/x[i] * TWICE/' $TREE/k.cu; }
grep -q result=2 \"$ROCM_PERF_STDOUT\"
";
    let tried = |options: &[&str]| {
        let folder = prepared();
        std::fs::write(folder.path().join("check.sh"), check).expect("a checker");
        let mut command = optimize(folder.path(), options);
        let (output, session) = session(command.env("TREE", folder.path()), folder.path());
        let source = std::fs::read_to_string(folder.path().join("k.cu")).expect("the source");
        assert!(source.contains("* TWICE") && !source.contains("pragma"), "{source}");
        (output, session)
    };
    let (output, session) = tried(&["--rule", "waves_per_eu", "--candidates", "1", "--pairs", "15"]);
    assert_eq!(output.status.code(), Some(1), "the edit is no candidate's gain");
    assert_eq!(session["candidates"][0]["status"], "not_faster");
    let (output, _) = tried(&["--rule", "unroll", "--pairs", "15", "--apply"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("changed during the session"), "{}", text(&output.stderr));
}

#[test]
fn bad_input_is_named() {
    let folder = prepared();
    std::fs::write(folder.path().join("empty.cu"), "int main() {}\n").expect("a file");
    let said = |arguments: &[&str]| {
        let mut command = rocm_perf();
        command
            .current_dir(folder.path())
            .args(["optimize", "--metric", "time=(.*)"])
            .args(arguments)
            .arg("./app");
        let output = command.output().expect("it runs");
        format!(
            "{} {}",
            output.status.code().unwrap_or(-1),
            text(&output.stderr).replace(&folder.path().display().to_string(), "DIR")
        )
    };
    let ok = ["--build", "sh build.sh", "--check", "sh check.sh"];
    let with = |more: &[&str]| said(&[&ok[..], more].concat());
    let messages = [
        said(&["--build", "sh build.sh", "--source", "k.cu"]),
        said(&[
            "--build",
            "sh -c 'echo one >&2; echo k.cu:3: error: two >&2; exit 1'",
            "--check",
            "true",
            "--source",
            "k.cu",
        ]),
        said(&["--build", "sh build.sh", "--check", "sh -c 'echo differs >&2; false'", "--source", "k.cu"]),
        with(&["--source", "k.cu", "--kernel", "gemm"]),
        with(&["--source", "empty.cu", "--kernel", "gemm"]),
        with(&["--kernel", "gemm"]),
        with(&["--source", "none.cu", "--kernel", "scale"]),
        with(&["--source", "k.cu", "--rule", "magic"]),
        with(&["--source", "k.cu", "--proposer", "llm", "--llm-url", "ftp://x"]),
        said(&[
            "--build",
            "sh build.sh",
            "--check",
            "true",
            "--run",
            "sleep 100",
            "--timeout",
            "0.2",
            "--source",
            "k.cu",
        ]),
        said(&["--build", "'", "--check", "true", "--source", "k.cu"]),
    ];
    insta::assert_snapshot!(messages.join(""));
}

/// End to end: a HIP program that really runs is profiled, ranked, changed and proven.
#[test]
fn a_real_speed_up_is_proven_on_the_stand_ins() {
    if !stand_in_rocm::can_compile() {
        testing::skip("no C++ compiler");
        return;
    }
    let (folder, stand_ins) =
        (tempfile::tempdir().expect("a folder"), stand_in_rocm::StandIns::install().expect("stand-ins"));
    let program = r#"
#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>
__global__ void small(float* x) { x[threadIdx.x] += 1.0f; }
__global__ void heavy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 100; ++k) {
    sum += x[(i + k) % n] / 3.0f / 7.0f;
  }
  y[i] = sum;
}
int main() {
  const int n = 4096;
  std::vector<float> x(n, 21.0f), y(n);
  float *dx, *dy;
  if (hipMalloc(&dx, n * sizeof(float)) != hipSuccess || hipMalloc(&dy, n * sizeof(float)) != hipSuccess) return 2;
  hipMemcpy(dx, x.data(), n * sizeof(float), hipMemcpyHostToDevice);
  for (int run = 0; run < 15; ++run) heavy<<<n / 64, 64>>>(dx, dy, n);
  small<<<1, 64>>>(dx);
  hipMemcpy(y.data(), dy, n * sizeof(float), hipMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i)
    if (y[i] < 99.9f || y[i] > 100.1f) return printf("wrong %f\n", y[i]), 1;
  puts("PASS");
}
"#;
    std::fs::write(folder.path().join("app.cu"), program).expect("a source");
    let faster = program.replace("x[(i + k) % n] / 3.0f / 7.0f", "x[(i + k) & (n - 1)] * (1.0f / 21.0f)");
    let proposals = serde_json::json!({ "proposals": [{ "description": "no division", "source": faster }] });
    std::fs::write(folder.path().join("proposals.json"), proposals.to_string()).expect("proposals");
    let mut command = rocm_perf();
    command.current_dir(folder.path()).env("PATH", stand_ins.path());
    command.args(["optimize", "--build", "hipcc -O2 app.cu -o app", "--check", "./app", "--apply", "--json"]);
    command.args(["--proposer", "command", "--proposer-cmd", "cat proposals.json", "./app"]);
    let (output, session) = session(&mut command, folder.path());
    assert!(output.status.success(), "{} {session:#}", text(&output.stderr));
    assert!(session["kernels"][0]["name"].as_str().is_some_and(|name| name.contains("heavy")), "{session:#}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["result"]["accepted"], true);
    assert!(report["result"]["speedup"].as_f64().is_some_and(|speedup| speedup > 1.05));
    assert_eq!(std::fs::read_to_string(folder.path().join("app.cu")).expect("the source"), faster);
}

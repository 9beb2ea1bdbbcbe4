//! `optimize` end to end: proposals that win, lose, lie and cheat; a model that answers well, badly and never; kills.

mod common;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use common::rocm_perf;
use serde_json::Value;

const SOURCE: &str = "#define TWICE 2
__global__ void other(float* x) { x[0] = 1; }
__global__ void scale(float* x, int n) {
  for (int i = 0; i < n; ++i) {
    x[i] = x[i] + x[i];
  }
}
";

/// Stands for a compiler: what the program does depends on what the source says.
const BUILD: &str = r#"
grep -q BROKEN k.cu && { echo 'k.cu:5: error: BROKEN is not declared' >&2; exit 1; }
time=10000; result=2
grep -q 'TWICE;' k.cu && time=8000
grep -q 'unroll 4' k.cu && time=8800
grep -q '3;' k.cu && { time=5000; result=3; }
cat > app <<END
#!/bin/sh
noise=\$(od -An -N1 -tu1 /dev/urandom)
echo time=\$(($time + noise)) result=$result
END
chmod +x app; cksum k.cu | sed 's/^/#/' >> app
"#;

fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in
        [("k.cu", SOURCE), ("build.sh", BUILD), ("check.sh", "grep -q result=2 \"$ROCM_PERF_STDOUT\"\n")]
    {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

fn optimize(folder: &Path, more: &[&str]) -> Command {
    let mut command = rocm_perf();
    command.current_dir(folder).args(["optimize", "--source", "k.cu", "--build", "sh build.sh"]);
    command.args(["--metric", r"time=(\d+)", "--kernel", "scale", "--check", "sh check.sh"]);
    command.args(more).arg("./app");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The output of a run and its session.
fn session(command: &mut Command, folder: &Path) -> (Output, Value) {
    let output = command.output().expect("it runs");
    let audit = std::fs::read_to_string(folder.join("rocm-perf-optimize/session.json"));
    let audit = audit.unwrap_or_else(|_| panic!("no session: {}", text(&output.stderr)));
    (output, serde_json::from_str(&audit).expect("JSON"))
}

/// What became of a patch that replaces `from` by `to`.
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
    for file in ["diff", "source", "build.log", "candidate.json"] {
        assert!(folder.path().join("rocm-perf-optimize/candidates/2").join(file).exists(), "{file}");
    }
    let shown = text(&output.stdout);
    assert!(shown.contains("accepted") && shown.contains("not_faster"), "{shown}");
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

/// A server that gives one answer to every request; none when there is none.
fn server(answer: Option<String>) -> String {
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
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(answer.as_bytes()));
        }
    });
    format!("http://{address}/v1")
}

fn answer(code: &str) -> Option<String> {
    let content = format!("Here it is:\n```cpp\n{code}\n```\n");
    Some(serde_json::json!({ "choices": [{ "message": { "content": content } }] }).to_string())
}

fn asked(answer: Option<String>) -> (Option<i32>, Vec<String>) {
    let folder = prepared();
    let url = server(answer);
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
            "no_proposal: the answer changes the kernel's signature",
        ),
        (
            answer(&kernel("for (int i = 0; i < n; ++i) x[i] = x[i] * 3;")),
            "wrong_result: checker 1 exited with 1",
        ),
        (
            answer(&kernel("for (int i = 0; i < n; ++i { x[i] }")),
            "no_proposal: the kernel in the answer is not valid code",
        ),
        (answer("int main() {}"), "no_proposal: the answer has no code block with kernel `scale`"),
        (Some("<html>busy</html>".into()), "answered with something else than JSON"),
        (None, "gave no answer"),
    ];
    for (answer, expected) in bad {
        let (code, told) = asked(answer);
        assert_eq!((code, told.len()), (Some(1), 2), "{told:?}");
        assert!(told[0].contains(expected), "{expected}: {told:?}");
    }
}

#[test]
fn killed_at_random_moments_it_leaves_the_source_whole() {
    let folder = prepared();
    let new = SOURCE.replacen("  for", "  #pragma unroll 4\n  for", 1);
    let mut finished = false;
    for wait in [20, 90, 170, 300, 450, 600, 800, 1000, 60_000] {
        let mut child = optimize(folder.path(), &["--rule", "unroll", "--pairs", "12", "--apply"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let began = std::time::Instant::now();
        while began.elapsed() < Duration::from_millis(wait) && child.try_wait().expect("a status").is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = child.kill();
        finished = child.wait().expect("it ends").success();
        let source = std::fs::read_to_string(folder.path().join("k.cu")).expect("the source");
        assert!(source == SOURCE || source == new, "half a source:\n{source}");
        if source == new {
            break;
        }
    }
    assert!(finished, "the last one had its time, and no lock of a killed one in its way");
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
        with(&["--source", "k.cu", "--proposer", "llm", "--llm-url", "https://x"]),
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

/// The whole way: a HIP program that really runs, profiled, ranked, changed, proven.
#[test]
fn a_real_speed_up_is_proven_on_the_stand_ins() {
    if !stand_in_rocm::can_compile() {
        eprintln!("skipped: no C++ compiler");
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
  for (int k = 0; k < 400; ++k) {
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
  heavy<<<n / 64, 64>>>(dx, dy, n);
  small<<<1, 64>>>(dx);
  hipMemcpy(y.data(), dy, n * sizeof(float), hipMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i)
    if (y[i] < 399.9f || y[i] > 400.1f) return printf("wrong %f\n", y[i]), 1;
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

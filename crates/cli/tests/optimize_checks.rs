//! `optimize` and correct results: golden outputs, several inputs, and programs whose output varies.

use crate::common;
use crate::optimize_lab;

use std::path::Path;

use common::rocm_perf;
use optimize_lab::{SOURCE, session, text};
use serde_json::Value;

/// The program prints and writes three numbers; with `big` it has more to do. The source decides what is
/// wrong.
const BUILD: &str = r#"
a=1.0; big=7.5; time=10000
grep -q 'TWICE;' k.cu && time=8000
grep -q 'rounds' k.cu && { a=1.0000001; time=8000; }
grep -q 'wrong' k.cu && { a=1.5; time=8000; }
grep -q 'tail' k.cu && { big=8.5; time=8000; }
grep -q 'forgets' k.cu && { time=8000; forget=exit; }
cat > app <<END
#!/bin/sh
noise=\$(od -An -N1 -tu1 /dev/urandom)
echo time=\$(($time + noise)) >&2
$forget
value=$a
[ "\$1" = big ] && value=$big
echo "sum \$value of 3" > out.txt
cat out.txt
END
chmod +x app; cksum k.cu | sed 's/^/#/' >> app
"#;

fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.cu"), SOURCE).expect("a file");
    std::fs::write(folder.path().join("build.sh"), BUILD).expect("a file");
    folder
}

/// The outcome for a kernel with `x[i] * TWICE` and a word in a comment, with these options.
fn tried(word: &str, options: &[&str]) -> (Value, Option<Value>) {
    let folder = prepared();
    let new = SOURCE.replacen("x[i] + x[i];", &format!("x[i] * TWICE; // {word}"), 1);
    let proposals = serde_json::json!({ "proposals": [{ "description": word, "source": new }] });
    std::fs::write(folder.path().join("proposals.json"), proposals.to_string()).expect("proposals");
    let mut command = rocm_perf();
    command.current_dir(folder.path()).args(["optimize", "--source", "k.cu", "--build", "sh build.sh"]);
    command.args(["--metric", r"time=(\d+)", "--kernel", "scale", "--pairs", "15"]);
    command
        .args(["--proposer", "command", "--proposer-cmd", "cat proposals.json"])
        .args(options)
        .arg("./app");
    let (_, session) = session(&mut command, folder.path());
    let seen = std::fs::read_to_string(folder.path().join("rocm-perf-optimize/candidates/1/check.json"));
    (session["candidates"][0].clone(), seen.ok().map(|text| serde_json::from_str(&text).expect("JSON")))
}

#[track_caller]
fn expect(word: &str, options: &[&str], status: &str, reason: &str) {
    let (candidate, _) = tried(word, options);
    assert_eq!(candidate["status"], status, "{word} {options:?}: {candidate:#}");
    assert!(candidate["reason"].as_str().is_some_and(|why| why.contains(reason)), "{candidate:#}");
}

#[test]
fn golden_outputs_decide_where_no_checker_does() {
    for golden in ["-", "out.txt", "out.txt:text"] {
        expect("same", &["--golden", golden], "accepted", "x (");
        expect("wrong", &["--golden", golden], "wrong_result", "differs in 1 of 4 values (by up to 5.00e-1)");
        expect(
            "forgets",
            &["--golden", golden],
            if golden == "-" { "wrong_result" } else { "run_failed" },
            "",
        );
    }
    expect("rounds", &["--golden", "-"], "accepted", "x (");
    expect(
        "rounds",
        &["--golden", "-", "--rtol", "0", "--atol", "1e-9"],
        "wrong_result",
        "differs in 1 of 4",
    );
    expect("rounds", &["--golden", "out.txt:bytes"], "wrong_result", "differs");
}

#[test]
fn every_input_is_run_and_checked() {
    expect("tail", &["--golden", "-"], "accepted", "x (");
    expect(
        "tail",
        &["--golden", "-", "--input", "big"],
        "wrong_result",
        "golden output `-` on input `big` differs",
    );
    let checker = "sh -c 'test \"$ROCM_PERF_INPUT\" != big || grep -q 7.5 \"$ROCM_PERF_STDOUT\"'";
    expect("tail", &["--check", checker, "--input", "big"], "wrong_result", "checker 1 on input `big`");
    let (candidate, seen) =
        tried("same", &["--golden", "-", "--check", checker, "--input", "big", "--input", "small 3"]);
    assert_eq!(candidate["status"], "accepted", "{candidate:#}");
    let seen = seen.expect("check.json");
    let of = |check: &str| -> Vec<&str> {
        let all = seen.as_array().expect("a list").iter().filter(|one| one["check"] == check);
        all.inspect(|one| assert_eq!(one["right"], true))
            .map(|one| one["input"].as_str().unwrap_or(""))
            .collect()
    };
    for check in ["run", "checker 1", "golden output `-`"] {
        assert_eq!(of(check), ["", "big", "small 3"], "{check}");
    }
    let comparison =
        seen.as_array().into_iter().flatten().find_map(|one| one.get("comparison")).expect("figures");
    assert_eq!((&comparison["values"], &comparison["wrong"]), (&Value::from(4), &Value::from(0)));
}

#[test]
fn a_program_that_is_not_right_to_begin_with_is_named() {
    let folder = prepared();
    std::fs::write(folder.path().join("good.txt"), "sum 2.0 of 3\n").expect("a file");
    let said = |options: &[&str]| {
        let mut command = rocm_perf();
        command.current_dir(folder.path()).args(["optimize", "--source", "k.cu", "--build", "sh build.sh"]);
        command.args(["--metric", r"time=(\d+)", "--kernel", "scale"]).args(options);
        let output = command.output().expect("it runs");
        let said = text(&output.stderr).replace(&folder.path().display().to_string(), "DIR");
        format!("{} {said}", output.status.code().unwrap_or(-1))
    };
    let app = |options: &[&str]| said(&[options, &["./app"]].concat());
    let random = "sh -c 'od -An -N8 -tu8 /dev/urandom'";
    let messages = [
        app(&["--golden", "-=good.txt"]),
        app(&["--golden", "none.bin:f32"]),
        app(&["--golden", "-:f8"]),
        app(&["--golden", "-=none.txt"]),
        app(&["--golden", "-", "--input", "'"]),
        app(&["--golden", "-", "--code-object", "*.co"]),
        app(&["--golden", "-", "--evidence", "good.txt"]),
        app(&["--golden", "-", "--rule", "compile_flags"]),
        app(&["--golden", "-", "--rule", "fast_math"]),
    ];
    insta::assert_snapshot!(messages.join(""));
    let unsteady = said(&["--golden", "-", "--run", random, "./app"]);
    assert!(
        unsteady.starts_with("2 error: golden output `-` rejects the unchanged program: it differs"),
        "{unsteady}"
    );
    assert!(Path::new(&folder.path().join("k.cu")).exists());
}

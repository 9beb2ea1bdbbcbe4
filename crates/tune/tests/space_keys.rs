//! Every key that a space file may have, and the error for a mistake in it.

use rocm_perf_tune::space::{CommandText, Limits, Objective, Space};

#[test]
fn every_key_is_read() {
    let space = Space::parse(
        r#"{"params": {"M": {"values": [16, 32]}, "N": {"range": [1, 9], "step": 4}, "P": {"range": [2, 20], "pow2": true},
                       "async": {"bool": true}, "type": {"categorical": ["f16", "bf16"]}, "plain": [1, 2.5],
                       "split": {"values": [1, 2], "when": "M > 16", "default": 1}},
            "constraints": ["M * N <= 288"], "derived": {"tiles": "M * N"},
            "build": {"argv": ["cc", "-DM={M}"]}, "run": "./k {N}", "check": ["./check"], "env": {"T": "{type}", "N": 3},
            "objective": {"metric": "dispatch_time", "kernel": "gemm", "agg": "median", "direction": "maximize"},
            "budget": {"trials": 40, "minutes": 2.5, "repeats": 5, "timeout": 9},
            "key": {"shape": "4096x4096", "batch": 8, "files": ["k.h"]},
            "resources": {"lds_bytes": "M * 64", "vgpr": 64, "agpr": "0", "threads": "tiles"}}"#,
    )
    .expect("a space");
    let values = |name: &str| {
        let parameter = space.parameters.iter().find(|one| one.name == name).expect("a parameter");
        parameter.values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let all = ["M", "N", "P", "async", "type", "plain", "split"].map(values);
    assert_eq!(all, ["16 32", "1 5 9", "2 4 8 16", "false true", "f16 bf16", "1 2.5", "1 2"]);
    let words = |list: &[&str]| CommandText::Words(list.iter().map(ToString::to_string).collect());
    let expected = [
        ("build".to_string(), words(&["cc", "-DM={M}"])),
        ("run".to_string(), CommandText::Line("./k {N}".into())),
        ("check".to_string(), words(&["./check"])),
    ];
    assert_eq!(space.commands, expected);
    assert_eq!(space.environment, [("T".into(), "{type}".into()), ("N".into(), "3".into())]);
    let objective = Objective {
        metric: Some("dispatch_time".into()),
        kernel: Some("gemm".into()),
        aggregate: Some("median".into()),
        maximise: Some(true),
    };
    assert_eq!(space.objective, objective);
    let limits = Limits { trials: Some(40), minutes: Some(2.5), repeats: Some(5), timeout: Some(9.0) };
    assert_eq!(space.limits, limits);
    assert_eq!(space.key, [("shape".into(), "4096x4096".into()), ("batch".into(), "8".into())]);
    assert_eq!(space.key_files, ["k.h"]);
    assert!(!space.resources.is_empty());
}

#[test]
fn the_list_of_whole_configurations_is_read() {
    let text = r#"[{"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4}, {"BLOCK_M": 128, "BLOCK_N": 64, "num_warps": 8},
                   {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4}]"#;
    let space = Space::parse(text).expect("a space");
    let candidates = space.candidates(0).expect("candidates");
    let found: Vec<String> = candidates.iter().map(|levels| space.describe(levels)).collect();
    assert_eq!(found, ["BLOCK_M=64 BLOCK_N=64 num_warps=4", "BLOCK_M=128 BLOCK_N=64 num_warps=8"]);
}

#[test]
fn mistakes_in_keys_are_named() {
    let said = |rest: &str| {
        let error = Space::parse(&format!(r#"{{"params": {{"M": [1, 2]}}, {rest}}}"#)).expect_err(rest);
        format!("{error} / {}", error.help().unwrap_or_default())
    };
    insta::assert_snapshot!(
        [
            r#""objective": "time""#,
            r#""objective": {"metrc": "x"}"#,
            r#""objective": {"agg": "avg"}"#,
            r#""objective": {"direction": "up"}"#,
            r#""objective": {"metric": "t=(.*)", "kernel": "gemm"}"#,
            r#""budget": {"trials": 0}"#,
            r#""budget": {"trials": 1.5}"#,
            r#""budget": {"hours": 1}"#,
            r#""key": {"shape": [1]}"#,
            r#""key": {"files": "k.h"}"#,
            r#""resources": {"lds": "M"}"#,
            r#""resources": {"lds_bytes": "MM * 2"}"#,
            r#""resources": {"vgpr": true}"#,
            r#""build": {"args": ["cc"]}"#,
            r#""build": {}"#,
        ]
        .map(said)
        .join("\n")
    );
}

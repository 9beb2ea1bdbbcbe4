//! `capture` end to end, against the stand-in server.

use crate::common;

use std::path::Path;
use std::process::Output;

use common::rocm_perf;
use serde_json::Value;
use stand_in_serving::{Config, Faults, Framework, StandIn};

/// Short waits, short requests.
const QUICK: [&str; 14] = [
    "--num-steps=2",
    "--warmup-steps=1",
    "--prefill-input-len=8",
    "--decode-output-len=6",
    "--probe-delay=0.001",
    "--timeout=1.5",
    "--retries=0",
    "--poll=0.01",
    "--settle=0.1",
    "--profile-prefix=p",
    "--mapping-profile-prefix=m",
    "--framework=auto",
    "--format=json",
    "--quiet",
];

fn server(framework: Framework, folder: &Path, faults: Faults) -> StandIn {
    StandIn::start(Config { framework, trace_dir: folder.into(), faults, ..Config::default() }).unwrap()
}

fn capture(url: &str, folder: &Path, more: &[&str]) -> Output {
    let mut command = rocm_perf();
    for name in ["ROCM_PERF_API_KEY", "SGLANG_API_KEY", "VLLM_API_KEY"] {
        command.env_remove(name);
    }
    command.args(["capture", "--url", url, "--out"]).arg(folder).args(QUICK).args(more).output().unwrap()
}

#[test]
fn both_frameworks_give_traces_that_can_be_read() {
    for (framework, name) in [(Framework::Sglang, "SGLang"), (Framework::Vllm, "vLLM")] {
        let folder = tempfile::tempdir().unwrap();
        let server = server(framework, folder.path(), Faults::default());
        let output = capture(&server.url(), folder.path(), &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["tables"]["servers"][0]["framework"], name);
        let traces = report["tables"]["traces"].as_array().unwrap();
        let stages: Vec<_> = traces.iter().map(|trace| trace["stage"].as_str().unwrap()).collect();
        assert_eq!(stages, ["prefill", "decode"]);
        let decode = Path::new(traces[1]["path"].as_str().unwrap());
        let info = common::json("info", &[decode], &[]);
        let rows = info["tables"]["contents"].as_array().unwrap();
        let kernels = rows.iter().find(|row| row["table"] == "kernels").unwrap();
        assert!(kernels["rows"].as_i64().unwrap() >= 8, "{kernels}");
        let triaged = report["tables"]["kernel_table"].as_array().unwrap();
        assert!(["prefill", "decode"].iter().all(|stage| triaged.iter().any(|row| row["stage"] == *stage)));
        let metadata = std::fs::read_to_string(folder.path().join("profile_metadata.json")).unwrap();
        let metadata: Value = serde_json::from_str(&metadata).unwrap();
        assert!(metadata["model_name"].is_string() && metadata["server_flags"]["api_key"].is_null());
        for name in [
            "profile_summary.md",
            "kernel_table.json",
            "overlap_opportunities.json",
            "fuse_opportunities.json",
        ] {
            assert!(folder.path().join(name).is_file(), "{name}");
        }
    }
}

#[test]
fn a_pair_of_servers_gives_both_roles() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let formal = server(Framework::Sglang, folder.path(), Faults::default());
    let mapping = server(Framework::Sglang, other.path(), Faults::default());
    let output = capture(&formal.url(), folder.path(), &["--mapping-url", &mapping.url()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let roles: Vec<_> =
        report["tables"]["traces"].as_array().unwrap().iter().map(|t| t["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["formal", "formal", "mapping", "mapping"]);
    assert!(folder.path().join("mapping/decode").is_dir());
    assert_eq!(mapping.bodies("/start_profile")[0]["profile_prefix"], "m-prefill");
}

#[test]
fn failures_of_the_server_are_one_line_of_help_and_code_3() {
    let cases = [
        (Framework::Sglang, Faults { start_fails: true, ..Faults::default() }, "failed on `/start_profile`"),
        (
            Framework::Sglang,
            Faults { already_profiling: true, ..Faults::default() },
            "already being profiled",
        ),
        (Framework::Sglang, Faults { no_file: true, ..Faults::default() }, "no new trace appeared"),
        (Framework::Vllm, Faults { truncated: true, ..Faults::default() }, "is still incomplete"),
        (Framework::Vllm, Faults { dies_at_request: Some(2), ..Faults::default() }, "died"),
    ];
    for (framework, faults, message) in cases {
        let folder = tempfile::tempdir().unwrap();
        let server = server(framework, folder.path(), faults);
        let output = capture(&server.url(), folder.path(), &[]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{errors}");
        assert!(errors.contains(message) && errors.lines().count() == 2, "{errors}");
        assert!(errors.contains(" help: "), "{errors}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn bad_usage_is_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(Framework::Vllm, folder.path(), Faults::default());
    for more in
        [["--start-step=3"], ["--profile-by-stage"], ["--trace-dir=/no/such/folder"], ["--timeout=soon"]]
    {
        let output = capture(&server.url(), folder.path(), &more);
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(server.bodies("/start_profile").len(), 0);
}

#[test]
fn a_key_comes_from_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { api_key: Some("k1".into()), trace_dir: folder.path().into(), ..Config::default() };
    let server = StandIn::start(config).unwrap();
    let refused = capture(&server.url(), folder.path(), &[]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--api-key"));
    let mut command = rocm_perf();
    command.args(["capture", "--url", &server.url(), "--out"]).arg(folder.path()).args(QUICK);
    let output = command.env("ROCM_PERF_API_KEY", "k1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[cfg(unix)]
#[test]
fn an_interrupt_stops_the_profile_on_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let step = std::time::Duration::from_millis(20);
    let config =
        Config { framework: Framework::Vllm, trace_dir: folder.path().into(), step, ..Config::default() };
    let server = StandIn::start(config).unwrap();
    let mut command = rocm_perf();
    command
        .args(["capture", "--url", &server.url(), "--profile-workload=decode", "--out"])
        .arg(folder.path());
    let long = ["--warmup-steps=1", "--probe-delay=0", "--decode-output-len=5000", "--quiet"];
    let mut child = command.args(long).spawn().unwrap();
    let began = std::time::Instant::now();
    while server.bodies("/v1/chat/completions").len() < 2 {
        assert!(began.elapsed().as_secs() < 30, "the profile never began");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(server.bodies("/stop_profile").len(), 0);
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(server.bodies("/stop_profile").len(), 1);
}

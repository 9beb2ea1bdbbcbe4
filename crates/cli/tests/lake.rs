//! `lake`, and commands that read lakes: what a person sees with the engine, and what to do without it.

mod common;
use std::path::{Path, PathBuf};

use common::{rocm_perf, run};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn traces(folder: &Path) -> PathBuf {
    testing::lake::write_ranks(&folder.join("job"));
    folder.join("job")
}

#[test]
fn a_cluster_without_its_client_or_without_a_lake_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let traces = traces(folder.path());
    let ask = |input: &Path| {
        let mut command = rocm_perf();
        command.arg("query").arg(input).args(["--sql", "SELECT 1", "--cluster", "http://localhost:1"]);
        command.env("PATH", "").output().unwrap()
    };
    let output = ask(&traces);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("a cluster queries lakes"), "{}", text(&output.stderr));
    std::fs::create_dir(folder.path().join("lake")).unwrap();
    std::fs::write(folder.path().join("lake/lake.json"), r#"{"format":"rocm-perf lake","version":1}"#)
        .unwrap();
    let output = ask(&folder.path().join("lake"));
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    // Next to the binary there may be a client that was built for other tests.
    let errors = text(&output.stderr);
    assert!(errors.contains("cannot be started") || errors.contains("does not answer"), "{errors}");
}

#[test]
fn commands_that_read_traces_say_that_a_lake_is_none() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("lake.json"), r#"{"format":"rocm-perf lake","version":1}"#).unwrap();
    let output = run(&["info".as_ref(), folder.path().as_os_str()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("is a lake"), "{}", text(&output.stderr));
}

#[cfg(not(feature = "lake"))]
#[test]
fn a_build_without_the_engine_says_how_to_get_one_with() {
    let folder = tempfile::tempdir().unwrap();
    let traces = traces(folder.path());
    let output =
        run(&["lake".as_ref(), "build".as_ref(), traces.as_os_str(), "--out".as_ref(), "LAKE".as_ref()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--features lake"), "{}", text(&output.stderr));
}

#[cfg(feature = "lake")]
mod with_engine {
    use super::*;
    use common::stdout;

    fn build(folder: &Path) -> PathBuf {
        let (traces, lake) = (traces(folder), folder.join("LAKE"));
        for node in ["n0", "n1"] {
            let (input, out) = (traces.join(node).display().to_string(), lake.display().to_string());
            stdout(&["lake", "build", &input, "--out", &out, "--run", "job", "--node", node]);
        }
        lake
    }

    /// Output without the parts that differ between machines.
    fn shown(folder: &Path, arguments: &[&str]) -> String {
        let output = rocm_perf().current_dir(folder).args(arguments).output().unwrap();
        format!("{}{}", text(&output.stdout), text(&output.stderr))
            .replace(&folder.display().to_string(), "…")
    }

    #[test]
    fn lakes_as_a_person_sees_them() {
        let folder = tempfile::tempdir().unwrap();
        build(folder.path());
        let info = shown(folder.path(), &["lake", "info", "LAKE", "--table", "runs"]);
        let kernels = shown(folder.path(), &["summary", "LAKE", "--table", "kernels"]);
        let sql = "SELECT node, rank, count(*) AS kernels, sum(duration) AS ns FROM kernels GROUP BY 1, 2 ORDER BY 2";
        let rows = shown(folder.path(), &["query", "LAKE", "--sql", sql]);
        let csv = shown(folder.path(), &["query", "LAKE", "--sql", sql, "--format", "csv", "--limit", "2"]);
        let wrong = shown(folder.path(), &["query", "LAKE", "--sql", "DROP TABLE kernels"]);
        let check = shown(folder.path(), &["lake", "check", "LAKE"]);
        // File sizes depend on the library that writes them.
        let info = info.lines().next().unwrap_or_default();
        insta::assert_snapshot!([info, &kernels, &rows, &csv, &wrong, &check].join("\n"));
    }

    #[test]
    fn reports_are_as_the_schema_says() {
        let folder = tempfile::tempdir().unwrap();
        let lake = build(folder.path()).display().to_string();
        let again = folder.path().join("job/n0").display().to_string();
        std::fs::remove_file(folder.path().join("LAKE/tables/regions/run=job/node=n1/rank=2/part.parquet"))
            .unwrap();
        for arguments in [
            vec!["lake", "add", &again, "--lake", &lake, "--run", "job", "--node", "n0"],
            vec!["lake", "info", &lake],
            vec!["lake", "check", &lake],
        ] {
            let output = run(&[&arguments[..], &["--format", "json"]].concat());
            let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/lake.json");
            let contract: serde_json::Value = serde_json::from_slice(&std::fs::read(root).unwrap()).unwrap();
            let problems = formats::json_schema::problems(&contract, &report);
            assert!(problems.is_empty(), "{arguments:?}: {problems:?}");
        }
    }

    #[test]
    fn a_build_that_is_killed_is_finished_by_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let traces = folder.path().join("ranks");
        let made =
            ["--scenario", "training", "--kernels", "600", "--ranks", "8", "--no-stacks", "--to", "torch"];
        common::synth(&traces, &made);
        let input = traces.display().to_string();
        let (whole, killed) = (folder.path().join("WHOLE"), folder.path().join("KILLED"));
        let (whole, killed) = (whole.display().to_string(), killed.display().to_string());
        stdout(&["lake", "build", &input, "--out", &whole]);
        let sql =
            "SELECT rank, count(*) AS kernels, sum(duration) AS ns FROM kernels GROUP BY rank ORDER BY rank";
        let rows = |lake: &str| stdout(&["query", lake, "--sql", sql, "--format", "csv"]);
        let wanted = rows(&whole);
        for delay in [200, 600, 1200] {
            let mut build = rocm_perf().args(["lake", "build", &input, "--out", &killed]).spawn().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(delay));
            build.kill().unwrap();
            build.wait().unwrap();
            // Whatever is visible must be right.
            if Path::new(&killed).join("lake.json").is_file() {
                let seen = rows(&killed);
                assert!(
                    seen.lines().all(|line| wanted.lines().any(|row| row == line)),
                    "{seen}\nof\n{wanted}"
                );
            }
        }
        stdout(&["lake", "build", &input, "--out", &killed]);
        assert_eq!(rows(&killed), wanted);
        stdout(&["lake", "check", &killed, "--every-byte"]);
    }

    #[test]
    fn ranks_of_a_lake_tell_what_their_traces_tell() {
        let folder = tempfile::tempdir().unwrap();
        let traces = folder.path().join("ranks");
        let made =
            ["--scenario", "training", "--kernels", "600", "--ranks", "4", "--no-stacks", "--to", "torch"];
        common::synth(&traces, &made);
        let (input, lake) = (traces.display().to_string(), folder.path().join("LAKE").display().to_string());
        stdout(&["lake", "build", &input, "--out", &lake]);
        let tables = |input: &str| -> serde_json::Value {
            let report = stdout(&["ranks", input, "--format", "json"]);
            serde_json::from_str::<serde_json::Value>(&report).unwrap()["tables"].clone()
        };
        let found = tables(&lake);
        assert!(found["ranks"].as_array().is_some_and(|ranks| ranks.len() == 4), "{found}");
        assert_eq!(found, tables(&input));
    }

    #[test]
    fn runs_of_lakes_are_compared_like_their_traces() {
        let folder = tempfile::tempdir().unwrap();
        let lake = build(folder.path());
        let slower = folder.path().join("slower");
        testing::lake::write_ranks(&slower);
        for (node, rank) in [("n0", 0), ("n0", 1), ("n1", 2), ("n1", 3)] {
            let path = slower.join(format!("{node}/rank{rank}.json"));
            let text = std::fs::read_to_string(&path).unwrap();
            let duration = 10 + rank;
            let (old, new) = (format!("\"dur\":{duration},"), format!("\"dur\":{},", 3 * duration));
            std::fs::write(&path, text.replace(&old, &new)).unwrap();
            let (input, lake) = (path.display().to_string(), lake.display().to_string());
            stdout(&["lake", "add", &input, "--lake", &lake, "--run", "slower", "--node", node]);
        }
        let kernels = |base: &Path, candidate: &Path| {
            let arguments = ["compare".as_ref(), base.as_os_str(), candidate.as_os_str()];
            let more = ["--force", "--format", "json"].map(std::ffi::OsStr::new);
            let report: serde_json::Value =
                serde_json::from_str(&stdout(&[&arguments[..], &more[..]].concat())).unwrap();
            report["tables"]["kernels"].clone()
        };
        let of_lake = kernels(&lake.join("run=job"), &lake.join("run=slower"));
        let of_traces = kernels(&folder.path().join("job"), &slower);
        assert!(of_lake.as_array().is_some_and(|rows| rows.len() == 3), "{of_lake}");
        assert_eq!(of_lake, of_traces);
    }
}

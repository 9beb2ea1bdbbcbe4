//! Every command line in README.md and docs runs on inputs with the names that it uses, or at least has real
//! options.

use crate::common;
use crate::panels_maker;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{SMALL_TORCH, files, rocm_perf, synth};

/// Commands that need a GPU, a server, a browser or hours: only their options are checked.
const PARSED: [&str; 10] =
    ["autotune", "capture", "collect", "doctor", "experiment", "mcp", "open", "optimize", "profile", "serve"];

/// A command line and its place.
struct Line {
    place: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The lines of fenced blocks that call the program, without `$ `.
fn calls(name: &str, document: &str) -> Vec<Line> {
    let (mut fenced, mut found) = (false, Vec::new());
    for (at, line) in document.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let line = line.trim();
        let line = line.strip_prefix("$ ").unwrap_or(line);
        if fenced && line.starts_with("rocm-perf ") {
            found.push(Line { place: format!("{name}:{}", at + 1), text: line.to_string() });
        }
    }
    found
}

/// A shell line split at unquoted `separator`s, without a comment after an unquoted ` #`.
fn parts(line: &str, separator: &str) -> Vec<String> {
    let (mut quoted, mut parts) = (false, vec![String::new()]);
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        if !quoted && rest.starts_with(" #") {
            break;
        }
        if !quoted && rest.starts_with(separator) {
            parts.push(String::new());
            rest = &rest[separator.len()..];
            continue;
        }
        quoted ^= character == '\'';
        parts.last_mut().expect("a part").push(character);
        rest = &rest[character.len_utf8()..];
    }
    parts.iter().map(|part| part.trim().to_string()).collect()
}

/// A folder with an input for each name that the documents use.
struct Lab {
    folder: tempfile::TempDir,
}

impl Lab {
    fn new() -> Self {
        let lab = Self { folder: tempfile::tempdir().expect("a folder") };
        std::fs::create_dir(lab.folder.path().join("bin")).expect("a folder");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_rocm-perf"), lab.folder.path().join("bin/rocm-perf"))
            .expect("a link");
        let serving = ["--kernels", "2500", "--no-stacks", "--to"];
        for name in ["run", "my-demo"] {
            synth(&lab.input(name), &[&serving[..], &["torch"]].concat());
        }
        synth(&lab.input("gz"), &[&serving[..], &["torch-gz"]].concat());
        lab.copy("gz/serving.rank0.json.gz", &["trace.json.gz", "decode.json.gz"]);
        lab.copy("gz/capture_traces/serving.capture.rank0.json.gz", &["capture.json.gz"]);
        let training = ["--scenario", "training", "--kernels", "300", "--ranks", "4", "--to", "rocpd"];
        for (name, seed) in [("ranks", "1"), ("base", "1"), ("candidate", "2")] {
            synth(&lab.input(name), &[&training[..], &["--seed", seed]].concat());
        }
        for (rank, path) in files(&lab.input("ranks"), ".db").iter().enumerate() {
            lab.copy(path, &[&format!("rank{rank}_results.db"), &format!("node{}/{rank}.db", rank % 2)]);
        }
        for workload in ["workloads/vcopy/MI200", "workloads/vcopy/MI300X", "workloads/app/MI300X"] {
            panels_maker::write(&lab.input(workload), |_| true);
        }
        for name in ["before", "after"] {
            panels_maker::write(&lab.input(name), |_| true);
        }
        lab.copy("rank0_results.db", &["4711_results.db", "run.db"]);
        synth(&lab.input("servers"), &["--scenario", "disaggregated", "--steps", "4"]);
        lab.copy("servers/disaggregated.prefill.json", &["prefill.json"]);
        lab.copy("servers/disaggregated.decode.json", &["decode.json"]);
        synth(&lab.input("snapshots"), &["--to", "snapshot", "--steps", "3"]);
        lab.copy("snapshots/serving.rank0.pickle", &["snapshot.pickle", "before.pickle", "after.pickle"]);
        let collectives = ["--scenario", "training", "--kernels", "300", "--ranks", "2", "--to", "inspector"];
        synth(&lab.input("collectives"), &collectives);
        let mut counted = rocm_perf();
        counted.current_dir(lab.input("")).args([
            "convert",
            "before",
            "--to",
            "rocpd",
            "--out",
            "counters.db",
        ]);
        assert!(counted.output().expect("it runs").status.success());
        lab.copy(root().join("crates/hw/tests/fixtures/gfx942.co"), &["kernel.hsaco", "app"]);
        std::fs::write(lab.input("peaks.json"), r#"{"hbm_gbps": 1600}"#).expect("a file");
        std::fs::write(lab.input("prompt.sql"), "SELECT count(*) FROM kernels;\n").expect("a file");
        let shapes = r#""args": {"Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"], "#;
        let shaped = SMALL_TORCH.replacen(r#""args": {"#, shapes, 1);
        std::fs::write(lab.input("shapes.json"), shaped).expect("a file");
        lab
    }

    fn input(&self, name: &str) -> PathBuf {
        self.folder.path().join("inputs").join(name)
    }

    /// Adds more names for an input.
    fn copy(&self, from: impl AsRef<Path>, to: &[&str]) {
        for name in to {
            let to = self.input(name);
            std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
            std::fs::copy(self.input("").join(from.as_ref()), to).expect("a copy");
        }
    }

    /// A fresh folder of inputs for one line; files are shared, as nothing changes its inputs.
    fn fresh(&self) -> tempfile::TempDir {
        let fresh = tempfile::tempdir_in(self.folder.path()).expect("a folder");
        let inputs = self.input("");
        for path in files(&inputs, "") {
            let to = fresh.path().join(path.strip_prefix(&inputs).expect("an input"));
            std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
            std::fs::hard_link(&path, to).expect("a link");
        }
        fresh
    }

    fn shell(&self, folder: &Path, line: &str) -> Output {
        let bin = self.folder.path().join("bin");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("sh");
        command.arg("-c").arg(line).current_dir(folder).env("PATH", format!("{}:{path}", bin.display()));
        // What someone might type at a prompt.
        let typed = std::fs::File::open(self.input("prompt.sql")).expect("a file");
        command.env("NO_COLOR", "1").stdin(typed).output().expect("a shell")
    }
}

/// What is wrong with a command line, if anything.
fn problem(lab: &Lab, line: &str) -> Option<String> {
    let folder = lab.fresh();
    for call in parts(line, " && ") {
        let words: Vec<&str> = call.split_whitespace().collect();
        let name = *words.get(1)?;
        // Lakes are a feature with separate tests.
        let output = if PARSED.contains(&name) || call.contains("LAKE") {
            let ours = &parts(&call, " -- ")[0];
            lab.shell(folder.path(), &format!("{ours} --help"))
        } else {
            for pair in words.windows(2).filter(|pair| ["-o", "--out", "-d", "--package"].contains(&pair[0]))
            {
                // The output of a line must not exist before it runs, although another line may read it.
                let target = folder.path().join(pair[1]);
                let _ = if target.is_dir() {
                    std::fs::remove_dir_all(target)
                } else {
                    std::fs::remove_file(target)
                };
            }
            if ["panels", "roofline"].contains(&name) {
                // These need counters, or the shapes of ops.
                let with = [
                    ("counters.db", "4711_results.db"),
                    ("counters.db", "run.db"),
                    ("shapes.json", "trace.json.gz"),
                ];
                for (from, name) in with {
                    std::fs::remove_file(folder.path().join(name)).expect("an input");
                    std::fs::copy(lab.input(from), folder.path().join(name)).expect("a copy");
                }
            }
            lab.shell(folder.path(), &call.replace("1GB", "1MB"))
        };
        // A gate may fail here: the runs are generated.
        let gate = call.contains("--fail-on") && output.status.code() == Some(1);
        if !output.status.success() && !gate {
            return Some(format!("{call}\n{}", String::from_utf8_lossy(&output.stderr)));
        }
    }
    None
}

#[test]
fn every_documented_command_runs() {
    let lab = Lab::new();
    let mut documents = files(&root().join("docs"), ".md");
    // scripts/book runs the tutorials; the reference repeats the examples of `--help`.
    let elsewhere = |path: &PathBuf| {
        ["tutorials", "reference"]
            .iter()
            .any(|part| path.parent().is_some_and(|folder| folder.ends_with(part)))
    };
    documents.retain(|path| !elsewhere(path));
    documents.push(root().join("README.md"));
    documents.extend(files(&root().join("skills"), ".md"));
    let (mut count, mut problems) = (0, Vec::new());
    for path in documents {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a document");
        for line in calls(&name, &text) {
            // This binary may be built without Parquet.
            if line.text.contains("parquet") && !cfg!(feature = "parquet") {
                testing::skip("built without Parquet");
                continue;
            }
            count += 1;
            problems.extend(problem(&lab, &line.text).map(|problem| format!("{}: {problem}", line.place)));
        }
    }
    assert!(count > 70, "{count} command lines were found");
    assert!(problems.is_empty(), "{} of {count}:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn a_command_or_an_option_that_does_not_exist_is_found() {
    let lab = Lab::new();
    let wrong = |line: &str| problem(&lab, line).unwrap_or_default();
    assert!(wrong("rocm-perf sumary run.db").contains("unrecognized subcommand"));
    assert!(wrong("rocm-perf panels before -b 2 --memory-chart").contains("--memory-chart"));
    assert!(wrong("rocm-perf collect --no-such x -- ./app --help").contains("--no-such"));
    assert!(wrong("rocm-perf info run.db && rocm-perf info absent.db").contains("absent.db"));
    assert_eq!(problem(&lab, "rocm-perf info run.db   # what is in it"), None);
    let text = "rocm-perf no\n```\n$ rocm-perf a 'x # y' # z\n  rocm-perf b\nother\n```\nrocm-perf no\n";
    let found: Vec<String> = calls("x", text).into_iter().map(|line| line.text).collect();
    assert_eq!(found, ["rocm-perf a 'x # y' # z", "rocm-perf b"]);
    assert_eq!(parts(&found[0], " && "), ["rocm-perf a 'x # y'"]);
}

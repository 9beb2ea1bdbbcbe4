//! The stand-in `rocprofv3`: files of every format agree, and it fails like the real one.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rocm_perf_stand_in_rocm::{StandIns, can_compile};
use trace::{Needs, Trace};

struct Lab {
    stand_ins: StandIns,
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Lab {
    fn new(example: &str) -> Option<Self> {
        if !can_compile() {
            testing::skip("no C++ compiler");
            return None;
        }
        let (stand_ins, folder) = (StandIns::install().unwrap(), tempfile::tempdir().unwrap());
        let program = stand_ins.example(example, folder.path()).unwrap();
        Some(Self { stand_ins, folder, program })
    }

    fn command(&self, options: &str, application: &[&str]) -> Command {
        let mut command = self.stand_ins.command(self.stand_ins.program("rocprofv3"));
        command.current_dir(self.folder.path()).args(options.split_whitespace());
        command.arg("--").arg(&self.program).args(application);
        command
    }

    fn run(&self, options: &str) -> Output {
        self.command(options, &[]).output().unwrap()
    }

    fn files(&self, folder: &str) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut folders = vec![self.folder.path().join(folder)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.path().is_dir() { folders.push(entry.path()) } else { files.push(entry.path()) }
            }
        }
        files.sort();
        files
    }

    fn one(&self, folder: &str, ending: &str) -> PathBuf {
        let files = self.files(folder);
        let found: Vec<&PathBuf> = files.iter().filter(|f| f.to_string_lossy().ends_with(ending)).collect();
        assert_eq!(found.len(), 1, "{ending} in {files:?}");
        found[0].clone()
    }
}

fn read(path: &Path) -> Trace {
    ingest::read(&[path.to_path_buf()], &Needs::everything(), &ingest::Progress::default()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_format_describes_the_same_events() {
    let Some(lab) = Lab::new("streams") else { return };
    let output = lab.run("--sys-trace -d out -o run -f rocpd csv json");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("Opened result file: out/run_results.db"));
    let csv = lab.folder.path().join("csv");
    std::fs::create_dir(&csv).unwrap();
    for file in lab.files("out").iter().filter(|file| file.extension().is_some_and(|e| e == "csv")) {
        std::fs::rename(file, csv.join(file.file_name().unwrap())).unwrap();
    }
    let traces = [lab.one("out", "results.db"), lab.one("out", "results.json"), csv].map(|path| read(&path));
    let kernels = |trace: &Trace| -> Vec<(String, i64, i64, i64)> {
        let row = |k: trace::Kernel| (trace.strings.get(k.name).to_string(), k.start, k.end, k.correlation);
        trace.kernels.rows().map(row).collect()
    };
    // Instant marks are samples, or calls without duration.
    let host = |trace: &Trace| trace.regions.len() + trace.samples.len();
    let expected = kernels(&traces[0]);
    assert_eq!(expected.len(), 8);
    for trace in &traces[1..] {
        assert_eq!(kernels(trace), expected);
        assert_eq!(host(trace), host(&traces[0]));
        assert_eq!(trace.memory_copies.start, traces[0].memory_copies.start);
    }
}

#[test]
fn nothing_recorded_means_no_file_and_the_applications_exit() {
    let Some(lab) = Lab::new("crash") else { return };
    let shell = |options: &[&str]| {
        let mut command = lab.stand_ins.command(lab.stand_ins.program("rocprofv3"));
        command.current_dir(lab.folder.path()).args(options).args(["-d", "none", "--", "sh", "-c", "exit 5"]);
        command.output().unwrap()
    };
    assert_eq!(shell(&["--kernel-trace"]).status.code(), Some(5));
    assert!(lab.files("none").is_empty());
    let output = shell(&[]);
    assert!(stderr(&output).contains("Warning: No tracing options were enabled."));
    let output = lab.command("--kernel-trace -d coded", &["3"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(lab.files("coded").len(), 1);
    // The real one writes from its signal handler, then dies of the signal.
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(lab.run("--kernel-trace -d signal").status.signal(), Some(11));
    assert_eq!(lab.files("signal").len(), 1);
}

#[test]
fn counters_are_true_where_they_can_be_and_too_many_abort() {
    let Some(lab) = Lab::new("vector_add") else { return };
    let output = lab.run("--pmc SQ_WAVES,TCC_HIT_sum NOPE -d one -f csv rocpd");
    assert!(output.status.success());
    assert!(stderr(&output).contains(
        "(gpu-1, gfx942) in [SQ_WAVES, TCC_HIT_sum, NOPE]. Found: [SQ_WAVES, TCC_HIT_sum]. Missing: [NOPE]"
    ));
    assert!(lab.files("one").iter().all(|f| !f.ends_with("kernel_trace.csv")));
    let db = rusqlite::Connection::open(lab.one("one", "results.db")).unwrap();
    let sql = "SELECT DISTINCT kernel_name, value FROM counters_collection WHERE counter_name = 'SQ_WAVES' ORDER BY 1";
    let mut statement = db.prepare(sql).unwrap();
    let rows = statement.query_map([], |r| Ok((r.get::<_, String>(0)?, r.get::<_, f64>(1)?))).unwrap();
    let rows: Vec<_> = rows.map(|r| r.unwrap()).collect();
    let expected = [
        ("vector_add(float const*, float const*, float*, int)", 256.0),
        ("void scale<float, 2>(float*, float, int)", 256.0),
    ];
    assert_eq!(rows, expected.map(|(n, v)| (n.to_string(), v)));
    use std::os::unix::process::ExitStatusExt;
    let output = lab.run("--pmc FETCH_SIZE WRITE_SIZE -d two");
    assert_eq!(output.status.signal(), Some(6));
    assert!(stderr(&output).contains("error code 38: Request exceeds the capabilities of the hardware"));
    assert!(lab.files("two").is_empty());
}

#[test]
fn text_files_give_a_pass_per_line_and_stop_at_the_first_failure() {
    let Some(lab) = Lab::new("crash") else { return };
    let path = lab.folder.path().join("pmc.txt");
    std::fs::write(&path, "pmc: SQ_WAVES\npmc: GRBM_COUNT\n").unwrap();
    let output = lab.command("-i pmc.txt -d out", &["0"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let files = lab.files("out");
    assert!(files[0].starts_with(lab.folder.path().join("out/pmc_1")) && files.len() == 2, "{files:?}");
    let output = lab.command("-i pmc.txt -d bad", &["9"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("returned non-zero exit status 9."));
    assert_eq!(lab.files("bad").len(), 1);
    std::fs::write(&path, "pmc : SQ_WAVES\n").unwrap();
    let output = lab.command("-i pmc.txt -d silent", &["9"]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty() && lab.files("silent").is_empty());
}

#[test]
fn every_process_writes_its_own_files_unless_the_name_says_otherwise() {
    let Some(lab) = Lab::new("ranks") else { return };
    let output =
        lab.command("--kernel-trace -d out -o %hostname%_r%env{RANK}%_%pid%", &["3"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let files = lab.files("out");
    assert_eq!(files.len(), 3);
    for rank in 0..3 {
        assert!(files.iter().any(|f| f.to_string_lossy().contains(&format!("_r{rank}_"))), "{files:?}");
    }
    lab.command("--kernel-trace -d clash -o same", &["3"]).output().unwrap();
    assert_eq!(lab.files("clash").len(), 1);
}

#[test]
fn faults_are_chosen_by_a_variable() {
    let Some(lab) = Lab::new("vector_add") else { return };
    let run =
        |fault: &str, options: &str| lab.command(options, &[]).env("STAND_IN_FAULT", fault).output().unwrap();
    run("truncated", "--kernel-trace -d cut -o a");
    lab.run("--kernel-trace -d whole -o a");
    let size = |folder: &str| lab.one(folder, "results.db").metadata().unwrap().len();
    assert!(size("cut") < size("whole"));
    assert!(!run("disk_full", "--kernel-trace -d full").status.success());
    let output = run(
        "",
        "--pc-sampling-beta-enabled --pc-sampling-method stochastic --pc-sampling-unit time --pc-sampling-interval 1000 -d pcs",
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("not supported on any of the agents"));
    let output = run(
        "",
        "--pc-sampling-beta-enabled --pc-sampling-method stochastic --pc-sampling-unit cycles --pc-sampling-interval 65536 --kernel-trace -f csv -d good",
    );
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(lab.one("good", "pc_sampling_stochastic.csv").metadata().unwrap().len() > 200);
    assert_eq!(run("", "--att --kernel-trace").status.code(), Some(1));
}

#[test]
fn companions_answer() {
    let stand_ins = StandIns::install().unwrap();
    let run = |program: &str, arguments: &[&str], version: &str| {
        let mut command = Command::new(stand_ins.program(program));
        let output = command.args(arguments).env("STAND_IN_ROCM_VERSION", version).output().unwrap();
        assert!(output.status.success(), "{program}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let json = |version| -> serde_json::Value {
        serde_json::from_str(&run("amd-smi", &["metric", "--json"], version)).unwrap()
    };
    assert!(json("6.4").is_array());
    assert_eq!(json("7.1")["gpu_data"][1]["power"]["socket_power"]["unit"], "W");
    assert_eq!(run("rocprofv3", &["--version"], "7.2").lines().count(), 9);
    assert!(
        run("rocprofv3-avail", &["pmc-check", "SQ_WAVES", "TCC_HIT_sum"], "7.0")
            .contains("can be collected together on GPU:0")
    );
    assert!(run("rocprofv3-avail", &["list", "--pmc"], "7.0").contains("SQ_WAVES"));
    assert!(run("rocprof", &["--list-basic"], "6.2").contains("SQ_WAVES"));
}

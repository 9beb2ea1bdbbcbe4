//! `collect` with several ranks: launchers, and jobs of a real SLURM.

use crate::common;
use crate::lab;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use lab::{Lab, failed, run_json, succeeded, traces};

fn program(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Launchers that start their ranks at once, with the variables of the real ones.
fn launchers(folder: &Path) {
    let torchrun = r#"#!/bin/sh
count=1
while case "$1" in --*) true;; *) false;; esac; do
  case "$1" in --nproc_per_node=*) count=${1#*=};; --no-python) plain=yes;; esac
  shift
done
[ "$plain" = yes ] || { echo "torchrun would start Python" >&2; exit 9; }
pids=; rank=0; code=0
while [ $rank -lt $count ]; do RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$count "$@" & pids="$pids $!"; rank=$((rank + 1)); done
for pid in $pids; do wait $pid || code=1; done
exit $code
"#;
    program(&folder.join("torchrun"), torchrun);
    let mpirun = r#"#!/bin/sh
count=$2; shift 2
pids=; rank=0; code=0
while [ $rank -lt $count ]; do OMPI_COMM_WORLD_RANK=$rank "$@" & pids="$pids $!"; rank=$((rank + 1)); done
for pid in $pids; do wait $pid || code=1; done
exit $code
"#;
    program(&folder.join("mpirun"), mpirun);
}

/// An application whose second rank fails after its work.
fn rank_application(lab: &Lab, folder: &Path) -> String {
    let path = folder.join("rank_app");
    let text = format!(
        "#!/bin/sh\nrank=${{RANK:-${{OMPI_COMM_WORLD_RANK:-${{SLURM_ARRAY_TASK_ID:-$SLURM_PROCID}}}}}}\n\
         {} \"$1\" || exit 1\n[ \"$rank\" = \"$2\" ] && exit 7\nexit 0\n",
        lab.app("vector_add")
    );
    program(&path, &text);
    path.display().to_string()
}

fn with_launchers(lab: &Lab, folder: &Path) -> Command {
    let mut command = lab.rocm_perf();
    let path = std::env::join_paths(
        std::iter::once(folder.to_path_buf()).chain(std::env::split_paths(&lab.stand_ins.path())),
    );
    command.env("PATH", path.unwrap());
    command
}

#[test]
fn launched_ranks_write_names_of_their_own() {
    let Some(lab) = Lab::get() else { return };
    for (launcher, passes) in
        [(vec!["torchrun", "--standalone", "--nproc_per_node=3"], 1), (vec!["mpirun", "-np", "3"], 2)]
    {
        let folder = tempfile::tempdir().unwrap();
        launchers(folder.path());
        let app = rank_application(lab, folder.path());
        let out = folder.path().join("run");
        let preset = if passes == 1 { "communication" } else { "compute" };
        let mut command = with_launchers(lab, folder.path());
        command
            .args(["collect", "-q", "--format", "json", "--preset", preset, "--arch", "gfx942", "--out"])
            .arg(&out);
        let mut words = launcher.clone();
        // torchrun would start Python; the test's application is a program.
        if launcher[0] == "torchrun" {
            words.insert(1, "--no-python");
        }
        let output = command.arg("--").args(&words).args([&app, "2", "none"]).output().unwrap();
        succeeded(&output);
        let run = run_json(&out);
        assert_eq!(run["passes"].as_array().unwrap().len(), passes);
        for pass in run["passes"].as_array().unwrap() {
            let codes: Vec<i64> = pass["ranks"]
                .as_array()
                .unwrap()
                .iter()
                .map(|rank| rank["exit_code"].as_i64().unwrap())
                .collect();
            assert_eq!(codes, [0, 0, 0]);
        }
        assert_eq!(traces(&out).len(), 3, "{}", run["traces"]);
        let info = common::json("summary", &[&out], &["--by-rank"]);
        let mut ranks: Vec<i64> = info["tables"]["kernels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["rank"].as_str().unwrap().parse().unwrap())
            .collect();
        ranks.sort_unstable();
        ranks.dedup();
        assert_eq!(ranks, [0, 1, 2]);
    }
}

#[test]
fn a_rank_that_fails_is_named_and_nothing_is_lost() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    launchers(folder.path());
    let app = rank_application(lab, folder.path());
    let out = folder.path().join("run");
    let mut command = with_launchers(lab, folder.path());
    command.args(["collect", "-q", "--format", "json", "--out"]).arg(&out);
    let output =
        command.args(["--launcher", "mpirun", "--ranks", "4", "--", &app, "2", "1"]).output().unwrap();
    let errors = failed(&output, 3);
    assert!(
        errors.contains("1 of 4 ranks failed: rank 1 on ") && errors.contains("exited with 7"),
        "{errors}"
    );
    assert_eq!(traces(&out).len(), 4, "the failing rank's trace is kept");
    assert_eq!(run_json(&out)["status"], "failed");
}

/// A SLURM of one node, for one test.
struct Slurm {
    folder: tempfile::TempDir,
}

impl Slurm {
    /// `None`, with the reason printed, if it cannot run here.
    fn start() -> Option<Self> {
        let skipped = |why: &str| {
            testing::skip(why);
            None
        };
        let sbin = ["/usr/sbin", "/usr/local/sbin", "/usr/bin"];
        let has = |name: &str| sbin.iter().any(|folder| Path::new(folder).join(name).exists());
        if !["slurmctld", "slurmd", "munged", "sbatch"].iter().all(|name| has(name)) {
            return skipped("SLURM or munge is not installed");
        }
        if std::fs::metadata("/proc/self").map(|meta| std::os::unix::fs::MetadataExt::uid(&meta)).ok()
            != Some(0)
        {
            return skipped("only root can run SLURM's daemons");
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let slurm = Self { folder };
        let root = slurm.folder.path().display().to_string();
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim().split('.').next().unwrap_or("localhost");
        let port = 20_000 + std::process::id() % 20_000;
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let config = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={port}\nSlurmdPort={}\nSlurmUser=root\n\
             SlurmdUser=root\nAuthType=auth/munge\nAuthInfo=socket={root}/munge.socket\nCredType=cred/munge\n\
             StateSaveLocation={root}/state\nSlurmdSpoolDir={root}/spool\nSlurmctldPidFile={root}/slurmctld.pid\n\
             SlurmdPidFile={root}/slurmd.pid\nSlurmctldLogFile={root}/slurmctld.log\nSlurmdLogFile={root}/slurmd.log\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\nReturnToService=2\n\
             MpiDefault=none\nJobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
             MinJobAge=10\nNodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN\n\
             PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8\n",
            port + 1
        );
        for name in ["state", "spool", "munge"] {
            std::fs::create_dir(slurm.folder.path().join(name)).unwrap();
        }
        std::fs::write(slurm.config(), config).unwrap();
        let key = slurm.folder.path().join("munge/key");
        let random: Vec<u8> =
            (0..8).flat_map(|_| std::fs::read("/proc/sys/kernel/random/uuid").unwrap()).collect();
        std::fs::write(&key, random).unwrap();
        for (path, mode) in [(key.clone(), 0o600), (slurm.folder.path().join("munge"), 0o700)] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let munge = [
            "--force".to_string(),
            format!("--key-file={}", key.display()),
            format!("--socket={root}/munge.socket"),
            format!("--pid-file={root}/munged.pid"),
            format!("--log-file={root}/munge/log"),
            format!("--seed-file={root}/munge/seed"),
        ];
        for (program, arguments) in
            [("munged", &munge[..]), ("slurmctld", &["-c".into()]), ("slurmd", &["-c".into()])]
        {
            let mut command = Command::new(program);
            command.args(arguments).env("SLURM_CONF", slurm.config());
            command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
            if !command.output().is_ok_and(|output| output.status.success()) {
                return skipped(&format!("{program} does not start here"));
            }
        }
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(30) {
            let state =
                Command::new("sinfo").args(["-h", "-o", "%T"]).env("SLURM_CONF", slurm.config()).output();
            if state.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("idle")) {
                return Some(slurm);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        skipped("SLURM's node did not come up")
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for name in ["slurmd.pid", "slurmctld.pid", "munged.pid"] {
            if let Ok(pid) = std::fs::read_to_string(self.folder.path().join(name)) {
                let _ = Command::new("kill").arg(pid.trim()).status();
            }
        }
    }
}

#[test]
fn a_job_of_four_ranks_is_gathered_although_one_failed() {
    let Some(lab) = Lab::get() else { return };
    let Some(slurm) = Slurm::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let app = rank_application(lab, folder.path());
    let collect = |out: &Path, options: &[&str], failing: &str| {
        let mut command = lab.rocm_perf();
        command
            .env("SLURM_CONF", slurm.config())
            .args(["collect", "-q", "--format", "json", "--out"])
            .arg(out);
        command.args(["--preset", "compute", "--arch", "gfx942", "--slurm", "--overcommit"]).args(options);
        command.args(["--", &app, "2", failing]).output().unwrap()
    };
    let out = folder.path().join("ranks");
    let errors = failed(&collect(&out, &["--ntasks", "4"], "2"), 3);
    assert!(errors.contains("1 of 4 ranks failed: rank 2 on "), "{errors}");
    let run = run_json(&out);
    assert_eq!(run["passes"].as_array().unwrap().len(), 2, "both passes ran in all ranks");
    for pass in run["passes"].as_array().unwrap() {
        let codes: Vec<i64> = pass["ranks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|rank| rank["exit_code"].as_i64().unwrap())
            .collect();
        assert_eq!(codes, [0, 0, 7, 0]);
        assert!(pass["ranks"][0]["wall_minus_boot_ns"].is_i64());
    }
    let merged: Vec<String> =
        traces(&out).iter().map(|path| path.file_name().unwrap().to_string_lossy().into()).collect();
    assert_eq!(merged, [0, 1, 2, 3].map(|rank| format!("rank{rank}_merged_results.db")));
    assert!(out.join("job.sh").is_file());

    let out = folder.path().join("array");
    succeeded(&collect(&out, &["--array", "0-2"], "none"));
    assert_eq!(traces(&out).len(), 3);
    assert_eq!(run_json(&out)["status"], "done");
}

#[test]
fn a_dry_run_prints_the_job_and_makes_nothing() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut command = lab.rocm_perf();
    command.current_dir(folder.path()).args([
        "collect",
        "--preset",
        "compute",
        "--arch",
        "gfx942",
        "--slurm",
        "--monitor",
        "power",
    ]);
    command.args([
        "--nodes",
        "2",
        "--ntasks-per-node",
        "4",
        "--partition",
        "gpu",
        "--time",
        "01:00:00",
        "--dry-run",
    ]);
    let output =
        command.args(["--out", "run", "--", "python", "train.py", "--note", "it's"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("power is not monitored in SLURM jobs"), "{told}");
    let text = String::from_utf8(output.stdout).unwrap();
    let here = folder.path().canonicalize().unwrap().display().to_string();
    let bin = lab.stand_ins.bin().display().to_string();
    insta::assert_snapshot!(
        text.replace(&here, "HERE")
            .replace(&folder.path().display().to_string(), "HERE")
            .replace(&bin, "BIN")
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

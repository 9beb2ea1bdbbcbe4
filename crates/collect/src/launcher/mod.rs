//! Launchers of ranks: torchrun, mpirun and srun. Each rank runs its own profiler with unique file names; passes are
//! driven from outside, so that all ranks are always in the same pass.

mod script;
mod secrets;

pub use script::{RANK, RankScript, Status, quote};
pub(crate) use secrets::Secrets;
pub use secrets::{SECRETS, holds_secrets};

use std::sync::LazyLock;

use serde::Deserialize;

use crate::run::CollectError;

/// A program that starts ranks.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launcher {
    /// Its name.
    pub name: String,
    /// Names of its programs.
    pub programs: Vec<String>,
    /// Python modules that do the same.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Variables that hold a process's rank, the most reliable first.
    pub rank: Vec<String>,
    /// Its command line for a number of ranks.
    pub start: Vec<String>,
    flags: Vec<String>,
    values: Vec<String>,
    #[serde(default)]
    values2: Vec<String>,
}

#[derive(Deserialize)]
struct File {
    launcher: Vec<Launcher>,
}

/// All launchers.
pub fn all() -> &'static [Launcher] {
    static TABLE: LazyLock<Vec<Launcher>> = LazyLock::new(|| {
        formats::tables::built_in::<File>(include_str!("launchers.toml"))
            .map_or_else(|_| Vec::new(), |f| f.launcher)
    });
    &TABLE
}

/// The launcher with this name.
pub fn named(name: &str) -> Option<&'static Launcher> {
    all().iter().find(|launcher| launcher.name == name || launcher.programs.iter().any(|p| p == name))
}

/// A command that starts ranks, split into its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    /// The launcher.
    pub launcher: &'static Launcher,
    /// The launcher with its options; each rank runs what follows.
    pub head: Vec<String>,
    /// What each rank runs.
    pub application: Vec<String>,
}

impl Launched {
    /// Splits a command that begins with a launcher.
    pub fn of(command: &[String]) -> Result<Option<Self>, CollectError> {
        let Some(begin) = begins(command) else { return Ok(None) };
        let (launcher, options) = begin;
        let mut at = options;
        while let Some(word) = command.get(at).filter(|word| word.starts_with('-')) {
            at += 1;
            if word == "--" {
                break;
            }
            let list = |words: &[String]| words.contains(word);
            if word.contains('=') || list(&launcher.flags) {
                continue;
            }
            let glued = !word.starts_with("--")
                && word.len() > 2
                && launcher.values.iter().any(|value| value.len() == 2 && word.starts_with(value.as_str()));
            if list(&launcher.values2) {
                at += 2;
            } else if list(&launcher.values) {
                at += 1;
            } else if !glued && command.get(at).is_some_and(|next| !next.starts_with('-')) {
                return Err(CollectError::Usage(format!(
                    "cannot tell whether `{word}` of {} takes a value: write `{word}=VALUE`, or put `--` before the \
                     application",
                    launcher.name
                )));
            }
        }
        let application = command.get(at..).unwrap_or_default().to_vec();
        if application.is_empty() {
            return Err(CollectError::NoApplication {
                word: command.join(" "),
                why: format!("{} starts no application", launcher.name),
            });
        }
        let mut launched = Self { launcher, head: command[..at].to_vec(), application };
        launched.head.retain(|word| word != "--");
        if launcher.name == "torchrun" {
            launched.run_programs();
        }
        Ok(Some(launched))
    }

    /// A plain command, started by a launcher with this many ranks.
    pub fn with(launcher: &'static Launcher, ranks: u32, application: &[String]) -> Self {
        let fill = |word: &String| word.replace("{ranks}", &ranks.to_string());
        let mut launched = Self {
            launcher,
            head: launcher.start.iter().map(fill).collect(),
            application: application.to_vec(),
        };
        if launcher.name == "torchrun" {
            // Python scripts need Python; other programs start directly.
            let is_script = application.first().is_some_and(|word| word.ends_with(".py"));
            launched.head.push("--no-python".into());
            if is_script {
                launched.application.splice(0..0, PYTHON.map(String::from));
            }
        }
        launched
    }

    /// torchrun starts Python scripts by default, but the profiler is not one.
    fn run_programs(&mut self) {
        let had = |head: &[String], names: &[&str]| head.iter().any(|word| names.contains(&word.as_str()));
        if had(&self.head, &["--no-python", "--no_python"]) {
            return;
        }
        let module = ["-m", "--module"];
        // `python -m torch.distributed.run` has its own `-m`.
        let own = if self.head.first().is_some_and(|word| word.contains("python")) { 3 } else { 1 };
        let is_module = had(&self.head[own.min(self.head.len())..], &module);
        let mut kept = 0;
        self.head.retain(|word| {
            kept += 1;
            kept <= own || !module.contains(&word.as_str())
        });
        self.head.push("--no-python".into());
        let mut python: Vec<String> = PYTHON.map(String::from).into();
        if is_module {
            python.push("-m".into());
        }
        self.application.splice(0..0, python);
    }
}

/// How torchrun itself starts Python.
const PYTHON: [&str; 2] = ["python3", "-u"];

/// The launcher that a command begins with, and where its options begin.
fn begins(command: &[String]) -> Option<(&'static Launcher, usize)> {
    let name = |word: &String| word.rsplit('/').next().unwrap_or_default().to_string();
    let first = name(command.first()?);
    if let Some(launcher) = all().iter().find(|launcher| launcher.programs.contains(&first)) {
        return Some((launcher, 1));
    }
    let module = command.get(2).filter(|_| first.starts_with("python") && command[1] == "-m")?;
    all().iter().find(|launcher| launcher.modules.contains(module)).map(|launcher| (launcher, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(String::from).collect()
    }

    fn apart(text: &str) -> (String, String) {
        let launched = Launched::of(&words(text)).unwrap().unwrap();
        (launched.head.join(" "), launched.application.join(" "))
    }

    #[test]
    fn commands_are_taken_apart() {
        let cases = [
            (
                "mpirun -np 4 -x A=1 --mca btl self --bind-to core ./app -n 3",
                "mpirun -np 4 -x A=1 --mca btl self --bind-to core",
                "./app -n 3",
            ),
            (
                "srun -N2 --ntasks 8 -l --gpus-per-node=4 -- ./app -- x",
                "srun -N2 --ntasks 8 -l --gpus-per-node=4",
                "./app -- x",
            ),
            ("/usr/bin/mpiexec -n 2 ./app", "/usr/bin/mpiexec -n 2", "./app"),
            (
                "torchrun --standalone --nproc_per_node 8 train.py --lr 1",
                "torchrun --standalone --nproc_per_node 8 --no-python",
                "python3 -u train.py --lr 1",
            ),
            (
                "torchrun --nproc-per-node=2 -m pkg.train -x",
                "torchrun --nproc-per-node=2 --no-python",
                "python3 -u -m pkg.train -x",
            ),
            (
                "python3 -m torch.distributed.run --nnodes 2 train.py",
                "python3 -m torch.distributed.run --nnodes 2 --no-python",
                "python3 -u train.py",
            ),
            ("torchrun --no-python --nnodes 1 ./app", "torchrun --no-python --nnodes 1", "./app"),
        ];
        for (command, head, application) in cases {
            assert_eq!(apart(command), (head.to_string(), application.to_string()), "{command}");
        }
        assert_eq!(Launched::of(&words("./app --mpirun")).unwrap(), None);
    }

    #[test]
    fn what_cannot_be_told_is_asked() {
        let error = Launched::of(&words("srun --frobnicate 3 ./app")).unwrap_err();
        assert!(error.to_string().contains("`--frobnicate=VALUE`"), "{error}");
        assert!(Launched::of(&words("mpirun -np 4")).is_err());
    }

    #[test]
    fn plain_commands_get_a_launcher() {
        let start = |name: &str, command: &str| {
            let launched = Launched::with(named(name).unwrap(), 4, &words(command));
            format!("{} | {}", launched.head.join(" "), launched.application.join(" "))
        };
        assert_eq!(
            start("torchrun", "train.py -x"),
            "torchrun --standalone --nproc_per_node=4 --no-python | python3 -u train.py -x"
        );
        assert_eq!(start("mpirun", "./app"), "mpirun -n 4 | ./app");
    }
}

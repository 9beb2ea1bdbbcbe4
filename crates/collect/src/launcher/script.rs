//! The script of each rank: sets its variables, profiles the application under its own name, and records the exit code,
//! so that a failed rank is reported and its data kept.

use std::path::{Path, PathBuf};

use super::Launcher;
use super::secrets::Secrets;

/// Placeholder for the rank in the profiler's arguments.
pub const RANK: &str = "@RANK@";

/// A script for the ranks of one pass.
#[derive(Clone, Debug)]
pub struct RankScript<'a> {
    /// The pass.
    pub pass: usize,
    /// Variables that hold the rank, the most reliable first.
    pub rank: &'a [String],
    /// Environment variables of the application.
    pub env: &'a [(String, String)],
    /// The profiler and its options, with [`RANK`] in names.
    pub profiler: &'a [String],
    /// Where ranks record how they ended.
    pub folder: &'a Path,
    /// Whether to set torch's variables from SLURM's.
    pub torch_names: bool,
}

impl RankScript<'_> {
    /// The rank variables of a launcher, or of an array's elements.
    pub fn rank_of(launcher: Option<&Launcher>, array: bool) -> Vec<String> {
        match launcher {
            _ if array => vec!["SLURM_ARRAY_TASK_ID".into()],
            Some(launcher) => launcher.rank.clone(),
            None => vec!["SLURM_PROCID".into()],
        }
    }

    /// The script's text, and the file with the secrets that it reads.
    pub fn text(&self) -> (String, Option<(PathBuf, String)>) {
        let mut secrets = Secrets::default();
        let exports = secrets.exports(self.env);
        let mut text = format!(
            "#!/bin/sh\n# One rank of pass {}: profiles the application and notes how it ended. Written by rocm-perf collect.\n",
            self.pass
        );
        let rank = self.rank.iter().rev().fold("0".to_string(), |rest, name| format!("${{{name}:-{rest}}}"));
        text.push_str(&format!("rank={rank}\nhost=$(hostname)\n"));
        if self.torch_names {
            text.push_str(
                "export RANK=\"$rank\" LOCAL_RANK=\"${SLURM_LOCALID:-0}\" WORLD_SIZE=\"${SLURM_NTASKS:-1}\"\n",
            );
        }
        text.push_str(&secrets.reading(self.folder));
        text.push_str(&exports);
        let words: Vec<String> = self.profiler.iter().map(|word| ranked(word)).collect();
        let folder = quote(&self.folder.display().to_string());
        text.push_str(&format!(
            "started=$(date +%s%N)\nuptime=$(cut -d' ' -f1 /proc/uptime)\n\
             # The rank's end is noted also when it is interrupted.\n\
             trap : INT TERM\n{} \"$@\"\ncode=$?\n\
             printf 'rank=%s\\nhost=%s\\nexit_code=%s\\nstarted_ns=%s\\nuptime_s=%s\\n' \\\n  \
             \"$rank\" \"$host\" \"$code\" \"$started\" \"$uptime\" >{folder}/.rank_\"$rank\" &&\n  \
             mv {folder}/.rank_\"$rank\" {folder}/rank_\"$rank\".status\nexit $code\n",
            words.join(" ")
        ));
        (text, secrets.file(self.folder))
    }
}

/// A word of a shell command, with the rank filled in.
fn ranked(word: &str) -> String {
    let parts: Vec<String> = word.split(RANK).map(quote_part).collect();
    parts.join("\"$rank\"")
}

fn quote_part(text: &str) -> String {
    if text.is_empty() { String::new() } else { quote(text) }
}

/// A word quoted for a shell.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// How a rank ended, as recorded by its script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// The rank.
    pub rank: u32,
    /// Its machine.
    pub host: String,
    /// Its exit code.
    pub exit_code: i32,
    /// Wall-clock time minus time since boot: places its trace among those of other machines, within 10 ms.
    pub wall_minus_boot_ns: Option<i64>,
}

impl Status {
    /// Parses the text of a rank's file.
    pub fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            text.lines().find_map(|line| line.split_once('=').filter(|(key, _)| *key == name)).map(|(_, v)| v)
        };
        let started = field("started_ns").and_then(|text| text.parse::<i64>().ok());
        let uptime = field("uptime_s").and_then(|text| text.parse::<f64>().ok());
        Some(Self {
            rank: field("rank")?.parse().ok()?,
            host: field("host").unwrap_or_default().into(),
            exit_code: field("exit_code")?.parse().ok()?,
            wall_minus_boot_ns: started.zip(uptime).map(|(wall, boot)| wall - (boot * 1e9) as i64),
        })
    }

    /// The status files in a pass's folder, by rank.
    pub fn all(folder: &Path) -> Vec<Self> {
        let mut all: Vec<Self> = std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().ends_with(".status"))
            .filter_map(|entry| Self::parse(&std::fs::read_to_string(entry.path()).ok()?))
            .collect();
        all.sort_by_key(|status| status.rank);
        all
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_rank_runs_and_notes_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let profiler: Vec<String> =
            ["sh", "-c", "echo \"$0\" \"$NAME\" \"$@\"; exit 5", "rank@RANK@_it's"].map(String::from).into();
        let env = [("NAME".to_string(), "a 'b' $c".to_string())];
        let rank = ["NO_SUCH".to_string(), "MY_RANK".to_string()];
        let (pass, folder_path, torch_names) = (1, folder.path(), false);
        let script = RankScript {
            pass,
            rank: &rank,
            env: &env,
            profiler: &profiler,
            folder: folder_path,
            torch_names,
        };
        let file = folder.path().join("rank.sh");
        std::fs::write(&file, script.text().0).unwrap();
        let output = Command::new("sh").arg(&file).args(["--", "x y"]).env("MY_RANK", "3").output().unwrap();
        assert_eq!(output.status.code(), Some(5), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "rank3_it's a 'b' $c -- x y\n");
        let [status] = &Status::all(folder.path())[..] else { panic!() };
        assert_eq!((status.rank, status.exit_code), (3, 5));
        assert!(status.wall_minus_boot_ns.unwrap() > 1_600_000_000_000_000_000);
    }

    #[test]
    fn words_survive_a_shell() {
        for word in ["plain", "", "it's", "a b", "$x `y` \"z\"", "*", "é\n"] {
            let script = format!("printf %s {}", quote(word));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
    }
}

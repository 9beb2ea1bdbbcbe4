//! Secrets of a run that uses scripts: in a separate file, readable by the owner only, removed after the run.
//! SLURM keeps a copy of each job script, and run folders are shared.

use std::path::{Path, PathBuf};

use formats::secrets::{redact_words, secret_variables};

use super::script::quote;

/// The file's name, in the folder of the script that reads it.
pub const SECRETS: &str = ".secrets.sh";

/// Words and variables that a script reads from the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Secrets {
    lines: Vec<String>,
}

impl Secrets {
    /// Words for a script: quoted, and a secret as the variable that holds it.
    pub fn words(&mut self, words: &[String]) -> Vec<String> {
        let shown = redact_words(words);
        words
            .iter()
            .zip(shown)
            .map(|(word, shown)| if *word == shown { quote(word) } else { self.word(word) })
            .collect()
    }

    fn word(&mut self, word: &str) -> String {
        let name = format!("secret_{}", self.lines.len() + 1);
        self.lines.push(format!("{name}={}\n", quote(word)));
        format!("\"${name}\"")
    }

    /// Variables as lines of a script; those with secrets are only in the file.
    pub fn exports(&mut self, env: &[(String, String)]) -> String {
        let hidden = secret_variables(env.iter().cloned(), &[]);
        let mut text = String::new();
        for (name, value) in env {
            let line = format!("export {name}={}\n", quote(value));
            if hidden.contains(name) {
                self.lines.push(line);
            } else {
                text.push_str(&line);
            }
        }
        text
    }

    /// The line with which a script reads the file in its folder; empty if there is nothing to hide.
    pub fn reading(&self, folder: &Path) -> String {
        match self.lines.is_empty() {
            true => String::new(),
            false => format!(". {}\n", quote(&folder.join(SECRETS).display().to_string())),
        }
    }

    /// The file, if there is anything to hide.
    pub fn file(&self, folder: &Path) -> Option<(PathBuf, String)> {
        let text = || {
            "# Removed when the run ends. Written by rocm-perf collect.\n".to_string() + &self.lines.concat()
        };
        (!self.lines.is_empty()).then(|| (folder.join(SECRETS), text()))
    }
}

/// Whether a file holds secrets, so that it is never shown.
pub fn holds_secrets(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == SECRETS)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn g2_a_script_gets_its_secrets_from_a_file_that_is_not_the_script() {
        let folder = tempfile::tempdir().unwrap();
        let mut secrets = Secrets::default();
        let words = ["printf", "%s|", "--api-key", "it's planted", "--port", "1", "--hf-token=planted2"];
        let words = secrets.words(&words.map(String::from)).join(" ");
        let env =
            [("HF_TOKEN", "planted3"), ("MODE", "a b")].map(|(name, value)| (name.into(), value.into()));
        let exports = secrets.exports(&env);
        let script = format!("{}{exports}{words} \"$HF_TOKEN\" \"$MODE\"\n", secrets.reading(folder.path()));
        assert!(!script.contains("planted"), "{script}");
        let (path, text) = secrets.file(folder.path()).unwrap();
        assert!(holds_secrets(&path));
        files::write_private(&path, &text).unwrap();
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "--api-key|it's planted|--port|1|--hf-token=planted2|planted3|a b|"
        );
        assert_eq!(Secrets::default().file(folder.path()), None);
    }
}

//! The tutorials show real output: every `console` block is run, and its output written below the command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Failure;

/// A folder for the reader of one page, with the program on the path.
struct Desk {
    folder: tempfile::TempDir,
    path: String,
}

impl Desk {
    /// With the inputs that the page names in comments: `<!-- input: kernel.co crates/hw/tests/fixtures/gfx942.co -->`.
    fn of(page: &str, program: &Path, repository: &Path) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let (bin, work) = (folder.path().join("bin"), folder.path().join("work"));
        std::fs::create_dir(&bin)?;
        std::fs::create_dir(&work)?;
        std::os::unix::fs::symlink(program.canonicalize()?, bin.join("rocm-perf"))?;
        for line in page.lines().filter_map(|line| line.strip_prefix("<!-- input: ")) {
            let words: Vec<&str> = line.trim_end_matches("-->").split_whitespace().collect();
            let [name, from] = words[..] else { return Err(format!("`{line}` is no input").into()) };
            std::fs::copy(repository.join(from), work.join(name))?;
        }
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
        Ok(Self { folder, path })
    }

    /// What a line of shell prints, and its errors in between.
    fn run(&self, line: &str) -> Result<String, Failure> {
        let script = format!("{{ {line}\n}} 2>&1");
        let mut shell = Command::new("bash");
        shell.args(["-c", &script]).current_dir(self.folder.path().join("work")).stdin(Stdio::null());
        shell
            .env("PATH", &self.path)
            .env("NO_COLOR", "1")
            .env("COLUMNS", "110")
            .env("HOME", self.folder.path());
        shell.env_remove("XDG_DATA_HOME").env_remove("ROCM_PERF_DB");
        let output = shell.output()?;
        let printed = String::from_utf8(output.stdout)?;
        if !output.status.success() {
            return Err(format!("`{line}` fails:\n{printed}").into());
        }
        Ok(printed)
    }
}

/// The page with each `console` block as the shell prints it.
fn run_again(page: &str, desk: &Desk) -> Result<String, Failure> {
    let (mut text, mut inside) = (String::new(), false);
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        inside &= line != "```";
        // Only the commands of a block are kept.
        let command = line.strip_prefix("$ ").filter(|_| inside);
        if !inside || command.is_some() {
            text.push_str(line);
            text.push('\n');
        }
        inside |= line == "```console";
        let Some(command) = command else { continue };
        // As in a shell, `> ` continues the line before.
        let mut command = command.to_string();
        while let Some(more) = lines.next_if(|line| line.starts_with("> ")) {
            text.push_str(more);
            text.push('\n');
            command.push('\n');
            command.push_str(&more[2..]);
        }
        let printed = desk.run(&command)?;
        if !printed.trim_end().is_empty() {
            text.push_str(printed.trim_end());
            text.push('\n');
        }
    }
    Ok(text)
}

/// All tutorials of a repository, run again. Pages do not depend on each other, so they run in parallel.
pub fn pages(program: &Path, repository: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(repository.join("docs/tutorials"))? {
        paths.push(entry?.path());
    }
    let run = |path: &PathBuf| -> Result<(String, String), String> {
        let page = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let now = Desk::of(&page, program, repository).and_then(|desk| run_again(&page, &desk));
        now.map(|now| (format!("tutorials/{name}"), now))
            .map_err(|why| format!("docs/tutorials/{name}: {why}"))
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let started: Vec<_> = paths.iter().map(|path| scope.spawn(move || run(path))).collect();
        started.into_iter().map(|page| page.join().unwrap_or_else(|_| Err("a page failed".into()))).collect()
    });
    results.into_iter().map(|page| page.map_err(Failure::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_shows_something_else_is_replaced() {
        let desk = Desk::of("", Path::new("/bin/true"), Path::new(".")).unwrap();
        let page = "text\n```console\n$ echo one \\\n> two\nthree\n$ true\nold\n```\n$ not a command\n";
        let now = run_again(page, &desk).unwrap();
        assert_eq!(now, "text\n```console\n$ echo one \\\n> two\none two\n$ true\n```\n$ not a command\n");
        assert_eq!(run_again(&now, &desk).unwrap(), now);
        assert!(run_again("```console\n$ false\n```\n", &desk).is_err());
    }
}

//! The tutorials of the book show what the program prints: every `console` block is run and compared.
//! `UPDATE_BOOK=1` writes what was printed into the pages (scripts/book-refresh).

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::files;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder for the reader of one page, with the program on the path.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    /// With the inputs that the page names in comments: `<!-- input: code-object kernel.co -->`.
    fn of(page: &str) -> Self {
        let desk = Self { folder: tempfile::tempdir().expect("a folder") };
        std::fs::create_dir(desk.folder.path().join("bin")).expect("a folder");
        std::fs::create_dir(desk.work()).expect("a folder");
        let program = desk.folder.path().join("bin/rocm-perf");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_rocm-perf"), program).expect("a link");
        for line in page.lines().filter_map(|line| line.strip_prefix("<!-- input: ")) {
            let words: Vec<&str> = line.trim_end_matches("-->").split_whitespace().collect();
            let [kind, name] = words[..] else { panic!("`{line}` is no input") };
            let to = desk.work().join(name);
            match kind {
                "code-object" => {
                    let from = root().join("crates/hw/tests/fixtures/gfx942.co");
                    std::fs::copy(from, to).expect("a copy");
                }
                other => panic!("nobody makes a `{other}`"),
            }
        }
        desk
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// What a line of shell prints, and its errors in between.
    fn run(&self, line: &str) -> String {
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", self.folder.path().join("bin").display());
        let script = format!("{{ {line}\n}} 2>&1");
        let mut shell = Command::new("bash");
        shell.args(["-c", &script]).current_dir(self.work()).stdin(std::process::Stdio::null());
        shell.env("PATH", path).env("NO_COLOR", "1").env("COLUMNS", "110").env("HOME", self.folder.path());
        shell.env_remove("XDG_DATA_HOME").env_remove("ROCM_PERF_DB");
        let output = shell.output().expect("a shell");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "`{line}` fails:\n{printed}");
        printed
    }
}

/// The page with each `console` block as the shell prints it, and the number of commands in them.
fn run_again(page: &str) -> (String, usize) {
    let desk = Desk::of(page);
    let (mut text, mut inside, mut count) = (String::new(), false, 0);
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        inside &= line != "```";
        // Of a block only its commands stay.
        let command = line.strip_prefix("$ ").filter(|_| inside);
        if !inside || command.is_some() {
            text.push_str(line);
            text.push('\n');
        }
        inside |= line == "```console";
        let Some(command) = command else { continue };
        // As in a shell, `> ` goes on with the line before.
        let mut command = command.to_string();
        while let Some(more) = lines.next_if(|line| line.starts_with("> ")) {
            text.push_str(more);
            text.push('\n');
            command.push('\n');
            command.push_str(&more[2..]);
        }
        let printed = desk.run(&command);
        if !printed.trim_end().is_empty() {
            text.push_str(printed.trim_end());
            text.push('\n');
        }
        count += 1;
    }
    (text, count)
}

#[test]
fn tutorials_show_what_the_program_prints() {
    let update = std::env::var_os("UPDATE_BOOK").is_some();
    let pages = files(&root().join("docs/tutorials"), ".md");
    let run = |path: &PathBuf| {
        let page = std::fs::read_to_string(path).expect("a page");
        let (now, count) = run_again(&page);
        if update && now != page {
            std::fs::write(path, &now).expect("a page");
        }
        let changed = page.lines().zip(now.lines()).find(|(before, now)| before != now);
        let stale = (now != page && !update)
            .then(|| format!("{} is stale at {changed:?}: run scripts/book-refresh", path.display()));
        (stale, count)
    };
    // Pages do not depend on each other.
    let results: Vec<(Option<String>, usize)> = std::thread::scope(|scope| {
        let started: Vec<_> = pages.iter().map(|path| scope.spawn(move || run(path))).collect();
        started.into_iter().map(|page| page.join().expect("a page whose commands succeed")).collect()
    });
    let stale: Vec<String> = results.iter().filter_map(|(stale, _)| stale.clone()).collect();
    assert!(stale.is_empty(), "{}", stale.join("\n"));
    let commands: usize = results.iter().map(|(_, count)| count).sum();
    assert!(commands >= 40, "{commands} commands were run");
}

#[test]
fn a_block_that_shows_something_else_is_found() {
    let page = "text\n```console\n$ echo one \\\n> two\nthree\n$ true\nold\n```\n$ not a command\n";
    let (now, count) = run_again(page);
    assert_eq!(now, "text\n```console\n$ echo one \\\n> two\none two\n$ true\n```\n$ not a command\n");
    assert_eq!(count, 2);
    assert_eq!(run_again(&now).0, now);
}

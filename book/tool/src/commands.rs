//! Commands in running text: their options must exist. The program's tests and `tutorials` run fenced ones.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Failure;

/// Commands in backticks outside fenced blocks, without what follows ` -- `.
fn commands(page: &str) -> Vec<String> {
    let (mut found, mut fenced) = (Vec::new(), false);
    for line in page.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            continue;
        }
        for span in line.split('`').skip(1).step_by(2).filter(|span| span.starts_with("rocm-perf ")) {
            let command = span.split(" -- ").next().unwrap_or(span).replace("\\|", "|");
            // Some words are placeholders: `rocm-perf COMMAND`, `--options …`.
            let name = command.split_whitespace().nth(1).unwrap_or_default();
            let real = name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
            if real && !command.ends_with('…') {
                found.push(command);
            }
        }
    }
    found
}

/// Commands of these pages that the program does not understand.
pub fn unknown(program: &Path, pages: &[PathBuf], desk: &Path) -> Result<Vec<String>, Failure> {
    let program = program.canonicalize()?;
    let mut problems = Vec::new();
    for path in pages {
        for command in commands(&std::fs::read_to_string(path)?) {
            let script = command.replacen("rocm-perf", "\"$PROGRAM\"", 1) + " --help";
            let mut shell = Command::new("sh");
            shell.args(["-c", &script]).env("PROGRAM", &program).current_dir(desk).stdin(Stdio::null());
            let output = shell.output()?;
            let errors = String::from_utf8_lossy(&output.stderr);
            // Text may name an option without its value.
            if !output.status.success() && !errors.contains("a value is required") {
                let why = errors.lines().next().unwrap_or_default();
                problems.push(format!("{}: `{command}`: {why}", path.display()));
            }
        }
    }
    Ok(problems)
}

#[cfg(test)]
mod tests {
    #[test]
    fn commands_of_running_text_are_found() {
        let page = "use `rocm-perf info a.db` or `x`\n```\n`rocm-perf no`\n```\n| `rocm-perf collect -- ./app` | `rocm-perf COMMAND` |";
        assert_eq!(super::commands(page), ["rocm-perf info a.db", "rocm-perf collect"]);
    }
}

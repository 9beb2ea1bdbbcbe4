//! The pages docs/reference/*.md: the help text of each command, and the tables of `schemas/tables.toml`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::{Failure, cell};

/// The help of a command, in parts.
#[derive(Default)]
struct Help {
    about: String,
    usage: String,
    /// Heading, and entries with their meaning.
    sections: Vec<(String, Vec<(String, String)>)>,
    /// What is below the options: examples and remarks.
    notes: String,
}

/// What `rocm-perf WORDS -h` prints, each entry on one line.
fn help(program: &Path, words: &[&str]) -> Result<Help, Failure> {
    let mut command = Command::new(program);
    // The usage line has the name that it was called by.
    command.arg0("rocm-perf").args(words).arg("-h").env("COLUMNS", "2000").env("NO_COLOR", "1");
    let output = command.output().map_err(|error| format!("cannot run `{}`: {error}", program.display()))?;
    if !output.status.success() {
        return Err(format!("`rocm-perf {} -h` fails", words.join(" ")).into());
    }
    Ok(parse(&String::from_utf8(output.stdout)?))
}

fn parse(text: &str) -> Help {
    let mut help = Help::default();
    let mut lines = text.lines().peekable();
    help.about = lines.next().unwrap_or_default().to_string();
    while let Some(line) = lines.next() {
        let heading = line.strip_suffix(':').filter(|_| !line.starts_with([' ', '`']));
        if let Some(usage) = line.strip_prefix("Usage: ") {
            help.usage = usage.to_string();
        } else if let Some(heading) = heading.filter(|heading| !heading.starts_with("Example")) {
            let mut entries = Vec::new();
            while let Some(entry) = lines.next_if(|line| line.starts_with("  ")) {
                let entry = entry.trim();
                let (name, meaning) = entry.split_once("  ").unwrap_or((entry, ""));
                entries.push((name.to_string(), meaning.trim().to_string()));
            }
            help.sections.push((heading.to_string(), entries));
        } else if !line.is_empty() {
            // The rest is written by hand and stays as it is.
            help.notes = std::iter::once(line).chain(lines).collect::<Vec<_>>().join("\n");
            break;
        }
    }
    help
}

/// Sections that are the same for every command: they have a page of their own.
const ELSEWHERE: [&str; 3] = ["Commands", "Output", SELECTION];
const SELECTION: &str = "Which part of the trace";

/// Options under their headings, without those that are described on another page.
fn options(help: &Help, level: &str) -> String {
    let mut page = String::new();
    for (heading, entries) in &help.sections {
        let own: Vec<_> = entries.iter().filter(|(name, _)| !name.ends_with("--help")).collect();
        if own.is_empty() || ELSEWHERE.contains(&heading.as_str()) {
            continue;
        }
        write!(page, "{level} {heading}\n\n| option | meaning |\n|---|---|\n").expect("text");
        for (name, meaning) in own {
            writeln!(page, "| `{}` | {} |", name.replace('|', "\\|"), cell(meaning)).expect("text");
        }
        page.push('\n');
    }
    page
}

/// Examples as lines to copy, remarks as they are.
fn notes(help: &Help, level: &str) -> String {
    let mut page = String::new();
    for part in help.notes.split("\n\n").filter(|part| !part.trim().is_empty()) {
        match part.split_once('\n') {
            Some((first, rest)) if first.starts_with("Example") => {
                let lines: Vec<&str> =
                    rest.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
                write!(page, "{level} Examples\n\n```\n{}\n```\n\n", lines.join("\n")).expect("text");
            }
            // Prose, unless it contains aligned text.
            _ if part.lines().all(|line| !line.starts_with(' ')) => {
                write!(page, "{}\n\n", part.replace('<', "&lt;")).expect("text")
            }
            _ => write!(page, "```text\n{part}\n```\n\n").expect("text"),
        }
    }
    page
}

/// The tables that `--format json` may have.
fn tables(name: &str, contract: &toml::Table) -> String {
    let Some(entry) = contract.get(name).and_then(toml::Value::as_table) else { return String::new() };
    let words = |value: &toml::Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|word| Some(word.as_str()?.to_string())).collect()
    };
    let mut page = String::new();
    for (table, columns) in entry.get("tables").and_then(toml::Value::as_table).into_iter().flatten() {
        let keys = words(columns).into_iter().map(|column| {
            let key = column.split([' ', '?']).next().unwrap_or_default().to_string();
            format!("`{key}`")
        });
        writeln!(page, "| `{table}` | {} |", keys.collect::<Vec<_>>().join(", ")).expect("text");
    }
    for used in entry.get("uses").map(words).unwrap_or_default() {
        let (from, alias) = used.split_once(" as ").unwrap_or((&used, ""));
        let (other, table) = from.split_once('.').unwrap_or((from, "*"));
        let table = if alias.is_empty() { table } else { alias };
        let table = if table == "*" { "its tables".to_string() } else { format!("`{table}`") };
        writeln!(page, "| {table} | as in [`{other}`]({other}.md) |").expect("text");
    }
    for open in entry.get("open").map(words).unwrap_or_default() {
        writeln!(page, "| `{open}` | columns of your own |").expect("text");
    }
    if page.is_empty() {
        return page;
    }
    let schema = format!("[JSON schema](../../schemas/{name}.json)");
    format!(
        "## Tables\n\nIn `--format json`, and for `--table`. {schema}\n\n| table | columns |\n|---|---|\n{page}\n"
    )
}

/// All pages by name; `how` says whether docs/NAME.md explains a command.
pub fn pages(
    program: &Path,
    contract: &toml::Table,
    summary: &str,
    how: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, String>, Failure> {
    let all = help(program, &[])?;
    let mut pages = BTreeMap::new();
    let mut index = String::from(
        "# Commands\n\n`rocm-perf COMMAND [INPUT…] [OPTIONS]`. These pages say what `rocm-perf COMMAND --help` says.\n\n",
    );
    let mut contents = String::new();
    for (heading, commands) in &all.sections {
        if heading.starts_with("Options") {
            let every: Vec<_> = commands.iter().filter(|(name, _)| !name.starts_with("-V")).collect();
            index.push_str("## Options of every command\n\n| option | meaning |\n|---|---|\n");
            for (name, meaning) in every {
                writeln!(index, "| `{}` | {} |", name.replace('|', "\\|"), cell(meaning))?;
            }
            index.push('\n');
            continue;
        }
        write!(index, "## {heading}\n\n| command | what it does |\n|---|---|\n")?;
        for (name, about) in commands {
            writeln!(index, "| [`{name}`]({name}.md) | {} |", cell(about))?;
            writeln!(contents, "  - [{name}](reference/{name}.md)")?;
            let page = page(program, name, contract, how(name))?;
            pages.insert(format!("reference/{name}.md"), page);
        }
        index.push('\n');
    }
    index.push_str(
        "Commands that read traces also take [windows and filters](../selection.md): `--start`, `--end`, `--kernel`, `--rank` …\n\n## Exit codes\n\n\
         | code | meaning |\n|---|---|\n| 0 | done |\n\
         | 1 | a gate failed or cannot be judged: `compare --fail-on`, `doctor`, `experiment gate`, `--strict`; `optimize` found nothing acceptable |\n\
         | 2 | bad usage or bad input, or a tool that is needed is not installed |\n\
         | 3 | an external tool failed; its own message and code are shown |\n| 130 | interrupted |\n",
    );
    pages.insert("reference/commands.md".into(), index);
    pages.insert("SUMMARY.md".into(), crate::contents::below(summary, "(reference/commands.md)", &contents));
    Ok(pages)
}

/// The page of a command, its own commands included.
fn page(program: &Path, name: &str, contract: &toml::Table, how: bool) -> Result<String, Failure> {
    let own = help(program, &[name])?;
    let mut page = format!("# {name}\n\n{}\n\n", own.about);
    if how {
        write!(page, "How it works: [{name}](../{name}.md)\n\n")?;
    }
    write!(page, "```text\n{}\n```\n\n", own.usage)?;
    page += &options(&own, "##");
    let actions = own.sections.iter().filter(|(heading, _)| heading == "Commands");
    for (action, _) in actions.flat_map(|(_, actions)| actions) {
        let part = help(program, &[name, action])?;
        write!(page, "## {name} {action}\n\n{}\n\n```text\n{}\n```\n\n", part.about, part.usage)?;
        page += &options(&part, "###");
        page += &notes(&part, "###");
    }
    page += &notes(&own, "##");
    page += &tables(name, contract);
    page.push_str("See also: [options of every command](commands.md#options-of-every-command)");
    if own.sections.iter().any(|(heading, _)| heading == SELECTION) {
        page.push_str(", [windows and filters](../selection.md)");
    }
    page.push('\n');
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_taken_apart() {
        let text = "Do it\n\nUsage: x do [OPTIONS] <A>\n\nArguments:\n  <A>  What to do\n\nOptions:\n  -o, --out <DIR>  Where: a|b\n  -h, --help       Print help\n\nOutput:\n      --json  JSON\n\nExamples:\n  x do it   # now\n\nRemarks:\n  stay\n";
        let help = parse(text);
        assert_eq!((help.about.as_str(), help.usage.as_str()), ("Do it", "x do [OPTIONS] <A>"));
        assert_eq!(help.sections[0].1, [("<A>".to_string(), "What to do".to_string())]);
        let page = options(&help, "##");
        assert!(page.contains("| `-o, --out <DIR>` | Where: a\\|b |") && !page.contains("--json"));
        assert!(!page.contains("--help"));
        assert_eq!(
            notes(&help, "##"),
            "## Examples\n\n```\nx do it   # now\n```\n\n```text\nRemarks:\n  stay\n```\n\n"
        );
    }
}

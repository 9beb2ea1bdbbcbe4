//! The interactive prompt: SQL until `;`, a few dot commands, Tab completion of names.

use std::path::PathBuf;

use app::query::{Relation, Session};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Context, Editor, Helper, Highlighter, Hinter, Validator};

use crate::failure::Failure;
use crate::output::{OutputArgs, print};

const HELP: &str = "SQL ends with `;`. Commands:
  .tables          tables and views
  .schema NAME     columns of a table or view
  .help            this text
  .quit            leave (also Ctrl-D)
";

/// Asks for statements until the user quits.
pub fn run(session: &Session, paths: &[PathBuf], output: &OutputArgs) -> Result<(), Failure> {
    let broken = |error: ReadlineError| Failure::input(format!("the prompt failed: {error}"));
    let mut editor: Editor<Names, FileHistory> = Editor::new().map_err(broken)?;
    editor.set_helper(Some(Names::of(&session.relations())));
    let history = history_file();
    if let Some(file) = &history {
        let _ = editor.load_history(file);
    }
    eprintln!("`.help` explains the prompt, `.tables` lists what there is, Ctrl-D leaves");
    let mut statement = String::new();
    loop {
        let line = match editor.readline(if statement.is_empty() { "sql> " } else { "...> " }) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                statement.clear();
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(broken(error)),
        };
        if statement.is_empty() && line.trim_start().starts_with('.') {
            let _ = editor.add_history_entry(line.trim());
            if matches!(line.trim(), ".quit" | ".exit") {
                break;
            }
            print(&dot_command(session, line.trim()))?;
            continue;
        }
        statement.push_str(&line);
        statement.push('\n');
        if statement.trim_end().ends_with(';') {
            let _ = editor.add_history_entry(statement.trim());
            // An error does not end the session.
            if let Err(failure) = super::show(session, paths, &statement, output) {
                crate::failure::show(&failure);
            }
            statement.clear();
        } else if statement.trim().is_empty() {
            statement.clear();
        }
    }
    if let Some(file) = &history {
        let _ = file.parent().map(std::fs::create_dir_all);
        let _ = editor.save_history(file);
    }
    Ok(())
}

fn dot_command(session: &Session, line: &str) -> String {
    let (command, argument) = line.split_once(' ').unwrap_or((line, ""));
    let relations = session.relations();
    match command {
        ".help" => HELP.to_string(),
        ".tables" => relations.iter().map(|r| format!("{}\n", r.name)).collect(),
        ".schema" => match relations.iter().find(|r| r.name.eq_ignore_ascii_case(argument.trim())) {
            Some(relation) => {
                relation.columns.iter().map(|c| format!("{} {}\n", c.name, c.declared)).collect()
            }
            None => format!("no table `{}`; `.tables` lists them\n", argument.trim()),
        },
        _ => format!("no command `{command}`; `.help` lists them\n"),
    }
}

fn history_file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state")))?;
    Some(state.join("rocm-perf/query_history"))
}

/// Completes names of tables and columns.
#[derive(Helper, Highlighter, Hinter, Validator)]
struct Names(Vec<String>);

impl Names {
    fn of(relations: &[Relation]) -> Self {
        let mut names: Vec<String> = relations.iter().map(|relation| relation.name.clone()).collect();
        names.extend(
            relations.iter().flat_map(|relation| &relation.columns).map(|column| column.name.clone()),
        );
        names.sort_unstable();
        names.dedup();
        Self(names)
    }
}

impl Completer for Names {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let start = line[..at].rfind(|c: char| !is_word(c)).map_or(0, |i| i + 1);
        let word = &line[start..at];
        let candidates = self.0.iter().filter(|name| !word.is_empty() && name.starts_with(word));
        Ok((start, candidates.cloned().collect()))
    }
}

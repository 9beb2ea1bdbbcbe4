//! `query`

mod prompt;
mod rows;

use std::io::{IsTerminal, Read};
use std::path::PathBuf;

use clap::Args;
use query::Session;
use trace::Needs;

use crate::failure::Failure;
use crate::input::{InputArgs, with_progress};
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf query 4711_results.db --sql 'SELECT * FROM top_kernels'
  rocm-perf query rank*.db --sql 'SELECT guid, count(*) FROM kernels GROUP BY guid' --format csv
  rocm-perf query trace.json.gz --file report.sql --format json
  rocm-perf query trace.json.gz            # a prompt; .help explains it

Tables and views have rocpd's names for every input: kernels, regions, memory_copies, top_kernels, busy, top,
rocpd_kernel_dispatch … (`.tables` at the prompt lists them). Besides SQLite's own functions there are median(x),
percentile(x, p), stddev(x) and the REGEXP operator. Of columns with one name the second is called NAME_2, the third NAME_3.
Nothing is ever written to the inputs.")]
pub struct QueryArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Statements to run; the result of the last is shown
    #[arg(long, value_name = "SQL", visible_alias = "query")]
    sql: Option<String>,

    /// File of statements to run, before those of `--sql`; `-` reads standard input
    #[arg(long, value_name = "FILE", visible_alias = "script")]
    file: Option<PathBuf>,

    /// As rocpd spells it; views of kernels show both names anyway
    #[arg(long, hide = true)]
    kernel_rename: bool,
}

impl QueryArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let paths = self.input.paths()?;
        let sql = self.statements(&paths)?;
        let session = if self.input.selection.is_empty() {
            with_progress("reading", output, |progress| Session::open_for(&paths, sql.as_deref(), progress))
        } else {
            self.open_part(output)?
        };
        let session = session.map_err(failure)?;
        match sql {
            Some(sql) => rows::show(&session, &paths, &sql, output),
            None => prompt::run(&session, &paths, output),
        }
    }

    /// A part of the inputs: of rocpd databases the rows of their own tables, of other inputs a trace.
    fn open_part(&self, output: &OutputArgs) -> Result<Result<Session, query::Error>, Failure> {
        let Some(databases) = self.input.only_databases()? else {
            return Ok(Session::of_trace(self.input.read(&Needs::everything(), output)?));
        };
        let (trace, part) = self.input.read_part(output)?;
        let health = trace.health.clone();
        Ok(match Session::of_part(databases, &part) {
            // Beyond SQLite's limit of attached databases.
            Err(query::Error::TooManyForPart { .. }) => Session::of_trace(trace),
            Ok(mut session) => {
                session.add_health(health);
                Ok(session)
            }
            other => other,
        })
    }

    /// The statements of the command line, a file or a pipe; none: ask for them at a prompt.
    fn statements(&self, inputs: &[PathBuf]) -> Result<Option<String>, Failure> {
        if let (Some(sql), None) = (&self.sql, &self.file) {
            return Ok(Some(sql.clone()));
        }
        let after = |script: String| match &self.sql {
            // The script may end in a comment or without a semicolon.
            Some(sql) => format!("{script}\n;\n{sql}"),
            None => script,
        };
        let piped = !std::io::stdin().is_terminal() && !inputs.iter().any(|path| path.as_os_str() == "-");
        let from_stdin = match &self.file {
            Some(file) => file.as_os_str() == "-",
            None => piped,
        };
        if from_stdin {
            let mut sql = String::new();
            let read = std::io::stdin().read_to_string(&mut sql);
            read.map_err(|error| Failure::input(format!("cannot read standard input: {error}")))?;
            return Ok(Some(after(sql)));
        }
        let Some(file) = &self.file else { return Ok(None) };
        let read = std::fs::read_to_string(file);
        read.map(|script| Some(after(script)))
            .map_err(|error| Failure::input(format!("cannot read `{}`: {error}", file.display())))
    }
}

/// A query's error as the command's: the place of bad SQL is drawn under its line.
fn failure(error: query::Error) -> Failure {
    let mut message = error.to_string();
    if let query::Error::Sql(sql) = &error
        && let Some(place) = &sql.place
    {
        for line in place.picture().lines() {
            message.push_str("\n    ");
            message.push_str(line);
        }
    }
    let failure = Failure::input(message);
    match error.help() {
        Some(help) => failure.with_help(help),
        None => failure,
    }
}

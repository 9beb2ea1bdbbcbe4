//! `query`

mod prompt;

use std::io::{IsTerminal, Read};
use std::path::PathBuf;

use app::lake::LakeSource;
use app::query::Session;
use clap::Args;
use report::render;

use crate::failure::Failure;
use crate::input::{ClusterArgs, InputArgs};
use crate::output::{Format, OutputArgs, print, shown};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf query 4711_results.db --sql 'SELECT * FROM top_kernels'
  rocm-perf query rank*.db --sql 'SELECT guid, count(*) FROM kernels GROUP BY guid' --format csv
  rocm-perf query trace.json.gz --file report.sql --format json
  rocm-perf query LAKE --sql 'SELECT rank, sum(duration) FROM kernels GROUP BY rank'
  rocm-perf query trace.json.gz            # opens a prompt; type .help there

Tables and views have rocpd's names for every input: kernels, regions,
memory_copies, top_kernels, busy, top, rocpd_kernel_dispatch … (`.tables` at
the prompt lists them). Besides SQLite's functions you can use median(x),
percentile(x, p), stddev(x) and the REGEXP operator. If several columns share
a name, the second is called NAME_2, the third NAME_3. Queries never change
the inputs. A lake has the same names and the columns run, node and rank; it
speaks the SQL of DataFusion, one statement at a time.")]
pub struct QueryArgs {
    #[command(flatten)]
    input: InputArgs,

    /// SQL to run; shows the result of the last statement
    #[arg(long, value_name = "SQL", visible_alias = "query")]
    sql: Option<String>,

    /// File with SQL to run before `--sql`; `-` reads standard input
    #[arg(long, value_name = "FILE", visible_alias = "script")]
    file: Option<PathBuf>,

    #[command(flatten)]
    cluster: ClusterArgs,

    /// Accepted for rocpd's scripts; views of kernels show both names anyway
    #[arg(long, hide = true)]
    kernel_rename: bool,
}

impl QueryArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let input = self.input.request()?;
        let lake = LakeSource::of(&input, self.cluster.url().as_deref())?;
        let sql = self.statements(&input.paths)?;
        if let Some(lake) = lake {
            let sql = sql.ok_or_else(|| Failure::input("a lake has no prompt: give the statement"))?;
            return show_lake(&lake, &sql, output);
        }
        let session = app::query::open(&input, sql.as_deref(), output)?;
        match sql {
            Some(sql) => show(&session, &input.paths, &sql, output),
            None => prompt::run(&session, &input.paths, output),
        }
    }

    /// The statements from the command line, a file or a pipe; `None`: ask for them at a prompt.
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

/// Runs a statement on a lake; CSV is written while its rows arrive.
fn show_lake(lake: &LakeSource, sql: &str, output: &OutputArgs) -> Result<(), Failure> {
    if output.format() != Format::Csv || output.sort.is_some() {
        let limit = if output.sort.is_some() { 0 } else { output.row_limit() };
        return output.show(app::lake_query(lake, sql, limit)?);
    }
    let mut printed = Ok(());
    app::lake::lake_query_pieces(lake, sql, output.limit.unwrap_or(0), &mut |rows, first| {
        let header = if first { render::csv_header(rows) } else { String::new() };
        printed = print(&(header + &render::csv_rows(rows)));
        printed.is_ok()
    })?;
    printed
}

/// Runs statements and shows the result of the last one; CSV is written while its rows arrive.
fn show(session: &Session, paths: &[PathBuf], sql: &str, output: &OutputArgs) -> Result<(), Failure> {
    if output.format() != Format::Csv || output.sort.is_some() {
        let limit = if output.sort.is_some() { 0 } else { output.row_limit() };
        return output.show(app::query(session, paths, sql, limit)?);
    }
    let mut printed = Ok(());
    app::query::query_pieces(session, sql, output.limit.unwrap_or(0), &mut |rows, first| {
        let header = if first { render::csv_header(rows) } else { String::new() };
        printed = print(&shown(header + &render::csv_rows(rows)));
        printed.is_ok()
    })?;
    printed
}

//! `query`: one statement, its rows as JSON lines.

use std::io::Write;
use std::time::Duration;

use ballista::prelude::SessionContextExt;
use clap::Args;
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use lake::rows::Piece;
use lake::{Address, CLUSTER_FAILED, Error, Lake, tables};
use tokio::net::TcpStream;

use crate::state;

/// Time limit for connecting to the scheduler.
const KNOCK: Duration = Duration::from_secs(10);

/// The scheduler's port if the URL does not name one.
const PORT: u16 = 50050;

/// How many times a query is tried when executors are lost.
const ATTEMPTS: u32 = 3;

/// Pause between attempts, so that the cluster can recover.
const PAUSE: Duration = Duration::from_secs(2);

#[derive(Args, Debug)]
pub struct QueryArgs {
    /// The lake: a folder that all machines see under this path, or `s3://BUCKET/FOLDER`
    #[arg(value_name = "LAKE")]
    lake: String,

    /// URL of the scheduler
    #[arg(long, value_name = "URL", default_value = "http://localhost:50050")]
    url: String,

    /// SQL to run
    #[arg(long, value_name = "SQL")]
    sql: String,

    /// Timeout in seconds; 0: none
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    timeout: u64,
}

/// Why there is no result, and the exit code that says whose fault it is.
pub struct Failure {
    pub message: String,
    pub code: u8,
}

impl Failure {
    fn of_cluster(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: CLUSTER_FAILED as u8 }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let hint = match &error {
            Error::Sql { hint: Some(hint), .. } => format!("\nhelp: {hint}"),
            _ => String::new(),
        };
        Self { message: format!("{error}{hint}"), code: 2 }
    }
}

impl QueryArgs {
    pub async fn run(self) -> Result<(), Failure> {
        self.knock().await?;
        let state = state::state(state::config()).map_err(|error| Failure::of_cluster(error.to_string()))?;
        let context = SessionContext::remote_with_state(&self.url, state)
            .await
            .map_err(|error| Failure::of_cluster(format!("does not answer: {error}")))?;
        let lake = Lake::open(&Address::parse(&self.lake)).await?;
        let whole = lake.whole().await?;
        tables::register(&context, &lake, &whole).await.map_err(lake::explain)?;
        let mut out = Lines::new();
        for attempt in 1.. {
            let rows = lake::checked(&context, &self.sql).await?;
            let mut take = |piece| out.take(piece);
            let running = lake::send(rows, &mut take);
            let outcome = match self.timeout {
                0 => running.await,
                seconds => match tokio::time::timeout(Duration::from_secs(seconds), running).await {
                    Ok(outcome) => outcome,
                    Err(_) => return Err(Failure::of_cluster(format!("gave no result in {seconds} s"))),
                },
            };
            match outcome {
                Ok(()) => break,
                // Rows that were written cannot be taken back.
                Err(error) if attempt < ATTEMPTS && out.rows == 0 && is_loss(&error) => {
                    eprintln!("warning: an executor was lost; the query runs again");
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => {
                    let error = error.strip_backtrace();
                    return Err(Failure::of_cluster(format!("gave up after {attempt} attempts: {error}")));
                }
            }
        }
        out.end().map_err(|error| Failure { message: format!("cannot write the result: {error}"), code: 2 })
    }

    /// Checks that the scheduler is reachable: the client itself would keep trying for a long time.
    async fn knock(&self) -> Result<(), Failure> {
        let rest = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        let place = rest.split('/').next().unwrap_or(rest);
        let place = if place.contains(':') { place.to_string() } else { format!("{place}:{PORT}") };
        match tokio::time::timeout(KNOCK, TcpStream::connect(&place)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(Failure::of_cluster(format!("does not answer: {error}"))),
            Err(_) => Err(Failure::of_cluster(format!("does not answer within {} s", KNOCK.as_secs()))),
        }
    }
}

/// Whether a query failed because an executor was lost, not for a reason that would recur.
fn is_loss(error: &DataFusionError) -> bool {
    let text = error.to_string();
    [
        "Cancelled",
        "FetchPartition",
        "Fetch failed",
        "transport error",
        "tcp connect error",
        "Connection refused",
    ]
    .iter()
    .any(|sign| text.contains(sign))
}

/// Lines of the result; the first is written with the first rows, so a query without rows can be retried.
struct Lines {
    out: std::io::BufWriter<std::io::Stdout>,
    columns: Vec<String>,
    begun: bool,
    rows: u64,
    written: std::io::Result<()>,
}

impl Lines {
    fn new() -> Self {
        let out = std::io::BufWriter::new(std::io::stdout());
        Self { out, columns: Vec::new(), begun: false, rows: 0, written: Ok(()) }
    }

    fn take(&mut self, piece: Piece) -> bool {
        if piece.rows.is_empty() {
            self.columns = piece.columns;
            return true;
        }
        self.rows += piece.rows.len() as u64;
        self.written = lake::write_lines(&mut self.out, &piece, !self.begun);
        self.begun = true;
        self.written.is_ok()
    }

    fn end(mut self) -> std::io::Result<()> {
        self.written?;
        if !self.begun {
            let empty = Piece { columns: self.columns, rows: Vec::new() };
            lake::write_lines(&mut self.out, &empty, true)?;
        }
        writeln!(self.out, "{}", lake::last_line(self.rows))?;
        self.out.flush()
    }
}

//! `serve`

use std::net::SocketAddr;
use std::path::PathBuf;

use app::experiment::StoreLocation;
use clap::Args;
use report::{Column, Report, Table, Value};
use serve::{Options, ServeError, Tokens};

use crate::failure::Failure;
use crate::output::{Format, OutputArgs};
use crate::store::StoreArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf serve                                      # http://127.0.0.1:7420
  rocm-perf serve --db team.db --listen 127.0.0.1:8080
  rocm-perf serve --listen 0.0.0.0:7420 --token-file tokens --host perf.example.com

On this machine alone, no token is needed. Any other address needs one: each
line of the token file is `read TOKEN` or `write TOKEN`; $ROCM_PERF_TOKEN may
write, $ROCM_PERF_READ_TOKEN may only read. Put a reverse proxy in front for
TLS (docs/dashboard.md).")]
pub struct ServeArgs {
    #[command(flatten)]
    store: StoreArgs,

    /// Address and port; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7420")]
    listen: SocketAddr,

    /// File with the tokens that are accepted
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Name under which browsers reach the server, besides its address
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    /// File to list writes in [default: audit.jsonl beside the stored files]
    #[arg(long, value_name = "FILE")]
    audit_log: Option<PathBuf>,
}

impl ServeArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let tokens = match &self.token_file {
            Some(path) => Tokens::of_file(path),
            None => Tokens::of_environment(),
        };
        let options = Options {
            place: self.store.place(),
            listen: self.listen,
            tokens: tokens.map_err(failure)?,
            hosts: self.host.clone(),
            audit: self.audit_log.clone(),
        };
        serve::run(&options, &|address| ready(address, output)).map_err(failure)
    }
}

/// Serves a store without tokens, which only this machine can reach.
pub fn serve_here(place: StoreLocation, listen: SocketAddr, output: &OutputArgs) -> Result<(), Failure> {
    let options = Options { place, listen, ..Options::default() };
    serve::run(&options, &|address| ready(address, output)).map_err(failure)
}

/// Prints the address of the server.
fn ready(address: SocketAddr, output: &OutputArgs) {
    let url = format!("http://{address}/");
    if output.format() == Format::Json {
        let mut table = Table::new("servers", "Servers", vec![Column::text("url")]);
        table.push(vec![Value::from(url.as_str())]);
        // A closed output does not stop the server.
        let _ = output.show(Report { command: "serve".into(), tables: vec![table], ..Report::default() });
    } else {
        println!("{url}");
    }
    if !output.quiet {
        eprintln!("serving the dashboard; Ctrl-C stops it");
    }
}

/// Adds what to do about the error.
pub fn failure(error: ServeError) -> Failure {
    let message = error.to_string();
    match error {
        ServeError::NeedsToken(_) => Failure::input(message).with_help(
            "write one with `echo \"write $(openssl rand -hex 24)\" > tokens` and add `--token-file tokens`",
        ),
        ServeError::Listen { error, .. } if error.kind() == std::io::ErrorKind::AddrInUse => {
            Failure::input(message).with_help("choose another port: `--listen 127.0.0.1:0` takes a free one")
        }
        ServeError::Store(error) => Failure::from(error),
        ServeError::Token(_) | ServeError::Listen { .. } | ServeError::Audit { .. } => {
            Failure::input(message)
        }
        ServeError::System(_) => Failure::tool(message),
    }
}

//! `mcp`

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;
use crate::output::OutputArgs;
use crate::store::StoreArgs;

/// Holds the token if no file does: a token does not belong on a command line.
const TOKEN_VARIABLE: &str = "ROCM_PERF_MCP_TOKEN";

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf mcp --root traces                       # on stdin and stdout
  rocm-perf mcp --root /data/a --root /data/b --db team.db
  rocm-perf mcp --root traces --listen 127.0.0.1:8642 --token-file token

Agents open a trace, get a handle, and ask for findings, kernels, the critical
path, ranks, comparisons and SQL. Answers stay within 8 kB and have keys to
cite. Only files inside `--root` can be read. Over HTTP a client sends
`Authorization: Bearer TOKEN` to http://ADDRESS/mcp; the token comes from
`--token-file` or $ROCM_PERF_MCP_TOKEN.

In the configuration of a client:
  {\"mcpServers\": {\"rocm-perf\": {\"command\": \"rocm-perf\", \"args\": [\"mcp\", \"--root\", \"traces\"]}}}")]
pub struct McpArgs {
    /// Folder that agents may read; may be repeated [default: the current folder]
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,

    /// Serve HTTP on this loopback address instead of stdin and stdout; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,

    /// File that holds the token for HTTP
    #[arg(long, value_name = "FILE", requires = "listen")]
    token_file: Option<PathBuf>,

    #[command(flatten)]
    store: StoreArgs,
}

impl McpArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let options = mcp::Options { roots: self.root.clone(), place: self.store.place() };
        let Some(listen) = self.listen else {
            return mcp::serve_stdio(&options).map_err(failed);
        };
        let ready = |address: SocketAddr| {
            if !output.quiet {
                eprintln!("listening on http://{address}{}; Ctrl-C stops it", mcp::PATH);
            }
        };
        mcp::serve_http(&options, listen, self.token()?, ready).map_err(failed)
    }

    fn token(&self) -> Result<mcp::Token, Failure> {
        let text = match &self.token_file {
            Some(path) => std::fs::read_to_string(path).map_err(|error| {
                Failure::input(format!("cannot read the token in `{}`: {error}", path.display()))
            })?,
            None => std::env::var(TOKEN_VARIABLE).map_err(|_| {
                Failure::input("HTTP needs a token").with_help(format!(
                    "put one into a file: `openssl rand -hex 32 > token`, then `--token-file token`, or set {TOKEN_VARIABLE}"
                ))
            })?,
        };
        mcp::Token::new(&text).map_err(failed)
    }
}

fn failed(refusal: mcp::Refusal) -> Failure {
    let failure = Failure::input(refusal.message());
    match refusal.help() {
        Some(help) => failure.with_help(help),
        None => failure,
    }
}

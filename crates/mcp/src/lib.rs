//! The Model Context Protocol server of rocm-perf: agents ask, and get small answers with evidence.
//!
//! ```text
//! client ─ stdio or HTTP ─► server ─► tools (table) ─► calls ─► app ─► Report ─► answer ≤ 8 kB, with keys and `next`
//!                                        │               │
//!                                      roots           desk: open traces, kept answers, SQL sessions
//! ```
//!
//! Nothing is analysed here: a call becomes a request of `app`, its report is kept under an id, and its first
//! rows are the answer. `page` shows more of it, a resource all of it. Only paths in the allowed folders can
//! be read.

mod answer;
mod calls;
mod desk;
mod http;
mod part;
mod prepare;
mod prompts;
mod refusal;
mod relay;
mod resources;
mod roots;
mod server;
mod sql;
mod stamp;
mod tools;
mod words;

use std::net::SocketAddr;
use std::path::PathBuf;

use app::experiment::StoreLocation;
use files::supervisor;
use rmcp::ServiceExt;

pub use http::{PATH, Token};
pub use refusal::Refusal;
pub use server::Server;

/// What a server may do.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Folders that clients may read; empty: the current one.
    pub roots: Vec<PathBuf>,
    /// The store of experiments.
    pub place: StoreLocation,
}

impl Options {
    /// A server with an empty desk.
    pub fn server(&self) -> Result<Server, Refusal> {
        Ok(Server::new(desk::Desk::new(roots::Roots::new(&self.roots)?, self.place.clone())))
    }
}

/// Serves stdin and stdout until the client closes them. A worker answers, so a crash does not end a session.
pub fn serve_stdio(options: &Options) -> Result<(), Refusal> {
    let server = options.server()?;
    if !supervisor::is_worker() {
        return relay::run();
    }
    runtime()?.block_on(async {
        let running = server.serve(rmcp::transport::stdio()).await;
        let running = running.map_err(|error| Refusal::new(format!("no client: {error}")))?;
        running.waiting().await.map_err(|error| Refusal::new(format!("the server stopped: {error}")))?;
        Ok(())
    })
}

/// Listens on an address of this machine until an interrupt; `ready` gets the address. A worker answers; if
/// it crashes, clients start new sessions with the next one.
pub fn serve_http(
    options: &Options,
    listen: SocketAddr,
    token: Token,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), Refusal> {
    let server = options.server()?;
    if let Some(worker) = supervisor::worker() {
        return runtime()?.block_on(http::serve(server, worker.ready(), token));
    }
    let (listener, address) = http::listen(listen)?;
    supervisor::supervise(&listener, || ready(address))
        .map_err(|error| Refusal::new(format!("the server stopped: {error}")))
}

fn runtime() -> Result<tokio::runtime::Runtime, Refusal> {
    app::keep_for_next_question();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    // The work is done by the analyses' own threads; these only pass messages.
    let runtime = builder.worker_threads(2).enable_all().build();
    runtime.map_err(|error| Refusal::new(format!("cannot start threads: {error}")))
}

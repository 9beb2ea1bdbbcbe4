//! Listening and routing.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use files::supervisor::{self, Worker};

use crate::access;
use crate::api;
use crate::error::ServeError;
use crate::pages;
use crate::state::{Dashboard, Options};

/// Time for open requests to end once the server has to stop.
const FAREWELL: Duration = Duration::from_secs(3);

/// How often to check whether to stop.
const TICK: Duration = Duration::from_millis(100);

/// All routes behind `access::guard`.
pub fn router(state: Dashboard) -> Router {
    Router::new()
        .merge(pages::routes())
        .merge(api::routes())
        .route("/healthz", get(|| async { "ok\n" }))
        .fallback(pages::not_found)
        .layer(middleware::from_fn_with_state(state.clone(), access::guard))
        .layer(middleware::from_fn(pages::problems_as_pages))
        .layer(middleware::from_fn_with_state(state.clone(), count))
        .with_state(state)
}

/// Counts requests and those that failed with a server error.
async fn count(State(state): State<Dashboard>, request: Request, next: Next) -> Response {
    state.requests.fetch_add(1, Ordering::Relaxed);
    let response = next.run(request).await;
    if response.status().is_server_error() {
        state.failures.fetch_add(1, Ordering::Relaxed);
    }
    response
}

/// Serves until Ctrl-C or SIGTERM. A worker answers the requests: this program, started again with the same
/// arguments. If it crashes, another one replaces it. `ready` gets the address once requests are accepted.
pub fn run(options: &Options, ready: &dyn Fn(SocketAddr)) -> Result<(), ServeError> {
    if let Some(worker) = supervisor::worker() {
        return work(options, worker);
    }
    // Fail on a wrong option or a broken store before saying that the server runs.
    drop(Dashboard::open(options)?);
    let refused = |error| ServeError::Listen { address: options.listen, error };
    let listener = TcpListener::bind(options.listen).map_err(refused)?;
    let address = listener.local_addr()?;
    Ok(supervisor::supervise(&listener, || ready(address))?)
}

/// Answers requests until an interrupt.
fn work(options: &Options, worker: Worker) -> Result<(), ServeError> {
    let state = Dashboard::open(options)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        let listener = worker.ready();
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let service = router(state).into_make_service_with_connect_info::<SocketAddr>();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving = tokio::spawn(
            axum::serve(listener, service)
                .with_graceful_shutdown(async {
                    // A dropped sender is a reason to stop as well.
                    let _ = stopped.await;
                })
                .into_future(),
        );
        told_to_stop().await;
        let _ = stop.send(());
        // Streams to browsers that watch live runs never end on their own.
        match tokio::time::timeout(FAREWELL, serving).await {
            Ok(Ok(done)) => done.map_err(ServeError::System),
            Ok(Err(_)) | Err(_) => Ok(()),
        }
    });
    runtime.shutdown_timeout(FAREWELL);
    result
}

/// Waits for Ctrl-C or a request to end.
async fn told_to_stop() {
    // While this guard lives, an interrupt only sets a flag.
    let _guard = files::interrupt::Guard::new();
    while !files::interrupt::is_interrupted() {
        tokio::time::sleep(TICK).await;
    }
}

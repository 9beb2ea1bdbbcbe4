//! A stand-in for a serving server: it answers as SGLang or vLLM does, counts forward steps, keeps the state
//! of its profiler, and writes trace files as they do, with their faults on request. No model, no GPU.
//!
//! ```
//! use rocm_perf_stand_in_serving::{Config, Framework, StandIn};
//!
//! let server = StandIn::start(Config { framework: Framework::Vllm, ..Config::default() }).unwrap();
//! assert!(server.url().starts_with("http://127.0.0.1:"));
//! ```

mod config;
mod http;
mod profiler;
mod routes;
mod trace;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

pub use config::{Config, Faults, Framework};
pub use routes::Recorded;

use routes::State;

/// A running stand-in; it ends when dropped.
pub struct StandIn {
    address: SocketAddr,
    state: Arc<State>,
    listening: Option<JoinHandle<()>>,
}

impl StandIn {
    /// Starts on a free port of the loopback interface, or on the one of the configuration.
    pub fn start(config: Config) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", config.port))?;
        let address = listener.local_addr()?;
        let state = Arc::new(State::new(config));
        let serving = state.clone();
        let listening = std::thread::spawn(move || listen(&listener, &serving));
        Ok(Self { address, state, listening: Some(listening) })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far.
    pub fn recorded(&self) -> Vec<Recorded> {
        self.state.recorded()
    }

    /// Bodies of the requests of a route, in order.
    pub fn bodies(&self, path: &str) -> Vec<serde_json::Value> {
        self.recorded()
            .into_iter()
            .filter(|request| request.path == path)
            .map(|request| request.body)
            .collect()
    }

    /// Forward steps so far.
    pub fn forward_steps(&self) -> u64 {
        self.state.forward_steps()
    }

    /// Waits until it has died or is stopped by another thread.
    pub fn join(mut self) {
        if let Some(thread) = self.listening.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.state.die();
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.listening.take() {
            let _ = thread.join();
        }
    }
}

/// Serves until the server has died; the port closes with it.
fn listen(listener: &TcpListener, state: &Arc<State>) {
    for stream in listener.incoming().flatten() {
        if state.is_dead() {
            return;
        }
        let serving = state.clone();
        let address = listener.local_addr();
        std::thread::spawn(move || {
            http::serve(stream, &serving);
            // When the server dies, wake the listener so that it closes the port.
            if let (true, Ok(address)) = (serving.is_dead(), address) {
                let _ = TcpStream::connect(address);
            }
        });
    }
}

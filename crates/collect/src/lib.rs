//! Collecting: profile an application, or a running server.
//!
//! ```text
//! preset ─► passes (GPU, version) ─► rocprofv3 ─► recordings ─► merged trace and run.json
//! running SGLang or vLLM server ──HTTP──► capture ──► torch traces by stage, and facts about the server
//! ```
//!
//! The entry point is [`run::run`]: [`run::CollectRequest`] in, [`run::Run`] out.

pub mod capture;
pub mod chat;
pub mod command;
pub mod doctor;
pub mod environment;
pub mod gpus;
pub mod launcher;
pub mod library_calls;
pub mod monitor;
pub mod passes;
pub mod presets;
pub mod profiler;
pub mod run;
pub mod slurm;
pub mod tls;
pub mod upload;

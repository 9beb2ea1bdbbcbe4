//! Collecting: profiles of what runs now.
//!
//! ```text
//! running SGLang or vLLM server ──HTTP──► capture ──► torch traces by stage, and facts about the server
//! ```

pub mod capture;

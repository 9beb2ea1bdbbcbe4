//! Secrets in command lines, environments and documents: found by `secrets.toml`, omitted by every writer.
//!
//! [`REDACTED`] takes the place of a secret. Text without secrets is returned unchanged, byte for byte.

mod environment;
mod json;
mod table;
mod text;

pub use environment::{Readers, redact_environment, secret_variables};
pub use json::redact_json;
pub use text::{count_redacted, prepare, redact_text, redact_words};

/// Replaces a secret.
pub const REDACTED: &str = "[redacted]";

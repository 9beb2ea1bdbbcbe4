//! Secrets in command lines, environments and documents: found by one table, `secrets.toml`, and left out by every writer.
//!
//! What stands in a secret's place is [`REDACTED`]. Text without secrets is given back as it was, byte for byte.

mod environment;
mod json;
mod table;
mod text;

pub use environment::{Readers, redact_environment, secret_variables};
pub use json::redact_json;
pub use text::{count_redacted, prepare, redact_text, redact_words};

/// What stands where a secret stood.
pub const REDACTED: &str = "[redacted]";

//! Ballista's log messages, on standard error: warnings, or more with `RUST_LOG=info` or `debug`.

use log::{LevelFilter, Log, Metadata, Record};

struct StandardError;

impl Log for StandardError {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        eprintln!("{}: {}", record.level().as_str().to_lowercase(), record.args());
    }

    fn flush(&self) {}
}

/// Installs the logger.
pub fn start() {
    let level = std::env::var("RUST_LOG").ok().and_then(|level| level.parse().ok());
    // No other logger can be installed already.
    if log::set_logger(&StandardError).is_ok() {
        log::set_max_level(level.unwrap_or(LevelFilter::Warn));
    }
}

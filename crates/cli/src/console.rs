//! What a person hears on standard error while something is collected.

use std::io::Write;

use collect::run::Events;

/// Says what goes on; standard output is for the report alone.
pub struct Console {
    /// Says nothing.
    pub quiet: bool,
    /// Passes on what the application and the profiler print.
    pub output: bool,
}

impl Events for Console {
    fn step(&self, message: &str) {
        if !self.quiet {
            eprintln!("{message}");
        }
    }

    fn warn(&self, message: &str) {
        if !self.quiet {
            eprintln!("warning: {message}");
        }
    }

    fn output(&self, bytes: &[u8]) {
        if self.output {
            let _ = std::io::stderr().write_all(bytes);
        }
    }
}

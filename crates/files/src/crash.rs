//! A bug in this program prints one line to the user, and leaves no half-written files.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::PanicHookInfo;

use crate::output::remove_partial_files_if_free;

/// Exit code after a panic.
const CODE: i32 = 101;

/// Makes a panic print one line, and `help` below it. `RUST_BACKTRACE=1` adds the backtrace.
pub fn report_crashes(help: &'static str) {
    std::panic::set_hook(Box::new(move |panic| {
        eprintln!("{}\n help: {help}", explain(panic));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            eprintln!("{backtrace}");
        }
        // Builds that do not unwind would leave a core file and run no destructors.
        if cfg!(panic = "abort") {
            remove_partial_files_if_free();
            // SAFETY: ends the process at once; other threads may be anywhere.
            unsafe { libc::_exit(CODE) }
        }
    }));
}

fn explain(panic: &PanicHookInfo) -> String {
    let message = panic.payload_as_str().unwrap_or("no reason given");
    // Names in a trace may contain anything, and the message may include them.
    let message: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
    format!("error: rocm-perf panicked{}: {message}", place.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The test below runs this in a separate process.
    #[test]
    #[ignore = "panics"]
    fn crash() {
        report_crashes("please report it");
        panic!("no kernel \u{1b}[2J\nhere");
    }

    #[test]
    fn a_crash_says_where_and_what_to_do_and_nothing_controls_the_terminal() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "crash::tests::crash", "--nocapture"]);
        let output = command.env("RUST_BACKTRACE", "0").output().unwrap();
        assert_eq!(output.status.code(), Some(CODE));
        let said = String::from_utf8(output.stderr).unwrap();
        let mut lines = said.lines().filter(|line| !line.is_empty());
        let line = lines.next().unwrap_or_default();
        assert!(line.starts_with("error: rocm-perf panicked at crates/files/src/crash.rs:"), "{said}");
        assert!(line.ends_with(": no kernel  [2J here"), "{said}");
        assert_eq!(lines.next(), Some(" help: please report it"), "{said}");
    }
}

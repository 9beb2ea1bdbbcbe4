//! The `rocm-perf` program: arguments in, reports out. No logic of its own.

mod aggregate;
mod arguments;
mod code;
mod commands;
mod console;
mod failure;
mod help;
mod input;
mod output;
mod selection;

use std::process::ExitCode;

fn main() -> ExitCode {
    let interrupted = || {
        // A collection that runs stops its application, keeps what is there and ends by itself.
        if files::interrupt::interrupt() {
            return;
        }
        collect::capture::stop_running_profiles();
        // The other threads have gone on writing meanwhile.
        files::remove_partial_files();
        std::process::exit(130);
    };
    // Without the handler an interrupt still ends the program; only partial files would stay.
    let _ = ctrlc::set_handler(interrupted);
    let arguments = match help::parse() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    match commands::run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.show(),
    }
}

//! The `rocm-perf` program: arguments in, reports out. It has no logic of its own.

mod aggregate;
mod arguments;
mod commands;
mod failure;
mod help;
mod input;
mod output;
mod profile_facts;
mod progress;
mod remedies;
mod selection;
mod store;
mod values;
mod version;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: app::Reporting = app::Reporting;

fn main() -> ExitCode {
    app::report_crashes(
        "this is a bug; please report it, with the command and what `rocm-perf info` says of the input",
    );
    let interrupted = || {
        if app::interrupt() == app::Interrupted::CanEnd {
            std::process::exit(130);
        }
    };
    app::end_after_answer();
    // Without the handler an interrupt still ends the program; partial files would be left, though.
    let _ = ctrlc::set_handler(interrupted);
    let arguments = match help::parse() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    app::limit_memory(arguments.output.memory, crate::remedies::MORE_MEMORY);
    let quiet = arguments.output.quiet;
    let code = match commands::run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure::show(&failure),
    };
    for leftover in app::take_leftovers().iter().filter(|_| !quiet) {
        eprintln!("note: {}", report::visible(&leftover.explain()));
    }
    app::wait_until_given_back();
    code
}

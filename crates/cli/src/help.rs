//! The help text: commands grouped under headings, from the definitions that parse them.

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};

use crate::arguments::Arguments;
use crate::output::print;
use crate::{selection, version};

/// (heading, commands) in the order of the help text.
const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["demo", "doctor", "info"]),
    ("Collect", &["profile", "collect", "presets", "capture"]),
    ("Read", &["summary", "query", "convert", "merge", "lake", "perfetto-fix", "open"]),
    (
        "Analyse a run",
        &[
            "explain",
            "triage",
            "breakdown",
            "ops",
            "requests",
            "efficiency",
            "critical-path",
            "compare",
            "overlap",
            "memory",
            "stability",
        ],
    ),
    ("Analyse many ranks", &["ranks", "digest"]),
    ("Analyse kernels", &["roofline", "occupancy", "panels", "bottleneck", "att"]),
    ("Act", &["autotune", "optimize"]),
    ("Share", &["experiment", "serve", "report", "mcp"]),
    ("Test data", &["synth"]),
    ("Set up", &["completions", "man"]),
];

/// The whole command line with grouped help.
pub fn command() -> clap::Command {
    let command = Arguments::command();
    let width = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let mut listing = String::new();
    for (heading, names) in GROUPS {
        listing.push_str(&format!("{heading}:\n"));
        for name in *names {
            let about = command.find_subcommand(name).and_then(|c| c.get_about()).map(|a| a.to_string());
            listing.push_str(&format!("  {name:width$}  {}\n", about.unwrap_or_default()));
        }
        listing.push('\n');
    }
    let template = format!(
        "{{about}}\n\n{{usage-heading}} rocm-perf COMMAND [INPUT…] [OPTIONS]\n\n{listing}Options for every command:\n{{options}}\n\n\
         `rocm-perf COMMAND --help` explains a command, with examples."
    );
    command.help_template(template)
}

/// Parses this process's arguments; prints help or the error otherwise.
pub fn parse() -> Result<Arguments, ExitCode> {
    let parsed = command().try_get_matches().and_then(|matches| {
        selection::remember(&command(), &matches);
        Arguments::from_arg_matches(&matches)
    });
    parsed.map_err(|error| {
        let is_verbose = || std::env::args().any(|word| word == "-v" || word == "--verbose");
        if error.kind() == ErrorKind::DisplayVersion && is_verbose() {
            return print(&version::details()).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
        }
        let _ = error.print();
        ExitCode::from(error.exit_code() as u8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_command_is_under_a_heading() {
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let defined: Vec<String> =
            Arguments::command().get_subcommands().map(|c| c.get_name().to_string()).collect();
        for name in &defined {
            assert!(listed.contains(&name.as_str()), "`{name}` is under no heading");
        }
        assert_eq!(listed.len(), defined.len());
    }

    #[test]
    fn help_fits_80_columns() {
        for command in command().get_subcommands() {
            let about = command.get_about().map(|about| about.to_string()).unwrap_or_default();
            assert!(about.chars().count() <= 63, "`{}`: {about}", command.get_name());
            // Example commands may be longer.
            let text = command.get_after_help().map(|help| help.to_string()).unwrap_or_default();
            for line in text.lines().filter(|line| !line.starts_with("  ")) {
                assert!(line.chars().count() < 80, "`{}`: {line}", command.get_name());
            }
        }
    }

    #[test]
    fn every_command_has_examples() {
        for command in Arguments::command().get_subcommands() {
            let examples = command.get_after_help().map(|help| help.to_string()).unwrap_or_default();
            assert!(examples.contains("rocm-perf"), "`{}` shows no example", command.get_name());
        }
    }
}

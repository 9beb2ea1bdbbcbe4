//! The launcher's argument grammar, as defined by Python's argparse in the real one.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::settings::Version;

/// Every option, with the release that first had it.
const TABLE: &str = include_str!("options.tsv");

/// Values by key: the long name with `_` for `-`.
pub(super) type Values = BTreeMap<String, Value>;

/// What the command line says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct CommandLine {
    pub values: Values,
    /// The counters of each `--pmc`, from 7.13 on.
    pub pmc: Vec<Vec<String>>,
    pub application: Vec<String>,
    /// Whether there was a `--`.
    pub separated: bool,
}

/// Why the launcher stops before it runs anything: its message and exit code.
#[derive(Debug, PartialEq)]
pub(super) struct Stop {
    pub message: String,
    pub code: u8,
}

impl Stop {
    pub fn usage(message: impl std::fmt::Display) -> Self {
        let usage = "usage: rocprofv3 [-h] [-v] [-i INPUT] [-o OUTPUT_FILE] [-d OUTPUT_DIRECTORY] ... -- APP";
        Self { message: format!("{usage}\nrocprofv3: error: {message}"), code: 2 }
    }

    pub fn fatal(message: impl std::fmt::Display) -> Self {
        let prefix = super::messages::prefix();
        Self { message: format!("{prefix}Fatal error: {message}"), code: 1 }
    }

    pub fn traceback(error: impl std::fmt::Display) -> Self {
        let place = "  File \"/opt/rocm/bin/rocprofv3\", line 1661, in <module>\n    main(sys.argv[1:])";
        Self { message: format!("Traceback (most recent call last):\n{place}\n{error}"), code: 1 }
    }
}

#[derive(Clone, Copy)]
struct Spec {
    long: &'static str,
    short: &'static str,
    kind: &'static str,
    since: Version,
    choices: &'static str,
}

fn specs() -> impl Iterator<Item = Spec> {
    TABLE.lines().skip(1).filter_map(|line| {
        let mut cells = line.split('\t');
        let mut cell = || cells.next().unwrap_or("");
        let (long, short, kind, since, choices) = (cell(), cell(), cell(), cell(), cell());
        Some(Spec { long, short, kind, since: Version::parse(since)?, choices })
    })
}

/// Parses a command line as the launcher of a release does.
pub(super) fn parse(arguments: &[String], version: Version) -> Result<CommandLine, Stop> {
    let split = arguments.iter().position(|word| word == "--");
    let (options, application) = match split {
        Some(at) => (&arguments[..at], arguments[at + 1..].to_vec()),
        None => (arguments, Vec::new()),
    };
    let mut line = CommandLine { application, separated: split.is_some(), ..CommandLine::default() };
    let mut unknown = Vec::new();
    let mut words = options.iter().peekable();
    while let Some(word) = words.next() {
        let Some((spec, glued)) = find(word, version) else {
            unknown.push(word.clone());
            continue;
        };
        let mut next = || words.next_if(|next| !is_option(next)).cloned();
        let key = key(spec.long);
        match spec.kind {
            "help" | "version" => {
                line.values.insert(key, true.into());
            }
            "bool" => {
                let given = glued.or_else(&mut next);
                let value = given.map_or(Ok(true), |text| truth(&text))?;
                line.values.insert(key, value.into());
            }
            "list" => {
                let mut values: Vec<String> = glued.into_iter().collect();
                while let Some(value) = next() {
                    values.push(value);
                }
                let values = checked(&spec, values)?;
                if spec.long == "pmc" {
                    if version < Version(7, 13, 0) {
                        line.pmc.clear();
                    }
                    line.pmc.push(values.clone());
                }
                line.values.insert(key, values.into());
            }
            kind => {
                let value = glued.or_else(&mut next);
                let value = value.ok_or_else(|| argument(&spec, "expected one argument".into()))?;
                let value = match kind {
                    "int" => {
                        let number: Result<i64, _> = value.parse();
                        number.map_err(|_| argument(&spec, format!("invalid int value: '{value}'")))?.into()
                    }
                    "choice" => checked(&spec, vec![value])?.remove(0).into(),
                    _ => Value::String(value),
                };
                line.values.insert(key, value);
            }
        }
    }
    if !unknown.is_empty() {
        return Err(Stop::usage(format!("unrecognized arguments: {}", unknown.join(" "))));
    }
    Ok(line)
}

fn key(long: &str) -> String {
    match long {
        "att" => "advanced_thread_trace".into(),
        "attach" => "pid".into(),
        _ => long.replace('-', "_"),
    }
}

fn argument(spec: &Spec, message: String) -> Stop {
    let names = if spec.short.is_empty() { String::new() } else { format!("-{}/", spec.short) };
    Stop::usage(format!("argument {names}--{}: {message}", spec.long))
}

/// The option that a word names, and a value that is attached to it.
fn find(word: &str, version: Version) -> Option<(Spec, Option<String>)> {
    let known = |spec: &Spec| spec.since <= version;
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v.to_string())));
        return specs().filter(known).find(|spec| spec.long == name).map(|spec| (spec, value));
    }
    let short = word.strip_prefix('-')?;
    let name = short.get(..1)?;
    let value = Some(short[1..].trim_start_matches('=').to_string()).filter(|v| !v.is_empty());
    specs().filter(known).find(|spec| !spec.short.is_empty() && spec.short == name).map(|spec| (spec, value))
}

fn is_option(word: &str) -> bool {
    word.starts_with('-') && word.len() > 1 && word.parse::<f64>().is_err()
}

fn checked(spec: &Spec, values: Vec<String>) -> Result<Vec<String>, Stop> {
    if spec.choices.is_empty() {
        return Ok(values);
    }
    let choices: Vec<&str> = spec.choices.split(' ').collect();
    let mut checked = Vec::new();
    for value in values {
        let folded = if spec.long == "output-format" { value.to_ascii_lowercase() } else { value.clone() };
        if !choices.contains(&folded.as_str()) {
            let list: Vec<String> = choices.iter().map(|c| format!("'{c}'")).collect();
            let message = format!("invalid choice: '{value}' (choose from {})", list.join(", "));
            return Err(argument(spec, message));
        }
        checked.push(folded);
    }
    Ok(checked)
}

/// A boolean's word; any other word is usually the application, consumed because `--` is missing.
fn truth(text: &str) -> Result<bool, Stop> {
    match text.to_ascii_lowercase().as_str() {
        "y" | "yes" | "t" | "true" | "on" | "1" => Ok(true),
        "n" | "no" | "f" | "false" | "off" | "0" => Ok(false),
        _ => Err(Stop::traceback(format!("ValueError: invalid truth value {text} (type=str)"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str, version: Version) -> Result<CommandLine, Stop> {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        parse(&words, version)
    }

    const V7: Version = Version(7, 0, 0);

    #[test]
    fn only_the_first_separator_is_the_launchers() {
        let line = parsed("--kernel-trace -d out -- app -- x", V7).unwrap();
        assert_eq!(line.application, ["app", "--", "x"]);
        assert_eq!(line.values["kernel_trace"], true);
        assert_eq!(line.values["output_directory"], "out");
    }

    #[test]
    fn a_boolean_swallows_the_application() {
        let stop = parsed("--kernel-trace ./app", V7).unwrap_err();
        assert_eq!(stop.code, 1);
        assert!(stop.message.ends_with("ValueError: invalid truth value ./app (type=str)"));
        assert_eq!(parsed("--hsa-trace=no -- a", V7).unwrap().values["hsa_trace"], false);
    }

    #[test]
    fn unknown_options_and_choices_are_refused() {
        for line in ["--counter-collection -- a", "--perfetto-trace-filename x -- a", "--kernel-tra -- a"] {
            let stop = parsed(line, V7).unwrap_err();
            assert!(stop.code == 2 && stop.message.contains("unrecognized arguments: --"), "{stop:?}");
        }
        assert_eq!(parsed("-f csv,json -- a", V7).unwrap_err().code, 2);
        assert_eq!(
            parsed("-f CSV json -- a", V7).unwrap().values["output_format"],
            serde_json::json!(["csv", "json"])
        );
        assert_eq!(parsed("--kfd-trace -- a", V7).unwrap_err().code, 2);
        assert!(parsed("--kfd-trace -- a", Version(7, 13, 0)).is_ok());
    }

    #[test]
    fn counters_may_repeat_from_7_13_on() {
        let line = "--pmc A B --pmc C -- a";
        assert_eq!(parsed(line, V7).unwrap().pmc, [["C"]]);
        assert_eq!(parsed(line, Version(7, 13, 0)).unwrap().pmc, [vec!["A", "B"], vec!["C"]]);
    }
}

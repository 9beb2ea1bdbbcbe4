//! The options that select a part of a trace, defined once for every command that reads traces.

use std::sync::OnceLock;

use app::{Edge, Filters, Moment, Stage, StagePatterns, kernel_pattern};
use clap::builder::BoolishValueParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command};

use crate::failure::Failure;

/// Heading of these options. Each option names it: a heading on the group would spread to the command's own
/// options.
const PART: &str = "Which part of the trace";

/// The options of this kind on this command line, as typed.
static GIVEN: OnceLock<Vec<Given>> = OnceLock::new();

/// An option that selects a part of the trace.
pub struct Given {
    /// `--kernel`.
    pub name: String,
    /// Its value, empty for a switch; several are joined by commas if the option accepts that.
    pub value: String,
}

/// Remembers the selection, so that suggested commands can select the same part.
pub fn remember(command: &Command, matches: &ArgMatches) {
    let _ = GIVEN.set(given(command, matches));
}

/// The remembered selection.
pub fn asked() -> &'static [Given] {
    GIVEN.get().map_or(&[], Vec::as_slice)
}

fn given(command: &Command, matches: &ArgMatches) -> Vec<Given> {
    let Some((name, matches)) = matches.subcommand() else { return Vec::new() };
    let Some(command) = command.find_subcommand(name) else { return Vec::new() };
    let typed = |arg: &&Arg| {
        arg.get_help_heading() == Some(PART)
            && matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
    };
    let each = |arg: &Arg| {
        let name = format!("--{}", arg.get_long().unwrap_or_default());
        let raw = matches.get_raw(arg.get_id().as_str()).into_iter().flatten();
        let values: Vec<String> = raw.map(|value| value.to_string_lossy().into_owned()).collect();
        let values = match arg.get_value_delimiter() {
            _ if !arg.get_action().takes_values() => vec![String::new()],
            Some(_) => vec![values.join(",")],
            None => values,
        };
        values.into_iter().map(move |value| Given { name: name.clone(), value }).collect::<Vec<_>>()
    };
    command.get_arguments().filter(typed).flat_map(each).collect()
}

/// Windows and filters.
#[derive(Args, Clone, Debug, Default)]
pub struct SelectionArgs {
    /// Start of the window: `30%` of the trace, `1.2s`, `350ms` or `80us` after its start, or nanoseconds on its clock
    #[arg(help_heading = PART, long, value_name = "TIME", allow_negative_numbers = true)]
    start: Option<String>,

    /// End of the window, in the same notation
    #[arg(help_heading = PART, long, value_name = "TIME", allow_negative_numbers = true)]
    end: Option<String>,

    /// Start of the window: where the one region or sample of this name starts
    #[arg(help_heading = PART, long, value_name = "NAME", conflicts_with = "start")]
    start_marker: Option<String>,

    /// End of the window: where the one region or sample of this name ends
    #[arg(help_heading = PART, long, value_name = "NAME", conflicts_with = "end")]
    end_marker: Option<String>,

    /// Also keep what only touches the window; by default a row must start and end inside it. Rows are never cut (rocpd: `--inclusive false`)
    #[arg(help_heading = PART, long)]
    overlapping: bool,

    /// rocpd's spelling: `true` keeps rows that lie wholly inside the window (the default), `false` is `--overlapping`
    #[arg(help_heading = PART, long, value_name = "BOOL", value_parser = BoolishValueParser::new(), conflicts_with = "overlapping")]
    inclusive: Option<bool>,

    /// Only kernels, copies and fills whose name matches; keeps host rows
    #[arg(help_heading = PART, long, value_name = "REGEX")]
    kernel: Option<String>,

    /// Only GPU work of this category (gemm, attention, communication …; keeps host rows), or host regions of the trace's own category (cpu_op, HIP_RUNTIME_API …; keeps GPU work)
    #[arg(help_heading = PART, long, value_name = "NAME", value_delimiter = ',')]
    category: Vec<String>,

    /// Only GPU work on this agent, numbered as in `info`; keeps host rows
    #[arg(help_heading = PART, long, value_name = "N", value_delimiter = ',')]
    agent: Vec<i64>,

    /// Only GPU work on this stream; keeps host rows
    #[arg(help_heading = PART, long, value_name = "N", value_delimiter = ',')]
    stream: Vec<i64>,

    /// Only this rank, host rows included
    #[arg(help_heading = PART, long, value_name = "N", value_delimiter = ',')]
    rank: Vec<u32>,

    /// Only this process, host rows included
    #[arg(help_heading = PART, long, value_name = "N", value_delimiter = ',')]
    pid: Vec<i64>,

    /// Only GPU work of this stage: prefill (extend), decode (with draft and verify), draft, verify, mixed, forward, backward, optimizer, other; keeps host rows
    #[arg(help_heading = PART, long, value_name = "NAME", value_delimiter = ',', value_parser = stage)]
    stage: Vec<Stage>,

    /// Annotations that match REGEX mark stage NAME; tried before the built-in names
    #[arg(help_heading = PART, long, value_name = "NAME=REGEX", value_parser = stage_pattern)]
    stage_pattern: Vec<String>,
}

impl SelectionArgs {
    /// The user's own stage patterns.
    fn stage_patterns(&self) -> StagePatterns {
        let mut patterns = StagePatterns::default();
        // Each was checked when the command line was read.
        self.stage_pattern.iter().for_each(|text| drop(patterns.add(text)));
        patterns
    }

    fn touching(&self) -> bool {
        self.overlapping || self.inclusive == Some(false)
    }

    /// The filters of a request.
    pub fn filters(&self) -> Result<Filters, Failure> {
        let filters = Filters {
            start: edge("--start", &self.start, &self.start_marker)?,
            end: edge("--end", &self.end, &self.end_marker)?,
            overlapping: self.touching(),
            kernel: match &self.kernel {
                None => None,
                Some(text) => Some(kernel_pattern(text).map_err(|reason| {
                    Failure::input(format!("`--kernel {text}` is not a regular expression: {reason}"))
                        .with_help("put a `\\` before special characters: `gemm\\(`")
                })?),
            },
            categories: self.category.clone(),
            agents: self.agent.clone(),
            streams: self.stream.clone(),
            ranks: self.rank.clone(),
            pids: self.pid.clone(),
            stages: self.stage.clone(),
            stage_patterns: self.stage_patterns(),
        };
        if self.touching() && !filters.has_window() {
            return Err(Failure::input("`--overlapping` and `--inclusive false` need a window")
                .with_help("give one with `--start` or `--end`"));
        }
        Ok(filters)
    }
}

fn edge(option: &str, time: &Option<String>, marker: &Option<String>) -> Result<Option<Edge>, Failure> {
    let Some(time) = time else { return Ok(marker.clone().map(Edge::Marker)) };
    let moment = time.parse::<Moment>().map_err(|reason| {
        Failure::input(format!("`{option} {time}` is not a time")).with_help(reason.to_string())
    })?;
    Ok(Some(Edge::At(moment)))
}

/// The stage with this name.
fn stage(name: &str) -> Result<Stage, String> {
    Stage::from_name(name)
        .ok_or_else(|| format!("expected one of {}", Stage::ALL.map(Stage::name).join(", ")))
}

/// A valid stage pattern.
fn stage_pattern(text: &str) -> Result<String, String> {
    StagePatterns::default().add(text).map(|()| text.to_string()).map_err(|error| error.to_string())
}

//! Which part of a trace to look at: the options of every command that reads traces, defined once.

use analysis::FilterError;
use analysis::filters::{Edge, Filters, kernel_pattern};
use clap::Args;
use clap::builder::BoolishValueParser;
use model::classify::Classifier;
use model::stages::{Stage, StagePatterns};
use trace::{Moment, Needs, Selection, Trace};

use crate::failure::Failure;

/// Heading of these options; given to each, since a heading of the group would spread to the command's own options.
const PART: &str = "Which part of the trace";

/// Windows and filters.
#[derive(Args, Clone, Debug, Default)]
pub struct SelectionArgs {
    /// Start of the window: `30%` of the trace, `1.2s`, `350ms` or `80us` from its start, or whole nanoseconds of its clock
    #[arg(help_heading = PART, long, value_name = "TIME", allow_negative_numbers = true)]
    start: Option<String>,

    /// End of the window, given alike
    #[arg(help_heading = PART, long, value_name = "TIME", allow_negative_numbers = true)]
    end: Option<String>,

    /// Start of the window: where the one region or sample of this name starts
    #[arg(help_heading = PART, long, value_name = "NAME", conflicts_with = "start")]
    start_marker: Option<String>,

    /// End of the window: where the one region or sample of this name ends
    #[arg(help_heading = PART, long, value_name = "NAME", conflicts_with = "end")]
    end_marker: Option<String>,

    /// Keep whatever touches the window; otherwise only what starts and ends inside it. Nothing is ever cut (`--inclusive false` of rocpd)
    #[arg(help_heading = PART, long)]
    overlapping: bool,

    /// As rocpd spells it: `true` keeps what lies wholly inside the window (the default), `false` is `--overlapping`
    #[arg(help_heading = PART, long, value_name = "BOOL", value_parser = BoolishValueParser::new(), conflicts_with = "overlapping")]
    inclusive: Option<bool>,

    /// Only kernels, copies and fills whose name matches; host rows stay
    #[arg(help_heading = PART, long, value_name = "REGEX")]
    kernel: Option<String>,

    /// Only GPU work of this category (gemm, attention, communication …; host rows stay), or host regions of the source's own category (cpu_op, HIP_RUNTIME_API …; GPU work stays)
    #[arg(help_heading = PART, long, value_name = "NAME", value_delimiter = ',')]
    category: Vec<String>,

    /// Only GPU work on this agent, as `info` numbers them; host rows stay
    #[arg(help_heading = PART, long, value_name = "N", value_delimiter = ',')]
    agent: Vec<i64>,

    /// Only GPU work on this stream; host rows stay
    #[arg(help_heading = PART, long, value_name = "N", value_delimiter = ',')]
    stream: Vec<i64>,

    /// Only this rank, host rows included
    #[arg(help_heading = PART, long, value_name = "N", value_delimiter = ',')]
    rank: Vec<u32>,

    /// Only this process, host rows included
    #[arg(help_heading = PART, long, value_name = "N", value_delimiter = ',')]
    pid: Vec<i64>,

    /// Only GPU work of this stage: prefill (extend), decode (with draft and verify), draft, verify, mixed, forward, backward, optimizer, other; host rows stay
    #[arg(help_heading = PART, long, value_name = "NAME", value_delimiter = ',', value_parser = stage)]
    stage: Vec<Stage>,

    /// Annotations whose name matches REGEX tell stage NAME, before the built-in names are tried
    #[arg(help_heading = PART, long, value_name = "NAME=REGEX", value_parser = stage_pattern)]
    stage_pattern: Vec<String>,
}

impl SelectionArgs {
    /// Whether everything is wanted.
    pub fn is_empty(&self) -> bool {
        let window = [&self.start, &self.end, &self.start_marker, &self.end_marker];
        let numbers = [&self.agent, &self.stream, &self.pid];
        window.iter().all(|edge| edge.is_none())
            && numbers.iter().all(|list| list.is_empty())
            && self.kernel.is_none()
            && self.category.is_empty()
            && self.rank.is_empty()
            && self.stage.is_empty()
            && !self.touching()
    }

    /// What the trace has to be read with.
    pub fn widen(&self, needs: &Needs) -> Result<Needs, Failure> {
        Ok(self.filters()?.widen(needs))
    }

    /// Keeps the part of a trace that is asked for.
    pub fn restrict(&self, trace: &mut Trace, classifier: &dyn Fn() -> Classifier) -> Result<(), Failure> {
        self.filters()?.apply(trace, classifier)?;
        Ok(())
    }

    /// The part that is asked for, named in the trace's health while the trace stays whole.
    pub fn mark(
        &self,
        trace: &mut Trace,
        classifier: &dyn Fn() -> Classifier,
    ) -> Result<Option<Selection>, Failure> {
        let filters = self.filters()?;
        if filters.is_empty() {
            return Ok(None);
        }
        let selection = filters.select(trace, classifier)?;
        trace.mark(&selection);
        Ok(Some(selection))
    }

    /// Whether a kernel is wanted by its name, where nothing else can be chosen by.
    pub fn only_kernel(&self, what: &str) -> Result<impl Fn(&str) -> bool + use<>, Failure> {
        let rest = Self { kernel: None, ..self.clone() };
        if !rest.is_empty() {
            return Err(Failure::input(format!("of the filters only `--kernel` applies to {what}")));
        }
        let pattern = self.filters()?.kernel;
        Ok(move |name: &str| pattern.as_ref().is_none_or(|pattern| pattern.is_match(name)))
    }

    /// The only rank that is asked for, when one is.
    pub fn only_rank(&self) -> Result<Option<u32>, Failure> {
        only("rank", &self.rank)
    }

    /// The only stage that is asked for, when one is.
    pub fn only_stage(&self) -> Result<Option<Stage>, Failure> {
        only("stage", &self.stage)
    }

    /// The stage patterns of the user's own.
    pub fn stage_patterns(&self) -> StagePatterns {
        let mut patterns = StagePatterns::default();
        // Each was checked when the command line was read.
        self.stage_pattern.iter().for_each(|text| drop(patterns.add(text)));
        patterns
    }

    /// The same without rank and stage, for commands that choose those themselves.
    pub fn without_rank_and_stage(&self) -> Self {
        Self { rank: Vec::new(), stage: Vec::new(), ..self.clone() }
    }

    /// The ranks and processes of it, for commands that look at the whole of those, and the rest.
    pub fn whose_and_rest(&self) -> (Self, Self) {
        let whose = Self { rank: self.rank.clone(), pid: self.pid.clone(), ..Self::default() };
        (whose, Self { rank: Vec::new(), pid: Vec::new(), ..self.clone() })
    }

    fn touching(&self) -> bool {
        self.overlapping || self.inclusive == Some(false)
    }

    fn filters(&self) -> Result<Filters, Failure> {
        let filters = Filters {
            start: edge("--start", &self.start, &self.start_marker)?,
            end: edge("--end", &self.end, &self.end_marker)?,
            overlapping: self.touching(),
            kernel: match &self.kernel {
                None => None,
                Some(text) => Some(kernel_pattern(text).map_err(|reason| {
                    Failure::input(format!("`--kernel {text}` is no regular expression: {reason}"))
                        .with_help("a `\\` before a character takes it as it is: `gemm\\(`")
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
            return Err(Failure::input("`--overlapping` says how a window is meant, and there is none")
                .with_help("give one with `--start` and `--end`"));
        }
        Ok(filters)
    }
}

fn only<T: Copy>(what: &str, values: &[T]) -> Result<Option<T>, Failure> {
    match values {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        _ => Err(Failure::input(format!("this command looks at one {what}, and several are given"))),
    }
}

fn edge(option: &str, time: &Option<String>, marker: &Option<String>) -> Result<Option<Edge>, Failure> {
    let Some(time) = time else { return Ok(marker.clone().map(Edge::Marker)) };
    let moment = time.parse::<Moment>().map_err(|reason| {
        Failure::input(format!("`{option} {time}` is no time in a trace")).with_help(reason.to_string())
    })?;
    Ok(Some(Edge::At(moment)))
}

/// The stage of that name.
fn stage(name: &str) -> Result<Stage, String> {
    Stage::from_name(name)
        .ok_or_else(|| format!("one of {} is needed", Stage::ALL.map(Stage::name).join(", ")))
}

/// A stage pattern that can be used.
fn stage_pattern(text: &str) -> Result<String, String> {
    StagePatterns::default().add(text).map(|()| text.to_string()).map_err(|error| error.to_string())
}

impl From<FilterError> for Failure {
    fn from(error: FilterError) -> Self {
        let failure = Failure::input(error.to_string());
        match error.help() {
            Some(help) => failure.with_help(help),
            None => failure,
        }
    }
}

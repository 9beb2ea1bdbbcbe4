//! `compare`

use std::path::{Path, PathBuf};

use analysis::compare::comparability::{FILES, Facts, comparability};
use analysis::compare::{CompareOptions, Comparison, Gate, GateError, MeasuredRun, Metric, repeats};
use clap::{Args, ValueEnum};
use report::{HealthCheck, HealthStatus};
use trace::Needs;

use super::breakdown::classifier;
use crate::failure::Failure;
use crate::input::with_progress;
use crate::output::OutputArgs;
use crate::selection::SelectionArgs;

/// What is known of a run is a small file; a larger one of that name is something else.
const LARGEST_FACTS: u64 = 1 << 20;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf compare before.db after.db
  rocm-perf compare baseline/ candidate/                       # folders of repeats, ranks or both
  rocm-perf compare --base a1.db a2.db a3.db --candidate b1.db b2.db b3.db
  rocm-perf compare main/ branch/ --fail-on 'total>+3%' --fail-on 'kernel:gemm>+5%'
  rocm-perf compare short.json.gz long.json.gz --metric mean

Times of a row are of a whole run, as means over repeats. Intervals come from a bootstrap over runs and calls, verdicts
are corrected for the number of rows; docs/compare.md says how. A gate is WHAT>+N%, where WHAT is total (all kernels),
span, busy, idle, kernel:REGEX, category:NAME or region:REGEX; it fails, with exit code 1, when the lower bound of the
change is above N.")]
pub struct CompareArgs {
    /// The run before and the run after: files, or folders of ranks or repeats
    #[arg(value_names = ["BASE", "CANDIDATE"], num_args = 2, conflicts_with_all = ["base", "candidate"])]
    runs: Vec<PathBuf>,

    /// Runs before; each path is a run, or a folder of repeats
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "candidate")]
    base: Vec<PathBuf>,

    /// Runs after
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "base")]
    candidate: Vec<PathBuf>,

    /// Smaller changes do not matter
    #[arg(long, value_name = "PCT", default_value_t = 1.0, value_parser = effect)]
    min_effect: f64,

    /// Of the intervals, and of no row being flagged by chance
    #[arg(long, value_name = "PCT", default_value_t = 95.0, value_parser = confidence)]
    confidence: f64,

    /// What two single runs may differ by without any change
    #[arg(long, value_name = "PCT", default_value_t = 5.0, value_parser = effect)]
    single_run_floor: f64,

    /// Compare totals of a run, or means of a call (for runs of different length)
    #[arg(long, value_enum, default_value_t, value_name = "METRIC")]
    metric: MetricName,

    /// Exit with 1 when this grew beyond its limit: 'total>+3%', 'kernel:gemm>+5%'; may be repeated
    #[arg(long, value_name = "GATE")]
    fail_on: Vec<String>,

    /// Let the change itself decide a gate, not its lower bound
    #[arg(long, requires = "fail_on")]
    fail_on_point: bool,

    /// Compare runs that were made differently
    #[arg(long)]
    force: bool,

    /// Rules for kernel names (TOML), tried before the built-in ones
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,

    #[command(flatten)]
    selection: SelectionArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum MetricName {
    #[default]
    Total,
    Mean,
}

impl CompareArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let (base, candidate) = match &self.runs[..] {
            [base, candidate] => (std::slice::from_ref(base), std::slice::from_ref(candidate)),
            _ if !self.base.is_empty() => (&self.base[..], &self.candidate[..]),
            _ => {
                return Err(Failure::input("no runs given")
                    .with_help("name the run before and the run after: `rocm-perf compare BASE CANDIDATE`"));
            }
        };
        let gates = self.fail_on.iter().map(|text| Gate::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let (before, after) = (find(base, output)?, find(candidate, output)?);
        let comparable = comparability(&facts(&before)?, &facts(&after)?);
        if !comparable.differences.is_empty() && !self.force {
            let list = comparable.differences.join(", ");
            return Err(Failure::input(format!("the runs were made differently: {list}"))
                .with_help("`--force` compares them all the same"));
        }
        let classifier = classifier(self.rules.as_ref())?;
        let measure = |runs: &[Found]| -> Result<Vec<MeasuredRun>, Failure> {
            runs.iter().map(|run| self.measure(run, &classifier, output)).collect()
        };
        let mut comparison = Comparison::of(measure(&before)?, measure(&after)?, &self.options());
        let mut warn = |id: &str, message: String| {
            let (status, value) = (HealthStatus::Warn, None);
            comparison.report.health.push(HealthCheck { id: id.into(), status, value, message });
        };
        if !comparable.differences.is_empty() {
            warn("comparability", format!("made differently: {}", comparable.differences.join(", ")));
        }
        if !comparable.environment.is_empty() {
            warn("environment", format!("variables differ: {}", comparable.environment.join(", ")));
        }
        if !comparable.unknown.is_empty() {
            let list = comparable.unknown.join(", ");
            warn("comparability", format!("no {} beside the runs tells {list}", FILES.join(" or ")));
        }
        let failed: Vec<String> = comparison
            .check(&gates, self.fail_on_point)?
            .iter()
            .filter(|outcome| outcome.failed)
            .map(|outcome| outcome.to_string())
            .collect();
        output.show(comparison.report)?;
        if failed.is_empty() { Ok(()) } else { Err(Failure::gate(failed.join("; "))) }
    }

    fn options(&self) -> CompareOptions {
        CompareOptions {
            min_effect_pct: self.min_effect,
            confidence: self.confidence / 100.0,
            single_run_floor_pct: self.single_run_floor,
            metric: match self.metric {
                MetricName::Total => Metric::Total,
                MetricName::Mean => Metric::Mean,
            },
            ..CompareOptions::default()
        }
    }

    /// Reads a run and keeps what is compared of it.
    fn measure(
        &self,
        run: &Found,
        classifier: &model::classify::Classifier,
        output: &OutputArgs,
    ) -> Result<MeasuredRun, Failure> {
        let needs = Needs { kernels: true, memory_copies: true, regions: true, ..Needs::nothing() };
        let needs = self.selection.widen(&needs)?;
        let read = |progress: &ingest::Progress| ingest::read(&run.files, &needs, progress);
        let mut trace = with_progress("reading", output, read)?;
        self.selection.restrict(&mut trace, &|| classifier.clone())?;
        Ok(MeasuredRun::of(&trace, classifier))
    }
}

/// The files of one run, and the path by which it was given.
struct Found {
    files: Vec<PathBuf>,
    given: PathBuf,
}

/// The runs behind paths: each path is one, or a folder of several.
fn find(paths: &[PathBuf], output: &OutputArgs) -> Result<Vec<Found>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        let inputs = ingest::find_inputs(std::slice::from_ref(path))?;
        if let [only] = &inputs[..] {
            found.push(Found { files: only.files.clone(), given: path.clone() });
            continue;
        }
        let look = |progress: &ingest::Progress| {
            ingest::read(std::slice::from_ref(path), &Needs::nothing(), progress)
        };
        let trace = with_progress("looking", output, look)?;
        let runs = repeats(&trace).map_err(|uneven| {
            Failure::input(format!("`{}`: {uneven}", path.display()))
                .with_help("name the runs: `--base RUN RUN … --candidate RUN RUN …`")
        })?;
        for run in runs {
            let mut files = Vec::new();
            for place in run {
                let source = &trace.sources[place].path;
                let of_source = inputs.iter().find(|input| input.path.display().to_string() == *source);
                files.extend(
                    of_source.map_or_else(|| vec![PathBuf::from(source)], |input| input.files.clone()),
                );
            }
            found.push(Found { files, given: path.clone() });
        }
    }
    Ok(found)
}

/// What is known of how each run was made.
fn facts(runs: &[Found]) -> Result<Vec<Facts>, Failure> {
    runs.iter().map(facts_of).collect()
}

/// From the nearest file of facts: beside the run's first file, or in a folder above it within what was given.
fn facts_of(run: &Found) -> Result<Facts, Failure> {
    let first = run.files.first().map_or(run.given.as_path(), PathBuf::as_path);
    let inside = |folder: &&Path| folder.starts_with(&run.given) || Some(*folder) == first.parent();
    for folder in first.ancestors().skip(1).take_while(inside) {
        for name in FILES {
            let path = folder.join(name);
            let small = path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= LARGEST_FACTS);
            if !small || run.files.contains(&path) {
                continue;
            }
            let failed = |why: String| Failure::input(format!("cannot read `{}`: {why}", path.display()));
            let text = std::fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
            return Facts::parse(&text).map_err(failed);
        }
    }
    Ok(Facts::default())
}

impl From<GateError> for Failure {
    fn from(error: GateError) -> Self {
        let failure = Failure::input(error.to_string());
        match error {
            GateError::Malformed { .. } => failure.with_help(
                "a gate is WHAT>+N%, such as 'total>+3%', 'kernel:gemm>+5%' or 'category:communication>+2%'",
            ),
            GateError::Nothing { .. } => failure.with_help("a gate that looks at nothing could never fail"),
        }
    }
}

fn effect(text: &str) -> Result<f64, String> {
    percentage(text).filter(|pct| *pct >= 0.0).ok_or_else(|| "a percentage from 0 on is needed".into())
}

fn confidence(text: &str) -> Result<f64, String> {
    let inside = |pct: &f64| (50.0..100.0).contains(pct);
    percentage(text).filter(inside).ok_or_else(|| "a percentage from 50 to below 100 is needed".into())
}

fn percentage(text: &str) -> Option<f64> {
    text.trim_end_matches('%').trim().parse::<f64>().ok().filter(|pct| pct.is_finite())
}

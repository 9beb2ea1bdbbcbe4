//! Inputs of a command, and reading them with a progress bar.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use analysis::triage::{NoRun, OneRun};
use clap::Args;
use convert::merge::{files_of_package, is_package};
use convert::rocpd::part::{Part, TimedRows};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ingest::Progress;
use model::classify::Classifier;
use trace::{Needs, Trace};

use crate::failure::Failure;
use crate::output::OutputArgs;
use crate::selection::SelectionArgs;

/// Files and folders to read.
#[derive(Args, Clone, Debug)]
pub struct PathArgs {
    /// Trace files or folders of them; `-` reads standard input
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// The same, as rocpd's own tools spell it; may be repeated
    #[arg(short = 'i', long = "input", value_name = "INPUT", num_args = 1..)]
    pub more: Vec<PathBuf>,
}

impl PathArgs {
    /// All inputs, at least one.
    pub fn paths(&self) -> Result<Vec<PathBuf>, Failure> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for path in self.inputs.iter().chain(&self.more) {
            // A folder is searched anyway; the list inside a package stands for the databases that it names.
            if path.is_file() && is_package(path) {
                paths.extend(files_of_package(path)?);
            } else {
                paths.push(path.clone());
            }
        }
        if paths.is_empty() {
            return Err(Failure::input("no input given")
                .with_help("name a trace file or a folder, or try `rocm-perf demo` to see an example"));
        }
        Ok(paths)
    }
}

/// Files and folders to read, and which part of them to look at.
#[derive(Args, Clone, Debug)]
pub struct InputArgs {
    #[command(flatten)]
    pub files: PathArgs,

    #[command(flatten)]
    pub selection: SelectionArgs,
}

impl InputArgs {
    /// All inputs, at least one.
    pub fn paths(&self) -> Result<Vec<PathBuf>, Failure> {
        self.files.paths()
    }

    /// Reads the part of all inputs that is asked for into one trace.
    pub fn read(&self, needs: &Needs, output: &OutputArgs) -> Result<Trace, Failure> {
        self.read_classified(needs, output, Classifier::builtin)
    }

    /// The same, where other rules than the built-in ones tell the categories of kernels.
    pub fn read_classified(
        &self,
        needs: &Needs,
        output: &OutputArgs,
        classifier: impl Fn() -> Classifier,
    ) -> Result<Trace, Failure> {
        if self.selection.is_empty() {
            return self.read_all(needs, output);
        }
        let mut trace = self.read_all(&self.selection.widen(needs)?, output)?;
        self.selection.restrict(&mut trace, &classifier)?;
        Ok(trace)
    }

    /// The files of all inputs, if each is a rocpd database.
    pub fn only_databases(&self) -> Result<Option<Vec<PathBuf>>, Failure> {
        let paths = self.paths()?;
        if paths.iter().any(|path| path.as_os_str() == "-") {
            return Ok(None);
        }
        let inputs = ingest::find_inputs(&paths)?;
        let all = inputs.iter().all(|input| input.format == ingest::Format::Rocpd);
        Ok(all.then(|| inputs.into_iter().map(|input| input.path).collect()))
    }

    /// Reads the part of all inputs that is asked for, and which rows of the databases it leaves out.
    pub fn read_part(&self, output: &OutputArgs) -> Result<(Trace, Part), Failure> {
        let needs = Needs::everything();
        if self.selection.is_empty() {
            return Ok((self.read_all(&needs, output)?, Part::default()));
        }
        let mut trace = self.read_all(&self.selection.widen(&needs)?, output)?;
        let all = TimedRows::of(&trace);
        self.selection.restrict(&mut trace, &Classifier::builtin)?;
        let part = Part::between(&all, &TimedRows::of(&trace));
        Ok((trace, part))
    }

    fn read_all(&self, needs: &Needs, output: &OutputArgs) -> Result<Trace, Failure> {
        let paths = self.paths()?;
        let began = Instant::now();
        let trace = with_progress("reading", output, |progress| ingest::read(&paths, needs, progress))?;
        if output.verbose {
            let bytes: u64 = trace.sources.iter().map(|source| source.bytes).sum();
            let seconds = began.elapsed().as_secs_f64();
            eprintln!("read {} inputs, {:.1} MB, in {seconds:.2} s", trace.sources.len(), bytes as f64 / 1e6);
        }
        Ok(trace)
    }
}

/// Runs `work` with a progress bar on standard error, shown once it has taken a second.
pub fn with_progress<T: Send>(
    doing: &'static str,
    output: &OutputArgs,
    work: impl FnOnce(&Progress) -> T,
) -> T {
    let progress = Progress::default();
    if output.quiet || output.no_progress || !std::io::stderr().is_terminal() {
        return work(&progress);
    }
    let finished = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let drawer = scope.spawn(|| draw(doing, &progress, &finished));
        let result = work(&progress);
        finished.store(true, Ordering::Release);
        drawer.thread().unpark();
        result
    })
}

/// What is quicker than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

fn draw(doing: &'static str, progress: &Progress, finished: &AtomicBool) {
    let began = Instant::now();
    let mut bar: Option<ProgressBar> = None;
    while !finished.load(Ordering::Acquire) {
        if began.elapsed() >= PATIENCE {
            let (done, total) = progress.get();
            let bar = bar.get_or_insert_with(|| new_bar(doing));
            bar.set_length(total);
            bar.set_position(done);
        }
        std::thread::park_timeout(Duration::from_millis(50));
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

fn new_bar(doing: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = "{prefix} {bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.set_prefix(doing);
    bar
}

/// Ranks and stages of one run are looked at together; the same of several runs would be taken for each other.
pub fn one_run(trace: &Trace, command: &str) -> Result<(), Failure> {
    one_run_of(&trace.sources, command)
}

/// The same of some of the inputs.
pub fn one_run_of(sources: &[trace::Source], command: &str) -> Result<(), Failure> {
    let mut ranks: Vec<Option<u32>> = sources.iter().map(|source| source.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    for rank in ranks {
        if let Err(NoRun::Several { paths }) = OneRun::choose(sources, rank) {
            let message = format!("there are {} runs and {command} looks at one", paths.len());
            return Err(Failure::input(message).with_help(format!("give one of `{}`", paths.join("`, `"))));
        }
    }
    Ok(())
}

//! `demo`: the newcomer's first look, without a GPU and without a trace.

use std::path::{Path, PathBuf};

use analysis::SummaryOptions;
use analysis::profile::{Profiled, profile_report, timing_needs, typical_run};
use analysis::stability::RunTimes;
use clap::Args;
use ingest::Progress;
use report::{Report, render};
use synth::{GenerateOptions, Options, OutputFormat, Scenario};
use trace::Needs;

use super::synth::generate;
use super::triage::Request;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, print};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf demo
  rocm-perf demo --out my-demo      # keeps the traces there
  rocm-perf demo --profile          # what `rocm-perf profile` shows, from simulated runs")]
pub struct DemoArgs {
    /// Folder for the example's traces, kept afterwards
    #[arg(short, long, value_name = "DIR", default_value = "rocm-perf-demo")]
    out: PathBuf,

    /// Show what `profile` reports, from simulated runs of one program
    #[arg(long)]
    profile: bool,
}

/// Runs of the simulated program.
const RUNS: u64 = 5;

/// Rows that give an impression without filling the screen.
const ROWS: usize = 8;
const FINDINGS: usize = 3;

impl DemoArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        if self.profile {
            return self.profile(output);
        }
        let run = self.simulate()?;
        let needs = Needs::summary();
        let trace = ingest::read(std::slice::from_ref(&run), &needs, &Progress::default())?;
        let mut summary = analysis::summary(&trace, &SummaryOptions::default());
        // The folder, not the file: the capture trace beside it locates the replayed kernels.
        let triage = Request::new(vec![self.out.clone()]).answer(output)?;
        if output.format() != Format::Table {
            summary.tables.extend(triage.tables);
            summary.findings.extend(triage.findings);
            summary.health.extend(triage.health);
            summary.notes.extend(triage.notes);
            return output.show(summary);
        }
        let (shown, folder) = (run.display(), self.out.display());
        say(output, &format!("$ rocm-perf synth --scenario serving --out {folder}"))?;
        say(
            output,
            "simulated a serving run of one MI300X (SGLang-like prefill and decode), since no GPU is needed for a demo\n",
        )?;
        say(output, &format!("$ rocm-perf summary {shown}"))?;
        print(&render::terminal(&shortened(summary), &output.terminal()))?;
        say(output, &format!("\n$ rocm-perf triage {folder}"))?;
        print(&render::terminal(&shortened(triage), &output.terminal()))?;
        say(output, "\nnext:")?;
        say(output, &format!("  rocm-perf info {shown}"))?;
        say(output, &format!("  rocm-perf query {shown} --sql 'SELECT * FROM top_kernels LIMIT 5'"))?;
        say(output, &format!("  rocm-perf triage {folder} --out {folder}/artifacts"))?;
        say(
            output,
            "  rocm-perf triage YOUR_TRACE      (rocpd .db, torch .json.gz, rocprofv3 .json or .csv, or a folder)",
        )
    }

    /// The report of `profile` on several simulated runs of one program.
    fn profile(&self, output: &OutputArgs) -> Result<(), Failure> {
        let mut runs = Vec::new();
        let mut places = Vec::new();
        for number in 1..=RUNS {
            let scenario =
                Scenario::builtin("slow-kernel").map_err(|error| Failure::input(error.to_string()))?;
            let folder = self.out.join(format!("run-{number}"));
            let options = GenerateOptions {
                options: Options { seed: number, ..Options::default() },
                force: is_run(&folder),
                ..GenerateOptions::new(scenario, &folder, OutputFormat::Rocpd)
            };
            let generated = generate(&options)?;
            let file = generated.files.iter().find(|file| file.format.is_some() && file.role.is_none());
            let file = file.ok_or_else(|| Failure::input("the simulator wrote no trace"))?.path.clone();
            let trace = ingest::read(std::slice::from_ref(&file), &timing_needs(), &Progress::default())?;
            let times = RunTimes::of(&trace, &format!("simulated run {number}"));
            runs.push(times.ok_or_else(|| Failure::input("the simulated run has no kernels"))?);
            places.push(file);
        }
        let typical = typical_run(&runs).unwrap_or_default();
        let needs = timing_needs();
        let trace = ingest::read(std::slice::from_ref(&places[typical]), &needs, &Progress::default())?;
        let profiled = Profiled {
            runs: &runs,
            timing: &trace,
            counters: None,
            thread_traces: &[],
            traced: false,
            code: None,
        };
        let mut report = profile_report(&profiled);
        let simulated = format!(
            "SIMULATED: these are {RUNS} runs of a made-up program on a made-up MI300X, not measurements; the traces are in `{}`",
            self.out.display()
        );
        report.notes.insert(0, simulated);
        report
            .notes
            .push("with a GPU: `rocm-perf profile -- ./app`; add `--counters` for the roofline".into());
        if output.format() == Format::Table {
            say(output, "$ rocm-perf profile -- ./app      (simulated: no GPU is needed for a demo)\n")?;
        }
        output.show(report)
    }

    /// Makes the example unless it is already there; gives the trace of its run.
    fn simulate(&self) -> Result<PathBuf, Failure> {
        let scenario = Scenario::builtin("serving").map_err(|error| Failure::input(error.to_string()))?;
        let options = GenerateOptions {
            options: Options { seed: 1, ..Options::default() },
            force: is_demo(&self.out),
            ..GenerateOptions::new(scenario, &self.out, OutputFormat::Torch)
        };
        let generated = generate(&options)?;
        let run = generated.files.iter().find(|file| file.format.is_some() && file.role.is_none());
        run.map(|file| file.path.clone()).ok_or_else(|| Failure::input("the simulator wrote no trace"))
    }
}

/// Whether a folder holds an earlier demo and nothing that should be kept.
fn is_demo(folder: &Path) -> bool {
    std::fs::read_to_string(folder.join("scenario.toml"))
        .is_ok_and(|text| text.contains("name = \"serving\""))
}

/// Whether a folder holds a simulated run of an earlier demo.
fn is_run(folder: &Path) -> bool {
    std::fs::read_to_string(folder.join("scenario.toml"))
        .is_ok_and(|text| text.contains("name = \"slow-kernel\""))
}

fn shortened(mut report: Report) -> Report {
    for table in &mut report.tables {
        table.limit(ROWS);
    }
    report.findings.truncate(FINDINGS);
    report
}

fn say(output: &OutputArgs, line: &str) -> Result<(), Failure> {
    if output.quiet { Ok(()) } else { print(&format!("{line}\n")) }
}

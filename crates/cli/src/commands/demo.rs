//! `demo`: the newcomer's first look, without a GPU and without a trace.

use std::path::{Path, PathBuf};

use analysis::SummaryOptions;
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
  rocm-perf demo --out my-demo      # keeps the traces there")]
pub struct DemoArgs {
    /// Folder for the example's traces, kept afterwards
    #[arg(short, long, value_name = "DIR", default_value = "rocm-perf-demo")]
    out: PathBuf,
}

/// Rows that give an impression without filling the screen.
const ROWS: usize = 8;
const FINDINGS: usize = 3;

impl DemoArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
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

//! `demo`: a first look for newcomers, without a GPU or a trace.

use std::net::SocketAddr;
use std::path::PathBuf;

use app::experiment::{self, StoreLocation};
use app::synth::Demo;
use clap::Args;
use report::{Report, render};

use crate::commands::serve::serve_here;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, print};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf demo
  rocm-perf demo --out my-demo      # keep the traces there
  rocm-perf demo --profile          # what `rocm-perf profile` shows, on simulated runs
  rocm-perf demo --experiments      # a store of simulated experiments
  rocm-perf demo --serve            # the same, with the dashboard")]
pub struct DemoArgs {
    /// Folder for the simulated traces; they are kept
    #[arg(short, long, value_name = "DIR", default_value = "rocm-perf-demo")]
    out: PathBuf,

    /// Show what `profile` reports, on simulated runs of one program
    #[arg(long)]
    profile: bool,

    /// Fill a store with simulated experiments: OUT/experiments.db
    #[arg(long, conflicts_with = "profile")]
    experiments: bool,

    /// Fill that store and serve the dashboard
    #[arg(long, conflicts_with_all = ["profile", "experiments"])]
    serve: bool,

    /// With `--serve`: address and port; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7420")]
    listen: SocketAddr,
}

/// Rows per table: enough for an impression without filling the screen.
const ROWS: usize = 8;
const FINDINGS: usize = 3;

impl DemoArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        if self.profile {
            return self.profile(output);
        }
        if self.experiments {
            return output.show(self.fill(output)?);
        }
        if self.serve {
            // A worker of that server finds the store already filled.
            if !serve::is_worker() {
                self.fill(output)?;
            }
            return serve_here(self.place(), self.listen, output);
        }
        let Demo { run, mut summary, triage } = app::demo(&self.out, output)?;
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
            "simulated a serving run on one MI300X (SGLang-like prefill and decode); the demo needs no GPU\n",
        )?;
        say(output, &format!("$ rocm-perf summary {shown}"))?;
        print(&render::terminal(&output.spoken(shortened(summary)), &output.terminal()))?;
        say(output, &format!("\n$ rocm-perf triage {folder}"))?;
        print(&render::terminal(&output.spoken(shortened(triage)), &output.terminal()))?;
        say(output, "\nnext:")?;
        say(output, &format!("  rocm-perf info {shown}"))?;
        say(output, &format!("  rocm-perf query {shown} --sql 'SELECT * FROM top_kernels LIMIT 5'"))?;
        say(output, &format!("  rocm-perf triage {folder} --out {folder}/artifacts"))?;
        say(
            output,
            "  rocm-perf triage YOUR_TRACE      (rocpd .db, torch .json.gz, rocprofv3 .json or .csv, or a folder)",
        )
    }

    fn database(&self) -> PathBuf {
        self.out.join("experiments.db")
    }

    fn place(&self) -> StoreLocation {
        StoreLocation { database: Some(self.database().display().to_string()), artifacts: None }
    }

    /// Fills a store with simulated experiments.
    fn fill(&self, output: &OutputArgs) -> Result<Report, Failure> {
        let mut report = experiment::fill_demo(&self.place(), &self.out.join("traces"), output)?;
        let database = self.database();
        let next = format!("next: `rocm-perf experiment show serving-mi300x --db {}`", database.display());
        report.notes.push(next.into());
        Ok(report)
    }

    /// What `profile` reports on simulated runs of one program.
    fn profile(&self, output: &OutputArgs) -> Result<(), Failure> {
        let mut report = app::synth::demo_profile(&self.out, output)?;
        report
            .notes
            .push("with a GPU: `rocm-perf profile -- ./app`; add `--with-counters` for the roofline".into());
        if output.format() == Format::Table {
            say(output, "$ rocm-perf profile -- ./app      (simulated: the demo needs no GPU)\n")?;
        }
        output.show(report)
    }
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

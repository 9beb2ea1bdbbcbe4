//! What bounds kernels by their hardware counters: the panels of ROCm Compute Profiler.

mod files;
mod preset;

use std::path::PathBuf;
use std::sync::Arc;

use analysis::kernels::panels::catalogue::{ARCHITECTURES, Catalogue, architecture};
use analysis::kernels::panels::{ChoiceError, list_metrics, panels_needs};
use report::{Remedy, Report};
use trace::{Aggregate, Trace};

pub use self::files::write_panels;
pub use self::preset::choose_counters;
pub use analysis::kernels::panels::{
    Block, Blocks, Cell, Choice, Dispatches, NormalUnit, PanelsOptions, Rule, TableValues, TimeUnit,
    TopKernel, catalogue, choose, evaluate, memory_chart_text, specs_of,
};

use crate::failure::Failure;
use crate::input::Input;
use crate::observer::Observer;

/// Reads each input as a separate run; `aggregate` says how to combine the instances of a counter, if not by
/// sum.
pub fn read_panels(
    inputs: &[Input],
    aggregate: Option<Aggregate>,
    observer: &dyn Observer,
) -> Result<Vec<Trace>, Failure> {
    let mut traces = Vec::new();
    for input in inputs {
        let mut trace = Arc::unwrap_or_clone(input.read(&panels_needs(), observer)?);
        if let Some(aggregate) = aggregate {
            trace.aggregate_counters(aggregate);
        }
        if trace.kernels.is_empty() {
            let paths: Vec<String> = input.paths.iter().map(|path| path.display().to_string()).collect();
            return Err(Failure::input(format!("there is no kernel in `{}`", paths.join("`, `"))));
        }
        traces.push(trace);
    }
    Ok(traces)
}

/// The panels of one run, or of several side by side.
pub fn panels(runs: &[Trace], options: &PanelsOptions) -> Result<Report, Failure> {
    analysis::kernels::panels::panels(runs, options).map_err(|error| unchosen(&error))
}

/// Fails if the choice of kernels or dispatches matches nothing.
pub fn check_choice(run: &Trace, options: &PanelsOptions) -> Result<(), Failure> {
    analysis::kernels::panels::choose(run, &options.choice).map(drop).map_err(|error| unchosen(&error))
}

/// The metrics and their formulas: of an architecture, or of the input's GPU.
pub fn panel_metrics(
    wanted: &str,
    input: &Input,
    options: &PanelsOptions,
    observer: &dyn Observer,
) -> Result<Report, Failure> {
    let name = if architecture(wanted).is_some() {
        wanted.to_string()
    } else {
        // The word after the option may be the input.
        let mut input = input.clone();
        if !wanted.is_empty() {
            if wanted.starts_with("gfx") {
                return Err(Failure::input(format!("no panels are known for the architecture `{wanted}`"))
                    .with_help(format!("it is one of {}", ARCHITECTURES.join(", "))));
            }
            input.paths.push(PathBuf::from(wanted));
        }
        let trace = input.read(&panels_needs(), observer)?;
        let agents = trace.agents.iter().map(|agent| trace.strings.get(agent.name));
        let known = agents.filter(|name| architecture(name).is_some()).max();
        known.unwrap_or_default().to_string()
    };
    let Some(architecture) = architecture(&name) else {
        return Err(Failure::input("the input does not name an architecture with panels")
            .with_help(format!("give one of {}", ARCHITECTURES.join(", "))));
    };
    Ok(list_metrics(architecture, &options.blocks, options.rule))
}

fn unchosen(error: &ChoiceError) -> Failure {
    Failure::input(error.to_string()).with_help(Remedy::ListKernels)
}

/// The panels, tables and metrics requested by number; none: what the command shows by default.
pub fn blocks(asked: &[String]) -> Result<Blocks, Failure> {
    let panels = &Catalogue::builtin().panels;
    if asked.iter().any(|block| block == "all") {
        let numbers = [0, 1].into_iter().chain(panels.iter().map(|panel| panel.number));
        return Ok(Blocks(numbers.map(|panel| Block { panel, table: None, row: None }).collect()));
    }
    let mut blocks = Vec::new();
    for text in asked {
        let wrong = |why: String| Failure::input(format!("`{text}` is not a block: {why}"));
        let block: Block = text.parse().map_err(wrong)?;
        let known = block.panel < 2
            || panels.iter().any(|panel| {
                let table = |number| panel.tables.iter().any(|table| table.number == number);
                panel.number == block.panel && block.table.is_none_or(table)
            });
        if !known {
            return Err(wrong("there is none with this number".into()).with_help(Remedy::ListPanels));
        }
        blocks.push(block);
    }
    Ok(Blocks(blocks))
}

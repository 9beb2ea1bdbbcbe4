//! What bounds kernels: thread traces, PC samples and rules over counters.

use std::path::PathBuf;

use analysis::kernels::att::{
    code_facts_needs, code_facts_report, pc_sample_needs, pc_samples_report, thread_trace_features,
    thread_trace_report,
};
use analysis::kernels::bottleneck::{bottleneck_needs, bottleneck_report};
use report::{Remedy, Report};
use trace::ThreadTrace;

use crate::failure::Failure;
use crate::input::{Input, one_run, read};
use crate::observer::Observer;

/// Where the cycles of waves went, from decoded thread traces or PC samples.
pub fn att(paths: &[PathBuf], observer: &dyn Observer) -> Result<Report, Failure> {
    if paths.is_empty() {
        return Err(Failure::input("no input given").with_help(Remedy::NameInput));
    }
    let traces = thread_traces(paths)?;
    if !traces.is_empty() {
        return Ok(thread_trace_report(&traces));
    }
    if let Some(report) = code_facts(paths, observer)? {
        return Ok(report);
    }
    // An unreadable input fails here with its own error.
    let trace = read(paths, &pc_sample_needs(), observer)?;
    if let Some(report) = pc_samples_report(&trace) {
        return Ok(report);
    }
    let list: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let message = format!("`{}` holds no decoded thread trace and no PC samples", list.join("`, `"));
    let database = trace.sources.iter().any(|source| source.format == "rocpd");
    Err(Failure::input(message).with_help(match database {
        true => "the profiler writes PC samples to csv and json files, not to rocpd databases: collect with `-f csv`",
        false => "`rocprofv3 --att` writes folders `ui_output_agent_…` where its decoder library is installed",
    }))
}

/// What other tools know about the code of kernels, joined to a trace if one is given.
fn code_facts(paths: &[PathBuf], observer: &dyn Observer) -> Result<Option<Report>, Failure> {
    let (mut facts, mut others) = (Vec::new(), Vec::new());
    for path in paths {
        let found = ingest::code::find(path);
        if found.is_empty() {
            others.push(path.clone());
        }
        for path in found {
            facts.push(ingest::code::read(&path)?);
        }
    }
    if facts.is_empty() {
        return Ok(None);
    }
    let trace = match others.is_empty() {
        true => None,
        false => Some(read(&others, &code_facts_needs(), observer)?),
    };
    Ok(Some(code_facts_report(&facts, trace.as_deref())))
}

/// The thread traces at some paths; empty if they hold something else.
pub(crate) fn thread_traces(paths: &[PathBuf]) -> Result<Vec<ThreadTrace>, Failure> {
    let found = paths.iter().flat_map(|path| ingest::att::find(path));
    found.map(|path| Ok(ingest::att::read(&path)?)).collect()
}

/// Which kernels to label.
#[derive(Clone, Debug, Default)]
pub struct BottleneckRequest {
    /// The trace.
    pub input: Input,
    /// Decoded thread traces of the same kernels.
    pub thread_traces: Vec<PathBuf>,
}

/// What bounds each kernel, with evidence.
pub fn bottleneck(request: &BottleneckRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let features = thread_trace_features(&thread_traces(&request.thread_traces)?);
    if let ([first, ..], true) = (&request.thread_traces[..], features.is_empty()) {
        return Err(Failure::input(format!("`{}` holds no decoded thread trace", first.display())));
    }
    let trace = request.input.read(&bottleneck_needs(), observer)?;
    one_run(&trace.sources, "bottleneck")?;
    Ok(bottleneck_report(&trace, &features))
}

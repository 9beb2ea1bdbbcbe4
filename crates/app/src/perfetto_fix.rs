//! Torch traces that Perfetto shows completely.

use std::path::{Path, PathBuf};

use convert::perfetto_fix::{Error, Fixed, Options, fix};
use ingest::Format;
use report::{Column, HealthCheck, HealthStatus, InputFact, Remedy, Report, Table, Unit, Value};

use crate::failure::Failure;
use crate::observer::{Observer, watched};

/// Name of the output, next to the input by default.
const OUTPUT_STEM: &str = "perfetto_fixed_trace";

/// Which trace to fix.
#[derive(Clone, Debug, Default)]
pub struct PerfettoFixRequest {
    /// The trace, or a folder with one.
    pub inputs: Vec<PathBuf>,
    /// File or folder to write.
    pub out: Option<PathBuf>,
    /// Overlaps up to this long are trimmed.
    pub snap_ns: i64,
    /// Whether to leave the lanes of host threads unchanged.
    pub gpu_only: bool,
}

/// Moves overlapping slices to their own lanes; nothing is lost.
pub fn perfetto_fix(request: &PerfettoFixRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let (input, bytes) = one_input(&request.inputs)?;
    let target = target(&input, request.out.as_deref());
    let options = Options { snap_ns: request.snap_ns, gpu_only: request.gpu_only };
    let fixed = watched("fixing", observer, |progress| {
        progress.expect(2 * bytes);
        fix(&input, &target, &options, &|read| progress.advance(read))
    })?;
    Ok(report(&fixed, &input, bytes, &target))
}

/// The only trace behind the inputs.
fn one_input(paths: &[PathBuf]) -> Result<(PathBuf, u64), Failure> {
    if paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(Failure::input(
            "perfetto-fix reads its input twice, which standard input does not allow",
        )
        .with_help("save it to a file first"));
    }
    if let [path] = paths
        && !path.is_dir()
    {
        return Ok((path.clone(), std::fs::metadata(path).map_or(0, |meta| meta.len())));
    }
    let mut found = ingest::find_inputs(paths)?;
    found.retain(|input| input.format == Format::Torch && !is_own_output(&input.path));
    match &found[..] {
        [one] => Ok((one.path.clone(), one.bytes)),
        [] => Err(Failure::input(format!("no torch trace found in `{}`", paths[0].display()))),
        many => {
            let names: Vec<String> = many.iter().map(|input| input.path.display().to_string()).collect();
            Err(Failure::input(format!("perfetto-fix takes one trace, there are {}", many.len()))
                .with_help(format!("give one of {}", names.join(", "))))
        }
    }
}

fn is_own_output(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(OUTPUT_STEM))
}

fn target(input: &Path, out: Option<&Path>) -> PathBuf {
    let compressed = input.extension().is_some_and(|extension| extension == "gz");
    let name = format!("{OUTPUT_STEM}.json{}", if compressed { ".gz" } else { "" });
    match out {
        Some(out) if out.is_dir() || out.as_os_str().to_string_lossy().ends_with('/') => out.join(name),
        Some(out) => out.to_path_buf(),
        None => input.with_file_name(name),
    }
}

fn report(fixed: &Fixed, input: &Path, bytes: u64, target: &Path) -> Report {
    let count = |n: u64| Value::Int(n as i64);
    let columns = vec![
        Column::text("output"),
        Column::int("events_in", Unit::None).key(),
        Column::int("events_out", Unit::None).key(),
        Column::int("lanes_added", Unit::None).key(),
        Column::int("slices_moved", Unit::None).key(),
        Column::int("slices_snapped", Unit::None).key(),
        Column::int("flows_moved", Unit::None),
    ];
    let mut fix = Table::new("fix", "Fixed trace", columns);
    fix.push(vec![
        Value::from(target.display().to_string().as_str()),
        count(fixed.events_in),
        count(fixed.events_out),
        Value::from(fixed.lanes.len()),
        count(fixed.slices_moved),
        count(fixed.slices_snapped),
        count(fixed.flows_moved),
    ]);
    let columns = vec![
        Column::text("name"),
        Column::text("pid"),
        Column::int("tid", Unit::None).key(),
        Column::text("parent_tid"),
        Column::int("slices", Unit::None).key(),
    ];
    let mut lanes = Table::new("lanes", "Lanes added", columns);
    for lane in &fixed.lanes {
        lanes.push(vec![
            Value::from(lane.name.as_str()),
            Value::from(lane.pid.as_str()),
            Value::Int(lane.tid),
            Value::from(lane.parent_tid.as_str()),
            count(lane.slices),
        ]);
    }
    let mut tables = vec![fix, lanes];
    tables.retain(|table| !table.rows.is_empty());
    let fact = InputFact {
        path: input.display().to_string(),
        format: Format::Torch.name().into(),
        bytes,
        rank: None,
    };
    Report {
        command: "perfetto-fix".into(),
        inputs: vec![fact],
        health: health(fixed),
        tables,
        ..Report::default()
    }
}

fn health(fixed: &Fixed) -> Vec<HealthCheck> {
    let warning = |id: &str, value: Option<f64>, message: String| HealthCheck {
        id: id.into(),
        status: HealthStatus::Warn,
        value,
        message,
    };
    let cut = fixed.cut.as_ref().map(|why| warning("truncated", None, why.clone()));
    let unreadable = (fixed.unreadable > 0).then(|| {
        let message = format!("{} slices without readable times stay where they are", fixed.unreadable);
        warning("unreadable_times", Some(fixed.unreadable as f64), message)
    });
    cut.into_iter().chain(unreadable).collect()
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = Failure::input(error.to_string());
        match error {
            Error::NoEvents { .. } => failure.with_help(Remedy::SeeContents),
            Error::Unwritable { .. } | Error::SameFile { .. } => failure.with_help(Remedy::OtherPlace),
            Error::Changed { .. } => failure.with_help("wait until the file is completely written"),
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_goes_beside_the_input_or_where_it_is_told() {
        assert_eq!(target(Path::new("d/t.json.gz"), None), Path::new("d/perfetto_fixed_trace.json.gz"));
        assert_eq!(target(Path::new("t.json"), None), Path::new("perfetto_fixed_trace.json"));
        assert_eq!(
            target(Path::new("t.json"), Some(Path::new("o/"))),
            Path::new("o/perfetto_fixed_trace.json")
        );
        assert_eq!(target(Path::new("t.json"), Some(Path::new("x.json.gz"))), Path::new("x.json.gz"));
    }
}

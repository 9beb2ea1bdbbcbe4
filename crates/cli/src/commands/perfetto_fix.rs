//! `perfetto-fix`

use std::path::PathBuf;

use app::perfetto_fix::PerfettoFixRequest;
use clap::Args;

use crate::failure::Failure;
use crate::input::PathArgs;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf perfetto-fix trace.json.gz
  rocm-perf perfetto-fix trace.json --out fixed.json.gz --snap 1us
  rocm-perf perfetto-fix trace.json.gz --gpu-only --format json

Perfetto drops or cuts a slice that starts inside another slice of its lane
and ends after it. perfetto-fix moves such slices and their flows to a new
lane next to theirs. If the two cross by at most `--snap`, it shortens the
earlier slice instead and keeps the measured duration in `args.orig_dur`.
Everything else stays as it is; a second run changes nothing.")]
pub struct PerfettoFixArgs {
    #[command(flatten)]
    input: PathArgs,

    /// File or folder to write; compressed when it ends in `.gz` [default: perfetto_fixed_trace.json(.gz) beside the input]
    #[arg(short, long, visible_alias = "output", value_name = "PATH")]
    out: Option<PathBuf>,

    /// Shorten the earlier slice when slices cross by at most this; 0 moves them all
    #[arg(long, value_name = "TIME", default_value = "0.5us", value_parser = duration)]
    snap: i64,

    /// Do not change the lanes of host threads
    #[arg(long)]
    gpu_only: bool,
}

impl PerfettoFixArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let request = PerfettoFixRequest {
            inputs: self.input.paths()?,
            out: self.out.clone(),
            snap_ns: self.snap,
            gpu_only: self.gpu_only,
        };
        output.show(app::perfetto_fix(&request, output)?)
    }
}

/// `0.5us`, `500ns`, `0`.
fn duration(text: &str) -> Result<i64, String> {
    const UNITS: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    let scale = scale.or((unit.is_empty() && number.parse() == Ok(0.0)).then_some(1.0));
    match (number.parse::<f64>(), scale) {
        (Ok(number), Some(scale)) if number * scale < 1e15 => Ok((number * scale).round() as i64),
        _ => Err("expected a time such as `0.5us`, `300ns` or `0`".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("0.5us"), Ok(500));
        assert_eq!((duration("0"), duration("3ns"), duration("1.5µs")), (Ok(0), Ok(3), Ok(1500)));
        assert!(duration("5").is_err() && duration("-1us").is_err() && duration("us").is_err());
    }
}

//! Options that describe a profile: `triage` and `capture` write them to profile_metadata.json.

use std::path::PathBuf;

use app::triage::ProfileFacts;
use clap::Args;

use crate::input::TargetArgs;
use crate::store::TrialArgs;

/// Facts about the profile.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Profile metadata")]
pub struct ProfileFactsArgs {
    #[command(flatten)]
    target: TargetArgs,

    /// JSON file with fields of profile_metadata.json; options override it
    #[arg(long, value_name = "FILE")]
    pub metadata: Option<PathBuf>,

    #[command(flatten)]
    pub trial: TrialArgs,

    /// Name of the model [default: from server_args.json]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,

    /// Container image with its tag
    #[arg(long, value_name = "IMAGE")]
    pub base_image: Option<String>,

    /// single-gpu, multi-gpu or full-node, as the fleet calls it
    #[arg(long, value_name = "NAME")]
    pub resource_class: Option<String>,

    /// GPUs of the run, such as 0,1,2
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub gpu_ids: Vec<u32>,

    /// Clock of each GPU in MHz, such as 0=2100,1=2100
    #[arg(long, value_name = "ID=MHZ", value_delimiter = ',', value_parser = clock)]
    pub gpu_clocks: Vec<(u32, u32)>,

    /// Whether the machine passed its checks before the run
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub preflight_passed: Option<bool>,

    /// ROCm version [default: from the trace]
    #[arg(long, value_name = "VERSION")]
    pub rocm_version: Option<String>,

    /// The server's arguments (JSON) [default: server_args.json beside the trace]
    #[arg(long, value_name = "FILE")]
    pub server_args: Option<PathBuf>,

    /// Benchmark configuration; its SHA-256 is stored
    #[arg(long, value_name = "FILE")]
    pub benchmark_config: Option<PathBuf>,

    /// Output of `rocm-perf doctor --format json` on that machine: preflight, clocks and image [default: recorded beside
    /// the trace]
    #[arg(long, value_name = "FILE")]
    pub doctor: Option<PathBuf>,

    /// The trace was made on this machine: if the trace has no ROCm version, use this machine's
    #[arg(long)]
    pub this_machine: bool,
}

impl ProfileFactsArgs {
    /// The facts for a request.
    pub fn facts(&self) -> ProfileFacts {
        let own = self.clone();
        ProfileFacts {
            target_arch: own.target.arch(),
            metadata: own.metadata,
            experiment_id: own.trial.experiment,
            trial_id: own.trial.trial,
            model: own.model,
            base_image: own.base_image,
            resource_class: own.resource_class,
            gpu_ids: own.gpu_ids,
            gpu_clocks: own.gpu_clocks,
            preflight_passed: own.preflight_passed,
            rocm_version: own.rocm_version,
            server_args: own.server_args,
            benchmark_config: own.benchmark_config,
            doctor: own.doctor,
            this_machine: own.this_machine,
        }
    }
}

/// `0=2100`.
fn clock(text: &str) -> Result<(u32, u32), String> {
    let pair =
        text.split_once('=').and_then(|(id, mhz)| Some((id.trim().parse().ok()?, mhz.trim().parse().ok()?)));
    pair.ok_or_else(|| "expected a GPU and its MHz, such as `0=2100`".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_have_a_device() {
        assert_eq!(clock("0=2100"), Ok((0, 2100)));
        assert!(clock("2100").is_err() && clock("a=1").is_err());
    }
}

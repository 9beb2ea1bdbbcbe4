//! The environment variables to record with a run: those that affect the GPU, its libraries and the
//! frameworks, without secrets.

use std::collections::BTreeMap;
use std::path::Path;

use formats::secrets::{Readers, redact_environment};
use trace::RANK_VARIABLES;

/// Variables that name the container's image, the most reliable first.
const IMAGE_NAMES: [&str; 5] = [
    "ROCM_PERF_IMAGE",
    "SLURM_CONTAINER_IMAGE",
    "APPTAINER_CONTAINER",
    "SINGULARITY_CONTAINER",
    "CONTAINER_IMAGE",
];

/// The variables of an environment that change results, secrets redacted.
pub fn recorded(variables: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let kept = |(name, value): (String, String)| {
        let value = redact_environment(&name, &value, Readers::Owner, RANK_VARIABLES)?;
        Some((name, value))
    };
    variables.into_iter().filter_map(kept).collect()
}

/// The container's image, if known.
pub fn container_image(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    IMAGE_NAMES.iter().find_map(|name| variable(name).filter(|value| !value.is_empty()))
}

/// Whether this process is in a container, as far as `root` shows.
pub fn in_container(root: &Path) -> bool {
    ["/.dockerenv", "/run/.containerenv", "/.singularity.d"]
        .iter()
        .any(|file| root.join(file.trim_start_matches('/')).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_results_is_kept_without_secrets() {
        let all = [
            ("HSA_ENABLE_SDMA", "0"),
            ("VLLM_API_KEY", "abc"),
            ("HOME", "/home/me"),
            ("LD_PRELOAD", "x.so"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
        ];
        let kept = recorded(all.map(|(name, value)| (name.to_string(), value.to_string())));
        let kept: Vec<(&str, &str)> = kept.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(kept, [("HSA_ENABLE_SDMA", "0"), ("LD_PRELOAD", "x.so"), ("VLLM_API_KEY", "[redacted]")]);
    }
}

//! The GPU architecture a trace was recorded on, according to the trace, and how it relates to a target.

use serde_json::Value as Json;
use trace::{Map, StrId, Trace};

use model::classify::Platform;
use model::names;

/// The default target architecture of profiles.
pub const TARGET_ARCH: &str = "gfx950";

/// Known facts about the GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Architecture {
    /// `gfx942`; `gfx94x` if only the generation is known; `None` if the trace does not say.
    pub observed: Option<String>,
    /// What shows it, or why it is not known.
    pub evidence: String,
    /// Whether the GPU is not from AMD.
    pub is_foreign: bool,
}

/// How the observed architecture relates to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchMatch {
    /// The same architecture.
    Exact,
    /// Same family, with a shared base instruction set.
    Compatible,
    /// Another family, or unknown.
    Unknown,
}

impl ArchMatch {
    /// `exact`, `compatible`, `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            ArchMatch::Exact => "exact",
            ArchMatch::Compatible => "compatible",
            ArchMatch::Unknown => "unknown",
        }
    }
}

/// (`computeMajor`, `computeMinor`) of AMD GPUs, which may only identify a generation.
const CAPABILITIES: &[((i64, i64), &str)] = &[((9, 4), "gfx94x"), ((9, 5), "gfx950")];

/// Architectures whose kernels can be compared, with care.
const FAMILIES: &[&[&str]] = &[&["gfx940", "gfx941", "gfx942", "gfx94x", "gfx950"]];

impl Architecture {
    /// From kernel names, then devices, products and capabilities.
    pub fn of(trace: &Trace) -> Self {
        if Platform::of(trace) == Platform::Cuda {
            let products = products(trace);
            let named = if products.is_empty() { "an NVIDIA GPU".to_string() } else { products.join(", ") };
            let evidence = format!("the trace is of {named}, so it says nothing about AMD GPUs");
            return Self { observed: None, evidence, is_foreign: true };
        }
        let found = by_kernel_names(trace)
            .or_else(|| by_agents(trace))
            .or_else(|| by_products(trace))
            .or_else(|| by_capability(trace));
        match found {
            Some((observed, evidence)) => Self { observed: Some(observed), evidence, is_foreign: false },
            None => {
                let evidence = "neither kernel names nor device properties show the architecture".into();
                Self { observed: None, evidence, is_foreign: false }
            }
        }
    }

    /// `gfx942` or `unknown`.
    pub fn name(&self) -> &str {
        self.observed.as_deref().unwrap_or("unknown")
    }

    /// How it relates to a target, and a sentence with the reason.
    pub fn compare(&self, target: &str) -> (ArchMatch, String) {
        let Some(observed) = &self.observed else {
            let missing =
                format!("the target is {target}, the observed architecture is unknown: {}", self.evidence);
            return (ArchMatch::Unknown, missing);
        };
        if observed == target {
            return (
                ArchMatch::Exact,
                format!("observed {observed} is the target {target}: {}", self.evidence),
            );
        }
        let family = FAMILIES.iter().any(|family| family.contains(&&**observed) && family.contains(&target));
        if family {
            let differs = if [observed.as_str(), target].contains(&"gfx950") {
                "FP8 is FNUZ on gfx94x and OCP on gfx950, which also has FP4 and FP6 matrix instructions; \
                 tuned and assembly kernels are built for each"
            } else {
                "tuned and assembly kernels are built for each"
            };
            let reason = format!(
                "observed {observed} and target {target} are of one CDNA family ({}), but not the same: {differs}",
                self.evidence
            );
            return (ArchMatch::Compatible, reason);
        }
        let reason =
            format!("observed {observed} and target {target} are of different families: {}", self.evidence);
        (ArchMatch::Unknown, reason)
    }
}

/// The architecture that most GPU time was built for; library kernels have it in their names.
fn by_kernel_names(trace: &Trace) -> Option<(String, String)> {
    let kernels = &trace.kernels;
    let mut by_name = vec![0i64; trace.strings.len()];
    for row in 0..kernels.len() {
        by_name[kernels.name[row].0 as usize] += kernels.end[row] - kernels.start[row];
    }
    let mut by_arch: Map<String, i64> = Map::default();
    for (name, &time) in by_name.iter().enumerate().filter(|&(_, &time)| time != 0) {
        if let Some(arch) = names::architecture(trace.strings.get(StrId(name as u32))) {
            *by_arch.entry(arch).or_default() += time;
        }
    }
    let mut times: Vec<(String, i64)> = by_arch.into_iter().collect();
    times.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let (arch, _) = times.first()?.clone();
    let others: Vec<&str> = times[1..].iter().map(|(other, _)| other.as_str()).collect();
    let also = if others.is_empty() { String::new() } else { format!(" (some for {})", others.join(", ")) };
    Some((arch, format!("names of library kernels carry it{also}")))
}

fn by_agents(trace: &Trace) -> Option<(String, String)> {
    let names = trace.agents.iter().map(|agent| trace.strings.get(agent.name));
    let name = names.filter_map(|name| name.split(':').next()).find(|name| name.starts_with("gfx"))?;
    Some((name.to_string(), "the devices of the trace say so".into()))
}

fn products(trace: &Trace) -> Vec<String> {
    let mut products: Vec<String> = trace
        .agents
        .iter()
        .map(|agent| trace.strings.get(agent.product).to_string())
        .filter(|product| !product.is_empty())
        .collect();
    products.sort();
    products.dedup();
    products
}

fn by_products(trace: &Trace) -> Option<(String, String)> {
    products(trace).iter().find_map(|product| {
        let arch = hw::arch::of_product(product)?;
        Some((arch.name.clone(), format!("the device is an {product}")))
    })
}

fn by_capability(trace: &Trace) -> Option<(String, String)> {
    trace.agents.iter().find_map(|agent| {
        let extra: Json = serde_json::from_str(trace.strings.get(agent.extra)).ok()?;
        let number = |key: &str| extra.get(key).and_then(Json::as_i64);
        // NVIDIA uses the same capability numbers, with warps of 32.
        if number("warpSize") != Some(64) {
            return None;
        }
        let capability = (number("computeMajor")?, number("computeMinor")?);
        let (_, arch) = CAPABILITIES.iter().find(|(known, _)| *known == capability)?;
        let (major, minor) = capability;
        Some((arch.to_string(), format!("the device has compute capability {major}.{minor}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(arch: Option<&str>) -> Architecture {
        Architecture { observed: arch.map(String::from), evidence: "as told".into(), is_foreign: false }
    }

    #[test]
    fn a_match_names_both_sides() {
        let cases = [
            (Some("gfx950"), "gfx950", ArchMatch::Exact),
            (Some("gfx942"), "gfx950", ArchMatch::Compatible),
            (Some("gfx94x"), "gfx942", ArchMatch::Compatible),
            (Some("gfx90a"), "gfx950", ArchMatch::Unknown),
            (Some("gfx1100"), "gfx942", ArchMatch::Unknown),
            (None, "gfx950", ArchMatch::Unknown),
        ];
        for (arch, target, expected) in cases {
            let (found, reason) = observed(arch).compare(target);
            assert_eq!(found, expected, "{arch:?} {target}");
            assert!(reason.contains(target) && reason.contains(arch.unwrap_or("unknown")), "{reason}");
        }
        let (_, reason) = observed(Some("gfx942")).compare("gfx950");
        assert!(reason.contains("FNUZ") && reason.contains("FP4"), "{reason}");
    }
}

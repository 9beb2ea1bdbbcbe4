//! From a preset to passes: the fewest runs that collect its counters on this GPU, with the profiler's options for each.

use crate::command::{self, Built, Definition, Output, Wanted};
use crate::presets::{PcSampling, Preset, one_of};
use crate::profiler::{Profiler, ProfilerKind};
use crate::run::CollectError;

/// The input for planning passes.
#[derive(Clone, Debug)]
pub struct PlanRequest<'a> {
    /// What to record.
    pub preset: &'a Preset,
    /// Counters requested by name: these must exist.
    pub counters: &'a [String],
    /// The GPU, if known.
    pub arch: Option<&'a str>,
    /// The profiler.
    pub profiler: &'a Profiler,
    /// Whether to add a run without counters, for true timings.
    pub timing: bool,
}

/// One run of the application.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pass {
    /// From 1.
    pub number: usize,
    /// What it records.
    pub wanted: Wanted,
    /// Counters that were added for comparing passes.
    pub anchors: Vec<String>,
}

impl Pass {
    /// Its folder below the run's.
    pub fn folder(&self) -> String {
        format!("pass_{}", self.number)
    }

    /// Its command.
    pub fn command(&self, profiler: &Profiler, output: &Output) -> Result<Built, CollectError> {
        command::build(profiler, &self.wanted, output)
    }
}

/// A counter that is replaced by others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The counter in the preset.
    pub counter: String,
    /// The counters that are collected instead.
    pub by: Vec<String>,
    /// Why.
    pub why: String,
}

/// A counter that is not collected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub counter: String,
    /// Why.
    pub why: String,
}

/// All passes of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// In the order they run.
    pub passes: Vec<Pass>,
    /// Counters of the preset that are replaced.
    pub replaced: Vec<Replaced>,
    /// Counters of the preset that the GPU does not have.
    pub left_out: Vec<LeftOut>,
}

/// Plans the passes.
pub fn plan(request: &PlanRequest<'_>) -> Result<Plan, CollectError> {
    let preset = request.preset;
    let mut plan = Plan::default();
    let names = counters(request, &mut plan)?;
    let groups = match (request.arch, names.is_empty()) {
        (_, true) => Vec::new(),
        (Some(arch), false) => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            hw::passes::plan(arch, &names)?.with_anchors(arch).passes
        }
        (None, false) => return Err(CollectError::UnknownArch),
    };
    let base = Wanted {
        trace: with_kernels(&preset.trace, !groups.is_empty()),
        formats: preset.formats.clone(),
        statistics: preset.statistics,
        pc_sampling: sampling(preset, request.arch)?,
        options: preset.options.clone(),
        ..Wanted::default()
    };
    if groups.is_empty() || request.timing {
        plan.passes.push(Pass { number: 1, wanted: base.clone(), ..Pass::default() });
    }
    for group in groups {
        // The first pass recorded everything else: later ones need kernels, to match their dispatches.
        let wanted = match plan.passes.is_empty() {
            true => base.clone(),
            false => Wanted {
                trace: vec!["kernel".into()],
                formats: readable(&base.formats),
                pc_sampling: None,
                statistics: false,
                ..base.clone()
            },
        };
        let counters: Vec<String> = group.counters.iter().chain(&group.anchors).cloned().collect();
        let definitions = counters.iter().filter_map(|name| definition(request.arch?, name)).collect();
        let wanted = Wanted { counters, definitions, ..wanted };
        plan.passes.push(Pass { number: plan.passes.len() + 1, wanted, anchors: group.anchors });
    }
    Ok(plan)
}

/// Formats that rocm-perf reads back; a Perfetto file of a single pass is useless.
fn readable(formats: &[String]) -> Vec<String> {
    let pictures = ["pftrace", "otf2"];
    formats.iter().filter(|format| !pictures.contains(&format.as_str())).cloned().collect()
}

/// Counters need the dispatches they belong to: without a kernel trace some formats have none.
fn with_kernels(trace: &[String], counters: bool) -> Vec<String> {
    let mut trace = trace.to_vec();
    let included = ["kernel", "runtime", "sys"];
    if (counters || trace.is_empty()) && !trace.iter().any(|trace| included.contains(&trace.as_str())) {
        trace.push("kernel".into());
    }
    trace
}

/// The counters to collect: the preset's, if the GPU has them, and the requested ones.
fn counters(request: &PlanRequest<'_>, plan: &mut Plan) -> Result<Vec<String>, CollectError> {
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_string());
        }
    };
    let Some(arch) = request.arch else {
        request.preset.counters.iter().chain(request.counters).for_each(|name| add(name));
        return Ok(names);
    };
    if hw::counters::catalogue(arch).is_none()
        && !(request.preset.counters.is_empty() && request.counters.is_empty())
    {
        return Err(hw::passes::PlanError::UnknownArch(arch.into()).into());
    }
    let asked = request.counters.iter().map(|name| (name, true));
    for (name, asked) in request.preset.counters.iter().map(|name| (name, false)).chain(asked) {
        if let Some(counter) = hw::counters::find(arch, name) {
            match &counter.kind {
                hw::counters::CounterKind::Derived { extra: true, .. }
                    if !takes_definitions(request.profiler) =>
                {
                    let since = command::definitions_since();
                    let why =
                        format!("it is a derived counter that rocprofv3 only accepts since ROCm {since}");
                    plan.left_out.push(LeftOut { counter: name.clone(), why });
                }
                _ => add(name),
            }
            continue;
        }
        match hw::counters::replacement(arch, name) {
            Some(instead) if !instead.counters.is_empty() => {
                instead.counters.iter().for_each(|name| add(name));
                let (by, why) = (instead.counters, instead.why.to_string());
                plan.replaced.push(Replaced { counter: name.clone(), by, why });
            }
            instead if !asked => {
                let why = instead.map_or_else(|| format!("{arch} does not have it"), |i| i.why.to_string());
                plan.left_out.push(LeftOut { counter: name.clone(), why });
            }
            instead => {
                return Err(hw::passes::PlanError::UnknownCounter {
                    arch: arch.into(),
                    name: name.clone(),
                    nearest: hw::counters::nearest(arch, name),
                    instead,
                }
                .into());
            }
        }
    }
    Ok(names)
}

/// Whether a profiler accepts counter definitions.
fn takes_definitions(profiler: &Profiler) -> bool {
    profiler.kind == ProfilerKind::Rocprofv3 && profiler.version >= command::definitions_since()
}

/// The definition of a counter, if the profiler does not have one.
fn definition(arch: &str, counter: &str) -> Option<Definition> {
    match &hw::counters::find(arch, counter)?.kind {
        hw::counters::CounterKind::Derived { formula, extra: true } => {
            Some(Definition { counter: counter.into(), formula: formula.clone(), arch: arch.into() })
        }
        _ => None,
    }
}

/// How the program counter is sampled on this GPU.
fn sampling(preset: &Preset, arch: Option<&str>) -> Result<Option<PcSampling>, CollectError> {
    if preset.pc_sampling.is_empty() {
        return Ok(None);
    }
    let arch = arch.ok_or(CollectError::UnknownArch)?;
    let found = preset.pc_sampling.iter().find(|sampling| sampling.archs.iter().any(|known| known == arch));
    let known = preset.pc_sampling.iter().flat_map(|sampling| &sampling.archs).map(String::as_str);
    match found {
        Some(sampling) => Ok(Some(sampling.clone())),
        None => Err(CollectError::NoSampling { arch: arch.into(), known: one_of(known) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets;

    fn passes(name: &str, arch: &str) -> Plan {
        let preset = presets::find(name).unwrap();
        let profiler = Profiler::assumed();
        let request = PlanRequest {
            preset: &preset,
            counters: &[],
            arch: Some(arch),
            profiler: &profiler,
            timing: false,
        };
        plan(&request).unwrap()
    }

    #[test]
    fn corrected_presets_need_few_passes() {
        for arch in ["gfx942", "gfx950"] {
            for (name, most) in [("compute", 2), ("memory", 2), ("full", 1), ("communication", 1)] {
                let plan = passes(name, arch);
                assert!(plan.passes.len() <= most, "{name} on {arch}: {}", plan.passes.len());
                assert!(plan.left_out.is_empty(), "{name} on {arch}: {:?}", plan.left_out);
            }
        }
    }

    #[test]
    fn every_counter_that_is_planned_exists_and_is_counted_once_or_is_an_anchor() {
        for arch in ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100"] {
            for preset in presets::builtin().iter().filter(|preset| preset.pc_sampling.is_empty()) {
                let plan = passes(&preset.name, arch);
                let mut seen = std::collections::HashSet::new();
                for pass in &plan.passes {
                    for counter in &pass.wanted.counters {
                        assert!(hw::counters::find(arch, counter).is_some(), "{arch} lacks {counter}");
                        assert!(pass.anchors.contains(counter) || seen.insert(counter.clone()), "{counter}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_a_gpu_lacks_is_replaced_or_left_out_with_a_reason() {
        let plan = passes("memory", "gfx942");
        let l2 = plan.replaced.iter().find(|replaced| replaced.counter == "L2CacheHit").unwrap();
        assert_eq!(l2.by, ["TCC_HIT_sum", "TCC_MISS_sum"]);
        assert!(!l2.why.is_empty());
        let plan = passes("compute", "gfx1100");
        assert!(plan.left_out.iter().any(|left| left.counter == "SQ_INSTS_VALU_ADD_F32"));
    }

    #[test]
    fn added_up_levels_are_defined_where_the_profiler_takes_definitions() {
        let preset = presets::find("lightweight").unwrap();
        let counters = ["SQ_LEVEL_WAVES_ACCUM".to_string(), "SQ_LEVEL_WAVES".to_string()];
        let of = |version: &str| {
            let version = crate::command::Version::parse(version).unwrap();
            let profiler = Profiler { version, ..Profiler::assumed() };
            let (preset, arch) = (&preset, Some("gfx942"));
            let request =
                PlanRequest { preset, counters: &counters, arch, profiler: &profiler, timing: false };
            plan(&request).unwrap()
        };
        let new = of("6.4");
        assert_eq!(new.passes.len(), 1);
        assert!(counters.iter().all(|name| new.passes[0].wanted.counters.contains(name)));
        assert_eq!(new.passes[0].wanted.definitions[0].formula, "accumulate(SQ_LEVEL_WAVES,HIGH_RES)");
        let old = of("6.3");
        assert!(!old.passes[0].wanted.counters.contains(&counters[0]));
        assert!(old.left_out[0].why.contains("6.4"), "{:?}", old.left_out);
    }

    #[test]
    fn counters_that_were_asked_for_must_exist() {
        let preset = presets::find("lightweight").unwrap();
        let profiler = Profiler::assumed();
        let of = |counter: &str, arch| {
            let counters = [counter.to_string()];
            let arch = Some(arch);
            let request = PlanRequest {
                preset: &preset,
                counters: &counters,
                arch,
                profiler: &profiler,
                timing: false,
            };
            plan(&request)
        };
        let error = of("SQ_WAVE", "gfx942").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("SQ_WAVES"), "{error}");
        assert!(of("SQ_WAVES", "gfx000").is_err());
        assert_eq!(of("SQ_WAVES", "gfx942").unwrap().passes[0].wanted.counters[0], "SQ_WAVES");
    }

    #[test]
    fn a_timing_run_has_no_counters_and_comes_first() {
        let preset = presets::find("compute").unwrap();
        let profiler = Profiler::assumed();
        let arch = Some("gfx942");
        let request = PlanRequest { preset: &preset, counters: &[], arch, profiler: &profiler, timing: true };
        let plan = plan(&request).unwrap();
        assert_eq!(plan.passes.len(), 3);
        assert!(plan.passes[0].wanted.counters.is_empty());
        assert_eq!(plan.passes[1].wanted.trace, ["kernel"]);
    }
}

//! What to change to gain waves: the smallest reduction of each resource that makes room for more.

use super::{KernelResources, Limiter, Occupancy, charged_vgprs, fit};
use crate::arch::{Arch, RegisterFile};
use std::fmt;

/// A change that makes room for more waves.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// The changes to make together: resource, from, to.
    pub changes: Vec<Change>,
    /// Waves in the compute units afterwards.
    pub waves: u32,
    /// Waves per SIMD afterwards.
    pub waves_per_simd: f64,
}

/// One resource changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which resource.
    pub resource: Resource,
    /// What the kernel uses now.
    pub from: u32,
    /// The most that it may use.
    pub to: u32,
}

/// A resource that a kernel's author can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Vector and accumulation registers together.
    Vgpr,
    /// Scalar registers.
    Sgpr,
    /// Bytes of LDS per workgroup.
    Lds,
    /// Threads per workgroup.
    Workgroup,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.resource {
            Resource::Vgpr => "vgpr",
            Resource::Sgpr => "sgpr",
            Resource::Lds => "bytes lds",
            Resource::Workgroup => "threads",
        };
        write!(f, "{} → {} {unit}", self.from, self.to)
    }
}

impl fmt::Display for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, change) in self.changes.iter().enumerate() {
            let separator = if at == 0 { "" } else { " and " };
            write!(f, "{separator}{change}")?;
        }
        write!(f, " gives {} waves per SIMD", (self.waves_per_simd * 100.0).round() / 100.0)
    }
}

/// The smallest changes that gain waves: of a single resource, or else of all limiting ones together.
pub(super) fn gains(arch: &Arch, kernel: &KernelResources, now: &Occupancy) -> Vec<Gain> {
    if now.limited_by == [Limiter::Waves] {
        return Vec::new();
    }
    let resources = [Resource::Vgpr, Resource::Sgpr, Resource::Lds, Resource::Workgroup];
    let mut gains: Vec<Gain> =
        resources.into_iter().filter_map(|resource| alone(arch, kernel, now, resource)).collect();
    if gains.is_empty() {
        gains.extend(together(arch, kernel, now));
    }
    // The change that takes away the smallest share of the kernel's use is probably the easiest.
    gains.sort_by(|a, b| share(a).total_cmp(&share(b)));
    gains
}

fn share(gain: &Gain) -> f64 {
    gain.changes.iter().map(|change| f64::from(change.from - change.to) / f64::from(change.from.max(1))).sum()
}

/// The smallest reduction of one resource that makes room for more waves.
fn alone(arch: &Arch, kernel: &KernelResources, now: &Occupancy, resource: Resource) -> Option<Gain> {
    let from = used(arch, kernel, resource);
    for to in steps(arch, kernel, now, resource) {
        let after = fit(arch, &reduced(arch, kernel, resource, to));
        if after.waves > now.waves && after.problem.is_none() {
            return Some(gain(vec![Change { resource, from, to }], &after));
        }
    }
    None
}

/// The smallest reductions of all limiting resources that make room for one more workgroup.
fn together(arch: &Arch, kernel: &KernelResources, now: &Occupancy) -> Option<Gain> {
    let limiting: Vec<Resource> = now.limited_by.iter().filter_map(|limiter| resource_of(*limiter)).collect();
    let mut changed = *kernel;
    let mut changes = Vec::new();
    for &resource in &limiting {
        let from = used(arch, kernel, resource);
        // A resource is reduced enough once it no longer limits this many waves.
        let limiter = |after: &Occupancy| {
            after.limited_by.iter().any(|limiter| resource_of(*limiter) == Some(resource))
        };
        let eased = steps(arch, kernel, now, resource).into_iter().find(|&to| {
            let after = fit(arch, &reduced(arch, &changed, resource, to));
            after.waves > now.waves || !limiter(&after)
        })?;
        changed = reduced(arch, &changed, resource, eased);
        changes.push(Change { resource, from, to: eased });
    }
    let after = fit(arch, &changed);
    (after.waves > now.waves && after.problem.is_none()).then(|| gain(changes, &after))
}

fn gain(changes: Vec<Change>, after: &Occupancy) -> Gain {
    Gain { changes, waves: after.waves, waves_per_simd: after.waves_per_simd() }
}

fn resource_of(limiter: Limiter) -> Option<Resource> {
    match limiter {
        Limiter::Vgpr => Some(Resource::Vgpr),
        Limiter::Sgpr => Some(Resource::Sgpr),
        Limiter::Lds => Some(Resource::Lds),
        Limiter::Workgroup => Some(Resource::Workgroup),
        Limiter::Barriers | Limiter::Waves => None,
    }
}

/// What a kernel uses; for registers the number before rounding.
fn used(arch: &Arch, kernel: &KernelResources, resource: Resource) -> u32 {
    match resource {
        Resource::Vgpr => charged_vgprs(arch, kernel),
        Resource::Sgpr => kernel.sgpr,
        Resource::Lds => kernel.lds_bytes,
        Resource::Workgroup => kernel.workgroup,
    }
}

/// Smaller amounts that may make a difference, largest first.
fn steps(arch: &Arch, kernel: &KernelResources, now: &Occupancy, resource: Resource) -> Vec<u32> {
    let below = |granule: u32, most: u32| -> Vec<u32> {
        (1..=most / granule.max(1)).rev().map(|count| count * granule).collect()
    };
    let facts = &arch.facts;
    let amount = used(arch, kernel, resource);
    let mut steps = match resource {
        Resource::Vgpr => {
            let file = arch.vgpr_file(now.wave_size);
            below(file.map_or(1, |file| file.granule), amount.min(512))
        }
        Resource::Sgpr => facts.sgpr.waves.iter().rev().map(|step| step.0).collect(),
        Resource::Lds => below(facts.lds.granule, amount.min(facts.lds.bytes * now.cus)),
        // A different launch geometry is not a small change: only halves that keep whole waves.
        Resource::Workgroup => {
            let halves = std::iter::successors(Some(amount / 2), |threads| Some(threads / 2));
            halves
                .take_while(|&threads| threads >= now.wave_size && threads.is_multiple_of(now.wave_size))
                .collect()
        }
    };
    steps.retain(|&to| to < amount);
    steps
}

fn reduced(arch: &Arch, kernel: &KernelResources, resource: Resource, to: u32) -> KernelResources {
    match resource {
        Resource::Vgpr if arch.facts.vgpr.file == RegisterFile::Separate => {
            KernelResources { vgpr: kernel.vgpr.min(to), agpr: kernel.agpr.min(to), ..*kernel }
        }
        Resource::Vgpr => {
            // Taken from the accumulation registers first: the sum is what counts.
            let cut = charged_vgprs(arch, kernel).saturating_sub(to);
            let agpr = kernel.agpr.saturating_sub(cut);
            let vgpr = if agpr > 0 { kernel.vgpr } else { kernel.vgpr.min(to) };
            KernelResources { vgpr, agpr, ..*kernel }
        }
        Resource::Sgpr => KernelResources { sgpr: to, ..*kernel },
        Resource::Lds => KernelResources { lds_bytes: to, ..*kernel },
        Resource::Workgroup => KernelResources { workgroup: to, ..*kernel },
    }
}

#[cfg(test)]
mod tests {
    use super::super::{KernelResources, theoretical};
    use crate::arch::{all, find};
    use proptest::prelude::*;

    fn advice(arch: &str, kernel: KernelResources) -> Vec<String> {
        theoretical(find(arch).unwrap(), &kernel).gains.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_next_breakpoint_is_named() {
        let kernel = KernelResources { vgpr: 137, workgroup: 256, sgpr: 32, ..KernelResources::default() };
        assert_eq!(advice("gfx942", kernel)[0], "137 → 128 vgpr gives 4 waves per SIMD");
        let kernel = KernelResources {
            vgpr: 32,
            lds_bytes: 24000,
            workgroup: 256,
            sgpr: 32,
            ..KernelResources::default()
        };
        assert_eq!(advice("gfx942", kernel)[0], "24000 → 21504 bytes lds gives 3 waves per SIMD");
        let full = KernelResources { vgpr: 32, workgroup: 256, ..KernelResources::default() };
        assert!(advice("gfx942", full).is_empty());
    }

    #[test]
    fn two_limits_at_once_are_eased_together() {
        // 128 registers allow 4 waves per SIMD, and so does the LDS.
        let kernel =
            KernelResources { vgpr: 128, lds_bytes: 16384, workgroup: 256, ..KernelResources::default() };
        assert_eq!(
            advice("gfx942", kernel)[0],
            "128 → 96 vgpr and 16384 → 12800 bytes lds gives 5 waves per SIMD"
        );
    }

    proptest! {
        #[test]
        fn advice_gains_waves_and_less_is_never_worse(
            at in 0..all().len(), vgpr in 0u32..=256, agpr in 0u32..=256, sgpr in 0u32..=108,
            lds_bytes in 0u32..=65536, threads in 1u32..=1024,
        ) {
            let arch = &all()[at];
            let agpr = agpr.min(arch.facts.vgpr.max_accumulation);
            let kernel = KernelResources { vgpr, agpr, sgpr, lds_bytes, workgroup: threads, ..KernelResources::default() };
            let now = theoretical(arch, &kernel);
            prop_assert!(now.waves <= now.wave_slots);
            prop_assert!(!now.limited_by.is_empty());
            for gain in &now.gains {
                prop_assert!(gain.waves > now.waves);
                prop_assert!(gain.changes.iter().all(|change| change.to < change.from));
            }
            let less = KernelResources { vgpr: vgpr / 2, agpr: agpr / 2, lds_bytes: lds_bytes / 2, ..kernel };
            prop_assert!(theoretical(arch, &less).waves >= now.waves);
        }
    }
}

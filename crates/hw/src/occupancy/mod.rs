//! Theoretical occupancy: how many waves of a kernel a compute unit can hold at once, what limits them, and
//! what to change to gain one.

mod gain;

pub use gain::Gain;

use crate::arch::{Arch, RegisterFile};
use std::fmt;

/// Resources that one launch of a kernel takes on a compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelResources {
    /// Vector registers per lane, without accumulation registers.
    pub vgpr: u32,
    /// Accumulation registers per lane.
    pub agpr: u32,
    /// Scalar registers per wave.
    pub sgpr: u32,
    /// LDS per workgroup in bytes, dynamic LDS included.
    pub lds_bytes: u32,
    /// Threads per workgroup.
    pub workgroup: u32,
    /// Lanes per wave; the architecture's usual size if `None`.
    pub wave_size: Option<u32>,
    /// RDNA: whether a workgroup stays within one compute unit instead of using two.
    pub cu_mode: bool,
}

impl Default for KernelResources {
    fn default() -> Self {
        KernelResources {
            vgpr: 0,
            agpr: 0,
            sgpr: 0,
            lds_bytes: 0,
            workgroup: 64,
            wave_size: None,
            cu_mode: false,
        }
    }
}

/// What prevents more waves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limiter {
    /// Vector and accumulation registers.
    Vgpr,
    /// Scalar registers.
    Sgpr,
    /// Local data share.
    Lds,
    /// Barriers, one per workgroup of several waves.
    Barriers,
    /// The wave slots of the hardware, not the kernel.
    Waves,
    /// The workgroup size: another whole workgroup does not fit into the free wave slots.
    Workgroup,
}

impl Limiter {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Limiter::Vgpr => "vgpr",
            Limiter::Sgpr => "sgpr",
            Limiter::Lds => "lds",
            Limiter::Barriers => "barriers",
            Limiter::Waves => "waves",
            Limiter::Workgroup => "workgroup",
        }
    }
}

impl fmt::Display for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How many waves fit, and why not more.
#[derive(Clone, Debug, PartialEq)]
pub struct Occupancy {
    /// Lanes per wave that were assumed.
    pub wave_size: u32,
    /// Waves of one workgroup.
    pub waves_per_workgroup: u32,
    /// Compute units that share their waves: 1, or 2 if a workgroup uses two.
    pub cus: u32,
    /// SIMDs of those compute units.
    pub simds: u32,
    /// Workgroups that fit into those compute units.
    pub workgroups: u32,
    /// Waves that fit into those compute units; 0 if not even one workgroup does.
    pub waves: u32,
    /// Wave slots of those compute units.
    pub wave_slots: u32,
    /// What prevents more workgroups; several at a tie.
    pub limited_by: Vec<Limiter>,
    /// Waves per SIMD that the registers alone allow.
    pub waves_by_vgpr: u32,
    /// Waves per SIMD that the scalar registers alone allow.
    pub waves_by_sgpr: u32,
    /// Workgroups that the LDS alone allows; `None` if the kernel uses none.
    pub workgroups_by_lds: Option<u32>,
    /// Registers per lane that are allocated for the kernel, rounded up as the hardware does.
    pub allocated_vgprs: u32,
    /// LDS per workgroup that is allocated for the kernel, rounded up as the hardware does.
    pub allocated_lds: u32,
    /// Why the kernel cannot be launched at all.
    pub problem: Option<String>,
    /// What to change to gain waves, cheapest first.
    pub gains: Vec<Gain>,
}

impl Occupancy {
    /// Share of the wave slots that can be filled, in percent.
    pub fn percent(&self) -> f64 {
        100.0 * f64::from(self.waves) / f64::from(self.wave_slots.max(1))
    }

    /// Waves per SIMD, exact: a fraction if workgroups do not divide evenly.
    pub fn waves_per_simd(&self) -> f64 {
        f64::from(self.waves) / f64::from(self.simds.max(1))
    }

    /// Waves on the fullest SIMD: the number compilers report.
    pub fn waves_on_fullest_simd(&self) -> u32 {
        self.waves.div_ceil(self.simds.max(1))
    }

    /// Waves per compute unit.
    pub fn waves_per_cu(&self) -> f64 {
        f64::from(self.waves) / f64::from(self.cus.max(1))
    }
}

/// Computes the occupancy of a kernel on an architecture.
pub fn theoretical(arch: &Arch, kernel: &KernelResources) -> Occupancy {
    let mut occupancy = fit(arch, kernel);
    occupancy.gains = gain::gains(arch, kernel, &occupancy);
    occupancy
}

/// The occupancy without suggestions.
fn fit(arch: &Arch, kernel: &KernelResources) -> Occupancy {
    let facts = &arch.facts;
    let wave_size =
        kernel.wave_size.filter(|size| facts.wave_sizes.contains(size)).unwrap_or(arch.wave_size());
    let cus = if kernel.cu_mode { 1 } else { facts.cus_per_wgp };
    let simds = cus * facts.simds_per_cu;
    let waves_per_workgroup = kernel.workgroup.max(1).div_ceil(wave_size);
    let hardware = facts.max_waves_per_simd;

    let (allocated_vgprs, waves_by_vgpr) = by_vgpr(arch, kernel, wave_size);
    let waves_by_sgpr = by_sgpr(arch, kernel.sgpr);
    let slots = simds * hardware.min(waves_by_vgpr).min(waves_by_sgpr);
    let by_waves = slots / waves_per_workgroup;

    let allocated_lds = kernel.lds_bytes.div_ceil(facts.lds.granule).saturating_mul(facts.lds.granule);
    let by_lds = (kernel.lds_bytes > 0).then(|| facts.lds.bytes * cus / allocated_lds.max(1));
    let by_barriers = if waves_per_workgroup > 1 { facts.barrier_workgroups_per_cu * cus } else { u32::MAX };

    let workgroups = by_waves.min(by_lds.unwrap_or(u32::MAX)).min(by_barriers);
    let mut limited_by = Vec::new();
    if by_waves == workgroups {
        limited_by.extend(wave_limits(
            arch,
            waves_per_workgroup,
            simds,
            waves_by_vgpr,
            waves_by_sgpr,
            by_waves,
        ));
    }
    if by_lds == Some(workgroups) {
        limited_by.push(Limiter::Lds);
    }
    if by_barriers == workgroups {
        limited_by.push(Limiter::Barriers);
    }
    // If the hardware is full nothing else matters.
    if limited_by.contains(&Limiter::Waves) {
        limited_by.retain(|&limiter| limiter == Limiter::Waves);
    }
    limited_by.sort();
    Occupancy {
        wave_size,
        waves_per_workgroup,
        cus,
        simds,
        workgroups,
        waves: workgroups * waves_per_workgroup,
        wave_slots: simds * hardware,
        limited_by,
        waves_by_vgpr,
        waves_by_sgpr,
        workgroups_by_lds: by_lds,
        allocated_vgprs,
        allocated_lds,
        problem: problem(arch, kernel, slots, waves_per_workgroup),
        gains: Vec::new(),
    }
}

/// Registers per lane as allocated, and the waves of a SIMD that they allow.
fn by_vgpr(arch: &Arch, kernel: &KernelResources, wave_size: u32) -> (u32, u32) {
    let Some(file) = arch.vgpr_file(wave_size) else { return (0, arch.facts.max_waves_per_simd) };
    let charged = charged_vgprs(arch, kernel);
    let allocated = charged.max(1).div_ceil(file.granule).saturating_mul(file.granule);
    (allocated, (file.per_simd / allocated).min(arch.facts.max_waves_per_simd))
}

/// Registers per lane that a wave needs, before rounding up to the allocation unit.
fn charged_vgprs(arch: &Arch, kernel: &KernelResources) -> u32 {
    match arch.facts.vgpr.file {
        RegisterFile::Unified if kernel.agpr > 0 => {
            kernel.vgpr.checked_next_multiple_of(4).unwrap_or(u32::MAX).saturating_add(kernel.agpr)
        }
        RegisterFile::Separate => kernel.vgpr.max(kernel.agpr),
        RegisterFile::Unified | RegisterFile::Vector => kernel.vgpr,
    }
}

/// Waves of a SIMD that the scalar registers allow.
fn by_sgpr(arch: &Arch, sgpr: u32) -> u32 {
    let steps = &arch.facts.sgpr.waves;
    let step = steps.iter().find(|(most, _)| sgpr <= *most).or(steps.last());
    step.map_or(arch.facts.max_waves_per_simd, |&(_, waves)| waves)
}

/// Which of the limits on waves prevents the next workgroup.
fn wave_limits(
    arch: &Arch,
    waves: u32,
    simds: u32,
    by_vgpr: u32,
    by_sgpr: u32,
    workgroups: u32,
) -> Vec<Limiter> {
    let hardware = arch.facts.max_waves_per_simd;
    let least = by_vgpr.min(by_sgpr).min(hardware);
    if least == hardware {
        // If a whole workgroup does not fill the free slots, its size is the limit.
        return vec![if workgroups * waves < simds * hardware { Limiter::Workgroup } else { Limiter::Waves }];
    }
    let mut limits = Vec::new();
    if by_vgpr == least {
        limits.push(Limiter::Vgpr);
    }
    if by_sgpr == least {
        limits.push(Limiter::Sgpr);
    }
    limits
}

fn problem(arch: &Arch, kernel: &KernelResources, slots: u32, waves_per_workgroup: u32) -> Option<String> {
    let facts = &arch.facts;
    if kernel.workgroup > facts.max_workgroup {
        return Some(format!(
            "a workgroup has at most {} threads, not {}",
            facts.max_workgroup, kernel.workgroup
        ));
    }
    if kernel.lds_bytes > facts.lds.max_per_workgroup {
        let most = facts.lds.max_per_workgroup;
        return Some(format!("a workgroup has at most {most} bytes of LDS, not {}", kernel.lds_bytes));
    }
    if kernel.vgpr > facts.vgpr.max_vector {
        return Some(format!(
            "a lane has at most {} vector registers, not {}",
            facts.vgpr.max_vector, kernel.vgpr
        ));
    }
    if kernel.agpr > facts.vgpr.max_accumulation {
        let most = facts.vgpr.max_accumulation;
        return Some(format!("a lane has at most {most} accumulation registers, not {}", kernel.agpr));
    }
    if slots < waves_per_workgroup {
        return Some(format!(
            "a workgroup of {waves_per_workgroup} waves does not fit: its registers leave room for {slots} waves"
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::find;

    fn kernel(vgpr: u32, agpr: u32, sgpr: u32, lds_bytes: u32, workgroup: u32) -> KernelResources {
        KernelResources { vgpr, agpr, sgpr, lds_bytes, workgroup, ..KernelResources::default() }
    }

    fn waves(arch: &str, kernel: KernelResources) -> u32 {
        theoretical(find(arch).unwrap(), &kernel).waves_on_fullest_simd()
    }

    /// (waves, most registers) from the reference table, which was checked with the compiler.
    fn check_breakpoints(arch: &str, wave_size: u32, points: &[(u32, u32)]) {
        for (at, &(expected, most)) in points.iter().enumerate() {
            let of = |vgpr: u32| {
                let (vgpr, agpr) = if vgpr > 256 { (256, vgpr - 256) } else { (vgpr, 0) };
                waves(
                    arch,
                    KernelResources { wave_size: Some(wave_size), ..kernel(vgpr, agpr, 16, 0, wave_size) },
                )
            };
            assert_eq!(of(most), expected, "{arch} {most}");
            if let Some(&(next, _)) = points.get(at + 1) {
                assert_eq!(of(most + 1), next, "{arch} {}", most + 1);
            }
        }
    }

    #[test]
    fn breakpoints_of_vector_registers() {
        let cdna = [(8, 64), (7, 72), (6, 80), (5, 96), (4, 128), (3, 168), (2, 256), (1, 512)];
        for arch in ["gfx90a", "gfx942", "gfx950"] {
            check_breakpoints(arch, 64, &cdna);
        }
        let wave32 = [(16, 96), (12, 120), (10, 144), (9, 168), (8, 192), (7, 216), (6, 240), (5, 256)];
        let wave64 = [
            (16, 48),
            (12, 60),
            (10, 72),
            (9, 84),
            (8, 96),
            (7, 108),
            (6, 120),
            (5, 144),
            (4, 192),
            (3, 252),
            (2, 256),
        ];
        for arch in ["gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201"] {
            check_breakpoints(arch, 32, &wave32);
            check_breakpoints(arch, 64, &wave64);
        }
        let small =
            [(16, 64), (12, 80), (10, 96), (9, 112), (8, 128), (7, 144), (6, 160), (5, 192), (4, 256)];
        for arch in ["gfx1030", "gfx1102", "gfx1103", "gfx1150", "gfx1153"] {
            check_breakpoints(arch, 32, &small);
        }
    }

    #[test]
    fn accumulation_registers_share_the_file_or_have_their_own() {
        assert_eq!(waves("gfx942", kernel(97, 31, 16, 0, 64)), 3, "100 + 31 = 131");
        assert_eq!(waves("gfx942", kernel(128, 1, 16, 0, 64)), 3, "129");
        assert_eq!(waves("gfx942", kernel(128, 0, 16, 0, 64)), 4);
        for (vgpr, agpr, expected) in [(24, 0, 10), (28, 0, 9), (32, 0, 8), (128, 0, 2), (24, 200, 1)] {
            assert_eq!(waves("gfx908", kernel(vgpr, agpr, 16, 0, 64)), expected, "{vgpr}+{agpr}");
        }
    }

    #[test]
    fn lds_and_workgroups_limit_whole_workgroups() {
        let arch = find("gfx90a").unwrap();
        let of = |lds, workgroup| theoretical(arch, &kernel(32, 0, 16, lds, workgroup));
        let three = of(16640, 512);
        assert_eq!((three.workgroups, three.waves, three.waves_per_simd()), (3, 24, 6.0));
        assert_eq!(three.limited_by, [Limiter::Lds]);
        let nine = of(0, 576);
        assert_eq!((nine.waves, nine.waves_on_fullest_simd()), (27, 7));
        assert_eq!(nine.limited_by, [Limiter::Workgroup]);
        assert_eq!(of(0, 256).limited_by, [Limiter::Waves]);

        let gfx950 = find("gfx950").unwrap();
        for (lds, expected) in [(20480, 8), (65536, 2), (163840, 1)] {
            assert_eq!(
                theoretical(gfx950, &kernel(32, 0, 16, lds, 256)).waves_on_fullest_simd(),
                expected,
                "{lds}"
            );
        }
        // Rounded up to 1280 bytes: 8 workgroups of 20481 bytes no longer fit.
        assert_eq!(theoretical(gfx950, &kernel(32, 0, 16, 20481, 256)).workgroups, 7);
    }

    #[test]
    fn scalar_registers_limit_where_they_can() {
        assert_eq!(waves("gfx942", kernel(32, 0, 100, 0, 64)), 8);
        assert_eq!(waves("gfx942", kernel(32, 0, 101, 0, 64)), 7);
        assert_eq!(waves("gfx908", kernel(24, 0, 81, 0, 64)), 9);
        assert_eq!(waves("gfx1100", kernel(32, 0, 128, 0, 32)), 16);
    }

    #[test]
    fn what_cannot_be_launched_has_no_waves_and_a_reason() {
        let arch = find("gfx942").unwrap();
        for (kernel, reason) in [
            (
                kernel(256, 0, 16, 0, 1024),
                "a workgroup of 16 waves does not fit: its registers leave room for 8 waves",
            ),
            (kernel(32, 0, 16, 70_000, 64), "a workgroup has at most 65536 bytes of LDS, not 70000"),
            (kernel(32, 0, 16, 0, 2048), "a workgroup has at most 1024 threads, not 2048"),
            (kernel(300, 0, 16, 0, 64), "a lane has at most 256 vector registers, not 300"),
        ] {
            assert_eq!(theoretical(arch, &kernel).problem.as_deref(), Some(reason));
        }
        assert_eq!(theoretical(arch, &kernel(256, 0, 16, 0, 1024)).waves, 0);
        let huge = KernelResources {
            vgpr: u32::MAX,
            agpr: u32::MAX,
            sgpr: u32::MAX,
            lds_bytes: u32::MAX,
            workgroup: u32::MAX,
            ..KernelResources::default()
        };
        for arch in crate::arch::all() {
            assert_eq!(theoretical(arch, &huge).waves, 0);
        }
    }

    #[test]
    fn no_registers_at_all_is_full_occupancy() {
        for arch in crate::arch::all() {
            let kernel = KernelResources { workgroup: arch.wave_size(), ..KernelResources::default() };
            assert_eq!(theoretical(arch, &kernel).percent(), 100.0, "{}", arch.name);
        }
    }
}

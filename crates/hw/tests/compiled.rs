//! Kernels compiled here by clang for several GPUs: the resources read from their code objects and the
//! computed occupancy must match the compiler's own report.

use rocm_perf_hw::arch;
use rocm_perf_hw::code_object::{self, CodeObjectKernel};
use rocm_perf_hw::occupancy::{KernelResources, theoretical};
use std::collections::HashMap;
use std::fmt::Write;
use std::process::Command;

/// Minimum resources that a kernel of the sweep must use.
#[derive(Clone, Copy, Debug)]
struct Variant {
    vgpr: u32,
    agpr: u32,
    sgpr: u32,
    lds: u32,
    workgroup: u32,
}

/// The compiler's own report about a kernel.
#[derive(Debug, Default)]
struct Remark {
    sgpr: u32,
    vgpr: u32,
    agpr: u32,
    lds: u32,
    scratch: u32,
    occupancy: u32,
}

fn clang() -> Option<&'static str> {
    testing::tool(&["clang-22", "clang-23", "clang-21", "clang"])
}

fn source(variants: &[Variant]) -> String {
    let mut text = String::new();
    for (at, variant) in variants.iter().enumerate() {
        let Variant { vgpr, agpr, sgpr, lds, workgroup } = *variant;
        let mut clobbers = Vec::new();
        for (register, count) in [("v", vgpr), ("a", agpr), ("s", sgpr)] {
            if count > 0 {
                clobbers.push(format!("\"{register}{}\"", count - 1));
            }
        }
        let clobbers =
            if clobbers.is_empty() { String::new() } else { format!(" ::: {}", clobbers.join(", ")) };
        writeln!(
            text,
            "__attribute__((reqd_work_group_size({workgroup}, 1, 1))) kernel void k{at}(global int *p) {{"
        )
        .unwrap();
        writeln!(text, "  int i = __builtin_amdgcn_workitem_id_x();").unwrap();
        writeln!(text, "  __asm__ volatile(\"\"{clobbers});").unwrap();
        if lds > 0 {
            let words = lds / 4;
            writeln!(text, "  local int t[{words}]; t[i % {words}] = p[i]; __builtin_amdgcn_s_barrier();")
                .unwrap();
            writeln!(text, "  p[i] = t[(i + 1) % {words}];").unwrap();
        } else {
            writeln!(text, "  p[i] = i;").unwrap();
        }
        text.push_str("}\n");
    }
    text
}

/// Compiles the variants; returns the code object and the compiler's report by kernel.
fn compile(arch: &str, flags: &[&str], variants: &[Variant]) -> Option<(Vec<u8>, HashMap<String, Remark>)> {
    let clang = clang()?;
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("k.cl"), folder.path().join("k.co"));
    std::fs::write(&from, source(variants)).unwrap();
    let mut command = Command::new(clang);
    command.args(["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-nogpulib", "-O2"]);
    command.arg(format!("-mcpu={arch}")).args(flags).arg("-Rpass-analysis=kernel-resource-usage");
    let output = command.arg(&from).arg("-o").arg(&to).output().unwrap();
    let report = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        assert!(report.contains("arget") || report.contains("lld"), "{report}");
        testing::skip(&format!("{clang} cannot build for {arch}"));
        return None;
    }
    let mut remarks: HashMap<String, Remark> = HashMap::new();
    let mut name = String::new();
    for line in report.lines() {
        let Some((_, remark)) = line.split_once("remark: ") else { continue };
        let Some((key, value)) = remark.split_once(": ") else { continue };
        let value = value.split_whitespace().next().unwrap_or_default();
        if key.trim() == "Function Name" {
            value.clone_into(&mut name);
            continue;
        }
        let remark = remarks.entry(name.clone()).or_default();
        let number = value.parse().unwrap_or_default();
        match key.trim() {
            "TotalSGPRs" => remark.sgpr = number,
            "VGPRs" => remark.vgpr = number,
            "AGPRs" => remark.agpr = number,
            "LDS Size [bytes/block]" => remark.lds = number,
            "ScratchSize [bytes/lane]" => remark.scratch = number,
            "Occupancy [waves/SIMD]" => remark.occupancy = number,
            _ => {}
        }
    }
    Some((std::fs::read(&to).unwrap(), remarks))
}

fn sweep(name: &str, wave_size: u32) -> Vec<Variant> {
    let arch = arch::find(name).unwrap();
    let plain = Variant { vgpr: 8, agpr: 0, sgpr: 16, lds: 0, workgroup: wave_size };
    let mut variants = Vec::new();
    for vgpr in [
        8, 24, 28, 32, 40, 48, 49, 60, 61, 64, 65, 72, 73, 80, 84, 85, 96, 97, 108, 120, 121, 128, 129, 144,
        168, 169, 192, 193, 216, 240, 252, 253, 256,
    ] {
        variants.push(Variant { vgpr, ..plain });
    }
    if arch.is_cdna() {
        for (vgpr, agpr) in
            [(97, 31), (128, 1), (60, 4), (61, 4), (64, 64), (24, 200), (128, 128), (255, 255), (256, 256)]
        {
            variants.push(Variant { vgpr, agpr, ..plain });
        }
    }
    for sgpr in [32, 74, 75, 80, 82, 83, 88, 94, 95, 96, 100, 102] {
        variants.push(Variant { sgpr, ..plain });
    }
    let granule = arch.facts.lds.granule;
    for workgroup in [64, 128, 192, 256, 512, 576, 768, 1024] {
        variants.push(Variant { workgroup, ..plain });
        for share in [1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 64] {
            let lds = arch.facts.lds.max_per_workgroup / share / granule * granule;
            variants.push(Variant { workgroup, lds, ..plain });
        }
    }
    // Registers and LDS at once.
    for (vgpr, lds, workgroup) in [(100, 16384, 256), (64, 32768, 512), (128, 12800, 128), (96, 20480, 256)] {
        variants.push(Variant { vgpr, lds: lds / granule * granule, workgroup, ..plain });
    }
    variants
}

fn check(name: &str, flags: &[&str], wave_size: u32) {
    let variants = sweep(name, wave_size);
    let Some((bytes, remarks)) = compile(name, flags, &variants) else { return };
    let kernels = code_object::read(&bytes).unwrap();
    assert_eq!(kernels.len(), variants.len());
    let by_name: HashMap<&str, &CodeObjectKernel> =
        kernels.iter().map(|kernel| (kernel.name.as_str(), kernel)).collect();
    let mut different = Vec::new();
    for (at, variant) in variants.iter().enumerate() {
        let kernel_name = format!("k{at}");
        let (kernel, remark) = (by_name[kernel_name.as_str()], &remarks[&kernel_name]);
        assert!(kernel.exact);
        assert_eq!(arch::base_name(&kernel.target), name);
        assert_eq!(kernel.wave_size, wave_size);
        assert_eq!(kernel.required_workgroup, Some([variant.workgroup, 1, 1]));
        assert_eq!((kernel.lds_bytes, kernel.scratch_bytes), (remark.lds, remark.scratch), "{variant:?}");
        assert_eq!((kernel.sgpr, kernel.agpr), (remark.sgpr, remark.agpr), "{variant:?}");
        // With accumulation registers the compiler rounds vector registers up to four.
        let expected = if remark.agpr > 0 && name != "gfx908" {
            remark.vgpr.next_multiple_of(4)
        } else {
            remark.vgpr.max(kernel.vgpr.min(kernel.agpr))
        };
        assert_eq!(kernel.vgpr, expected, "{variant:?}");
        assert_eq!(kernel.arguments.len(), 1);
        assert_eq!(kernel.arguments[0].kind, "global_buffer");
        let arch = kernel.arch().unwrap();
        let resources = kernel.resources(variant.workgroup, 0);
        let occupancy = theoretical(arch, &resources);
        let ours = occupancy.waves_on_fullest_simd();
        // The compiler takes the lowest limit and ignores that registers, too, admit only whole workgroups.
        let roomy = theoretical(arch, &KernelResources { vgpr: 0, agpr: 0, sgpr: 0, ..resources });
        let least = occupancy.waves_by_vgpr.min(occupancy.waves_by_sgpr);
        let whole = (occupancy.simds * least).is_multiple_of(occupancy.waves_per_workgroup);
        let as_compiler = least.min(roomy.waves_on_fullest_simd());
        if as_compiler != remark.occupancy || (ours != as_compiler && (whole || ours > as_compiler)) {
            different.push(format!("{variant:?}: {ours} or {as_compiler} and not {}", remark.occupancy));
        }
    }
    assert!(
        different.is_empty(),
        "{name} {flags:?}: {} of {}\n{}",
        different.len(),
        variants.len(),
        different.join("\n")
    );
    println!("{name} {flags:?}: {} kernels", variants.len());
}

#[test]
fn occupancy_on_cdna_is_the_compilers() {
    for name in ["gfx908", "gfx90a", "gfx942", "gfx950"] {
        check(name, &[], 64);
    }
}

#[test]
fn occupancy_on_rdna_is_the_compilers() {
    check("gfx1030", &[], 32);
    check("gfx1201", &[], 32);
    check("gfx1100", &[], 32);
    check("gfx1100", &["-mcumode"], 32);
    check("gfx1100", &["-mwavefrontsize64"], 64);
}

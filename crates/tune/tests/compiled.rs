//! The rules' output, compiled by clang for a real GPU, and the guard on the resulting code objects.

use std::path::{Path, PathBuf};
use std::process::Command;

use rocm_perf_tune::optimize::guard::Header;
use rocm_perf_tune::optimize::metadata::{self, Limits};
use rocm_perf_tune::optimize::propose::rules::{Choice, RULES, Site, flags, proposals};
use rocm_perf_tune::optimize::propose::{Evidence, Proposal};
use rocm_perf_tune::optimize::source::Source;

fn clang() -> Option<&'static str> {
    testing::tool(&["clang-22", "clang-23", "clang-21", "clang"])
}

/// The part of HIP that the kernels need; there are no headers here.
const PRELUDE: &str = "
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(n) __attribute__((amdgpu_flat_work_group_size(1, n)))
struct alignas(16) float4 { float x, y, z, w; };
struct Index { unsigned x; };
#define threadIdx (Index{__builtin_amdgcn_workitem_id_x()})
#define blockIdx (Index{__builtin_amdgcn_workgroup_id_x()})
__attribute__((device)) inline float expf(float x) { return __builtin_amdgcn_exp2f(x * 1.5f) + 0.0f * x; }
__attribute__((device)) inline float __expf(float x) { return __builtin_amdgcn_exp2f(x * 1.5f); }
__attribute__((device)) inline void __syncthreads() { __builtin_amdgcn_s_barrier(); }
";

const KERNEL: &str = "
extern \"C\" __global__ void all(const float* __restrict__ x, const float* y, const int* once, float* out, int n) {
  __shared__ float tile[32][32];
  int t = threadIdx.x, row = blockIdx.x;
  tile[t / 32][t % 32] = y[t];
  __syncthreads();
  float sum = tile[t % 32][t / 32];
  for (int k = 0; k < n; ++k) {
    sum += x[t * n + k] * expf(sum);
  }
  out[row * 1024 + t] = sum + once[t];
}
";

/// Compiles device code for gfx942; `None` if this clang cannot.
fn compiled(folder: &Path, name: &str, source: &str, more: &[&str]) -> Option<PathBuf> {
    let clang = clang()?;
    let (from, to) = (folder.join(format!("{name}.hip")), folder.join(format!("{name}.co")));
    std::fs::write(&from, source).unwrap();
    let mut command = Command::new(clang);
    command.args(["-x", "hip", "--cuda-device-only", "--offload-arch=gfx942", "--no-gpu-bundle-output"]);
    command.args(["-nogpulib", "-nogpuinc", "-O3"]).args(more).arg(&from).arg("-o").arg(&to);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && (said.contains("ld.lld") || said.contains("nvalid target")) {
        testing::skip(&format!("{clang} cannot build for gfx942"));
        return None;
    }
    assert!(output.status.success(), "{name} does not compile: {said}\n{source}");
    Some(to)
}

fn offered(text: &str) -> Vec<Proposal> {
    let source = Source::parse(text).unwrap();
    let kernel = source.kernels().remove(0);
    let evidence = Evidence { workgroup: Some(256), ..Evidence::default() };
    let choice = Choice { flags: true, fast_math: true, ..Choice::default() };
    let site = Site {
        source: &source,
        kernel: &kernel,
        evidence: &evidence,
        choice: &choice,
        build: &[],
        flags: &[],
    };
    proposals(&site)
}

#[test]
fn what_rules_write_compiles_and_keeps_the_abi() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{PRELUDE}{KERNEL}");
    let Some(base) = compiled(folder.path(), "base", &text, &[]) else { return };
    let before = metadata::read(&[base], "all").unwrap();
    let offered = offered(&text);
    for rule in RULES {
        assert!(offered.iter().any(|one| one.origin == format!("rule {}", rule.name)), "{}", rule.name);
    }
    for (number, proposal) in offered.iter().enumerate() {
        let more: Vec<&str> = proposal.flags.iter().map(String::as_str).collect();
        let built = compiled(folder.path(), &number.to_string(), &proposal.text, &more).unwrap();
        let after = metadata::read(&[built], "all").unwrap();
        let generous = Limits { spills: 0, scratch_bytes: 0, least_occupancy_pct: 0.0 };
        let verdict = metadata::check(&before, &after, proposal.header, &generous, Some(256));
        assert_eq!(verdict, Ok(()), "{}", proposal.description);
        match proposal.origin.as_str() {
            "rule lds_padding" => assert_eq!(after[0].lds_bytes, 32 * 33 * 4),
            "rule launch_bounds" => assert_eq!(after[0].max_workgroup, Some(256)),
            _ => assert_eq!((after[0].lds_bytes, after[0].max_workgroup), (32 * 32 * 4, Some(1024))),
        }
    }
}

/// Checked in the compiler's own assembly.
#[test]
fn rules_have_the_effect_they_promise() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{PRELUDE}{KERNEL}");
    let assembly = |name: &str, text: &str| {
        let path = compiled(folder.path(), name, text, &["-S"])?;
        Some(std::fs::read_to_string(path).unwrap())
    };
    let Some(base) = assembly("base", &text) else { return };
    for (rule, instruction) in [
        ("rule vectorised_loads", "global_load_dwordx4"),
        ("rule nontemporal_load", " nt"),
        ("rule nontemporal_store", " nt"),
    ] {
        let proposal = offered(&text).into_iter().find(|one| one.origin == rule).unwrap();
        let changed = assembly(&rule.replace(' ', "_"), &proposal.text).unwrap();
        let count = |text: &str| text.lines().filter(|line| line.contains(instruction)).count();
        assert!(count(&changed) > count(&base), "{rule}: no {instruction} in\n{changed}");
    }
}

/// Why no rule joins neighbours in straight code: the compiler already does.
#[test]
fn neighbours_in_straight_code_need_no_rule() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "{PRELUDE}extern \"C\" __global__ void sum4(const float* x, float* y) {{\n  int t = threadIdx.x;\n  \
         float s = x[4 * t] + x[4 * t + 1];\n  s = s * x[4 * t + 2] - x[4 * t + 3];\n  y[t] = s;\n}}\n"
    );
    assert!(offered(&text).iter().all(|one| one.origin != "rule vectorised_loads"));
    let Some(path) = compiled(folder.path(), "neighbours", &text, &["-S"]) else { return };
    assert!(std::fs::read_to_string(path).unwrap().contains("global_load_dwordx4"));
}

#[test]
fn every_flag_of_the_table_is_known_to_the_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{PRELUDE}{KERNEL}");
    for (number, flag) in flags::flags().iter().enumerate() {
        let words: Vec<&str> = flag.words.iter().map(String::as_str).collect();
        if compiled(folder.path(), &format!("flag{number}"), &text, &words).is_none() {
            return;
        }
    }
}

/// Keeps `live` values alive at once: stores may alias the input, so everything is read first.
fn hungry(live: usize, bounds: &str, count: &str) -> String {
    format!(
        "{PRELUDE}\n#ifdef WIDE\ntypedef long count;\n#else\ntypedef int count;\n#endif\n\
         extern \"C\" __global__ void {bounds} k(const float* x, float* y, {count} n) {{\n\
         int t = threadIdx.x;\nfloat a[{live}];\n#pragma unroll\n\
         for (int i = 0; i < {live}; ++i) a[i] = x[i * 1024 + t];\n#pragma unroll\n\
         for (int i = 0; i < {live}; ++i) y[({live} - i) * 1024 + t + n] = a[i];\n}}\n"
    )
}

#[test]
fn spills_occupancy_and_layout_are_seen_in_real_code_objects() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str, text: &str, more: &[&str]| {
        Some(metadata::read(&[compiled(folder.path(), name, text, more)?], "k").unwrap())
    };
    let bounds = "__launch_bounds__(1024)";
    let Some(small) = read("small", &hungry(8, bounds, "count"), &[]) else { return };
    let limits = Limits::default();
    let verdict = |after: &[_], limits: &Limits| {
        metadata::check(&small, after, Header::Identical, limits, Some(256)).err().unwrap_or_default()
    };
    let big = read("big", &hungry(200, bounds, "count"), &[]).unwrap();
    assert!(verdict(&big, &limits).contains("more registers; at most"), "{big:?}");
    let wide = read("wide", &hungry(8, bounds, "count"), &["-DWIDE"]).unwrap();
    assert!(verdict(&wide, &limits).contains("arguments"), "{}", verdict(&wide, &limits));
    let middle = read("middle", &hungry(90, bounds, "count"), &[]).unwrap();
    assert_eq!(verdict(&middle, &limits), "", "{middle:?}");
    let strict = Limits { least_occupancy_pct: 90.0, ..limits };
    assert!(verdict(&middle, &strict).contains("occupancy fell from"), "{}", verdict(&middle, &strict));
    assert!(metadata::read(&[folder.path().join("none.co")], "k").is_err());
}

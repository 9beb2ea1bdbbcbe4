//! Facts for `--version -v`: the commit, the features, and when each group of built-in tables last changed.
//! Also links functions with the same code once, if the linker can.
//!
//! Only release builds ask git: a development build would have to be recompiled after every commit. Builds
//! outside a checkout take the facts from `ROCM_PERF_COMMIT` and `ROCM_PERF_TABLES`, as `--version -v` of a
//! checkout prints them.

use std::process::Command;

/// Groups of built-in tables, and where they are.
const TABLES: &[(&str, &[&str])] = &[
    ("GPUs and counters", &["crates/hw/data"]),
    ("kernel names and calls", &["crates/model/rules"]),
    ("findings, fusions and rooflines", &["crates/analysis/rules"]),
    ("panels", &["crates/analysis/panels"]),
    ("presets", &["crates/collect/presets"]),
    (
        "known problems of ROCm",
        &["crates/collect/src/doctor/known.toml", "crates/collect/src/doctor/checks.toml"],
    ),
    ("secrets", &["crates/formats/src/secrets/secrets.toml", "crates/formats/src/secrets/environment.toml"]),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=ROCM_PERF_COMMIT");
    println!("cargo:rerun-if-env-changed=ROCM_PERF_TABLES");
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let mut commit = std::env::var("ROCM_PERF_COMMIT").ok();
    let mut tables = std::env::var("ROCM_PERF_TABLES").ok();
    if is_release && commit.is_none() {
        for path in ["HEAD", "logs/HEAD"] {
            if let Some(path) = git(&["rev-parse", "--git-path", path]) {
                println!("cargo:rerun-if-changed=../../{path}");
            }
        }
        commit = git(&["log", "-1", "--format=%h (%cs)"]);
    }
    if is_release && tables.is_none() {
        let dates = TABLES.iter().filter_map(|(name, paths)| {
            let line: Vec<&str> = ["log", "-1", "--format=%cs", "--"].iter().chain(*paths).copied().collect();
            git(&line).map(|date| format!("{name}={date}"))
        });
        tables = Some(dates.collect::<Vec<_>>().join(";"));
    }
    let mut features: Vec<String> = std::env::vars()
        .filter_map(|(name, _)| name.strip_prefix("CARGO_FEATURE_").map(str::to_lowercase))
        .filter(|name| name != "default")
        .collect();
    features.sort();
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo:rustc-env=ROCM_PERF_COMMIT={}", commit.unwrap_or_default());
    println!("cargo:rustc-env=ROCM_PERF_TABLES={}", tables.unwrap_or_default());
    println!("cargo:rustc-env=ROCM_PERF_FEATURES={}", features.join(", "));
    println!("cargo:rustc-env=ROCM_PERF_TARGET={target}");
    if is_release && links_with(FOLD, &target) {
        println!("cargo:rustc-link-arg-bins={FOLD}");
    }
}

/// Links functions with the same code once, which makes the program 5 % smaller; an option of lld, gold and
/// mold.
const FOLD: &str = "-Wl,--icf=all";

/// Whether the linker of this build takes an option: tried on an empty program.
fn links_with(option: &str, target: &str) -> bool {
    let (Ok(folder), Ok(rustc)) = (std::env::var("OUT_DIR"), std::env::var("RUSTC")) else { return false };
    let (source, program) = (format!("{folder}/empty.rs"), format!("{folder}/empty"));
    if std::fs::write(&source, "fn main() {}").is_err() {
        return false;
    }
    let mut command = Command::new(rustc);
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    command
        .args(flags.split('\x1f').filter(|flag| !flag.is_empty()))
        .args(["--target", target, "-o", &program]);
    if let Ok(linker) = std::env::var("RUSTC_LINKER") {
        command.arg(format!("-Clinker={linker}"));
    }
    command.arg(format!("-Clink-arg={option}")).arg(&source);
    command.output().is_ok_and(|output| output.status.success())
}

/// What git prints in the root of the checkout; `None` without git or a checkout.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir("../..").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_string())
}

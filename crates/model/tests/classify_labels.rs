//! The classifier against the reference labels of real ROCm kernels and the name lists of real traces.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rocm_perf_model::classify::{Category, Classifier, Platform, RowKind};

/// Backends that the labels name more finely than the report does.
const ALIASES: &[(&str, &str)] = &[
    ("triton-kernels", "triton"),
    ("triton-unified", "triton"),
    ("triton-sage", "triton"),
    ("sage", "triton"),
    ("rocm-paged-attn", "vllm"),
    ("sglang-jit", "sglang"),
    // All four bookkeeping kernels of the labels are SGLang's.
    ("framework", "sglang"),
    ("miopen-igemm-asm", "miopen"),
    // No `UserArgs` in the name: rocBLAS' Tensile.
    ("rocblas-or-hipblaslt(tensile)", "rocblas"),
    // `groupnorm_kernel_dispatch_*` is AITER's group norm, in an anonymous namespace.
    ("hip", "aiter"),
];

fn data() -> Option<PathBuf> {
    testing::data("")
}

fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).expect("a readable list");
    text.lines().skip(1).map(|line| line.split('\t').map(str::to_string).collect()).collect()
}

fn kind(name: &str) -> RowKind {
    match name {
        _ if name.starts_with("Memcpy ") => RowKind::Copy,
        _ if name.starts_with("Memset ") => RowKind::Fill,
        _ => RowKind::Kernel,
    }
}

#[test]
fn categories_and_backends_agree_with_the_labels() {
    let Some(data) = data() else { return };
    let classifier = Classifier::builtin();
    let labels = rows(&data.join("rocm_kernel_labels.tsv"));
    assert!(labels.len() > 300);
    let (mut total, mut agreeing) = (0.0, 0.0);
    let mut disagreements = Vec::new();
    for label in &labels {
        let [name, category, backend, _, microseconds] = &label[..] else { panic!("{label:?}") };
        let time: f64 = microseconds.parse().expect("a time");
        let class = classifier.classify(name, kind(name));
        total += time;
        if class.category.name() == category {
            agreeing += time;
        } else {
            disagreements.push(format!("{category} → {}: {name}", class.category.name()));
        }
        let alias =
            ALIASES.iter().find(|(finer, _)| finer == backend).map_or(backend.as_str(), |(_, ours)| ours);
        assert_eq!(&*class.backend, alias, "backend of {name}");
    }
    let share = 100.0 * agreeing / total;
    assert!(share >= 99.0, "{share:.3} % of time agrees:\n{}", disagreements.join("\n"));
    assert!(disagreements.is_empty(), "new disagreements, to be argued:\n{}", disagreements.join("\n"));
}

/// Share of time that no rule matches, by list.
fn other_shares(prefixes: &[&str], platform: Platform) -> Option<BTreeMap<String, (f64, Vec<String>)>> {
    let data = data()?;
    let classifier = Classifier::builtin().on(platform);
    let mut shares = BTreeMap::new();
    for entry in std::fs::read_dir(data.join("kernel_names")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let file = path.file_name().unwrap().to_string_lossy().to_string();
        if !file.ends_with(".tsv") || !prefixes.iter().any(|prefix| file.starts_with(prefix)) {
            continue;
        }
        let (mut total, mut other, mut names) = (0.0, 0.0, Vec::new());
        for row in rows(&path) {
            let time: f64 = row[2].parse().expect("a time");
            let kind = match row[3].as_str() {
                "gpu_memcpy" => RowKind::Copy,
                "gpu_memset" => RowKind::Fill,
                _ => RowKind::Kernel,
            };
            total += time;
            if classifier.classify(&row[0], kind).category == Category::Other {
                other += time;
                names.push(row[0].clone());
            }
        }
        shares.insert(file, (if total > 0.0 { 100.0 * other / total } else { 0.0 }, names));
    }
    for prefix in prefixes {
        assert!(shares.keys().any(|file| file.starts_with(prefix)), "no list {prefix}*");
    }
    Some(shares)
}

#[test]
fn nearly_nothing_is_other_on_rocm() {
    let Some(shares) = other_shares(
        &["inference__", "mi210__", "mi300__", "perf_model__", "torch_compile_triton__", "hta_amd_trace__"],
        Platform::Rocm,
    ) else {
        return;
    };
    for (file, (share, names)) in shares {
        assert!(share <= 0.5, "{share:.2} % of {file} is other: {names:?}");
    }
}

#[test]
fn little_is_other_on_cuda() {
    let Some(mut shares) = other_shares(&["h100__", "hta_"], Platform::Cuda) else { return };
    shares.remove("hta_amd_trace__mi250_minitoy_train_ROCm6_2_kineto.tsv");
    for (file, (share, names)) in shares {
        // Early Inductor's `triton__0d1d…` names no ops, and torch's `spin_kernel` only waits in tests.
        let honest = |name: &String| name.starts_with("triton__") || name.contains("spin_kernel");
        assert!(share <= 2.0 || names.iter().all(honest), "{share:.2} % of {file} is other: {names:?}");
    }
}

#[test]
fn rocprofv3_names_without_templates_are_known() {
    let Some(data) = data() else { return };
    let classifier = Classifier::builtin();
    let text = std::fs::read_to_string(data.join("traces/expected/rocprofv3_908_results/kernel_summary.csv"))
        .unwrap();
    let other: Vec<&str> = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').next())
        .filter(|name| classifier.classify(name, RowKind::Kernel).category == Category::Other)
        .collect();
    assert!(other.is_empty(), "{other:?}");
}

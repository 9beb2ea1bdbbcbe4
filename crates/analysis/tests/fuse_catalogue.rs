//! Every fusion of the catalogue matches its example and nothing similar.

use crate::fuse_maker;

use std::collections::BTreeSet;

use fuse_maker::{CATALOGUE, Maker, Sample, ids, number, samples, separator};
use rocm_perf_analysis::{Fuse, FusionCatalogue};
use serde::Deserialize;

const LAYERS: usize = 6;

/// Sequences that read the same backwards.
const PALINDROMES: &[&str] = &["pointwise_chain", "mla_dual_norm", "qk_norm"];

#[derive(Deserialize)]
struct Entry {
    id: String,
    example: Option<Vec<String>>,
    #[serde(default)]
    covers: Vec<String>,
    steps: String,
    paths: Vec<Whose>,
}

#[derive(Deserialize)]
struct Whose {
    framework: String,
    rocm: String,
    source: String,
    switch: String,
    /// For models that the examples are not from.
    model_kind: Option<String>,
}

fn entries() -> Vec<Entry> {
    let table: toml::Table = toml::from_str(CATALOGUE).unwrap();
    table["fusion"].clone().try_into().unwrap()
}

impl Entry {
    fn samples(&self) -> Vec<Sample> {
        let all = samples();
        self.example.iter().flatten().map(|name| all[name].clone()).collect()
    }

    /// Kernels of its example that run in between without being part of the sequence.
    fn passing(&self) -> usize {
        let gemms = self.example.iter().flatten().filter(|name| *name == "gemm").count();
        if self.steps.contains("(gemm)") { gemms } else { 0 }
    }
}

/// Layers of the kernels with main work around them; `stream` picks the stream of each kernel.
fn run(framework: &str, kernels: &[Sample], between: bool, stream: impl Fn(usize) -> u32) -> Fuse {
    let mut made = Maker::new(framework);
    let mut at = 1_000_000;
    let mut put = |made: &mut Maker, sample: &Sample, stream| {
        made.kernel(sample, stream, at, at + 900);
        at += 1000;
    };
    for _ in 0..LAYERS {
        for i in 0..kernels.len() {
            put(&mut made, &separator(), stream(i));
        }
        for (i, sample) in kernels.iter().enumerate() {
            if between && i > 0 {
                put(&mut made, &separator(), stream(i));
            }
            put(&mut made, sample, stream(i));
        }
    }
    made.fuse().1
}

#[test]
fn every_fusion_matches_its_example_and_only_that() {
    let mut tried = 0;
    for entry in entries().iter().filter(|entry| entry.example.is_some()) {
        let kernels = entry.samples();
        for path in entry.paths.iter().filter(|path| path.rocm != "no" && path.model_kind.is_none()) {
            let found = run(&path.framework, &kernels, false, |_| 0);
            assert_eq!(ids(&found), [entry.id.as_str()], "{} on {}", entry.id, path.framework);
            assert_eq!(number(&found, 0, "instances") as usize, LAYERS, "{}", entry.id);
            for instance in found.instances() {
                assert_eq!(instance.rows.len(), kernels.len() - entry.passing(), "{}", entry.id);
            }
            tried += 1;
        }
    }
    assert!(tried > 40, "{tried}");
}

#[test]
fn other_order_other_streams_and_work_between_are_no_match() {
    for entry in entries().iter().filter(|entry| entry.example.is_some()) {
        let kernels = entry.samples();
        let framework = &entry.paths[0].framework;
        let mut backwards = kernels.clone();
        backwards.reverse();
        if !PALINDROMES.contains(&entry.id.as_str()) {
            let found = run(framework, &backwards, false, |_| 0);
            assert!(!ids(&found).contains(&entry.id), "{} backwards", entry.id);
        }
        let found = run(framework, &kernels, false, |i| i as u32);
        assert!(ids(&found).is_empty(), "{} on other streams: {:?}", entry.id, ids(&found));
        let found = run(framework, &kernels, true, |_| 0);
        assert!(ids(&found).is_empty(), "{} with work between: {:?}", entry.id, ids(&found));
    }
}

#[test]
fn every_fusion_has_a_source_and_says_how_to_get_it() {
    let mut seen = BTreeSet::new();
    for entry in entries() {
        assert!(seen.insert(entry.id.clone()), "`{}` is there twice", entry.id);
        for path in &entry.paths {
            assert!(!path.source.is_empty() && !path.switch.is_empty(), "{}", entry.id);
        }
        let on_rocm = entry.paths.iter().any(|path| path.rocm != "no");
        assert!(entry.example.is_some() || !on_rocm, "`{}` has no example", entry.id);
    }
}

#[test]
fn every_pattern_of_the_other_tool_is_covered_or_refused_with_a_reason() {
    let table: toml::Table = toml::from_str(CATALOGUE).unwrap();
    let mut named: Vec<String> = entries().into_iter().flat_map(|entry| entry.covers).collect();
    for refused in table["not_covered"].as_array().unwrap() {
        assert!(!refused["why"].as_str().unwrap().is_empty());
        named.push(refused["pattern"].as_str().unwrap().to_string());
    }
    let unique: BTreeSet<String> = named.iter().cloned().collect();
    assert_eq!(unique.len(), named.len(), "a pattern is named twice");
    let Some(sheet) = testing::shared("specs/llm-trace-triage.md") else { return };
    let sheet = std::fs::read_to_string(sheet).unwrap();
    let rows = sheet.lines().skip_while(|line| !line.starts_with("### 2.9"));
    let listed: BTreeSet<String> = rows
        .take_while(|line| !line.starts_with("### 2.10"))
        .filter_map(|line| {
            let mut cells = line.split('|').map(str::trim).skip(1);
            cells.next()?.parse::<u32>().ok()?;
            cells.next().map(String::from)
        })
        .collect();
    assert_eq!(listed.len(), 47);
    assert_eq!(unique, listed);
}

#[test]
fn what_amd_gpus_lack_is_suggested_for_others_only() {
    let all = samples();
    let norm = Sample { module: "MiniMaxM2RMSNorm".into(), ..all["rms_norm"].clone() };
    let made = |cuda: bool, ranks: Option<u32>| {
        let mut made = Maker::new("vllm");
        if cuda {
            made.cuda();
        }
        ranks.into_iter().for_each(|ranks| made.ranks(ranks));
        for layer in 0..LAYERS as i64 {
            let at = 1_000_000 + 3000 * layer;
            made.kernel(&norm, 0, at, at + 900);
            made.kernel(&all["all_reduce"], 0, at + 1000, at + 1900);
            made.kernel(&separator(), 0, at + 2000, at + 2900);
        }
        ids(&made.fuse().1)
    };
    assert_eq!(made(false, None), [""; 0]);
    assert_eq!(made(true, None), ["minimax_qk_norm_all_reduce"]);
    assert_eq!(made(true, Some(8)), ["minimax_qk_norm_all_reduce"]);
    assert_eq!(made(true, Some(1)), [""; 0], "one rank reduces nothing");
}

#[test]
fn a_framework_without_the_fused_kernel_is_not_told_to_use_it() {
    let kernels: Vec<Sample> = ["rope", "cache_write"].map(|name| samples()[name].clone()).to_vec();
    assert_eq!(ids(&run("vllm", &kernels, false, |_| 0)), ["rope_kv_cache"]);
    assert_eq!(ids(&run("transformers", &kernels, false, |_| 0)), [""; 0]);
}

#[test]
fn a_model_gate_keeps_others_out() {
    let mut kernels: Vec<Sample> = ["mla_norm", "mla_rope"].map(|name| samples()[name].clone()).to_vec();
    assert_eq!(ids(&run("sglang", &kernels, false, |_| 0)), ["mla_norm_rope"]);
    kernels.iter_mut().for_each(|kernel| kernel.module = "LlamaBlock".into());
    assert_eq!(ids(&run("sglang", &kernels, false, |_| 0)), [""; 0]);
    let mut made = Maker::new("");
    for (i, kernel) in kernels.iter_mut().enumerate() {
        kernel.module = String::new();
        made.kernel(kernel, 0, 1_000_000 + 1000 * i as i64, 1_000_900 + 1000 * i as i64);
    }
    let (_, found) = made.fuse();
    assert_eq!(ids(&found), [""; 0]);
    assert!(
        found.notes.iter().any(|note| note.contains("the trace does not name the model")),
        "{:?}",
        found.notes
    );
}

#[test]
fn confidence_needs_location_framework_and_regularity() {
    let rows = |framework: &str, kernels: &[&str]| {
        let kernels: Vec<Sample> = kernels.iter().map(|name| samples()[*name].clone()).collect();
        let found = run(framework, &kernels, false, |_| 0);
        fuse_maker::text(&found.table().rows[0][found.table().column("confidence").unwrap()])
    };
    assert_eq!(rows("vllm", &["rope", "cache_write"]), "confirmed");
    assert_eq!(rows("sglang", &["rope", "cache_write"]), "likely", "only possible on ROCm there");
    assert_eq!(rows("transformers", &["add", "rms_norm"]), "likely", "not the program's own kernel");
}

#[test]
fn chance_neighbours_are_left_out_and_told() {
    let all = samples();
    let mut made = Maker::new("vllm");
    let mut at = 1_000_000;
    // One rope in ten runs before a cache write, and one cache write in ten after a rope.
    for i in 0..100 {
        let mut put = |sample: &Sample| {
            made.kernel(sample, 0, at, at + 900);
            at += 1000;
        };
        put(&all["rope"]);
        if i % 10 != 0 || i % 4 != 0 {
            put(&separator());
        }
        put(&all["cache_write"]);
        put(&separator());
    }
    let (_, found) = made.fuse();
    assert_eq!(ids(&found), [""; 0]);
    assert!(
        found.notes.iter().any(|note| note.starts_with("5 sequences of fusable kernels")),
        "{:?}",
        found.notes
    );
}

#[test]
fn a_fused_kernel_is_told_as_such_and_not_suggested() {
    let kernels = [samples()["add_rms_norm"].clone(), samples()["act_and_mul"].clone()];
    let found = run("vllm", &kernels, false, |_| 0);
    assert_eq!(ids(&found), [""; 0]);
    let note = found.notes.join("\n");
    assert!(note.contains("residual add + RMSNorm (other, 6 calls)"), "{note}");
    assert!(note.contains("SwiGLU, GeGLU) (other, 6 calls)"), "{note}");
}

#[test]
fn only_so_many_small_kernels_may_lie_between() {
    let path = "paths = [{ framework = 'any', rocm = 'yes', fused = 'x', switch = 'y', source = 'z' }]";
    let text = format!(
        "[[fusion]]\nid = 'loose'\ntitle = 't'\nsteps = 'rope cache_write'\nbetween = 1\nrationale = 'r'\n{path}"
    );
    let catalogue = FusionCatalogue::with_file("my.toml", &text).unwrap();
    let found = |between: &[&str]| {
        let mut made = Maker::new("transformers");
        let names = [&["rope"], between, &["cache_write"]].concat();
        for (i, name) in names.into_iter().enumerate() {
            made.kernel(&samples()[name], 0, 1_000_000 + 1000 * i as i64, 1_000_900 + 1000 * i as i64);
        }
        made.fuse_with(&catalogue).1
    };
    let one = found(&["silu"]);
    assert_eq!(ids(&one), ["loose"]);
    assert_eq!(one.instances().next().unwrap().rows.len(), 2, "what lies between takes no part");
    assert_eq!(
        (one.instances().next().unwrap().related_ns, one.instances().next().unwrap().gaps_ns),
        (1800, 100)
    );
    assert!(!ids(&found(&["silu", "neg"])).contains(&"loose".to_string()));
    assert_eq!(ids(&found(&["gemm"])), [""; 0], "main work ends a sequence");
}

#[test]
fn a_sequence_ends_with_its_step() {
    let all = samples();
    let made = |steps: &[(i64, i64)]| {
        let mut made = Maker::new("vllm");
        for layer in 0..3 {
            let at = 1_000_000 + 5000 * layer;
            made.kernel(&all["rope"], 0, at, at + 900);
            made.kernel(&all["cache_write"], 0, at + 1000, at + 1900);
            made.kernel(&separator(), 0, at + 2000, at + 2900);
        }
        // The host side of kernel i is in [100 i, 100 i + 90].
        steps.iter().for_each(|&(start, end)| made.annotation("step[DECODE bs=4]", start, end));
        ids(&made.fuse().1)
    };
    assert_eq!(made(&[(-10, 895)]), ["rope_kv_cache"]);
    assert_eq!(made(&[(-10, 95), (95, 395), (395, 695), (695, 895)]), [""; 0]);
}

#[test]
fn a_file_adds_to_the_catalogue_and_its_mistakes_are_named() {
    let path = "paths = [{ framework = 'any', rocm = 'yes', fused = 'x', switch = 'y', source = 'z' }]";
    let good = format!(
        "[group.mine]\nname = '^my_'\n[[fusion]]\nid = 'mine'\ntitle = 'mine'\nsteps = 'mine rope'\nrationale = 'r'\n{path}"
    );
    let catalogue = FusionCatalogue::with_file("my.toml", &good).unwrap();
    let mut made = Maker::new("transformers");
    let mine = Sample { kernel: "my_kernel".into(), ..Sample::default() };
    for (i, sample) in
        [&mine, &samples()["rope"], &samples()["silu"], &samples()["mul"]].into_iter().enumerate()
    {
        made.kernel(sample, 0, 1_000_000 + 1000 * i as i64, 1_000_900 + 1000 * i as i64);
    }
    let mut found = ids(&made.fuse_with(&catalogue).1);
    found.sort();
    assert_eq!(found, ["act_mul", "mine"], "the file's and ours");
    let fusion = |steps: &str, rest: &str| {
        format!("[[fusion]]\nid = 'mine'\ntitle = 't'\nsteps = '{steps}'\nrationale = 'r'\n{rest}")
    };
    let cases = [
        (fusion("rope nothing", path), "fusion `mine`: there is no group `nothing`"),
        (fusion("rope rope", "paths = []"), "fusion `mine`: it needs at least one path"),
        (fusion("rope rope", ""), "fusion 1: missing field `paths`"),
        ("[group.g]\n".into(), "group `g`: it takes every kernel"),
        ("[group.g]\nname = '('\n".into(), "group `g`: `(` is not a regular expression"),
        ("[group.g]\ncategory = ['gem']\n".into(), "group `g`: `gem` is not a category"),
        ("[group.g]\ncategory = ['gemm']\nhelper = true\n".into(), "only a kernel of category `moe`"),
        ("[[fusions]]\nid = 1".into(), "unknown field `fusions`"),
    ];
    for (text, expected) in cases {
        let error = FusionCatalogue::with_file("my.toml", &text).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("my.toml"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

//! Short names for people: what a kernel is, in about sixty characters. The words to look for are data.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use super::canonical::{canonical, function};
use super::demangle::identifiers;
use super::gemm::gemm;

/// Longer names are cut in the middle, where templates and op lists say least.
const LONGEST: usize = 60;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrapper {
    function: String,
    label: String,
    ending: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    namespaces: Vec<String>,
    plumbing: Vec<String>,
    endings: Vec<String>,
    beginnings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    wrapper: Vec<Wrapper>,
    role: Vec<Role>,
    words: Words,
}

/// What a kernel does in the model, and the texts that show it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Role {
    name: String,
    pattern: String,
}

static ROLES: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let compiled = |role: &'static Role| {
        (Regex::new(&role.pattern).expect("the table is checked by tests"), role.name.as_str())
    };
    TABLE.role.iter().map(compiled).collect()
});

/// What a kernel does in the model (`gate-up`, `down`, `q-k norm`), from its name, op, module and frames; the
/// first text that matches decides.
pub fn role(texts: &[&str]) -> Option<&'static str> {
    let of = |text: &&str| ROLES.iter().find(|(pattern, _)| pattern.is_match(text)).map(|(_, name)| *name);
    texts.iter().find_map(of)
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    formats::tables::built_in(include_str!("../../rules/display.toml"))
        .expect("the table is checked by tests")
});

/// A short name: `gemm MT128x128x64 BBS`, `vectorized_elementwise fill`, `ck_tile rmsnorm2d_fwd`.
pub fn display_name(name: &str) -> String {
    let canonical = canonical(name);
    shorten(&tensile(&canonical).unwrap_or_else(|| spoken(&canonical)))
}

fn tensile(canonical: &str) -> Option<String> {
    if !canonical.contains("Cijk_") {
        return None;
    }
    let facts = gemm(canonical)?;
    let mut text = String::from("gemm");
    if let Some([m, n, k]) = facts.tile {
        text.push_str(&format!(" MT{m}x{n}x{k}"));
    }
    if let Some(types) = facts.types {
        text.push_str(&format!(" {types}"));
    }
    Some(text)
}

fn spoken(canonical: &str) -> String {
    let path = function(canonical);
    let words = argument_words(canonical, &path);
    if let Some(wrapper) = TABLE.wrapper.iter().find(|w| is_or_ends_with(&path, &w.function)) {
        let ending = wrapper.ending.as_deref().unwrap_or("");
        let inner = words.iter().filter(|word| word.ends_with(ending)).find_map(|word| wrapped(word));
        if let Some(inner) = inner {
            return if wrapper.label.is_empty() { inner } else { format!("{} {inner}", wrapper.label) };
        }
    }
    let parts: Vec<&str> = path.split("::").filter(|part| !part.is_empty()).collect();
    let Some((last, spaces)) = parts.split_last() else { return canonical.to_string() };
    let mut text = String::new();
    if let Some(space) = spaces.first().filter(|space| TABLE.words.namespaces.iter().any(|n| n == *space)) {
        text.push_str(space);
        text.push(' ');
    }
    // `gemvx::kernel` says more than `kernel`.
    match spaces.last().filter(|_| *last == "kernel") {
        Some(space) => text.push_str(space),
        None => text.push_str(base(last)),
    }
    if parts.contains(&"native") || spaces.is_empty() {
        let operation = words.iter().find_map(|word| operation(word));
        if let Some(operation) = operation.filter(|operation| !text.contains(operation.as_str())) {
            text.push(' ');
            text.push_str(&operation);
        }
    }
    text
}

fn is_or_ends_with(path: &str, function: &str) -> bool {
    path == function || path.strip_suffix(function).is_some_and(|before| before.ends_with("::"))
}

/// The words after the function's own name, in order.
fn argument_words<'a>(canonical: &'a str, path: &str) -> Vec<&'a str> {
    if canonical.starts_with("_Z") {
        return identifiers(canonical).into_iter().skip(path.split("::").count()).collect();
    }
    let Some(first) = canonical.find('<') else { return Vec::new() };
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    canonical[first..].split(|c| !is_word(c)).filter(|word| !word.is_empty()).collect()
}

/// The word of a wrapper's argument that names the kernel it runs.
fn wrapped(word: &str) -> Option<String> {
    let names_a_kernel = word.len() > 3
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && !["ck_tile", "cutlass", "rocprim", "detail", "true", "false", "void", "unsigned"].contains(&word)
        && !word.starts_with("ROCPRIM_")
        && !TABLE.words.plumbing.iter().any(|plumbing| plumbing == word);
    if !names_a_kernel {
        return None;
    }
    // CUTLASS products have a readable name of their own.
    if word.contains('_') { Some(base(word).to_string()) } else { Some(snake(base(word))) }
}

/// The operation that a word of a template argument names: `FillFunctor` is `fill`.
fn operation(word: &str) -> Option<String> {
    let words = &TABLE.words;
    if words.plumbing.iter().any(|plumbing| plumbing == word) {
        return None;
    }
    let begun = words.beginnings.iter().find_map(|beginning| word.strip_prefix(beginning.as_str()));
    let rest = begun.unwrap_or(word);
    let ended = words.endings.iter().find_map(|ending| rest.strip_suffix(ending.as_str()));
    if begun.is_none() && ended.is_none() {
        return None;
    }
    let bare = ended.unwrap_or(rest);
    (!bare.is_empty()).then(|| snake(bare))
}

/// A function's name without the words that every kernel has.
fn base(name: &str) -> &str {
    let cut = ["_kernel", "Kernel", "_fwd_impl"].iter().find_map(|ending| name.strip_suffix(ending));
    cut.filter(|base| base.len() > 2).unwrap_or(name)
}

/// `FmhaBatchPrefill` as `fmha_batch_prefill`; runs of capitals stay together.
fn snake(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut text = String::new();
    for (i, &c) in chars.iter().enumerate() {
        let after_small = i > 0 && (chars[i - 1].is_lowercase() || chars[i - 1].is_ascii_digit());
        let before_small = chars.get(i + 1).is_some_and(|next| next.is_lowercase());
        let ends_capitals = i > 0 && chars[i - 1].is_uppercase() && before_small;
        if c.is_uppercase() && (after_small || ends_capitals) && !text.ends_with('_') {
            text.push('_');
        }
        text.extend(c.to_lowercase());
    }
    text
}

fn shorten(text: &str) -> String {
    let length = text.chars().count();
    if length <= LONGEST {
        return text.to_string();
    }
    let (head, tail) = (LONGEST * 2 / 3, LONGEST - LONGEST * 2 / 3 - 1);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_say_what_the_kernel_does() {
        let cases = [
            (
                "void at::native::vectorized_elementwise_kernel<8, at::native::FillFunctor<c10::BFloat16>, std::array<char*, 1ul> >(int)",
                "vectorized_elementwise fill",
            ),
            (
                "void at::native::vectorized_elementwise_kernel<8, at::native::AUnaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int)",
                "vectorized_elementwise mul",
            ),
            (
                "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)",
                "vectorized_elementwise add",
            ),
            (
                "void at::native::elementwise_kernel_manual_unroll<128, 8, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}>(int)::{lambda(int, bool)#1}>(int)",
                "elementwise_kernel_manual_unroll direct_copy",
            ),
            (
                "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, 4> >(int)",
                "reduce mean",
            ),
            (
                "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT320x224x64_MI16x16x1_ISA942.kd",
                "gemm MT320x224x64 BBS",
            ),
            (
                "_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelIDF16bTnEEEvv",
                "ck_tile fmha_batch_prefill_with_paged_kv_cache",
            ),
            ("void ck_tile::kentry<2, ck_tile::FmhaFwdKernel<int>>(int)", "ck_tile fmha_fwd"),
            ("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64EEEvv", "aiter add_rmsnorm_quant"),
            ("void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)", "vllm rotary_embedding"),
            (
                "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_tn_align1>(int)",
                "cutlass_80_tensorop_s1688gemm_256x64_16x4_tn_align1",
            ),
            (
                "void rocprim::ROCPRIM_400200_NS::detail::trampoline_kernel<rocprim::ROCPRIM_400200_NS::detail::wrapped_scan_config<rocprim::ROCPRIM_400200_NS::default_config, long>, (rocprim::ROCPRIM_400200_NS::detail::target_arch)942, rocprim::ROCPRIM_400200_NS::detail::scan_impl<int>>(int)",
                "rocprim scan_impl",
            ),
            ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float>(int)", "gemvx"),
            ("Memcpy HtoD (Host -> Device)", "Memcpy HtoD (Host -> Device)"),
            ("attn_fwd", "attn_fwd"),
            ("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_Generic"),
            ("", ""),
        ];
        for (name, expected) in cases {
            assert_eq!(display_name(name), expected, "{name}");
        }
    }

    #[test]
    fn name_op_module_or_frame_tell_what_a_kernel_is_for() {
        assert_eq!(role(&["mfma_moe1_silu_mul_afp4_wfp4_bf16"]), Some("gate-up"));
        assert_eq!(role(&["ck kernel_moe_gemm", "aiter::ck_moe_stage2"]), Some("down"));
        assert_eq!(
            role(&["", "python/sglang/srt/models/utils.py(394): _reshape_for_qk_norm"]),
            Some("q-k norm")
        );
        assert_eq!(role(&["nn.Module: QKVParallelLinear_3"]), Some("qkv"));
        assert_eq!(role(&["vectorized_elementwise add", "aten::add"]), None);
    }

    #[test]
    fn no_name_is_long() {
        let long = format!("triton_red_fused_{}_16", ["add"; 90].join("_"));
        let short = display_name(&long);
        assert_eq!(short.chars().count(), LONGEST);
        assert!(short.starts_with("triton_red_fused_") && short.ends_with("_16"));
    }
}

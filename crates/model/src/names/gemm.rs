//! What the name of a matrix-product kernel shows: tile, types, transposes, architecture, splits.

use std::sync::LazyLock;

use regex::Regex;

/// Facts in the name of a GEMM kernel; facts that are not in the name are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gemm {
    /// Rows, columns and depth of a workgroup's tile.
    pub tile: Option<[u32; 3]>,
    /// The types as the library writes them: `BBS`, `s1688`, `bf16bf16_bf16f32_f32`.
    pub types: Option<String>,
    /// Type of the inputs: `bf16`, `f16`, `f32`, `fp8` …
    pub input: Option<&'static str>,
    /// Type of the result.
    pub output: Option<&'static str>,
    /// Type of the accumulator.
    pub compute: Option<&'static str>,
    /// `N` or `T` for each input.
    pub transposes: Option<String>,
    /// `gfx942`
    pub arch: Option<String>,
    /// Workgroups that share the depth of one tile, if more than one.
    pub split_k: Option<u32>,
    /// Stream-K: workgroups share the depth unevenly.
    pub stream_k: bool,
}

/// (library's letters, type); longer ones first.
const TENSILE_TYPES: &[(&str, &str)] = &[
    ("F8", "fp8"),
    ("B8", "bf8"),
    ("I8", "int8"),
    ("F4", "fp4"),
    ("F6", "fp6"),
    ("H", "f16"),
    ("B", "bf16"),
    ("S", "f32"),
    ("D", "f64"),
    ("I", "int32"),
    ("C", "complex64"),
    ("Z", "complex128"),
    ("X", "tf32"),
];

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of this file, checked by its tests")
}

static TENSILE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:Custom_)?Cijk_A(il|li)k_B(lj|jl)k_([A-Z0-9]+(?:_BS)?)(?:_|$)"));
static TENSILE_TILE: LazyLock<Regex> = LazyLock::new(|| pattern(r"_MT(\d+)x(\d+)x(\d+)(?:_|$)"));
static ARCH: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"_ISA(\d+[a-f]?)(?:_|$)|target_arch\)(\d+[a-f]?)|[_.](gfx\d+[a-f]?)(?:[_.]|$)")
});
static SPLIT: LazyLock<Regex> = LazyLock::new(|| pattern(r"_GSU(\d+)(?:_|$)"));
static STREAM_K: LazyLock<Regex> = LazyLock::new(|| pattern(r"_SK[1-9]\d*(?:_|$)"));
static TRITON_KERNELS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^_p?_?matmul_ogs_([NT]{2})[NT]_(\w+?)_(\d+)x(\d+)x(\d+)(?:x(\d+))?(?:_|$)"));
static CUTLASS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"_(\w*?gemm)(?:_\w+?)?_(\d+)x(\d+)_(\d+)x\d+_([nt]{2})(?:_|$)"));
static XMMA: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"xmma_gemm_(\w+?)_([nt]{2})_\w*?tilesize(\d+)x(\d+)x(\d+)"));
static CUBLAS: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[a-z]+_(\w*?gemm)_(\d+)x(\d+)\w*?_([nt]{2})$"));

/// The facts in a kernel's name; `None` if it names neither tile nor types.
pub fn gemm(name: &str) -> Option<Gemm> {
    tensile(name).or_else(|| triton_kernels(name)).or_else(|| cuda(name))
}

/// The AMD architecture that a kernel's name was built for: `_ISA942_` is `gfx942`.
pub fn architecture(name: &str) -> Option<String> {
    let found = ARCH.captures(name)?;
    if let Some(whole) = found.get(3) {
        return Some(whole.as_str().to_string());
    }
    let number = found.get(1).or_else(|| found.get(2))?;
    Some(format!("gfx{}", number.as_str()))
}

fn tensile(name: &str) -> Option<Gemm> {
    let found = TENSILE.captures(name)?;
    // Cijk = Σ_l A · B with the first index contiguous: `Ailk` is as stored, `Alik` transposed.
    let a = if &found[1] == "il" { 'N' } else { 'T' };
    let b = if &found[2] == "lj" { 'N' } else { 'T' };
    let types = tensile_types(&found[3]);
    let split = SPLIT.captures(name).and_then(|c| c[1].parse().ok()).filter(|&n: &u32| n > 1);
    Some(Gemm {
        tile: TENSILE_TILE.captures(name).and_then(|c| tile(&c, 1)),
        types: Some(found[3].to_string()),
        input: types.first().copied(),
        // Two letters are a type and a flag; three are inputs, result and accumulator.
        output: (types.len() == 3).then(|| types[1]),
        compute: (types.len() == 3).then(|| types[2]),
        transposes: Some(format!("{a}{b}")),
        arch: architecture(name),
        split_k: split,
        stream_k: STREAM_K.is_match(name),
    })
}

fn tensile_types(letters: &str) -> Vec<&'static str> {
    let mut rest = letters;
    let mut types = Vec::new();
    while !rest.is_empty() {
        match TENSILE_TYPES.iter().find(|(letter, _)| rest.starts_with(letter)) {
            Some((letter, name)) => {
                types.push(*name);
                rest = &rest[letter.len()..];
            }
            None => rest = &rest[rest.chars().next().map_or(0, char::len_utf8)..],
        }
    }
    types
}

fn triton_kernels(name: &str) -> Option<Gemm> {
    let found = TRITON_KERNELS.captures(name)?;
    let split = found.get(6).and_then(|n| n.as_str().parse().ok()).filter(|&n: &u32| n > 1);
    Some(Gemm {
        tile: tile(&found, 3),
        types: Some(found[2].to_string()),
        transposes: Some(found[1].to_string()),
        split_k: split,
        ..Gemm::default()
    })
}

fn cuda(name: &str) -> Option<Gemm> {
    if let Some(found) = XMMA.captures(name) {
        let (types, transposes) = (Some(found[1].to_string()), Some(found[2].to_uppercase()));
        return Some(Gemm { tile: tile(&found, 3), types, transposes, ..Gemm::default() });
    }
    if let Some(found) = CUTLASS.captures(name) {
        let (types, transposes) = (Some(found[1].to_string()), Some(found[5].to_uppercase()));
        return Some(Gemm { tile: tile(&found, 2), types, transposes, ..Gemm::default() });
    }
    let found = CUBLAS.captures(name)?;
    // The depth is not in the name: a tile of two numbers is left out rather than guessed.
    let (types, transposes) = (Some(found[1].to_string()), Some(found[4].to_uppercase()));
    Some(Gemm { types, transposes, ..Gemm::default() })
}

fn tile(found: &regex::Captures<'_>, first: usize) -> Option<[u32; 3]> {
    let number = |i: usize| found.get(first + i)?.as_str().parse().ok();
    Some([number(0)?, number(1)?, number(2)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensile_names_tell_all() {
        let name = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT320x224x64_MI16x16x1_SN_GSU4_GSUAMBSK_ISA942_IU1_SK3_SKFTR0_WG32_8_1";
        let facts = gemm(name).unwrap();
        assert_eq!(facts.tile, Some([320, 224, 64]));
        assert_eq!(facts.types.as_deref(), Some("BBS"));
        assert_eq!((facts.input, facts.output, facts.compute), (Some("bf16"), Some("bf16"), Some("f32")));
        assert_eq!(facts.transposes.as_deref(), Some("TN"));
        assert_eq!(facts.arch.as_deref(), Some("gfx942"));
        assert_eq!((facts.split_k, facts.stream_k), (Some(4), true));
    }

    #[test]
    fn what_is_not_told_is_absent() {
        let facts = gemm("Cijk_Ailk_Bjlk_SB_MT64x64x16_GSU1_SK0_ISA90a").unwrap();
        assert_eq!((facts.input, facts.output, facts.compute), (Some("f32"), None, None));
        assert_eq!(facts.transposes.as_deref(), Some("NT"));
        assert_eq!(facts.arch.as_deref(), Some("gfx90a"));
        assert_eq!((facts.split_k, facts.stream_k), (None, false));
        assert_eq!(gemm("Cijk_Alik_Bljk_F8B8HS_BH_MT16x16x128").unwrap().input, Some("fp8"));
        assert_eq!(gemm("Cijk_Alik_Bljk_B_BS_BH_MT16x16x128").unwrap().types.as_deref(), Some("B_BS"));
        for name in ["attn_fwd", "gemm", "Cijk_", "Cijk_Axxx", ""] {
            assert_eq!(gemm(name), None, "{name}");
        }
    }

    #[test]
    fn other_libraries_tell_less() {
        let triton = gemm("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu").unwrap();
        assert_eq!((triton.tile, triton.types.as_deref()), (Some([16, 128, 256]), Some("bf16xbf16xmxfp4")));
        let cutlass =
            gemm("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_tn_align1>").unwrap();
        assert_eq!((cutlass.tile, cutlass.transposes.as_deref()), (Some([256, 64, 16]), Some("TN")));
        let xmma =
            gemm("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x64x64_warpgroupsize1x1x1_execute")
                .unwrap();
        assert_eq!((xmma.tile, xmma.types.as_deref()), (Some([128, 64, 64]), Some("bf16bf16_bf16f32_f32")));
        assert_eq!(gemm("volta_sgemm_128x32_nt").unwrap().tile, None);
    }

    #[test]
    fn architectures_come_from_three_spellings() {
        assert_eq!(architecture("x_ISA950_y").as_deref(), Some("gfx950"));
        assert_eq!(architecture("rocprim::detail::target_arch)942, int").as_deref(), Some("gfx942"));
        assert_eq!(architecture("kernel_gfx90a.kd").as_deref(), Some("gfx90a"));
        assert_eq!(architecture("gfx"), None);
    }
}

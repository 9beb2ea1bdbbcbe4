//! Matches kernels of candidate and base: by name, then by what survives tile and type changes.

use std::collections::BTreeMap;

use model::names;

/// Families with more names than this on a side are matched on their longest-running ones only.
const LARGEST_FAMILY: usize = 1000;

/// Inductor numbers its kernels in creation order; the number says nothing about what they do.
const NUMBERED: &str = "triton_";

/// A name on one side with its tie-breakers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'a> {
    pub name: &'a str,
    pub calls: usize,
    pub total: i64,
}

/// Two names for one kernel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair {
    /// Index in the base's list; `None` for a new kernel.
    pub base: Option<usize>,
    /// Index in the candidate's list; `None` for a kernel that is gone.
    pub candidate: Option<usize>,
    /// 1 for the same name, 0.5 to 1 for a changed one, [`BY_PLACE`] for kernels that ran at the same ops.
    pub similarity: Option<f64>,
}

/// Matches every name at most once. The result does not depend on the order of the lists.
pub(crate) fn matched(base: &[Candidate], candidate: &[Candidate]) -> Vec<Pair> {
    let mut taken = [vec![false; base.len()], vec![false; candidate.len()]];
    let mut pairs = Vec::new();
    let mut take = |taken: &mut [Vec<bool>; 2], b: usize, c: usize, similarity: f64| {
        taken[0][b] = true;
        taken[1][c] = true;
        pairs.push(Pair { base: Some(b), candidate: Some(c), similarity: Some(similarity) });
    };
    let of_name: BTreeMap<&str, usize> = candidate.iter().enumerate().map(|(i, c)| (c.name, i)).collect();
    for (b, name) in base.iter().enumerate() {
        if let Some(&c) = of_name.get(name.name) {
            take(&mut taken, b, c, 1.0);
        }
    }
    let left = |taken: &[bool], all: &[Candidate]| -> BTreeMap<String, Vec<Form>> {
        let mut families: BTreeMap<String, Vec<Form>> = BTreeMap::new();
        for place in (0..all.len()).filter(|&i| !taken[i]) {
            let form = Form::of(place, all[place].name);
            families.entry(form.family.clone()).or_default().push(form);
        }
        for forms in families.values_mut() {
            forms.sort_by_key(|form| (-all[form.place].total, all[form.place].name.to_string()));
            forms.truncate(LARGEST_FAMILY);
        }
        families
    };
    let (left_base, left_candidate) = (left(&taken[0], base), left(&taken[1], candidate));
    for (family, forms) in &left_base {
        let Some(others) = left_candidate.get(family) else { continue };
        let mut scored = Vec::with_capacity(forms.len() * others.len());
        for form in forms {
            for other in others {
                let (b, c) = (&base[form.place], &candidate[other.place]);
                // Ties are broken by the number of calls, then by name.
                let calls = (b.calls.max(1) as f64 / c.calls.max(1) as f64).ln().abs();
                scored.push((form.similarity(other), calls, form.place, other.place));
            }
        }
        scored.sort_by(|x, y| {
            y.0.total_cmp(&x.0)
                .then_with(|| x.1.total_cmp(&y.1))
                .then_with(|| base[x.2].name.cmp(base[y.2].name))
                .then_with(|| candidate[x.3].name.cmp(candidate[y.3].name))
        });
        for (similarity, _, b, c) in scored {
            if !taken[0][b] && !taken[1][c] {
                take(&mut taken, b, c, similarity);
            }
        }
    }
    let alone = |side: usize, i: usize| !taken[side][i];
    let gone = (0..base.len()).filter(|&b| alone(0, b));
    let new = (0..candidate.len()).filter(|&c| alone(1, c));
    pairs.extend(gone.map(|b| Pair { base: Some(b), candidate: None, similarity: None }));
    pairs.extend(new.map(|c| Pair { base: None, candidate: Some(c), similarity: None }));
    pairs
}

/// Below this similarity, a pair was matched by where its kernels ran, not by name.
pub(crate) const BY_PLACE: f64 = 0.4;

/// Joins kernels that could not be matched by name, using where they ran: `same_places` lists names that ran
/// at the same ops with their shared time, most first.
pub(crate) fn join_by_place(
    pairs: &mut Vec<Pair>,
    base: &[Candidate],
    candidate: &[Candidate],
    same_places: &[(String, String, i64)],
) {
    let (mut gone, mut new) = (BTreeMap::new(), BTreeMap::new());
    for (place, pair) in pairs.iter().enumerate() {
        match (pair.base, pair.candidate) {
            (Some(b), None) => gone.insert(base[b].name, place),
            (None, Some(c)) => new.insert(candidate[c].name, place),
            _ => None,
        };
    }
    let mut joined = vec![false; pairs.len()];
    for (before, after, _) in same_places {
        if let (Some(&b), Some(&c)) = (gone.get(&before[..]), new.get(&after[..])) {
            gone.remove(&before[..]);
            new.remove(&after[..]);
            pairs[b].candidate = pairs[c].candidate;
            pairs[b].similarity = Some(BY_PLACE);
            joined[c] = true;
        }
    }
    let mut joined = joined.into_iter();
    pairs.retain(|_| !joined.next().unwrap_or(false));
}

/// A parsed name: the family, which must agree, and the words, which are scored by overlap.
struct Form {
    place: usize,
    family: String,
    /// Sorted.
    words: Vec<String>,
}

impl Form {
    fn of(place: usize, name: &str) -> Self {
        let canonical = names::canonical(name);
        let mut words: Vec<String> = words(&canonical);
        words.sort_unstable();
        Self { place, family: family(name, &canonical), words }
    }

    /// Half for the family, half for the share of words in common (Dice).
    fn similarity(&self, other: &Form) -> f64 {
        let (mut i, mut j, mut common) = (0, 0, 0usize);
        while i < self.words.len() && j < other.words.len() {
            match self.words[i].cmp(&other.words[j]) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => (common, i, j) = (common + 1, i + 1, j + 1),
            }
        }
        let all = self.words.len() + other.words.len();
        0.5 + if all == 0 { 0.5 } else { common as f64 / all as f64 }
    }
}

fn words(canonical: &str) -> Vec<String> {
    let text = if canonical.starts_with(NUMBERED) { without_number(canonical) } else { canonical };
    let word = |c: char| !c.is_alphanumeric();
    text.split(word).filter(|word| !word.is_empty()).map(String::from).collect()
}

/// What two spellings of one kernel share: for a matrix product the problem whatever its tile and types,
/// otherwise the function with its operation, otherwise the name without numbers.
fn family(name: &str, canonical: &str) -> String {
    if let Some(product) = names::gemm(canonical) {
        let library = if canonical.contains("Cijk_") { "tensile" } else { "product" };
        return format!("{library} {}", product.transposes.unwrap_or_default());
    }
    if canonical.contains('<') || canonical.starts_with("_Z") {
        return names::without_numbers(&format!(
            "{} {}",
            names::function(canonical),
            names::display_name(name)
        ));
    }
    if canonical.starts_with(NUMBERED) {
        return without_number(canonical).to_string();
    }
    names::without_numbers(canonical)
}

/// `triton_poi_fused_add_12` without its number.
fn without_number(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_')
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEMM_LARGE: &str = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_LDSB1_AFC1_GRVWA8_GRVWB8_GSUAMBSK_ISA942_IU1_SK3_WG32_8_1";
    const GEMM_SMALL: &str = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT32x16x128_MI16x16x1_SN_LDSB1_AFC1_GRVWA8_GRVWB8_GSUAMBSK_ISA942_IU1_SK3_WG32_8_1";
    const GEMM_OTHER: &str = "Cijk_Ailk_Bjlk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_ISA942";

    fn pairs(base: &[&str], candidate: &[&str]) -> Vec<(Option<usize>, Option<usize>, f64)> {
        fn list<'a>(names: &[&'a str]) -> Vec<Candidate<'a>> {
            names.iter().map(|name| Candidate { name, calls: 10, total: 100 }).collect()
        }
        let mut found: Vec<_> = matched(&list(base), &list(candidate))
            .into_iter()
            .map(|pair| (pair.base, pair.candidate, pair.similarity.unwrap_or(0.0)))
            .collect();
        found.sort_by_key(|pair| (pair.0.is_none(), pair.0, pair.1));
        found
    }

    /// Each pair is the same kernel with other tiles, types, template arguments or numbers.
    #[test]
    fn changed_spellings_are_the_same_kernel() {
        let cases = [
            (GEMM_LARGE, GEMM_SMALL),
            (GEMM_LARGE, "Cijk_Alik_Bljk_F8B8HS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_ISA942"),
            ("triton_poi_fused_add_mul_12", "triton_poi_fused_add_mul_7"),
            (
                "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)",
                "void vllm::rotary_embedding_kernel<c10::Half, true>(long const*)",
            ),
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int)",
                "void at::native::vectorized_elementwise_kernel<8, at::native::FillFunctor<c10::BFloat16>, std::array<char*, 1ul> >(int)",
            ),
            (
                "_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelIDF16bTnEEEvv",
                "_ZN7ck_tile6kentryILi1ENS_38FmhaBatchPrefillWithPagedKVCacheKernelIDF16_TnEEEvv",
            ),
            (
                "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu",
                "_matmul_ogs_NNT_bf16xbf16xmxfp4_32x128x256x1_swiglu",
            ),
            ("_Z3addPfi.kd", "add(float*, int)"),
            ("paged_attention_ll4mi_QKV_mfma16_kernel_256", "paged_attention_ll4mi_QKV_mfma16_kernel_512"),
        ];
        for (base, candidate) in cases {
            let found = pairs(&[base], &[candidate]);
            assert_eq!((found[0].0, found[0].1), (Some(0), Some(0)), "{base} and {candidate}");
            assert!((0.5..=1.0).contains(&found[0].2), "{found:?}");
        }
    }

    /// Each pair does different things.
    #[test]
    fn other_kernels_stay_apart() {
        let cases = [
            (GEMM_LARGE, GEMM_OTHER),
            (GEMM_LARGE, "triton_poi_fused_add_mul_12"),
            ("triton_poi_fused_add_mul_12", "triton_poi_fused_add_12"),
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int)",
                "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
            ),
            ("attn_fwd", "attn_bwd"),
        ];
        for (base, candidate) in cases {
            let found = pairs(&[base], &[candidate]);
            assert_eq!(found, [(Some(0), None, 0.0), (None, Some(0), 0.0)], "{base} and {candidate}");
        }
    }

    #[test]
    fn the_same_name_wins_and_each_is_taken_once() {
        let found = pairs(&["triton_poi_fused_add_1", "triton_poi_fused_add_2"], &["triton_poi_fused_add_2"]);
        assert_eq!(found, [(Some(0), None, 0.0), (Some(1), Some(0), 1.0)]);
    }

    #[test]
    fn the_nearest_spelling_is_taken_whatever_the_order() {
        let third = GEMM_LARGE.replace("GRVWA8_GRVWB8", "GRVWA4_GRVWB4").replace("256x192", "128x96");
        let near_small = GEMM_SMALL.replace("SK3", "SK0");
        let found = pairs(&[GEMM_LARGE, GEMM_SMALL], &[&near_small, &third]);
        assert_eq!((found[0].0, found[0].1), (Some(0), Some(1)));
        assert_eq!((found[1].0, found[1].1), (Some(1), Some(0)));
        let turned = pairs(&[GEMM_SMALL, GEMM_LARGE], &[&third, &near_small]);
        assert_eq!((turned[0].1, turned[1].1), (Some(1), Some(0)));
    }

    #[test]
    fn calls_decide_between_equals() {
        let list = |calls: &[(&'static str, usize)]| -> Vec<Candidate<'static>> {
            calls.iter().map(|&(name, calls)| Candidate { name, calls, total: 1 }).collect()
        };
        let base = list(&[("triton_poi_fused_add_1", 100), ("triton_poi_fused_add_2", 7)]);
        let candidate = list(&[("triton_poi_fused_add_8", 7), ("triton_poi_fused_add_9", 100)]);
        let mut found = matched(&base, &candidate);
        found.sort_by_key(|pair| pair.base);
        assert_eq!((found[0].candidate, found[1].candidate), (Some(1), Some(0)));
    }
}

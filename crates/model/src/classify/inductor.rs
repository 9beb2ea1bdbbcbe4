//! Kernels made by Inductor: their names list the ops they were fused from, which decide instead of the text.

use super::category::Category;

/// Words of the op lists in Inductor's names.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    /// Ops of more than one word, as their words; the longest first.
    pub ops: Vec<Vec<String>>,
    /// Ops that only move, view or make data.
    pub layout: Vec<String>,
    /// Kernels of other libraries, named because the fused kernel prepares their inputs.
    pub opaque: Vec<String>,
}

impl Words {
    /// Adds an op of several words.
    pub fn add_op(&mut self, op: &str) {
        self.ops.push(op.split('_').map(str::to_string).collect());
        self.ops.sort_by_key(|words| std::cmp::Reverse(words.len()));
    }

    /// The ops of a list such as `_to_copy_add_native_layer_norm`.
    fn split(&self, list: &str) -> Vec<String> {
        let parts: Vec<&str> = list.split('_').collect();
        let mut ops = Vec::new();
        let mut at = 0;
        while at < parts.len() {
            let begins = |op: &&Vec<String>| {
                op.len() <= parts.len() - at && op.iter().zip(&parts[at..]).all(|(a, b)| a == b)
            };
            let known = self.ops.iter().find(begins);
            let taken = known.map_or(1, Vec::len);
            let op = parts[at..at + taken].join("_");
            if !op.is_empty() {
                ops.push(op);
            }
            at += taken;
        }
        ops
    }
}

/// A name such as `triton_red_fused_add_rsqrt_3`, taken apart.
pub(super) struct Fused {
    /// `poi`, `red`, `per`, `tem` …
    pub kind: String,
    /// The ops, without kernels of other libraries.
    pub ops: Vec<String>,
}

/// The parts of an Inductor name; `None` for other names.
pub(super) fn parse(name: &str, words: &Words) -> Option<Fused> {
    let (kind, rest) = name.strip_prefix("triton_")?.split_once("_fused_")?;
    if kind.is_empty() || !kind.bytes().all(|b| b.is_ascii_lowercase()) {
        return None;
    }
    let list = match rest.rsplit_once('_') {
        Some((list, number)) if number.bytes().all(|b| b.is_ascii_digit()) => list,
        None if rest.bytes().all(|b| b.is_ascii_digit()) => "",
        _ => rest,
    };
    let mut ops = words.split(list);
    // A template is such a kernel itself.
    ops.retain(|op| kind == "tem" || !words.opaque.contains(op));
    Some(Fused { kind: kind.to_string(), ops })
}

/// Which category an Inductor kernel gets.
#[derive(Clone, Debug)]
pub(super) struct InductorRule {
    pub id: std::sync::Arc<str>,
    /// Kinds it is limited to; all if empty.
    pub kinds: Vec<String>,
    /// The list must have one of these ops; any list passes if empty.
    pub any: Vec<String>,
    /// The list must have all of these ops.
    pub all: Vec<String>,
    /// The list has ops, and all of them only move data.
    pub layout_only: bool,
    pub category: Category,
}

impl InductorRule {
    pub fn matches(&self, fused: &Fused, words: &Words) -> bool {
        let has = |op: &String| fused.ops.contains(op);
        (self.kinds.is_empty() || self.kinds.contains(&fused.kind))
            && (self.any.is_empty() || self.any.iter().any(has))
            && self.all.iter().all(has)
            && (!self.layout_only
                || (!fused.ops.is_empty() && fused.ops.iter().all(|op| words.layout.contains(op))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Words {
        let mut words = Words { opaque: vec!["moe_forward".into()], ..Words::default() };
        for op in ["_to_copy", "native_layer_norm", "layer_norm", "moe_forward", "constant_pad_nd"] {
            words.add_op(op);
        }
        words
    }

    #[test]
    fn ops_of_several_words_stay_together() {
        let fused = parse("triton_poi_fused__to_copy_add_native_layer_norm__to_copy_14", &words()).unwrap();
        assert_eq!(fused.kind, "poi");
        assert_eq!(fused.ops, ["_to_copy", "add", "native_layer_norm", "_to_copy"]);
    }

    #[test]
    fn kernels_of_others_do_not_count() {
        let fused = parse("triton_poi_fused_constant_pad_nd_moe_forward_0", &words()).unwrap();
        assert_eq!(fused.ops, ["constant_pad_nd"]);
        assert!(parse("triton_poi_fused_0", &words()).unwrap().ops.is_empty());
    }

    #[test]
    fn other_names_are_not_inductors() {
        for name in ["triton_", "triton__0d1d", "fused_add", "triton_mm_kernel", "triton__fused_add_1"] {
            assert!(parse(name, &words()).is_none(), "{name}");
        }
    }
}

//! The table `rules/instructions.toml`: instruction classes by text.

use std::sync::LazyLock;

use serde::Deserialize;

/// A class of instructions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InstructionClass {
    pub name: String,
    begins: Vec<String>,
    /// The unit that a wait for its result is charged to.
    pub unit: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Classes {
    class: Vec<InstructionClass>,
}

static CLASSES: LazyLock<Classes> = LazyLock::new(|| {
    formats::tables::built_in(include_str!("../../../rules/instructions.toml"))
        .expect("the table is checked by a test")
});

/// The class of an instruction.
pub(super) fn class_of(isa: &str) -> &'static InstructionClass {
    let isa = isa.trim_start();
    let fits = |class: &&InstructionClass| class.begins.iter().any(|begin| isa.starts_with(begin.as_str()));
    CLASSES.class.iter().find(fits).expect("the last class fits everything; a test checks it")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The original got these wrong: it misclassified matrix, branch, wait and scalar load instructions.
    #[test]
    fn instructions_are_told_by_their_text() {
        let cases = [
            ("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", "matrix"),
            ("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]", "packed"),
            ("v_exp_f32_e32 v0, v1", "transcendental"),
            ("v_add_f32_e32 v0, v1, v2", "vector"),
            ("global_load_dwordx4 v[0:3], v4, s[0:1]", "memory load"),
            ("buffer_store_dword v0, off, s[0:3], 0", "memory store"),
            ("global_atomic_add_f32 v0, v1, s[0:1]", "atomic"),
            ("scratch_store_dword off, v0, s32", "scratch"),
            ("ds_read_b128 v[0:3], v4", "LDS"),
            ("s_load_dwordx2 s[0:1], s[4:5], 0x0", "scalar memory"),
            ("s_waitcnt vmcnt(0)", "wait"),
            ("s_barrier", "barrier"),
            ("s_cbranch_scc1 65500", "branch"),
            ("s_add_u32 s0, s1, s2", "scalar"),
            ("nonsense", "other"),
        ];
        for (isa, class) in cases {
            assert_eq!(class_of(isa).name, class, "{isa}");
        }
    }
}

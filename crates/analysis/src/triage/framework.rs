//! The serving framework of a run, from what its trace shows.

use trace::{Map, StrId};

use super::Context;

/// A serving framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Framework {
    /// SGLang.
    Sglang,
    /// vLLM.
    Vllm,
}

impl Framework {
    /// All of them.
    pub const ALL: [Framework; 2] = [Framework::Sglang, Framework::Vllm];

    /// `sglang`, `vllm`.
    pub fn name(self) -> &'static str {
        match self {
            Framework::Sglang => "sglang",
            Framework::Vllm => "vllm",
        }
    }

    /// The framework of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|framework| framework.name() == name)
    }

    /// Folder of its Python package.
    fn package(self) -> &'static str {
        match self {
            Framework::Sglang => "sglang/",
            Framework::Vllm => "vllm/",
        }
    }

    /// Whose Python lines launch most of the GPU time; none when neither does (a plain torch program).
    pub fn of(context: &Context) -> Option<Self> {
        let mut known: Map<StrId, Option<Self>> = Map::default();
        let mut totals = [0i64; Self::ALL.len()];
        for &row in &context.rows {
            let location = context.site(row).location;
            let text = context.attribution.text(location);
            let of_frame = || Self::ALL.into_iter().find(|framework| text.contains(framework.package()));
            if let Some(framework) = *known.entry(location).or_insert_with(of_frame) {
                totals[framework as usize] += context.duration(row).max(1);
            }
        }
        let most = Self::ALL.into_iter().max_by_key(|framework| totals[*framework as usize])?;
        (totals[most as usize] > 0).then_some(most)
    }
}

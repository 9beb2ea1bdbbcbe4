//! Python frames by name: which are noise, which only pass a call on, and how well the rest locate code.

use std::sync::LazyLock;

use rayon::prelude::*;
use serde::Deserialize;
use trace::{StrId, Strings};

use crate::marks::Marks;

/// How a frame is used in a call chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A call of an `nn.Module`.
    Module,
    /// Machinery below every framework; never shown.
    Noise,
    /// Passes a call on: kept in the chain, a location only if there is no other.
    Wrapper,
    /// A line of source code, with its priority as a location.
    Source {
        /// Higher is better.
        priority: u16,
        /// Whether it lies in a folder of model definitions.
        model: bool,
    },
}

/// The rules of `rules/frames.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameRules {
    pub(crate) chain_length: usize,
    package_folders: Vec<String>,
    source_roots: Vec<String>,
    generated: Vec<Generated>,
    noise: Vec<String>,
    wrapper_functions: Vec<String>,
    wrapper_paths: Vec<String>,
    priority: Vec<Priority>,
    other_priority: u16,
    model_folders: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Generated {
    folder: String,
    shown: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Priority {
    path: String,
    value: u16,
}

impl FrameRules {
    /// The built-in rules.
    pub fn built_in() -> &'static Self {
        static RULES: LazyLock<FrameRules> = LazyLock::new(|| {
            formats::tables::built_in(include_str!("../../rules/frames.toml"))
                .expect("built-in frame rules are valid")
        });
        &RULES
    }

    /// The role of a frame with this name.
    pub fn role(&self, name: &str) -> Role {
        if name.starts_with(MODULE) {
            return Role::Module;
        }
        let shown = self.shown(name);
        let (path, function) = split(&shown);
        let is = |prefixes: &[String]| prefixes.iter().any(|prefix| path.starts_with(prefix.as_str()));
        if is(&self.noise) {
            return Role::Noise;
        }
        if is(&self.wrapper_paths) || self.wrapper_functions.iter().any(|f| f == function) {
            return Role::Wrapper;
        }
        let known = self.priority.iter().find(|p| path.starts_with(p.path.as_str()));
        let priority = known.map_or(self.other_priority, |p| p.value);
        let model = self.model_folders.iter().any(|folder| has_folder(path, folder));
        Role::Source { priority, model }
    }

    /// The name without the folders of one machine or container.
    pub fn shown(&self, name: &str) -> String {
        let (path, _) = split(name);
        let rest = &name[path.len()..];
        for generated in &self.generated {
            if let Some(at) = path.find(&format!("/{}", generated.folder)) {
                let file = path[at..].rsplit('/').next().unwrap_or_default();
                return format!("{}{file}{rest}", generated.shown);
            }
        }
        for folder in &self.package_folders {
            if let Some(at) = path.rfind(folder.as_str()) {
                return format!("{}{rest}", &path[at + folder.len()..]);
            }
        }
        if path.starts_with('/') {
            let root =
                self.source_roots.iter().find_map(|root| path.find(&format!("/{root}")).map(|at| (at, root)));
            if let Some((at, root)) = root {
                let mut inside = &path[at + 1..];
                // A checkout has the package's name too: `/app/vllm/vllm/…`.
                while inside
                    .strip_prefix(root.as_str())
                    .is_some_and(|deeper| deeper.starts_with(root.as_str()))
                {
                    inside = &inside[root.len()..];
                }
                return format!("{inside}{rest}");
            }
        }
        name.to_string()
    }
}

const MODULE: &str = "nn.Module: ";

/// `path` and `function` of `path(line): function`; other names are all path.
fn split(name: &str) -> (&str, &str) {
    let Some(close) = name.find("): ") else { return (name, "") };
    let Some(open) = name[..close].rfind('(') else { return (name, "") };
    if name[open + 1..close].bytes().all(|b| b.is_ascii_digit()) {
        (&name[..open], &name[close + 3..])
    } else {
        (name, "")
    }
}

fn has_folder(path: &str, folder: &str) -> bool {
    path.match_indices(folder).any(|(at, _)| at == 0 || path.as_bytes()[at - 1] == b'/')
}

/// The last part of the path, with line and function.
pub fn file_and_function(shown: &str) -> &str {
    let (path, _) = split(shown);
    match path.rfind('/') {
        Some(at) => &shown[at + 1..],
        None => shown,
    }
}

/// A module without the number of its instance: `nn.Module: RMSNorm_12` is `nn.Module: RMSNorm`.
pub fn module_class(module: &str) -> &str {
    match module.rsplit_once('_') {
        Some((class, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => class,
        _ => module,
    }
}

/// Roles of a trace's names, each judged once.
pub(crate) struct Roles<'a> {
    rules: &'a FrameRules,
    strings: &'a Strings,
    known: Vec<Option<Role>>,
}

impl<'a> Roles<'a> {
    /// Judges these names.
    pub fn judged(
        rules: &'a FrameRules,
        strings: &'a Strings,
        names: impl ParallelIterator<Item = StrId>,
    ) -> Self {
        let wanted = Marks::new(strings.len());
        names.for_each(|name| _ = wanted.set(name.0 as usize));
        let judge = |name: usize| wanted.get(name).then(|| rules.role(strings.get(StrId(name as u32))));
        let known = (0..strings.len()).into_par_iter().map(judge).collect();
        Self { rules, strings, known }
    }

    /// The role of a name, whether it was judged before or not.
    #[inline]
    pub fn known(&self, name: StrId) -> Role {
        self.known[name.0 as usize].unwrap_or_else(|| self.rules.role(self.strings.get(name)))
    }

    /// By string: its name and role, if it was judged.
    pub fn all(&self) -> impl Iterator<Item = Option<(StrId, Role)>> + '_ {
        self.known.iter().enumerate().map(|(name, role)| Some((StrId(name as u32), (*role)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn container_prefixes_are_cut() {
        let cases = [
            (
                "/sgl-workspace/sglang/python/sglang/srt/models/qwen3.py(507): forward",
                "python/sglang/srt/models/qwen3.py(507): forward",
            ),
            ("/tmp/torchinductor_root/zg/czgn.py(267): call", "torchinductor/czgn.py(267): call"),
            ("/usr/lib/python3.12/dist-packages/vllm/a.py(1): f", "vllm/a.py(1): f"),
            ("/app/vllm/vllm/a.py(1): f", "vllm/a.py(1): f"),
            ("aiter/ops/triton/x.py(3): g", "aiter/ops/triton/x.py(3): g"),
            ("/home/me/run.py(3): <module>", "/home/me/run.py(3): <module>"),
            (
                "<built-in method reshape of Tensor object at 0x7e>",
                "<built-in method reshape of Tensor object at 0x7e>",
            ),
        ];
        for (name, shown) in cases {
            assert_eq!(FrameRules::built_in().shown(name), shown);
        }
    }

    #[test]
    fn frames_are_judged_by_package_and_function() {
        let role = |name| FrameRules::built_in().role(name);
        let source = |priority, model| Role::Source { priority, model };
        let cases = [
            ("nn.Module: RMSNorm_0", Role::Module),
            ("torch/nn/modules/module.py(1779): _call_impl", Role::Noise),
            ("/opt/venv/lib/python3.12/site-packages/torch/_ops.py(840): __call__", Role::Noise),
            ("triton/runtime/jit.py(574): run", Role::Noise),
            ("<built-in function launch>", Role::Noise),
            ("aiter/ops/triton/attention/unified_attention.py(103): unified_attention", source(250, false)),
            ("torch_guard.py(306): outer_wrapper", Role::Wrapper),
            ("aiter/jit/core.py(1396): wrapper", Role::Wrapper),
            ("<string>(1): launcher", Role::Wrapper),
            ("<eval_with_key>.50(4): forward", Role::Wrapper),
            ("/sgl-workspace/sglang/python/sglang/srt/models/qwen3.py(507): forward", source(300, true)),
            ("vllm/_custom_ops.py(2519): reshape_and_cache_flash", source(285, false)),
            ("train.py(3): main", source(100, false)),
        ];
        for (name, expected) in cases {
            assert_eq!(role(name), expected, "{name}");
        }
    }

    #[test]
    fn short_forms() {
        assert_eq!(file_and_function("vllm/a/b.py(1): f"), "b.py(1): f");
        assert_eq!(file_and_function("<string>(1): launcher"), "<string>(1): launcher");
        assert_eq!(module_class("nn.Module: RMSNorm_12"), "nn.Module: RMSNorm");
        assert_eq!(module_class("nn.Module: A_b"), "nn.Module: A_b");
    }
}

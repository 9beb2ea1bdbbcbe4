//! What a kernel does if its name does not say: op, Python frames and module of its launch decide.

use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde::Deserialize;

use super::{Category, Class, ClassifiedBy};
use crate::attribution::{Attribution, Site};

const BUILTIN: &str = include_str!("../../rules/evidence.toml");

/// What the site of a launch can still decide about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    /// Nothing: the name decides everything.
    Nothing,
    /// The backend: several libraries ship the kernel, or the name does not show which one it is from.
    Backend,
    /// The category too: no rule matches the name, or compilers give it to every kernel.
    Everything,
}

/// The table `rules/evidence.toml`, ready to decide.
pub(super) struct Evidence {
    generic: Vec<Regex>,
    rules: Vec<Rule>,
    libraries: Vec<(Regex, Arc<str>)>,
}

struct Rule {
    on: On,
    pattern: Regex,
    category: Category,
    #[cfg(test)]
    example: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum On {
    Op,
    Frame,
    Module,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    generic: Vec<String>,
    evidence: Vec<RuleText>,
    library: Vec<LibraryText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    on: On,
    pattern: String,
    category: String,
    #[cfg_attr(not(test), allow(dead_code))]
    example: String,
    #[serde(rename = "note")]
    _note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LibraryText {
    path: String,
    backend: String,
}

impl Evidence {
    /// The built-in table.
    pub fn built_in() -> &'static Self {
        static TABLE: LazyLock<Evidence> = LazyLock::new(|| {
            let file: File =
                formats::tables::built_in(BUILTIN).expect("the built-in table of evidence is valid");
            let regex = |text: &str| Regex::new(text).expect("built-in patterns are valid");
            let rule = |text: RuleText| Rule {
                on: text.on,
                pattern: regex(&text.pattern),
                category: Category::parse(&text.category).expect("built-in categories are valid"),
                #[cfg(test)]
                example: text.example,
            };
            Evidence {
                generic: file.generic.iter().map(|text| regex(text)).collect(),
                rules: file.evidence.into_iter().map(rule).collect(),
                libraries: file
                    .library
                    .into_iter()
                    .map(|library| (regex(&library.path), Arc::from(library.backend)))
                    .collect(),
            }
        });
        &TABLE
    }

    /// Whether compilers give every kernel this function name.
    pub fn is_generic(&self, function: &str) -> bool {
        self.generic.iter().any(|pattern| pattern.is_match(function))
    }

    /// The class of a name at a site; `None` if the site adds nothing to what the name shows.
    pub fn refine(&self, class: &Class, open: Open, attribution: &Attribution, site: &Site) -> Option<Class> {
        if open == Open::Nothing || !site.is_located() {
            return None;
        }
        let frames = frames(attribution, site);
        let mut refined = class.clone();
        if open == Open::Everything
            && let Some((category, by)) = self.category(attribution, site, &frames)
        {
            (refined.category, refined.by) = (category, by);
        }
        // Only the innermost frames are in the library itself; those further out called it.
        let own = frames.iter().take(2);
        let library =
            own.flat_map(|frame| self.libraries.iter().find(|(path, _)| path.is_match(frame))).next();
        if let Some((_, backend)) = library {
            refined.backend = backend.clone();
        }
        (refined != *class).then_some(refined)
    }

    fn category(
        &self,
        attribution: &Attribution,
        site: &Site,
        frames: &[&str],
    ) -> Option<(Category, ClassifiedBy)> {
        let first = |on: On, text: &str| {
            self.rules
                .iter()
                .find(|rule| rule.on == on && rule.pattern.is_match(text))
                .map(|rule| rule.category)
        };
        let by_op = first(On::Op, attribution.text(site.cpu_op)).map(|c| (c, ClassifiedBy::Op));
        let by_frame =
            || frames.iter().find_map(|frame| first(On::Frame, frame)).map(|c| (c, ClassifiedBy::Frame));
        let by_module =
            || first(On::Module, attribution.text(site.module)).map(|c| (c, ClassifiedBy::Module));
        by_op.or_else(by_frame).or_else(by_module)
    }
}

/// The frames of a site from the inside out, each once.
fn frames<'a>(attribution: &'a Attribution, site: &Site) -> Vec<&'a str> {
    let mut frames: Vec<&str> = Vec::new();
    let own = [site.leaf, site.library_frame].map(|id| attribution.text(id));
    let chain = attribution.text(site.chain).rsplit(" > ");
    let outer = [site.location, site.model_frame].map(|id| attribution.text(id));
    for frame in own.into_iter().chain(chain).chain(outer) {
        if !frame.is_empty() && !frames.contains(&frame) {
            frames.push(frame);
        }
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_of_evidence_is_first_for_its_example() {
        let table = Evidence::built_in();
        for rule in &table.rules {
            let first = table.rules.iter().find(|r| r.on == rule.on && r.pattern.is_match(&rule.example));
            let first = first.unwrap_or_else(|| panic!("no rule matches {}", rule.example));
            assert_eq!(first.category, rule.category, "{}", rule.example);
        }
    }

    #[test]
    fn names_that_compilers_give_to_every_kernel_are_generic() {
        let table = Evidence::built_in();
        for name in ["main_kernel", "kernel", "kernel_3", "triton_", "triton_poi_fused_0", "triton__0d1d2d"] {
            assert!(table.is_generic(name), "{name}");
        }
        for name in ["attn_fwd", "triton_poi_fused_add_0", "kernel_unified_attention_2d", "kernel_moe_gemm"] {
            assert!(!table.is_generic(name), "{name}");
        }
    }
}

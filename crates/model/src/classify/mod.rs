//! What each kernel does (category) and whose code it is (backend), by an ordered table of rules.
//!
//! The table is data: `rules/kernels.toml`. Each distinct name is decided once, however many rows have it.

mod category;
mod classes;
mod evidence;
mod inductor;
mod rules;

use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use crate::names;

pub use category::Category;
pub use classes::Classes;

use evidence::{Evidence, Open};
use inductor::Words;
use rules::Rules;

const BUILTIN: &str = include_str!("../../rules/kernels.toml");
const INDUCTOR: &str = "inductor-triton";
const UNKNOWN: &str = "unknown";

/// What kind of row a name belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowKind {
    /// A row of `kernels`.
    Kernel,
    /// A copy in `memory_copies`.
    Copy,
    /// A fill in `memory_copies`.
    Fill,
}

/// The vendor of a trace's GPUs: some names are shared and mean another library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Platform {
    /// AMD.
    #[default]
    Rocm,
    /// NVIDIA.
    Cuda,
}

/// The result for a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// What it does.
    pub category: Category,
    /// Whose code it is.
    pub backend: Arc<str>,
    /// The rule that decided, empty for `other`.
    pub rule: Arc<str>,
    /// What decided the category.
    pub by: ClassifiedBy,
}

/// What decided the category of a piece of GPU work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ClassifiedBy {
    /// Its own name.
    #[default]
    Name,
    /// The op that launched it.
    Op,
    /// The module it was launched in.
    Module,
    /// A Python frame around its launch.
    Frame,
    /// Nothing.
    None,
}

impl ClassifiedBy {
    fn of_name(category: Category) -> Self {
        if category == Category::Other { ClassifiedBy::None } else { ClassifiedBy::Name }
    }

    /// `name`, `op`, `module`, `frame`, `none`.
    pub fn name(self) -> &'static str {
        match self {
            ClassifiedBy::Name => "name",
            ClassifiedBy::Op => "op",
            ClassifiedBy::Module => "module",
            ClassifiedBy::Frame => "frame",
            ClassifiedBy::None => "none",
        }
    }
}

/// A rule file that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("rules in `{file}`: {message}")]
pub struct RulesError {
    /// The file.
    pub file: String,
    /// The rule and what is wrong with it.
    pub message: String,
}

/// A name in the forms that rules match.
struct Name {
    canonical: String,
    function: String,
}

impl Name {
    fn of(name: &str) -> Self {
        let canonical = names::canonical(name);
        let function = names::function(&canonical);
        Self { canonical, function }
    }
}

/// An ordered table of rules, ready to decide.
#[derive(Clone, Debug)]
pub struct Classifier {
    /// The user's rules, then ours.
    tables: Vec<Arc<Rules>>,
    words: Words,
    platform: Platform,
    inductor: Arc<str>,
    unknown: Class,
}

impl Classifier {
    /// The rules that come with the program: read once, with one shared pattern cache.
    pub fn builtin() -> Self {
        static BUILT_IN: LazyLock<Classifier> = LazyLock::new(Classifier::read_built_in);
        BUILT_IN.clone()
    }

    fn read_built_in() -> Self {
        let mut words = Words::default();
        let rules = Rules::trusted("kernels.toml", BUILTIN, &mut words)
            .expect("the rules that are built in are checked by a test");
        let unknown = Class {
            category: Category::Other,
            backend: UNKNOWN.into(),
            rule: "".into(),
            by: ClassifiedBy::None,
        };
        Self {
            tables: vec![rules.into()],
            words,
            platform: Platform::Rocm,
            inductor: INDUCTOR.into(),
            unknown,
        }
    }

    /// Adds the rules of a file, tried first.
    pub fn with_rules(file: &str, text: &str) -> Result<Self, RulesError> {
        let mut classifier = Self::builtin();
        let rules = Rules::parse(file, text, &mut classifier.words)?;
        classifier.tables.insert(0, rules.into());
        Ok(classifier)
    }

    /// Compiles the rules now, so that the first name need not wait for it.
    pub fn compile(&self) {
        self.tables.iter().for_each(|table| table.compile());
    }

    /// Sets the platform that the names come from.
    pub fn on(self, platform: Platform) -> Self {
        Self { platform, ..self }
    }

    /// Classifies a name.
    pub fn classify(&self, name: &str, kind: RowKind) -> Class {
        let name = Name::of(name);
        let (users, builtin) = self.tables.split_at(self.tables.len() - 1);
        for table in users {
            if let Some(class) = self.by_rule(table, &name, kind) {
                return class;
            }
        }
        let class = self.by_ops(&name, kind).or_else(|| self.by_rule(&builtin[0], &name, kind));
        class.unwrap_or_else(|| self.unknown.clone())
    }

    /// What the site of a launch can still decide about a name of that class.
    fn open(&self, name: &str, kind: RowKind, class: &Class) -> Open {
        if kind != RowKind::Kernel {
            return Open::Nothing;
        }
        // A user's rule is final.
        let (users, builtin) = self.tables.split_at(self.tables.len() - 1);
        if users.iter().any(|table| table.has(&class.rule)) {
            return Open::Nothing;
        }
        let generic = || Evidence::built_in().is_generic(&Name::of(name).function);
        match class.category {
            Category::Other => Open::Everything,
            _ if generic() => Open::Everything,
            _ if &*class.backend == UNKNOWN || builtin[0].is_shared(&class.rule) => Open::Backend,
            _ => Open::Nothing,
        }
    }

    fn by_rule(&self, table: &Rules, name: &Name, kind: RowKind) -> Option<Class> {
        let rule = table.first(name, kind)?;
        let backend = match (&rule.cuda_backend, self.platform) {
            (Some(backend), Platform::Cuda) => backend,
            _ => &rule.backend,
        };
        let (category, by) = (rule.category, ClassifiedBy::of_name(rule.category));
        Some(Class { category, backend: backend.clone(), rule: rule.id.clone(), by })
    }

    fn by_ops(&self, name: &Name, kind: RowKind) -> Option<Class> {
        if kind != RowKind::Kernel {
            return None;
        }
        let fused = inductor::parse(&name.function, &self.words)?;
        let mut rules = self.tables.iter().flat_map(|table| &table.inductor);
        let rule = rules.find(|rule| rule.matches(&fused, &self.words))?;
        let (backend, rule_id) = (self.inductor.clone(), rule.id.clone());
        Some(Class { category: rule.category, backend, rule: rule_id, by: ClassifiedBy::Name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_decides_its_example() {
        Rules::parse("kernels.toml", BUILTIN, &mut Words::default()).expect("every rule is sound alone");
        let classifier = Classifier::builtin();
        let table: toml::Table = toml::from_str(BUILTIN).unwrap();
        let mut seen = std::collections::HashSet::new();
        for rule in ["rule", "inductor"].iter().flat_map(|section| table[*section].as_array().unwrap()) {
            let text = |key: &str| rule.get(key).and_then(|value| value.as_str());
            let id = text("id").expect("every rule has an id");
            let example = text("example").unwrap_or_else(|| panic!("`{id}` has no example"));
            let kind = if rule.get("kind").is_some() { RowKind::Copy } else { RowKind::Kernel };
            assert_eq!(&*classifier.classify(example, kind).rule, id, "{example}");
            assert!(seen.insert(id), "`{id}` is there twice");
        }
        assert!(seen.len() > 100);
    }

    #[test]
    fn a_users_rules_come_first_and_the_rest_stays() {
        let text = r#"
            [[rule]]
            pattern = '^attn_fwd$'
            category = "other"
            backend = "mine"
            [[inductor]]
            any = ["frobnicate"]
            category = "scan"
        "#;
        let classifier = Classifier::with_rules("my.toml", text).unwrap();
        let class = classifier.classify("attn_fwd", RowKind::Kernel);
        assert_eq!((class.category, &*class.backend, &*class.rule), (Category::Other, "mine", "my.toml:1"));
        assert_eq!(
            classifier.classify("triton_poi_fused_frobnicate_1", RowKind::Kernel).category,
            Category::Scan
        );
        assert_eq!(classifier.classify("attn_bwd", RowKind::Kernel).category, Category::Attention);
    }

    #[test]
    fn bad_rules_say_which_and_why() {
        let cases = [
            (
                "[[rule]]\npattern = 'a'\ncategory = 'gemm'\nbackend = 'x'\n[[rule]]\npattern = '('\ncategory = 'gemm'\nbackend = 'x'",
                "rules in `f.toml`: rule 2: `pattern` is not a regular expression: unclosed group",
            ),
            (
                "[[rule]]\npattern = 'a'\ncategory = 'gem'\nbackend = 'x'",
                "rule 1: `gem` is not a category; choose one of communication,",
            ),
            ("[[rule]]\npattern = 'a'\ncategory = 'gemm'", "rule 1: missing field `backend`"),
            ("[[rule]]\npattern = 'a'\ncategory = 'gemm'\nbackend = ''", "rule 1: `backend` is empty"),
            (
                "[[rule]]\npattern = 'a'\ncategory = 'gemm'\nbackend = 'x'\ncolour = 1",
                "rule 1: unknown field `colour`",
            ),
            (
                "[[rule]]\npattern = '^a$'\ncategory = 'gemm'\nbackend = 'x'\nexample = 'b'",
                "does not match its example `b`",
            ),
            ("[[rule]\n", "line 1: "),
            ("[[rules]]\npattern = 'a'", "unknown field `rules`"),
            ("[[inductor]]\ncategory = 'x'", "inductor rule 1: `x` is not a category"),
        ];
        for (text, expected) in cases {
            let error = Classifier::with_rules("f.toml", text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }

    #[test]
    fn shared_names_follow_the_platform() {
        let name = "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)";
        assert_eq!(&*Classifier::builtin().classify(name, RowKind::Kernel).backend, "rccl");
        let cuda = Classifier::builtin().on(Platform::Cuda);
        assert_eq!(&*cuda.classify(name, RowKind::Kernel).backend, "nccl");
        assert_eq!(&*cuda.classify("Memset (Device)", RowKind::Fill).backend, "cuda-runtime");
    }
}

//! What the trace shows about the program: its framework, its model, its ranks and its GPU vendor.

use serde_json::Value;
use trace::{Map, Trace};

use model::Run;
use model::attribution::Site;
use model::classify::Platform;

/// Frameworks by the start or a part of their Python file paths.
const FRAMEWORKS: &[(&str, &str)] = &[
    ("sglang/", "sglang"),
    ("vllm/", "vllm"),
    ("atom/", "atom"),
    ("tensorrt_llm/", "trtllm"),
    ("xfuser/", "xdit"),
    ("transformers/", "transformers"),
    ("diffusers/", "diffusers"),
];

/// The framework with this name, if it is known.
pub fn framework_named(name: &str) -> Option<&'static str> {
    FRAMEWORKS.iter().map(|(_, framework)| *framework).find(|framework| *framework == name)
}

/// The framework of a Python file, with its index in the table: a framework comes before those it calls.
pub(crate) fn framework_of_path(path: &str) -> Option<(usize, &'static str)> {
    let within = |part: &str| path.starts_with(part) || path.contains(&format!("/{part}"));
    FRAMEWORKS.iter().enumerate().find(|(_, (part, _))| within(part)).map(|(at, (_, name))| (at, *name))
}

/// The program that was traced.
pub(crate) struct Program {
    /// `sglang`, `vllm`, …; `None` if unknown.
    pub framework: Option<&'static str>,
    /// Lowercase names of the model, its modules and files; empty if unknown.
    model: String,
    ranks: Option<u64>,
    pub platform: Platform,
    /// Libraries whose kernels or Python files are in the trace.
    libraries: Vec<&'static str>,
}

/// Libraries that can be turned on, by the prefix of their backends and ops.
const LIBRARIES: &[&str] = &["aiter"];

/// Words in the names of models that read images or video.
const VISION: &[&str] = &[
    "vision",
    "visual",
    "_vl",
    "-vl",
    "vl_",
    "vlfor",
    "omni",
    "llava",
    "internvl",
    "pixtral",
    "mrope",
    "multimodal",
];

impl Program {
    pub fn of(context: &Run<'_>) -> Self {
        Self {
            framework: framework(context),
            model: model_words(context),
            ranks: context.program.ranks.or_else(|| ranks(context.trace)),
            platform: Platform::of(context.trace),
            libraries: LIBRARIES.iter().copied().filter(|library| runs(context, library)).collect(),
        }
    }

    /// Whether the trace shows that a library is on.
    pub fn uses(&self, library: &str) -> bool {
        self.libraries.contains(&library)
    }

    /// Whether the model is known to read images or video.
    pub fn reads_images(&self) -> bool {
        VISION.iter().any(|word| self.model.contains(word))
    }

    /// Whether the model's name contains one of these words; true if there are none.
    pub fn model_is(&self, words: &[String]) -> bool {
        words.is_empty() || words.iter().any(|word| self.model.contains(word.as_str()))
    }

    /// Whether the model is known.
    pub fn knows_model(&self) -> bool {
        !self.model.is_empty()
    }

    /// Whether fewer ranks than this are known to take part.
    pub fn has_fewer_ranks(&self, least: u32) -> bool {
        self.ranks.is_some_and(|ranks| ranks < u64::from(least))
    }
}

fn runs(context: &Run<'_>, library: &str) -> bool {
    let by_backend = context
        .rows
        .iter()
        .any(|&row| context.class(row).is_some_and(|class| class.backend.starts_with(library)));
    by_backend
        || context.attribution.sites.iter().any(|site| {
            let op = context.attribution.text(site.cpu_op);
            op.strip_prefix(library).is_some_and(|rest| rest.starts_with("::"))
        })
}

/// The framework that launched the program: the given one, otherwise the one with the most time in its files,
/// otherwise the one with kernels in the trace.
pub(crate) fn framework(context: &Run<'_>) -> Option<&'static str> {
    if context.program.framework.is_some() {
        return context.program.framework;
    }
    let sites = &context.attribution.sites;
    let mut by_site = vec![0i64; sites.len()];
    for &row in &context.rows {
        by_site[context.attribution.site_of(row).0 as usize] += context.duration(row);
    }
    let mut votes: Map<&'static str, i64> = Map::default();
    for (site, time) in sites.iter().zip(by_site).filter(|&(_, time)| time > 0) {
        if let Some(framework) = framework_of(context, site) {
            *votes.entry(framework).or_default() += time;
        }
    }
    let by_time = votes.into_iter().max_by_key(|&(framework, time)| (time, framework));
    by_time.map(|(framework, _)| framework).or_else(|| by_backend(context))
}

fn framework_of(context: &Run<'_>, site: &Site) -> Option<&'static str> {
    let paths = [site.location, site.model_frame, site.leaf].map(|id| context.attribution.text(id));
    let known = |path: &&str| FRAMEWORKS.iter().find(|(part, _)| path.contains(part));
    paths.iter().find_map(known).map(|(_, framework)| *framework)
}

/// The framework of kernels that only one framework has.
fn by_backend(context: &Run<'_>) -> Option<&'static str> {
    let has = |backend: &str| {
        context.rows.iter().any(|&row| context.class(row).is_some_and(|class| &*class.backend == backend))
    };
    ["sglang", "vllm"].into_iter().find(|framework| has(framework))
}

fn model_words(context: &Run<'_>) -> String {
    let mut words =
        context.program.model.as_ref().map(|model| model.to_lowercase() + "\n").unwrap_or_default();
    let strings = &context.trace.strings;
    for fact in &context.trace.metadata {
        if strings.get(fact.key).contains("model") {
            words.push_str(&strings.get(fact.value).to_lowercase());
            words.push('\n');
        }
    }
    for site in &context.attribution.sites {
        for id in [site.module, site.model_frame] {
            let text = context.attribution.text(id).to_lowercase();
            if !text.is_empty() && !words.contains(&text) {
                words.push_str(&text);
                words.push('\n');
            }
        }
    }
    words
}

/// World size as torch records it, otherwise the number of processes if there are several.
fn ranks(trace: &Trace) -> Option<u64> {
    let key = trace.strings.find("distributedInfo");
    let said = trace.metadata.iter().filter(|fact| Some(fact.key) == key).find_map(|fact| {
        let info: Value = serde_json::from_str(trace.strings.get(fact.value)).ok()?;
        info.get("world_size")?.as_u64()
    });
    said.or_else(|| (trace.processes.len() > 1).then_some(trace.processes.len() as u64))
}

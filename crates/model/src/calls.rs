//! What runtime calls do: one table (`rules/calls.toml`) for everything that asks whether a call launches, blocks,
//! allocates, records an event or compiles.

use std::sync::LazyLock;

use serde::Deserialize;
use trace::{Map, StrId, Trace};

/// What a call puts on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Launches {
    /// A kernel.
    Kernel,
    /// A graph of kernels and copies.
    Graph,
    /// A copy.
    Copy,
    /// A fill.
    Fill,
    /// A function of the host.
    #[serde(rename = "host function")]
    HostFunction,
}

/// Whether the host waits in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Blocks {
    /// It does.
    Always,
    /// It may; the trace must show it.
    May,
    /// It does not.
    #[default]
    Never,
}

/// What the host waits for in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlocksFor {
    /// All work launched on the device.
    #[default]
    Device,
    /// All work launched on a stream.
    Stream,
    /// A point of a stream.
    Event,
    /// The work that the call launched itself.
    #[serde(rename = "own work")]
    OwnWork,
}

/// Which memory a call allocates or frees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// The GPU's.
    Device,
    /// The host's, pinned.
    Host,
}

/// Which library a call belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// HIP or CUDA, what programs call.
    #[default]
    Runtime,
    /// HSA, below the runtime: usually nested in a runtime call.
    Hsa,
}

/// What the calls of one group do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CallFacts {
    names: Vec<String>,
    word: String,
    /// What they put on a stream.
    pub launches: Option<Launches>,
    /// Whether the host waits in them.
    pub blocks: Blocks,
    /// What the host waits for.
    pub blocks_for: BlocksFor,
    /// The memory they allocate.
    pub allocates: Option<Memory>,
    /// The memory they free.
    pub frees: Option<Memory>,
    /// They mark a point of a stream.
    pub records_event: bool,
    /// They make a stream wait for such a point.
    pub waits_for_event: bool,
    /// They start a graph capture.
    pub begins_capture: bool,
    /// They end a graph capture.
    pub ends_capture: bool,
    /// They make a recorded graph ready to launch.
    pub instantiates_graph: bool,
    /// They load, link or compile GPU code.
    pub loads_code: bool,
    /// They look something up and never wait.
    pub queries: bool,
    /// Which library they belong to.
    pub layer: Layer,
}

impl CallFacts {
    /// The facts about what is not a known call.
    pub fn nothing() -> &'static Self {
        static NOTHING: LazyLock<CallFacts> = LazyLock::new(CallFacts::default);
        &NOTHING
    }

    /// Whether they allocate or free memory.
    pub fn is_about_memory(&self) -> bool {
        self.allocates.is_some() || self.frees.is_some()
    }

    /// Whether they copy and always wait for it.
    pub fn is_blocking_copy(&self) -> bool {
        self.launches == Some(Launches::Copy) && self.blocks == Blocks::Always
    }

    /// Whether they do nothing but wait for the GPU.
    pub fn is_synchronisation(&self) -> bool {
        self.blocks == Blocks::Always && self.blocks_for != BlocksFor::OwnWork
    }

    /// Whether they are HIP's or CUDA's.
    pub fn is_of_runtime(&self) -> bool {
        self.layer == Layer::Runtime
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    wake_up_ns: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    limits: Limits,
    calls: Vec<CallFacts>,
    unlisted: Vec<CallFacts>,
}

struct Rules {
    wake_up_ns: i64,
    /// The listed groups, then those for unlisted names.
    groups: Vec<CallFacts>,
    listed: usize,
    by_name: Map<String, u8>,
}

const NO_CALL: u8 = u8::MAX;

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let file: File = formats::tables::built_in(include_str!("../rules/calls.toml"))
        .expect("the table is checked by a test");
    let mut by_name = Map::default();
    for (number, group) in file.calls.iter().enumerate() {
        by_name.extend(group.names.iter().map(|name| (name.clone(), number as u8)));
    }
    let (listed, mut groups) = (file.calls.len(), file.calls);
    groups.extend(file.unlisted);
    Rules { wake_up_ns: file.limits.wake_up_ns, groups, listed, by_name }
});

impl Rules {
    /// The group of a call's name.
    fn of_call(&self, name: &str) -> u8 {
        // Most names of a trace are not calls.
        let is_word = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if name.len() >= 64 || !name.starts_with(|c: char| c.is_ascii_lowercase()) || !is_word(name) {
            return NO_CALL;
        }
        if let Some(&group) = self.by_name.get(name) {
            return group;
        }
        let Some(stem) = without_prefix(name) else { return NO_CALL };
        if let Some(&group) = self.by_name.get(without_version(stem)) {
            return group;
        }
        let unlisted = self.groups[self.listed..].iter().position(|group| stem.contains(&group.word));
        unlisted.map_or(NO_CALL, |place| (self.listed + place) as u8)
    }

    /// The group of a synchronisation record: `hipEventRecord`, `Stream Wait Event`.
    fn of_sync(&self, kind: &str) -> u8 {
        let bare: String = kind.split_whitespace().collect();
        let stem = without_version(without_prefix(&bare).unwrap_or(&bare));
        self.by_name.get(stem).copied().unwrap_or(NO_CALL)
    }

    fn facts(&self, group: u8) -> Option<&CallFacts> {
        self.groups.get(usize::from(group))
    }
}

fn without_prefix(name: &str) -> Option<&str> {
    let stem = ["hip", "cuda", "cu"].iter().find_map(|prefix| name.strip_prefix(prefix))?;
    stem.starts_with(|c: char| c.is_ascii_uppercase()).then_some(stem)
}

/// `StreamSynchronize_spt`, `MemcpyDtoH_v2`: suffixes that name a variant of the same call.
fn without_version(mut stem: &str) -> &str {
    while let Some((name, ending)) = stem.rsplit_once('_') {
        let version =
            ending.strip_prefix('v').is_some_and(|v| !v.is_empty() && v.bytes().all(|b| b.is_ascii_digit()));
        if !version && !matches!(ending, "spt" | "ptsz" | "ptds") {
            break;
        }
        stem = name;
    }
    stem
}

/// What a runtime call of that name does.
pub fn call(name: &str) -> Option<&'static CallFacts> {
    RULES.facts(RULES.of_call(name))
}

/// What a row of the synchronisation table does, by its kind.
pub fn sync(kind: &str) -> Option<&'static CallFacts> {
    RULES.facts(RULES.of_sync(kind))
}

/// A call that may block counts as a wait if it ended this soon after work that was running when it began.
pub fn wake_up_ns() -> i64 {
    RULES.wake_up_ns
}

/// Categories of regions whose names may look like calls but are not.
const NOT_CALLS: [&str; 3] = ["python_function", "cpu_op", "user_annotation"];

/// The calls of a trace: every distinct name judged once.
#[derive(Clone, Debug)]
pub struct Calls {
    by_name: Vec<u8>,
    not_calls: [Option<StrId>; NOT_CALLS.len()],
}

impl Calls {
    /// Judges the names of a trace.
    pub fn of(trace: &Trace) -> Self {
        let rules = &*RULES;
        let by_name = trace.strings.iter().map(|name| rules.of_call(name)).collect();
        Self { by_name, not_calls: NOT_CALLS.map(|category| trace.strings.find(category)) }
    }

    /// What the call in a row of `regions` does; `None` if the row is not a call, or not a known one.
    #[inline]
    pub fn of_region(&self, trace: &Trace, row: usize) -> Option<&'static CallFacts> {
        let group = self.by_name[trace.regions.name[row].0 as usize];
        if group == NO_CALL || self.not_calls.contains(&Some(trace.regions.category[row])) {
            return None;
        }
        RULES.facts(group)
    }

    /// Whether the trace contains a call that does this.
    pub fn any(&self, does: impl Fn(&CallFacts) -> bool) -> bool {
        let does: Vec<bool> = RULES.groups.iter().map(does).collect();
        self.by_name.iter().any(|&group| does.get(usize::from(group)) == Some(&true))
    }

    /// What calls with this name do.
    pub fn named(&self, name: StrId) -> Option<&'static CallFacts> {
        RULES.facts(self.by_name[name.0 as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_in_one_group_and_every_group_says_something() {
        let names: usize = RULES.groups.iter().map(|group| group.names.len()).sum();
        assert_eq!(names, RULES.by_name.len());
        assert!(RULES.groups.len() < usize::from(NO_CALL));
        for (place, group) in RULES.groups.iter().enumerate() {
            assert_eq!(group.names.is_empty(), place >= RULES.listed, "{group:?}");
            assert_eq!(group.word.is_empty(), place < RULES.listed, "{group:?}");
            let silent =
                CallFacts { names: group.names.clone(), word: group.word.clone(), ..CallFacts::default() };
            assert_ne!(group, &silent);
        }
    }

    #[test]
    fn launches_are_told_by_name() {
        let cases = [
            ("hipLaunchKernel", Some(Launches::Kernel)),
            ("hipExtModuleLaunchKernel", Some(Launches::Kernel)),
            ("cuLaunchKernelEx", Some(Launches::Kernel)),
            ("cudaLaunchKernelExC_v11060", Some(Launches::Kernel)),
            ("hipGraphLaunch", Some(Launches::Graph)),
            ("cudaGraphLaunch", Some(Launches::Graph)),
            ("hipLaunchHostFunc", Some(Launches::HostFunction)),
            ("hipMemcpyWithStream", Some(Launches::Copy)),
            ("hipDrvMemcpy3D", Some(Launches::Copy)),
            ("cudaMemsetAsync", Some(Launches::Fill)),
            ("hipStreamIsCapturing", None),
            ("cuda_graph.py(3): GraphLaunch", None),
            ("custom_op Launch", None),
            ("customLaunch", None),
        ];
        for (name, launches) in cases {
            assert_eq!(call(name).and_then(|call| call.launches), launches, "{name}");
        }
        assert!(call("hipStreamBeginCapture").unwrap().begins_capture);
        assert!(call("cudaStreamEndCapture_ptsz").unwrap().ends_capture);
    }

    #[test]
    fn waits_are_told_by_name() {
        let cases = [
            ("hipDeviceSynchronize", Blocks::Always, BlocksFor::Device),
            ("cudaStreamSynchronize_ptsz", Blocks::Always, BlocksFor::Stream),
            ("hipStreamSynchronize_spt", Blocks::Always, BlocksFor::Stream),
            ("hipEventSynchronize", Blocks::Always, BlocksFor::Event),
            ("hipMemcpyWithStream", Blocks::Always, BlocksFor::OwnWork),
            ("cuMemcpyDtoH_v2", Blocks::Always, BlocksFor::OwnWork),
            ("hipMemcpyAsync", Blocks::May, BlocksFor::OwnWork),
            ("hipFree", Blocks::May, BlocksFor::Device),
            ("hipHostFree", Blocks::May, BlocksFor::Device),
        ];
        for (name, blocks, blocks_for) in cases {
            let facts = call(name).unwrap();
            assert_eq!((facts.blocks, facts.blocks_for), (blocks, blocks_for), "{name}");
        }
        for name in ["hipLaunchKernel", "cudaEventQuery"] {
            assert_eq!(call(name).unwrap().blocks, Blocks::Never, "{name}");
        }
        for name in ["aten::Free", "Free", "aten::_fused_hipFree"] {
            assert_eq!(call(name), None, "{name}");
        }
        assert!(call("cudaMalloc").unwrap().is_about_memory());
        assert_eq!(call("hsa_signal_wait_scacquire").unwrap().layer, Layer::Hsa);
    }

    #[test]
    fn records_of_synchronisations_need_no_prefix() {
        assert!(sync("Stream Wait Event").unwrap().waits_for_event);
        assert!(sync("hipEventRecord_spt").unwrap().records_event);
        assert_eq!(sync("Context Sync").unwrap().blocks_for, BlocksFor::Device);
        assert_eq!(sync("user mark"), None);
    }
}

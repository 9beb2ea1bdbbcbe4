//! A site: the place in the program that a piece of GPU work comes from.

use trace::{Map, StrId, Strings, Trace};

/// How a site was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// Unknown: no launch in the trace.
    #[default]
    None,
    /// The work's own launch.
    Eager,
    /// The launch at the same position of the captured graph.
    CaptureJoin,
    /// A graph-off run of the same model.
    MappingTrace,
    /// Only the launch of the whole graph.
    GraphLaunch,
}

impl Source {
    /// All sources.
    pub const ALL: [Source; 5] =
        [Source::None, Source::Eager, Source::CaptureJoin, Source::MappingTrace, Source::GraphLaunch];

    /// `none`, `eager`, `capture_join`, `mapping_trace`, `graph_launch`.
    pub fn name(self) -> &'static str {
        match self {
            Source::None => "none",
            Source::Eager => "eager",
            Source::CaptureJoin => "capture_join",
            Source::MappingTrace => "mapping_trace",
            Source::GraphLaunch => "graph_launch",
        }
    }
}

/// A site of an [`super::Attribution`], by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteId(pub u32);

impl SiteId {
    /// Work whose origin is unknown.
    pub const UNKNOWN: Self = Self(0);
}

/// The place that GPU work comes from. Texts are in the attribution's own strings; empty if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site {
    /// The call that launched it: `hipLaunchKernel`.
    pub launch: StrId,
    /// The op: `aten::mm`.
    pub cpu_op: StrId,
    /// Shapes of the op's inputs, as JSON.
    pub input_dims: StrId,
    /// Types of the op's inputs, as JSON.
    pub input_types: StrId,
    /// The innermost module: `nn.Module: RMSNorm_3`.
    pub module: StrId,
    /// The innermost Python frame outside torch, triton and the interpreter.
    pub leaf: StrId,
    /// The innermost frame that does more than pass the call on.
    pub library_frame: StrId,
    /// The frame of the serving framework, by priority: the one a person wants to open.
    pub location: StrId,
    /// The nearest frame in a model definition.
    pub model_frame: StrId,
    /// The last frames outside torch, triton and the interpreter: `qwen3.py(507): forward > qwen2.py(340): forward`.
    pub chain: StrId,
    /// How it was found.
    pub source: Source,
    /// Confidence, in percent.
    pub confidence_pct: u8,
}

impl Site {
    /// Whether an op, a module or a frame is known for the work itself, not only for its graph's launch.
    pub fn is_located(&self) -> bool {
        let something = [self.cpu_op, self.module, self.leaf].iter().any(|text| !text.is_empty());
        something && !matches!(self.source, Source::None | Source::GraphLaunch)
    }
}

/// Distinct sites and their texts.
#[derive(Clone, Debug)]
pub(super) struct Sites {
    pub strings: Strings,
    pub sites: Vec<Site>,
    numbers: Map<Site, SiteId>,
}

impl Default for Sites {
    fn default() -> Self {
        let mut sites = Self { strings: Strings::default(), sites: Vec::new(), numbers: Map::default() };
        sites.add(Site::default());
        sites
    }
}

impl Sites {
    pub fn add(&mut self, site: Site) -> SiteId {
        let next = SiteId(self.sites.len() as u32);
        let id = *self.numbers.entry(site).or_insert(next);
        if id == next {
            self.sites.push(site);
        }
        id
    }
}

/// Maps one trace's string ids to the attribution's own, each looked up once.
pub(super) struct Carried {
    ids: Vec<StrId>,
}

impl Carried {
    pub fn new(trace: &Trace) -> Self {
        Self { ids: vec![StrId(u32::MAX); trace.strings.len()] }
    }

    pub fn carry(&mut self, trace: &Trace, id: StrId, to: &mut Strings) -> StrId {
        self.carry_as(trace, id, to, |text, to| to.intern(text))
    }

    /// Like `carry`, for a text that `change` rewrites on the way.
    pub fn carry_as(
        &mut self,
        trace: &Trace,
        id: StrId,
        to: &mut Strings,
        change: impl FnOnce(&str, &mut Strings) -> StrId,
    ) -> StrId {
        let slot = &mut self.ids[id.0 as usize];
        if slot.0 == u32::MAX {
            *slot = change(trace.strings.get(id), to);
        }
        *slot
    }
}

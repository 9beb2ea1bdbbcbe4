//! Attribution: from every piece of GPU work back to the op, the module and the Python line it came from.
//!
//! ```text
//! kernel ─correlation─► launch ─External id / enclosing─► cpu_op
//!                          └────enclosing frames────────► nn.Module, leaf, location, model frame, chain
//! replayed kernel ─place in its graph, name checked─► launch in the capture (or graph-off) trace ─► the same
//! ```
//!
//! Everything is found by ids and by what encloses the **launch**; GPU time is never compared with a window
//! of CPU time. Work that cannot be traced back is reported as such, never guessed. Cost: one sweep over the
//! regions, then per launch in proportion to the depth of its stack.

mod align;
mod error;
mod forest;
pub(crate) mod frames;
mod ids;
mod join;
pub(crate) mod locate;
mod references;
mod replays;
mod rows;
mod sequence;
mod site;
mod vote;
mod work;

pub use align::{align, pair_leftovers};
pub use error::Error;
pub use forest::Forest;
pub use frames::{FrameRules, Role, file_and_function, module_class};
pub use ids::IdIndex;
pub use rows::GpuRows;
pub use site::{Site, SiteId, Source};

use trace::{ArgNeeds, Map, Needs, RowRef, StrId, Strings, Table, Trace};

use self::references::References;
use self::rows::replays_of;
use self::work::Work;

/// What traces must be read with, both the formal and the mapping trace.
pub fn needs() -> Needs {
    let keys = ["kernel", "Input Dims", "Input type"];
    Needs {
        kernels: true,
        memory_copies: true,
        regions: true,
        python_frames: true,
        links: true,
        args: ArgNeeds::Keys(keys.map(String::from).to_vec()),
        ..Needs::nothing()
    }
}

/// Where every piece of GPU work comes from.
#[derive(Clone, Debug)]
pub struct Attribution {
    /// The texts of all sites.
    pub strings: Strings,
    /// Distinct sites; the first is "unknown".
    pub sites: Vec<Site>,
    /// Replays of graphs, in time order.
    pub replays: Vec<Replay>,
    /// GPU time by how it was located.
    pub located: Located,
    /// How well the replays were joined; `None` without replays.
    pub join: Option<JoinFacts>,
    /// Which regions of the trace enclose which.
    pub forest: Forest,
    kernels: Vec<SiteId>,
    copies: Vec<SiteId>,
    origins: Map<RowRef, Origin>,
}

/// The launch that a replayed row was joined to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Whether it is in the mapping trace, not in the trace itself.
    pub in_mapping: bool,
    /// The launch as a row of that trace's `regions`.
    pub launch: u32,
}

/// One replay of a graph.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Its launch as a row of `regions`, if it is in the trace.
    pub launch: Option<usize>,
    /// Its GPU work in time order.
    pub rows: Vec<RowRef>,
    /// Mode of the capture it was joined to: `FULL`, `PIECEWISE`, `DECODE`.
    pub capture_mode: Option<String>,
    /// Batch of the capture it was joined to.
    pub capture_batch: Option<u64>,
    /// Rows that were joined to a launch by position.
    pub matched: usize,
}

/// How well replays match the sequences they were compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JoinFacts {
    /// Replayed rows.
    pub rows: usize,
    /// Rows joined by position, with equal names.
    pub by_position: usize,
    /// Rows joined by the site most launches of their name have.
    pub by_name: usize,
    /// Distinct names of replayed kernels.
    pub names: usize,
    /// Names that the other side has too.
    pub shared_names: usize,
}

impl JoinFacts {
    /// Rows joined by position, in percent.
    pub fn match_pct(&self) -> f64 {
        if self.rows == 0 { 0.0 } else { 100.0 * self.by_position as f64 / self.rows as f64 }
    }
}

/// GPU time by how it was located; the parts sum to the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Located {
    /// All GPU work.
    pub total_ns: i64,
    /// Located by its own launch.
    pub eager_ns: i64,
    /// Located through a captured graph.
    pub capture_ns: i64,
    /// Located through a graph-off trace.
    pub mapping_ns: i64,
    /// Located only to the launch of its graph.
    pub graph_launch_ns: i64,
    /// Located only to the launching call: no op, module or frame.
    pub launch_only_ns: i64,
    /// Not located at all.
    pub unlinked_ns: i64,
}

impl Located {
    /// Time located to an op, module or frame.
    pub fn located_ns(&self) -> i64 {
        self.eager_ns + self.capture_ns + self.mapping_ns
    }

    /// Share of GPU time located to an op, module or frame; `None` without GPU time.
    pub fn share_pct(&self) -> Option<f64> {
        (self.total_ns > 0).then(|| 100.0 * self.located_ns() as f64 / self.total_ns as f64)
    }
}

impl Attribution {
    /// The site of a kernel or copy.
    pub fn site(&self, row: RowRef) -> &Site {
        &self.sites[self.site_of(row).0 as usize]
    }

    /// The number of its site.
    pub fn site_of(&self, row: RowRef) -> SiteId {
        let id = match row.get() {
            Some((Table::Kernels, row)) => self.kernels.get(row),
            Some((Table::MemoryCopies, row)) => self.copies.get(row),
            _ => None,
        };
        id.copied().unwrap_or(SiteId::UNKNOWN)
    }

    /// The captured launch that a replayed row was joined to by position.
    pub fn origin(&self, row: RowRef) -> Option<Origin> {
        self.origins.get(&row).copied()
    }

    /// A text of a site.
    pub fn text(&self, id: StrId) -> &str {
        self.strings.get(id)
    }
}

/// Traces back all GPU work of a finished trace read with [`needs`]. Replays are located through captures in
/// the trace itself and `mapping`, a capture trace or a graph-off run of the same model.
pub fn attribute(trace: &Trace, mapping: Option<&Trace>) -> Result<Attribution, Error> {
    let rules = FrameRules::built_in();
    let mut work = Work::new(trace, rules);
    let replayed = replays_of(trace, &work.rows, &work.calls);
    work.eager();
    work.graph_launches(&replayed);
    let mut references = References::new(&work, mapping, rules);
    let (replays, join) = work.join(replayed, &mut references)?;
    if mapping.is_some() {
        work.fill_in(&mut references)?;
    }
    Ok(work.finish(replays, join))
}

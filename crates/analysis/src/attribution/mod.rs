//! Attribution: from every piece of GPU work back to the op, the module and the Python line it came from.
//!
//! ```text
//! kernel ─correlation─► launch ─External id / enclosing─► cpu_op
//!                          └────enclosing frames────────► nn.Module, leaf, location, model frame, chain
//! replayed kernel ─place in its graph, name checked─► launch in the capture (or graph-off) trace ─► the same
//! ```
//!
//! Everything goes by ids and by what encloses the **launch**; GPU time is never compared with a window of
//! CPU time. What cannot be traced back is said to be so, never guessed. Cost: one sweep over the regions,
//! then work per launch in proportion to its stack's depth.

mod align;
mod calls;
mod error;
mod forest;
mod frames;
mod ids;
mod join;
mod locate;
mod rows;
mod sequence;
mod site;
mod vote;

pub use align::{align, pair_leftovers};
pub use error::Error;
pub use forest::Forest;
pub use frames::{FrameRules, Role, file_and_function, module_class};
pub use rows::GpuRows;
pub use site::{Site, SiteId, Source};

use trace::{ArgNeeds, Map, Needs, RowRef, StrId, StreamId, Strings, Table, Trace};

use self::calls::Calls;
use self::join::{Library, Replayed};
use self::locate::Locator;
use self::rows::{ReplayedRows, all_rows, gpu_row, replays};
use self::sequence::{Sequence, TokenMemo, Tokens, UNKNOWN, captures, eager};
use self::site::Sites;
use self::vote::Votes;
use crate::stages::Steps;

/// What traces must be read with, formal and mapping alike.
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
    /// Distinct sites; the first is "not known".
    pub sites: Vec<Site>,
    /// Replays of graphs, in time order.
    pub replays: Vec<Replay>,
    /// GPU time by how it was located.
    pub located: Located,
    /// How the replays were joined; nothing without replays.
    pub join: Option<JoinFacts>,
    kernels: Vec<SiteId>,
    copies: Vec<SiteId>,
}

/// One replay of a graph.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Its launch as a row of `regions`, when it is in the trace.
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
    /// Rows joined by what most launches of their name say.
    pub by_name: usize,
    /// Distinct names of replayed kernels.
    pub names: usize,
    /// Those that the other side has too.
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
    /// Only the launch of its graph is known.
    pub graph_launch_ns: i64,
    /// Only the launching call is known: no op, module or frame.
    pub launch_only_ns: i64,
    /// Nothing is known.
    pub unlinked_ns: i64,
}

impl Located {
    /// Time located to an op, module or frame.
    pub fn located_ns(&self) -> i64 {
        self.eager_ns + self.capture_ns + self.mapping_ns
    }

    /// Share of GPU time located to an op, module or frame; absent without GPU time.
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

    /// A text of a site.
    pub fn text(&self, id: StrId) -> &str {
        self.strings.get(id)
    }
}

/// Below this share of rows joined by position, in percent, names decide.
const TRUSTED_PCT: usize = 98;

/// Traces back all GPU work of a finished trace read with [`needs`]; replays with the help of `mapping`, a
/// capture trace or a graph-off run of the same model, and of captures in the trace itself.
pub fn attribute(trace: &Trace, mapping: Option<&Trace>) -> Result<Attribution, Error> {
    let rules = FrameRules::built_in();
    let mut work = Work {
        trace,
        rows: GpuRows::of(trace),
        calls: Calls::of(trace),
        locator: Locator::new(trace, rules),
        sites: Sites::default(),
        kernels: vec![SiteId::UNKNOWN; trace.kernels.len()],
        copies: vec![SiteId::UNKNOWN; trace.memory_copies.len()],
    };
    let replayed = replays(trace, &work.rows, &work.calls);
    work.eager();
    work.graph_launches(&replayed);
    let mut references = References::new(&work, mapping, rules);
    let (replays, join) = work.join(replayed, &mut references)?;
    if mapping.is_some() {
        work.fill_in(&mut references)?;
    }
    Ok(work.finish(replays, join))
}

struct Work<'a> {
    trace: &'a Trace,
    rows: GpuRows,
    calls: Calls,
    locator: Locator<'a>,
    sites: Sites,
    kernels: Vec<SiteId>,
    copies: Vec<SiteId>,
}

/// What replays can be joined to, and the look-ups behind it.
struct References<'a> {
    tokens: Tokens,
    memo: TokenMemo,
    /// Captures of the trace itself.
    own: Vec<Sequence>,
    /// Captures of the mapping trace, or the steps of a graph-off run.
    foreign: Vec<Sequence>,
    foreign_kind: Source,
    locator: Option<Locator<'a>>,
    votes: Votes,
}

impl<'a> References<'a> {
    fn new(work: &Work<'a>, mapping: Option<&'a Trace>, rules: &'a FrameRules) -> Self {
        let (mut tokens, mut memo) = (Tokens::default(), TokenMemo::new(work.trace));
        let own = captures(work.trace, &work.calls, &work.locator.forest, &mut memo, &mut tokens);
        let mut foreign = Vec::new();
        let mut foreign_kind = Source::CaptureJoin;
        let locator = mapping.map(|mapping| {
            let (locator, calls) = (Locator::new(mapping, rules), Calls::of(mapping));
            let mut memo = TokenMemo::new(mapping);
            foreign = captures(mapping, &calls, &locator.forest, &mut memo, &mut tokens);
            if foreign.is_empty() {
                foreign = eager(mapping, &GpuRows::of(mapping), &mut memo, &mut tokens);
                foreign_kind = Source::MappingTrace;
            }
            locator
        });
        let votes = Votes::new(&foreign, foreign_kind);
        Self { tokens, memo, own, foreign, foreign_kind, locator, votes }
    }
}

impl<'a> Work<'a> {
    fn put(&mut self, row: RowRef, site: SiteId) {
        match row.get() {
            Some((Table::Kernels, row)) => self.kernels[row] = site,
            Some((Table::MemoryCopies, row)) => self.copies[row] = site,
            _ => {}
        }
    }

    /// Every row by its own launch, or by the op whose id it carries.
    fn eager(&mut self) {
        let mut by_launch: Vec<Option<SiteId>> = vec![None; self.rows.launches.len()];
        let trace = self.trace;
        for row in all_rows(trace) {
            let place = match row.get() {
                Some((Table::Kernels, row)) => self.rows.of_kernel(row),
                Some((_, row)) => self.rows.of_copy(row),
                None => None,
            };
            let site = match place {
                Some(place) => *by_launch[place].get_or_insert_with(|| {
                    let launch = self.rows.launches[place] as usize;
                    let site = self.locator.launched_by(launch, &mut self.sites);
                    self.sites.add(site)
                }),
                None => {
                    let Some(facts) = gpu_row(trace, row) else { continue };
                    let by_id = self.locator.by_external(facts.process, facts.external, &mut self.sites);
                    by_id.map_or(SiteId::UNKNOWN, |site| self.sites.add(site))
                }
            };
            self.put(row, site);
        }
    }

    /// Of replayed work the launch says only where the graph was launched.
    fn graph_launches(&mut self, replays: &[ReplayedRows]) {
        for replay in replays {
            let Some(launch) = replay.launch else {
                for &row in &replay.rows {
                    self.put(row, SiteId::UNKNOWN);
                }
                continue;
            };
            let site = self.locator.launched_by(launch, &mut self.sites);
            let site = self.sites.add(Site { source: Source::GraphLaunch, ..site });
            for &row in &replay.rows {
                self.put(row, site);
            }
        }
    }

    fn join(
        &mut self,
        replayed: Vec<ReplayedRows>,
        references: &mut References<'a>,
    ) -> Result<(Vec<Replay>, Option<JoinFacts>), Error> {
        let References { tokens, memo, own, foreign, foreign_kind, locator, votes } = references;
        let mut launches: Vec<u32> = replayed.iter().filter_map(|r| r.launch).map(|l| l as u32).collect();
        launches.sort_unstable();
        let (steps, inside) = Steps::of(self.trace, &launches);
        let batch_of = |launch: Option<usize>| {
            let place = launches.binary_search(&(launch? as u32)).ok()?;
            let step = steps.steps[inside[place]? as usize];
            step.padded_batch.or(step.batch)
        };
        let (mut own_library, mut library) = (Library::new(own), Library::new(foreign));
        let mut own_sites = vec![Map::default(); own.len()];
        let mut foreign_sites = vec![Map::default(); foreign.len()];
        let mut facts = JoinFacts::default();
        let mut names: Map<u32, bool> = Map::default();
        let mut answer = Vec::with_capacity(replayed.len());
        let (mut names_of_rows, mut streams): (Vec<u32>, Vec<StreamId>) = (Vec::new(), Vec::new());
        for replay in replayed {
            names_of_rows.clear();
            streams.clear();
            for &row in &replay.rows {
                if let Some(facts) = gpu_row(self.trace, row) {
                    names_of_rows.push(memo.of_row(self.trace, &facts, tokens));
                    streams.push(facts.stream);
                }
            }
            for &token in names_of_rows.iter().filter(|token| **token > UNKNOWN) {
                names.entry(token).or_insert_with(|| votes.knows(token));
            }
            facts.rows += replay.rows.len();
            let asked =
                Replayed { tokens: &names_of_rows, streams: &streams, batch: batch_of(replay.launch) };
            let from_mapping = library.find(&asked);
            let from_own = own_library.find(&asked);
            let matched = |joined: &Option<join::Joined>| joined.as_ref().map_or(0, |joined| joined.matched);
            let use_own = matched(&from_own) > matched(&from_mapping);
            let joined = if use_own { from_own } else { from_mapping };
            let trusted = joined.filter(|j| 100 * j.matched >= TRUSTED_PCT * names_of_rows.len());
            let sequences: &[Sequence] = if use_own { own } else { foreign };
            let kind = if use_own { Source::CaptureJoin } else { *foreign_kind };
            let sequence = trusted.as_ref().map(|joined| &sequences[joined.sequence]);
            for (i, &row) in replay.rows.iter().enumerate() {
                let place = trusted.as_ref().and_then(|joined| Some((joined, joined.place(i)?)));
                if let Some((joined, place)) = place {
                    facts.by_position += 1;
                    let launch = sequences[joined.sequence].launches[place] as usize;
                    let known = if use_own { &mut own_sites } else { &mut foreign_sites };
                    let known: &mut Map<(usize, u8), SiteId> = &mut known[joined.sequence];
                    let id = *known.entry((place, joined.confidence_pct)).or_insert_with(|| {
                        let locator = if use_own {
                            &mut self.locator
                        } else {
                            locator.as_mut().unwrap_or(&mut self.locator)
                        };
                        let site = locator.launched_by(launch, &mut self.sites);
                        self.sites.add(Site { source: kind, confidence_pct: joined.confidence_pct, ..site })
                    });
                    self.put(row, id);
                } else if let Some(locator) = locator.as_mut()
                    && let Some(site) = votes.site(names_of_rows[i], locator, &mut self.sites)
                {
                    facts.by_name += 1;
                    let id = self.sites.add(site);
                    self.put(row, id);
                }
            }
            answer.push(Replay {
                launch: replay.launch,
                capture_mode: sequence.and_then(|s| s.mode.clone()),
                capture_batch: sequence.and_then(|s| s.batch),
                matched: trusted.as_ref().map_or(0, |joined| joined.matched),
                rows: replay.rows,
            });
        }
        facts.names = names.len();
        facts.shared_names = names.values().filter(|shared| **shared).count();
        if locator.is_some() && facts.rows > 0 && facts.by_position * 2 < facts.rows {
            differs(facts.shared_names, facts.names)?;
        }
        let facts = (facts.rows > 0).then_some(facts);
        Ok((answer, facts))
    }

    /// Rows of ordinary launches that the trace has no frames for, by name from the mapping trace.
    fn fill_in(&mut self, references: &mut References<'a>) -> Result<(), Error> {
        let References { tokens, memo, locator, votes, .. } = references;
        let Some(locator) = locator.as_mut() else { return Ok(()) };
        let trace = self.trace;
        let mut names: Map<u32, bool> = Map::default();
        for row in all_rows(trace) {
            let Some(facts) = gpu_row(trace, row) else { continue };
            let token = memo.of_row(trace, &facts, tokens);
            if token > UNKNOWN {
                names.entry(token).or_insert_with(|| votes.knows(token));
            }
            let id = match row.get() {
                Some((Table::Kernels, row)) => self.kernels[row],
                Some((_, row)) => self.copies[row],
                None => continue,
            };
            let site = self.sites.sites[id.0 as usize];
            let bare = matches!(site.source, Source::Eager | Source::None) && site.leaf.is_empty();
            if bare
                && let Some(voted) =
                    votes.site(token, locator, &mut self.sites).filter(|v| !v.leaf.is_empty())
            {
                // Its own op and shapes are better than another run's.
                let own = |own: StrId, voted: StrId| if own.is_empty() { voted } else { own };
                let site = Site {
                    launch: own(site.launch, voted.launch),
                    cpu_op: own(site.cpu_op, voted.cpu_op),
                    input_dims: own(site.input_dims, voted.input_dims),
                    input_types: own(site.input_types, voted.input_types),
                    source: Source::MappingTrace,
                    ..voted
                };
                let id = self.sites.add(site);
                self.put(row, id);
            }
        }
        let shared = names.values().filter(|shared| **shared).count();
        if shared == 0 { differs(shared, names.len()) } else { Ok(()) }
    }

    fn finish(self, replays: Vec<Replay>, join: Option<JoinFacts>) -> Attribution {
        let mut located = Located::default();
        for row in all_rows(self.trace) {
            let Some(facts) = gpu_row(self.trace, row) else { continue };
            let id = match row.get() {
                Some((Table::Kernels, row)) => self.kernels[row],
                Some((_, row)) => self.copies[row],
                None => continue,
            };
            let site = &self.sites.sites[id.0 as usize];
            let ns = facts.end - facts.start;
            located.total_ns += ns;
            *match site.source {
                Source::GraphLaunch => &mut located.graph_launch_ns,
                Source::None => &mut located.unlinked_ns,
                _ if !site.is_located() => &mut located.launch_only_ns,
                Source::Eager => &mut located.eager_ns,
                Source::CaptureJoin => &mut located.capture_ns,
                Source::MappingTrace => &mut located.mapping_ns,
            } += ns;
        }
        let Sites { strings, sites, .. } = self.sites;
        Attribution { strings, sites, replays, located, join, kernels: self.kernels, copies: self.copies }
    }
}

/// Two traces of different models share few names.
fn differs(shared: usize, names: usize) -> Result<(), Error> {
    if names > 0 && shared * 2 < names { Err(Error::DifferentModels { shared, names }) } else { Ok(()) }
}

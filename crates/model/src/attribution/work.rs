//! The work of an attribution: every row gets a site, from its own launch or from that of its graph.

use trace::{Map, RowRef, StrId, Table, Trace};

use super::frames::FrameRules;
use super::locate::{Locator, ToldByLaunches};
use super::references::{LookedUpNames, References};
use super::rows::{GpuRows, ReplayedRows, all_rows, gpu_row};
use super::site::{Site, SiteId, Sites, Source};
use super::{Attribution, Error, JoinFacts, Located, Origin, Replay};
use crate::calls::Calls;

/// Sites of a trace's rows while they are being found.
pub(super) struct Work<'a> {
    pub trace: &'a Trace,
    pub rows: GpuRows,
    pub calls: Calls,
    pub locator: Locator<'a>,
    pub sites: Sites,
    pub origins: Map<RowRef, Origin>,
    kernels: Vec<SiteId>,
    copies: Vec<SiteId>,
}

impl<'a> Work<'a> {
    pub fn new(trace: &'a Trace, rules: &'a FrameRules) -> Self {
        let (locator, (rows, calls)) = rayon::join(
            || Locator::new(trace, rules),
            || rayon::join(|| GpuRows::of(trace), || Calls::of(trace)),
        );
        Self {
            trace,
            rows,
            calls,
            locator,
            sites: Sites::default(),
            origins: Map::default(),
            kernels: vec![SiteId::UNKNOWN; trace.kernels.len()],
            copies: vec![SiteId::UNKNOWN; trace.memory_copies.len()],
        }
    }

    fn site_of(&self, row: RowRef) -> Site {
        let id = match row.get() {
            Some((Table::Kernels, row)) => self.kernels[row],
            Some((Table::MemoryCopies, row)) => self.copies[row],
            _ => SiteId::UNKNOWN,
        };
        self.sites.sites[id.0 as usize]
    }

    pub fn put(&mut self, row: RowRef, site: SiteId) {
        match row.get() {
            Some((Table::Kernels, row)) => self.kernels[row] = site,
            Some((Table::MemoryCopies, row)) => self.copies[row] = site,
            _ => {}
        }
    }

    /// Gives every row the site of its own launch, or of the op whose id it carries.
    pub fn eager(&mut self) {
        let trace = self.trace;
        let ToldByLaunches { of_launch, told } = self.locator.told_by(&self.rows.launches);
        let mut by_told: Vec<Option<SiteId>> = vec![None; told.len()];
        for row in all_rows(trace) {
            let place = match row.get() {
                Some((Table::Kernels, row)) => self.rows.of_kernel(row),
                Some((_, row)) => self.rows.of_copy(row),
                None => None,
            };
            let site = match place.map(|place| of_launch[place] as usize) {
                Some(number) => *by_told[number].get_or_insert_with(|| {
                    let site = self.locator.site(&told[number], &mut self.sites);
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

    /// Gives replayed work the site of its graph's launch: all that the launch shows.
    pub fn graph_launches(&mut self, replays: &[ReplayedRows]) {
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

    /// Locates rows without Python frames by kernel name, from the mapping trace.
    pub fn fill_in(&mut self, references: &mut References<'a>) -> Result<(), Error> {
        let References { tokens, memo, locator, votes, .. } = references;
        let Some(locator) = locator.as_mut() else { return Ok(()) };
        let trace = self.trace;
        let mut names = LookedUpNames::default();
        for row in all_rows(trace) {
            let Some(facts) = gpu_row(trace, row) else { continue };
            let token = memo.of_row(trace, &facts, tokens);
            names.see(token, votes);
            let site = self.site_of(row);
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
        if names.shared() == 0 { names.same_model() } else { Ok(()) }
    }

    pub fn finish(self, replays: Vec<Replay>, join: Option<JoinFacts>) -> Attribution {
        let mut located = Located::default();
        for row in all_rows(self.trace) {
            let Some(facts) = gpu_row(self.trace, row) else { continue };
            let site = self.site_of(row);
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
        Attribution {
            strings,
            sites,
            replays,
            located,
            join,
            kernels: self.kernels,
            copies: self.copies,
            origins: self.origins,
            forest: self.locator.forest,
        }
    }
}

//! Replays joined to their references: by position where names agree, else by name.

use trace::{Map, StreamId};

use super::join::{Joined, Library, Replayed};
use super::locate::Locator;
use super::references::{LookedUpNames, References};
use super::rows::{ReplayedRows, gpu_row};
use super::sequence::{Sequence, Token};
use super::site::{Site, SiteId, Sites, Source};
use super::work::Work;
use super::{Error, JoinFacts, Origin, Replay};
use crate::steps::Steps;

/// Below this share of rows joined by position, in percent, rows are joined by name.
const TRUSTED_PCT: usize = 98;

/// References of one trace and the sites of the launches that were looked up.
struct Shelf<'s> {
    sequences: &'s [Sequence],
    library: Library<'s>,
    source: Source,
    sites: Map<(usize, usize, u8), SiteId>,
}

impl<'s> Shelf<'s> {
    fn new(sequences: &'s [Sequence], source: Source) -> Self {
        Self { sequences, library: Library::new(sequences), source, sites: Map::default() }
    }

    fn site(&mut self, joined: &Joined, place: usize, locator: &mut Locator, sites: &mut Sites) -> SiteId {
        let key = (joined.sequence, place, joined.confidence_pct);
        *self.sites.entry(key).or_insert_with(|| {
            let launch = self.sequences[joined.sequence].launches[place] as usize;
            let site = locator.launched_by(launch, sites);
            sites.add(Site { source: self.source, confidence_pct: joined.confidence_pct, ..site })
        })
    }
}

impl<'a> Work<'a> {
    /// Gives replayed rows the sites of their graph's parts.
    pub fn join(
        &mut self,
        replayed: Vec<ReplayedRows>,
        references: &mut References<'a>,
    ) -> Result<(Vec<Replay>, Option<JoinFacts>), Error> {
        let batches = self.batches(&replayed);
        let References { tokens, memo, own, foreign, foreign_kind, locator, votes } = references;
        let mut own = Shelf::new(own, Source::CaptureJoin);
        let mut foreign = Shelf::new(foreign, *foreign_kind);
        let (mut facts, mut names) = (JoinFacts::default(), LookedUpNames::default());
        let mut replays = Vec::with_capacity(replayed.len());
        let (mut row_tokens, mut streams): (Vec<Token>, Vec<StreamId>) = (Vec::new(), Vec::new());
        for (replay, batch) in replayed.into_iter().zip(batches) {
            row_tokens.clear();
            streams.clear();
            for row in replay.rows.iter().filter_map(|&row| gpu_row(self.trace, row)) {
                row_tokens.push(memo.of_row(self.trace, &row, tokens));
                streams.push(row.stream);
            }
            row_tokens.iter().for_each(|&token| names.see(token, votes));
            let asked = Replayed { tokens: &row_tokens, streams: &streams, batch };
            let candidates = (own.library.find(&asked), foreign.library.find(&asked));
            let matched = |joined: &Option<Joined>| joined.as_ref().map_or(0, |joined| joined.matched);
            let (shelf, joined, is_own) = if matched(&candidates.0) > matched(&candidates.1) {
                (&mut own, candidates.0, true)
            } else {
                (&mut foreign, candidates.1, false)
            };
            let joined = joined.filter(|joined| 100 * joined.matched >= TRUSTED_PCT * row_tokens.len());
            facts.rows += replay.rows.len();
            for (i, &row) in replay.rows.iter().enumerate() {
                let place = joined.as_ref().and_then(|joined| Some((joined, joined.place(i)?)));
                let site = match (place, locator.as_mut()) {
                    (Some((joined, place)), mapping) => {
                        let locator = match mapping {
                            Some(mapping) if !is_own => mapping,
                            _ => &mut self.locator,
                        };
                        facts.by_position += 1;
                        let launch = shelf.sequences[joined.sequence].launches[place];
                        self.origins.insert(row, Origin { in_mapping: !is_own, launch });
                        shelf.site(joined, place, locator, &mut self.sites)
                    }
                    (None, Some(mapping)) => {
                        let Some(site) = votes.site(row_tokens[i], mapping, &mut self.sites) else {
                            continue;
                        };
                        facts.by_name += 1;
                        self.sites.add(site)
                    }
                    (None, None) => continue,
                };
                self.put(row, site);
            }
            let sequence = joined.as_ref().map(|joined| &shelf.sequences[joined.sequence]);
            replays.push(Replay {
                launch: replay.launch,
                capture_mode: sequence.and_then(|sequence| sequence.mode.clone()),
                capture_batch: sequence.and_then(|sequence| sequence.batch),
                matched: matched(&joined),
                rows: replay.rows,
            });
        }
        (facts.names, facts.shared_names) = (names.count(), names.shared());
        if locator.is_some() && facts.by_position * 2 < facts.rows {
            names.same_model()?;
        }
        Ok((replays, (facts.rows > 0).then_some(facts)))
    }

    /// The batch of the step each replay was launched in.
    fn batches(&self, replayed: &[ReplayedRows]) -> Vec<Option<u64>> {
        let mut launches: Vec<u32> = replayed.iter().filter_map(|r| r.launch).map(|l| l as u32).collect();
        launches.sort_unstable();
        let (steps, inside) = Steps::of(self.trace, &launches);
        let batch = |replay: &ReplayedRows| {
            let place = launches.binary_search(&(replay.launch? as u32)).ok()?;
            let step = steps.steps[inside[place]? as usize];
            step.padded_batch.or(step.batch)
        };
        replayed.iter().map(batch).collect()
    }
}

//! Sites by kernel name alone: what most launches of that name say, with the share that agrees.

use trace::{Map, StrId};

use super::frames::module_class;
use super::locate::Locator;
use super::sequence::{Sequence, Token, UNKNOWN};
use super::site::{Site, Sites, Source};

/// A name alone is never proof.
const MOST_SURE_PCT: usize = 90;

/// Most launches of one name that vote.
const MOST_VOTES: usize = 512;

/// The sites that launches of each name have.
pub(super) struct Votes {
    launches: Map<Token, Vec<u32>>,
    known: Map<Token, Option<Site>>,
    source: Source,
}

impl Votes {
    pub fn new(sequences: &[Sequence], source: Source) -> Self {
        let mut launches: Map<Token, Vec<u32>> = Map::default();
        for sequence in sequences {
            for (&token, &launch) in sequence.tokens.iter().zip(&sequence.launches) {
                if token != UNKNOWN {
                    launches.entry(token).or_default().push(launch);
                }
            }
        }
        Self { launches, known: Map::default(), source }
    }

    /// Whether any launch has this name.
    pub fn knows(&self, token: Token) -> bool {
        self.launches.contains_key(&token)
    }

    /// The site most launches of this name have.
    pub fn site(&mut self, token: Token, locator: &mut Locator, sites: &mut Sites) -> Option<Site> {
        if let Some(known) = self.known.get(&token) {
            return *known;
        }
        let site =
            self.launches.get(&token).and_then(|launches| elect(launches, self.source, locator, sites));
        self.known.insert(token, site);
        site
    }
}

fn elect(launches: &[u32], source: Source, locator: &mut Locator, sites: &mut Sites) -> Option<Site> {
    // (site without what differs from call to call, votes), in order of first vote.
    let mut polls: Vec<(Site, usize)> = Vec::new();
    let mut places: Map<Site, usize> = Map::default();
    let stride = launches.len().div_ceil(MOST_VOTES).max(1);
    let mut votes = 0;
    for &launch in launches.iter().step_by(stride) {
        let site = locator.launched_by(launch as usize, sites);
        let class = module_class(sites.strings.get(site.module)).to_string();
        let module = sites.strings.intern(&class);
        let input_dims = StrId::EMPTY;
        let key = Site { module, input_dims, ..site };
        let place = *places.entry(key).or_insert_with(|| {
            polls.push((key, 0));
            polls.len() - 1
        });
        polls[place].1 += 1;
        votes += 1;
    }
    // On a tie the first wins: votes are in launch order, so the answer is stable.
    let (winner, agreed) = polls.into_iter().rev().max_by_key(|(_, count)| *count)?;
    let confidence_pct = (MOST_SURE_PCT * agreed / votes) as u8;
    Some(Site { source, confidence_pct, ..winner })
}

//! What replays can be joined to: captures of the trace itself, captures of the mapping trace, or the steps of a
//! graph-off run.

use trace::{Map, Trace};

use super::error::Error;
use super::frames::FrameRules;
use super::locate::Locator;
use super::rows::GpuRows;
use super::sequence::{Sequence, Token, TokenMemo, Tokens, UNKNOWN, captures, eager};
use super::site::Source;
use super::vote::Votes;
use super::work::Work;
use crate::calls::Calls;

/// Sequences of launches, and the look-ups behind them.
pub(super) struct References<'a> {
    pub tokens: Tokens,
    pub memo: TokenMemo,
    /// Captures of the trace itself.
    pub own: Vec<Sequence>,
    /// Captures of the mapping trace, or the steps of a graph-off run.
    pub foreign: Vec<Sequence>,
    pub foreign_kind: Source,
    /// Look-ups in the mapping trace, if there is one.
    pub locator: Option<Locator<'a>>,
    pub votes: Votes,
}

impl<'a> References<'a> {
    pub fn new(work: &Work<'a>, mapping: Option<&'a Trace>, rules: &'a FrameRules) -> Self {
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

/// Distinct kernel names that were looked up, and how many the mapping trace has.
#[derive(Default)]
pub(super) struct LookedUpNames {
    known: Map<Token, bool>,
}

impl LookedUpNames {
    pub fn see(&mut self, token: Token, votes: &Votes) {
        if token > UNKNOWN {
            self.known.entry(token).or_insert_with(|| votes.knows(token));
        }
    }

    pub fn count(&self) -> usize {
        self.known.len()
    }

    pub fn shared(&self) -> usize {
        self.known.values().filter(|shared| **shared).count()
    }

    /// Two traces of different models share few names.
    pub fn same_model(&self) -> Result<(), Error> {
        let (shared, names) = (self.shared(), self.count());
        if names > 0 && shared * 2 < names { Err(Error::DifferentModels { shared, names }) } else { Ok(()) }
    }
}

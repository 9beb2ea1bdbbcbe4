//! One thread's share of a read: its tables, names and lanes, and the pieces of the file they came from.

use trace::{ArgNeeds, Needs, Shapes};

use super::category::CallKind;
use super::lanes::LaneNames;
use super::layout::Layout;
use super::names::Names;
use super::rows::{Lens, Rows};

/// What one thread has read so far.
pub(super) struct Worker<'n> {
    pub needs: &'n Needs,
    /// Whether to keep any arguments.
    pub keep_args: bool,
    pub names: Names,
    /// Values of arguments, as JSON text.
    pub values: Names,
    pub lanes: LaneNames,
    /// How the file spells its events.
    pub layout: Layout,
    pub shapes: Shapes,
    pub rows: Rows,
    /// Counts for the current piece.
    pub tally: Tally,
    /// Top-level keys found in the current piece.
    pub metadata: Vec<(Vec<u8>, Vec<u8>)>,
    /// The first host lane of the piece whose row was not requested.
    pub witness: Option<u32>,
    call_kinds: Vec<Option<CallKind>>,
    /// Names of categories by the step that read them.
    pub category_names: Vec<Option<u32>>,
    begun: Lens,
}

/// Counts of one piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Events that were read, of any kind.
    pub events: u64,
    /// Events that could not be parsed.
    pub lost: u64,
    /// Events without a usable time.
    pub bad: u64,
    /// Events of kinds that have no table: flows, object life cycles and the like.
    pub untabled: u64,
    /// Python frames that were not requested.
    pub frames_skipped: u64,
    pub kernels: u64,
    pub launches: u64,
    pub captures: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, more: Self) {
        self.events += more.events;
        self.lost += more.lost;
        self.bad += more.bad;
        self.untabled += more.untabled;
        self.frames_skipped += more.frames_skipped;
        self.kernels += more.kernels;
        self.launches += more.launches;
        self.captures += more.captures;
    }
}

/// A stretch of the file and its rows.
#[derive(Debug)]
pub(super) struct Piece {
    /// The worker whose tables hold the rows.
    pub worker: usize,
    pub from: Lens,
    pub to: Lens,
    pub tally: Tally,
    /// The first host lane whose row was not requested.
    pub witness: Option<u32>,
    pub metadata: Vec<(Vec<u8>, Vec<u8>)>,
}

impl<'n> Worker<'n> {
    pub fn new(needs: &'n Needs) -> Self {
        Self {
            needs,
            keep_args: match &needs.args {
                ArgNeeds::None => false,
                ArgNeeds::Keys(keys) => !keys.is_empty(),
                ArgNeeds::All => true,
            },
            names: Names::default(),
            values: Names::default(),
            lanes: LaneNames::default(),
            layout: Layout::default(),
            shapes: Shapes::default(),
            rows: Rows::default(),
            tally: Tally::default(),
            metadata: Vec::new(),
            witness: None,
            call_kinds: Vec::new(),
            category_names: Vec::new(),
            begun: Lens::default(),
        }
    }

    /// Starts a piece.
    pub fn begin(&mut self) {
        self.begun = self.rows.lens();
        self.tally = Tally::default();
        self.metadata.clear();
        self.witness = None;
    }

    /// Ends the piece.
    pub fn end(&mut self, worker: usize) -> Piece {
        Piece {
            worker,
            from: self.begun,
            to: self.rows.lens(),
            tally: self.tally,
            witness: self.witness,
            metadata: std::mem::take(&mut self.metadata),
        }
    }

    /// What a runtime call with this name does; looked up once per distinct name.
    #[inline]
    pub fn call_kind(&mut self, name: u32) -> CallKind {
        let at = name as usize;
        if at >= self.call_kinds.len() {
            self.call_kinds.resize(at + 1, None);
        }
        match self.call_kinds[at] {
            Some(kind) => kind,
            None => {
                let kind = CallKind::of(self.names.get(name));
                self.call_kinds[at] = Some(kind);
                kind
            }
        }
    }

    /// Whether to keep an argument with this name.
    #[inline]
    pub fn keeps(&self, key: &[u8]) -> bool {
        match &self.needs.args {
            ArgNeeds::None => false,
            ArgNeeds::Keys(keys) => keys.iter().any(|wanted| wanted.as_bytes() == key),
            ArgNeeds::All => true,
        }
    }
}

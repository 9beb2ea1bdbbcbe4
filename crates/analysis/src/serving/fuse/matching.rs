//! Finds the sequences of the catalogue in the lanes: adjacent kernels on one stream, in order.

use super::catalogue::Fusion;
use super::lanes::{Item, Lanes};
use super::sizes::Sizes;
use super::steps::Step;

/// One place where a sequence of the catalogue runs as separate kernels.
#[derive(Clone, Debug)]
pub(super) struct Match {
    pub lane: usize,
    /// Indices into the lane, sorted, each with whether the row counts as main work.
    pub places: Vec<(usize, bool)>,
}

/// Rows that a fusion already uses; no other match may use or span them.
pub(super) type Taken = Vec<Vec<bool>>;

/// All matches of a fusion among free rows, in one scan of each lane; marks their rows as taken.
pub(super) fn find(
    lanes: &Lanes,
    helpers: &[bool],
    sizes: &mut Sizes<'_>,
    fusion: &Fusion,
    taken: &mut Taken,
) -> Vec<Match> {
    let mut found = Vec::new();
    for (lane, items) in lanes.lanes.iter().enumerate() {
        let mut at = 0;
        while at < items.len() {
            let mut search =
                Search { lanes, helpers, sizes, items, taken: &taken[lane], fusion, places: Vec::new() };
            if search.starts_at(at) {
                let places = search.places;
                at = places[places.len() - 1].0 + 1;
                places.iter().for_each(|&(place, _)| taken[lane][place] = true);
                found.push(Match { lane, places });
            } else {
                at += 1;
            }
        }
    }
    found
}

struct Search<'a, 's, 't> {
    lanes: &'a Lanes,
    helpers: &'a [bool],
    sizes: &'a mut Sizes<'s>,
    items: &'a [Item],
    taken: &'t [bool],
    fusion: &'a Fusion,
    places: Vec<(usize, bool)>,
}

impl Search<'_, '_, '_> {
    fn starts_at(&mut self, at: usize) -> bool {
        let fusion = self.fusion;
        let first = &fusion.steps[0];
        // Only a required step can be ruled out cheaply.
        if first.min > 0 && self.role(first, at).is_none() {
            return false;
        }
        self.rest(&fusion.steps, 0, at)
    }

    /// Matches `steps` from `at` on; `done` repetitions of the first step are already matched.
    fn rest(&mut self, steps: &[Step], done: usize, at: usize) -> bool {
        let Some((step, later)) = steps.split_first() else { return !self.places.is_empty() };
        if done < step.max {
            if step.passes {
                let fits = self.goes_on(at) && self.role(step, at).is_some();
                if fits && self.rest(steps, done + 1, at + 1) {
                    return true;
                }
            } else if let Some((place, main)) = self.next(step, at, done > 0) {
                self.places.push((place, main));
                if self.rest(steps, done + 1, place + 1) {
                    return true;
                }
                self.places.pop();
            }
        }
        done >= step.min && self.rest(later, 0, at)
    }

    /// The next row for a step: at `at`, or after as few others as the fusion allows in between.
    fn next(&mut self, step: &Step, at: usize, repeats: bool) -> Option<(usize, bool)> {
        let between = if self.places.is_empty() { 0 } else { self.fusion.between };
        for place in at..=at + between {
            if !self.goes_on(place) {
                return None;
            }
            if let Some(main) = self.role(step, place).filter(|_| self.may_take(place, repeats)) {
                return Some((place, main));
            }
            // Main work in between does something else.
            if self.items[place].main {
                return None;
            }
        }
        None
    }

    /// Whether the row exists, is free, and has the stage, step and replay of the first.
    fn goes_on(&self, place: usize) -> bool {
        let Some(item) = self.items.get(place) else { return false };
        if self.taken[place] {
            return false;
        }
        self.places.first().is_none_or(|&(first, _)| {
            let first = &self.items[first];
            (first.stage, first.step, first.replay) == (item.stage, item.step, item.replay)
        })
    }

    /// Whether the row counts as main work, if it can be that step.
    fn role(&self, step: &Step, place: usize) -> Option<bool> {
        let item = &self.items[place];
        let group = step.groups.iter().copied().find(|&group| self.lanes.is_in(item, group))?;
        Some(item.main && !self.helpers[group])
    }

    /// Whether a row may read what the previous one wrote.
    fn may_take(&mut self, place: usize, repeats: bool) -> bool {
        let item = self.items[place];
        if self.fusion.dims.is_some_and(|dims| self.sizes.dims(item.row).is_some_and(|known| known != dims)) {
            return false;
        }
        let Some(&(before, _)) = self.places.last() else { return true };
        let before = self.items[before];
        // A repeated step with the same kernel twice in a row is a loop over tensors, not a chain.
        if repeats && self.fusion.same_size && before.kind == item.kind {
            return false;
        }
        if self.fusion.same_place && !self.sizes.one_place(before.row, item.row) {
            return false;
        }
        if !self.fusion.same_size {
            return true;
        }
        // Nobody copies a copy: two in a row work on two tensors.
        !(before.moves && item.moves) && self.sizes.may_hand_on(before.row, item.row)
    }
}

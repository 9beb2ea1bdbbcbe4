//! Packs sets of raw counters into the fewest passes: single counters need no search, only the sets of
//! derived counters do.

use crate::counters::RawNeed;
use std::collections::BTreeMap;

/// Search steps per number of passes tried; beyond it a plan is good but not proven optimal.
const SEARCH_STEPS: usize = 200_000;

/// What to pack.
#[derive(Default)]
pub(super) struct Problem {
    /// Name and registers of each block.
    pub blocks: Vec<(String, u32)>,
    /// Block and cost of each distinct need.
    needs: Vec<(usize, u32)>,
    known: BTreeMap<RawNeed, usize>,
    /// The needs of each item.
    items: Vec<Vec<usize>>,
}

/// The result of packing.
pub(super) struct Packed {
    /// The items of each pass.
    pub passes: Vec<Vec<usize>>,
    /// No packing has fewer passes than this.
    pub lower_bound: usize,
    /// Whether no packing with fewer passes exists.
    pub optimal: bool,
}

/// The registers that one pass has taken.
#[derive(Clone)]
struct Bin {
    holds: Vec<bool>,
    used: Vec<u32>,
    items: Vec<usize>,
}

impl Problem {
    /// Adds an item; an error with block, need and registers if it fits into no pass.
    pub fn add(&mut self, needs: &[RawNeed]) -> Result<(), (String, u32, u32)> {
        let mut ids: Vec<usize> = Vec::new();
        for need in needs {
            let next = self.needs.len();
            let id = *self.known.entry(need.clone()).or_insert(next);
            if id == next {
                let block = self.blocks.iter().position(|(name, _)| *name == need.block);
                let block = block.ok_or_else(|| (need.block.clone(), need.cost(), 0))?;
                self.needs.push((block, need.cost()));
            }
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        for (block, (name, available)) in self.blocks.iter().enumerate() {
            let needed: u32 =
                ids.iter().filter(|&&id| self.needs[id].0 == block).map(|&id| self.needs[id].1).sum();
            if needed > *available {
                return Err((name.clone(), needed, *available));
            }
        }
        self.items.push(ids);
        Ok(())
    }

    /// Packs all items.
    pub fn solve(&self) -> Packed {
        let lower_bound = self.lower_bound();
        // Items with one need of one register fill gaps in any order; only the others must be searched.
        let is_single = |item: &usize| {
            self.items[*item].len() <= 1 && self.items[*item].iter().all(|&id| self.needs[id].1 == 1)
        };
        let (singles, mut sets): (Vec<usize>, Vec<usize>) = (0..self.items.len()).partition(is_single);
        sets.sort_by(|&a, &b| self.weight(b).total_cmp(&self.weight(a)).then(a.cmp(&b)));
        let mut optimal = true;
        for count in lower_bound.max(1)..=self.items.len().max(1) {
            let mut search =
                Search { problem: self, sets: &sets, bins: vec![self.bin(); count], steps: SEARCH_STEPS };
            if search.place(0) {
                let mut bins = search.bins;
                self.fill(&mut bins, &singles);
                let mut passes: Vec<Vec<usize>> = bins.into_iter().map(|bin| bin.items).collect();
                passes.retain(|items| !items.is_empty());
                return Packed { passes, lower_bound, optimal };
            }
            optimal &= search.steps > 0;
        }
        unreachable!("every item fits a pass of its own")
    }

    /// Minimum passes for the fullest block.
    fn lower_bound(&self) -> usize {
        let cost =
            |block| -> u32 { self.needs.iter().filter(|need| need.0 == block).map(|need| need.1).sum() };
        let passes = |(block, (_, available)): (usize, &(String, u32))| {
            cost(block).div_ceil((*available).max(1)) as usize
        };
        self.blocks.iter().enumerate().map(passes).max().unwrap_or(0).max(usize::from(!self.items.is_empty()))
    }

    /// How much of a pass an item takes: the share of its fullest block, then its size.
    fn weight(&self, item: usize) -> f64 {
        let share = |block: usize, available: u32| -> f64 {
            let cost: u32 = self.items[item]
                .iter()
                .filter(|&&id| self.needs[id].0 == block)
                .map(|&id| self.needs[id].1)
                .sum();
            f64::from(cost) / f64::from(available.max(1))
        };
        let fullest = self
            .blocks
            .iter()
            .enumerate()
            .map(|(at, (_, available))| share(at, *available))
            .fold(0.0, f64::max);
        fullest + self.items[item].len() as f64 * 1e-3
    }

    fn bin(&self) -> Bin {
        Bin { holds: vec![false; self.needs.len()], used: vec![0; self.blocks.len()], items: Vec::new() }
    }

    /// Puts single counters into a pass that already collects them, else into the first with a free register.
    fn fill(&self, bins: &mut [Bin], singles: &[usize]) {
        let fresh: Vec<usize> = singles
            .iter()
            .copied()
            .filter(|&item| {
                let holder = bins.iter_mut().find(|bin| self.items[item].iter().all(|&id| bin.holds[id]));
                holder.map(|bin| bin.items.push(item)).is_none()
            })
            .collect();
        for item in fresh {
            if let Some(bin) = bins.iter_mut().find(|bin| self.added(bin, item).is_some()) {
                self.put(bin, item);
            }
        }
    }

    /// The registers that an item adds to a pass; `None` if it does not fit.
    fn added(&self, bin: &Bin, item: usize) -> Option<u32> {
        let mut used = Vec::new();
        let mut added = 0;
        for &id in self.items[item].iter().filter(|&&id| !bin.holds[id]) {
            let (block, cost) = self.needs[id];
            used.push((block, cost));
            added += cost;
            let extra: u32 = used.iter().filter(|taken| taken.0 == block).map(|taken| taken.1).sum();
            if bin.used[block] + extra > self.blocks[block].1 {
                return None;
            }
        }
        Some(added)
    }

    fn put(&self, bin: &mut Bin, item: usize) {
        for &id in &self.items[item] {
            if !bin.holds[id] {
                bin.holds[id] = true;
                bin.used[self.needs[id].0] += self.needs[id].1;
            }
        }
        bin.items.push(item);
    }

    /// Whether the needs not yet collected can still fit, by block.
    fn can_hold_the_rest(&self, bins: &[Bin]) -> bool {
        let mut missing = vec![0; self.blocks.len()];
        for (id, &(block, cost)) in self.needs.iter().enumerate() {
            if !bins.iter().any(|bin| bin.holds[id]) {
                missing[block] += cost;
            }
        }
        missing.iter().enumerate().all(|(block, &missing)| {
            let free: u32 = bins.iter().map(|bin| self.blocks[block].1 - bin.used[block]).sum();
            missing <= free
        })
    }
}

/// A depth-first search for a packing into a given number of passes.
struct Search<'a> {
    problem: &'a Problem,
    sets: &'a [usize],
    bins: Vec<Bin>,
    steps: usize,
}

impl Search<'_> {
    /// Places the sets from `at` on; on success the passes contain them.
    fn place(&mut self, at: usize) -> bool {
        if self.steps == 0 || !self.problem.can_hold_the_rest(&self.bins) {
            return false;
        }
        self.steps -= 1;
        let Some(&item) = self.sets.get(at) else { return true };
        let mut choices: Vec<(u32, usize)> = Vec::new();
        for (at, bin) in self.bins.iter().enumerate() {
            if let Some(added) = self.problem.added(bin, item) {
                choices.push((added, at));
            }
            // Empty passes are equal: try only one.
            if bin.items.is_empty() {
                break;
            }
        }
        choices.sort();
        for (added, bin) in choices {
            let before = self.bins[bin].clone();
            self.problem.put(&mut self.bins[bin], item);
            if self.place(at + 1) {
                return true;
            }
            self.bins[bin] = before;
            // If it adds no registers, no other pass can be better.
            if added == 0 {
                break;
            }
        }
        false
    }
}

//! Splits counters into the fewest passes: a pass holds as many raw counters of a block as the block has
//! registers, and a derived counter stays within one pass.

mod pack;

use crate::counters::{self, Counter, RawNeed};
use std::collections::BTreeMap;

/// Counters worth collecting in every pass, to normalise passes and to check that their work was equal.
const ANCHORS: [&str; 2] = ["GRBM_GUI_ACTIVE", "SQ_WAVES"];

/// The pseudo-block for "the counter before this one": a pass has one plain accumulator.
const ACCUMULATOR: &str = "accumulator";

/// How counters are collected: one run of the program per pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The passes.
    pub passes: Vec<Pass>,
    /// No plan can have fewer passes than this, because of the registers of the fullest block.
    pub lower_bound: usize,
    /// Whether no plan with fewer passes exists.
    pub optimal: bool,
}

/// The counters of one pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pass {
    /// The counters to collect, in the order of the request.
    pub counters: Vec<String>,
    /// Counters that were not requested but fit, see [`Plan::with_anchors`].
    pub anchors: Vec<String>,
    /// The raw counters that this collects.
    pub raw: Vec<RawNeed>,
    /// Registers used and available, by block.
    pub slots: BTreeMap<String, SlotUse>,
}

/// Registers of a block in one pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotUse {
    /// Registers taken.
    pub used: u32,
    /// Registers of the block.
    pub available: u32,
}

/// Why counters cannot be collected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No catalogue for the architecture.
    #[error("no known counters for `{0}`")]
    UnknownArch(String),
    /// A counter that the architecture does not have.
    #[error("{arch} has no counter `{name}`{}", suggestion(.nearest, .instead))]
    UnknownCounter {
        /// The architecture.
        arch: String,
        /// The requested name.
        name: String,
        /// Names that resemble it.
        nearest: Vec<&'static str>,
        /// What to collect instead.
        instead: Option<counters::Replacement>,
    },
    /// A counter that needs more registers than a pass has.
    #[error("`{name}` needs {needed} counters of block {block}, which has only {available}")]
    TooLarge {
        /// The requested name.
        name: String,
        /// The block.
        block: String,
        /// Registers needed.
        needed: u32,
        /// Registers of the block.
        available: u32,
    },
}

fn suggestion(nearest: &[&str], instead: &Option<counters::Replacement>) -> String {
    match instead {
        Some(instead) if instead.counters.is_empty() => format!(" ({})", instead.why),
        Some(instead) => format!("; use {} ({})", instead.counters.join(", "), instead.why),
        None if nearest.is_empty() => String::new(),
        None => format!("; did you mean {}", nearest.join(", ")),
    }
}

/// Splits counters, raw and derived, into the fewest passes on an architecture.
///
/// A counter requested twice is collected once. Channels of one counter share a register.
pub fn plan(arch: &str, names: &[&str]) -> Result<Plan, PlanError> {
    let (Some(catalogue), Some(slots)) = (counters::catalogue(arch), counters::slots(arch)) else {
        return Err(PlanError::UnknownArch(arch.to_owned()));
    };
    let mut wanted: Vec<(&str, &Counter)> = Vec::new();
    for &name in names {
        let counter = catalogue.find(name).ok_or_else(|| PlanError::UnknownCounter {
            arch: arch.to_owned(),
            name: name.to_owned(),
            nearest: counters::nearest(arch, name),
            instead: counters::replacement(arch, name),
        })?;
        if !wanted.iter().any(|&(known, _)| known == name) {
            wanted.push((name, counter));
        }
    }
    let mut problem = pack::Problem::default();
    for (block, &available) in slots {
        problem.blocks.push((block.to_string(), available));
    }
    problem.blocks.push((ACCUMULATOR.to_owned(), 1));
    let items = items(&wanted);
    for item in &items {
        problem.add(&item.needs).map_err(|(block, needed, available)| {
            let name = wanted[item.requests[0]].0.to_owned();
            PlanError::TooLarge { name, block, needed, available }
        })?;
    }
    let packed = problem.solve();
    let passes = packed.passes.iter().map(|chosen| pass(chosen, &items, &wanted, slots)).collect();
    Ok(Plan { passes, lower_bound: packed.lower_bound, optimal: packed.optimal })
}

/// Counters that must be in one pass together.
struct Item {
    /// Indices into the request.
    requests: Vec<usize>,
    /// Raw counters, and pseudo-counters for hardware that cannot be shared.
    needs: Vec<RawNeed>,
}

/// One item per counter, but each level counter includes a plain accumulator, which adds up the counter
/// before it.
fn items(wanted: &[(&str, &Counter)]) -> Vec<Item> {
    let is_accumulator = |counter: &Counter| counter.name.starts_with("SQ_ACCUM_PREV");
    let accumulators: Vec<usize> = (0..wanted.len()).filter(|&at| is_accumulator(wanted[at].1)).collect();
    let is_level = |counter: &Counter| {
        counter.is_raw()
            && counter.name.contains("LEVEL")
            && counter.needs.iter().all(|need| need.block == "SQ")
    };
    let has_levels = wanted.iter().any(|(_, counter)| is_level(counter));
    let mut items = Vec::new();
    for (at, (_, counter)) in wanted.iter().enumerate() {
        if is_accumulator(counter) && has_levels {
            continue;
        }
        let mut item = Item { requests: vec![at], needs: counter.needs.clone() };
        if is_level(counter) {
            for &accumulator in &accumulators {
                let unit = RawNeed {
                    counter: counter.name.clone(),
                    block: ACCUMULATOR.to_owned(),
                    accumulate: false,
                };
                item.requests.push(accumulator);
                item.needs.extend(wanted[accumulator].1.needs.iter().cloned().chain([unit]));
            }
        }
        items.push(item);
    }
    items
}

fn pass(chosen: &[usize], items: &[Item], wanted: &[(&str, &Counter)], slots: &BTreeMap<&str, u32>) -> Pass {
    let mut pass = Pass::default();
    // A level counter is directly followed by its accumulator; the rest keeps the order of the request.
    let mut order: Vec<usize> = chosen.to_vec();
    order.sort_by_key(|&at| items[at].requests[0]);
    for at in order {
        for &request in &items[at].requests {
            pass.counters.push(wanted[request].0.to_owned());
        }
        for need in items[at].needs.iter().filter(|need| need.block != ACCUMULATOR) {
            pass.take(need, slots);
        }
    }
    pass
}

impl Pass {
    /// Adds a raw counter unless it is already there.
    fn take(&mut self, need: &RawNeed, slots: &BTreeMap<&str, u32>) {
        if !self.raw.contains(need) {
            let available = slots.get(need.block.as_str()).copied().unwrap_or(0);
            let slot = self.slots.entry(need.block.clone()).or_insert(SlotUse { used: 0, available });
            slot.used += need.cost();
            self.raw.push(need.clone());
        }
    }
}

impl Plan {
    /// Adds GRBM_GUI_ACTIVE and SQ_WAVES to every pass that has a free register for them.
    pub fn with_anchors(mut self, arch: &str) -> Plan {
        let Some(slots) = counters::slots(arch) else { return self };
        for pass in &mut self.passes {
            for anchor in ANCHORS {
                let Some(counter) = counters::find(arch, anchor) else { continue };
                let fits = |need: &RawNeed| {
                    let used = pass.slots.get(&need.block).map_or(0, |slot| slot.used);
                    slots.get(need.block.as_str()).is_some_and(|&available| used + need.cost() <= available)
                };
                let there = pass.counters.iter().any(|name| name == anchor);
                if !there && counter.needs.iter().all(|need| pass.raw.contains(need) || fits(need)) {
                    counter.needs.iter().for_each(|need| pass.take(need, slots));
                    pass.anchors.push(anchor.to_owned());
                }
            }
        }
        self
    }
}

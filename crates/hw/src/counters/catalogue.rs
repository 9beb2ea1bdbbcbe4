//! The counters of one architecture, with the raw counters that each derived one needs.

use super::formula;
use crate::arch;
use std::collections::BTreeMap;
use std::sync::LazyLock;

const RAW: &str = include_str!("../../data/counters.tsv");
const DERIVED: &str = include_str!("../../data/derived_counters.tsv");
const SLOTS: &str = include_str!("../../data/counter_slots.tsv");

/// A counter that can be collected.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// Its name in the profiler.
    pub name: String,
    /// Raw or derived.
    pub kind: CounterKind,
    /// What it counts; empty if the vendor does not describe it.
    pub meaning: String,
    /// The raw counters that must be collected for it, by name.
    pub needs: Vec<RawNeed>,
}

/// Whether a counter is raw or derived.
#[derive(Clone, Debug, PartialEq)]
pub enum CounterKind {
    /// An event of a block.
    Raw {
        /// The hardware block.
        block: String,
        /// The event's number in the block.
        event: u32,
    },
    /// A formula over other counters.
    Derived {
        /// The formula in the profiler's own language.
        formula: String,
        /// True if the profiler does not define it and must be given the formula.
        extra: bool,
    },
}

/// A raw counter that must be collected.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RawNeed {
    /// The raw counter.
    pub counter: String,
    /// Its block.
    pub block: String,
    /// Whether its level is accumulated over time, which takes a second register.
    pub accumulate: bool,
}

impl RawNeed {
    /// Registers of its block that it takes.
    pub fn cost(&self) -> u32 {
        if self.accumulate { 2 } else { 1 }
    }
}

impl Counter {
    /// True for an event of a block.
    pub fn is_raw(&self) -> bool {
        matches!(self.kind, CounterKind::Raw { .. })
    }

    /// The formula of a derived counter.
    pub fn formula(&self) -> Option<&str> {
        match &self.kind {
            CounterKind::Raw { .. } => None,
            CounterKind::Derived { formula, .. } => Some(formula),
        }
    }
}

/// The counters of one architecture.
#[derive(Debug, Default)]
pub struct Catalogue {
    counters: BTreeMap<String, Counter>,
}

impl Catalogue {
    /// A counter by name, with or without a channel such as `[3]`.
    pub fn find(&self, name: &str) -> Option<&Counter> {
        self.counters.get(bare_name(name))
    }

    /// Every counter, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Counter> {
        self.counters.values()
    }
}

/// The name without a channel (`TCC_HIT[3]`) or a device (`SQ_WAVES:device=0`).
pub(crate) fn bare_name(name: &str) -> &str {
    name.split(['[', ':']).next().unwrap_or(name).trim()
}

static CATALOGUES: LazyLock<BTreeMap<&'static str, Catalogue>> = LazyLock::new(|| {
    let archs = columns(RAW);
    let archs = &archs[2..archs.len() - 1];
    archs.iter().enumerate().map(|(at, arch)| (*arch, load(arch, at + 2))).collect()
});

static SLOTS_OF: LazyLock<BTreeMap<&'static str, BTreeMap<&'static str, u32>>> = LazyLock::new(|| {
    let archs = columns(SLOTS);
    let of = |at: usize| rows(SLOTS).filter_map(move |row| Some((row[0], row[at].parse().ok()?))).collect();
    archs.iter().enumerate().skip(1).map(|(at, arch)| (*arch, of(at))).collect()
});

/// The catalogue of an architecture, if one is known.
pub fn catalogue(arch: &str) -> Option<&'static Catalogue> {
    CATALOGUES.get(table_of(arch))
}

/// Counter registers per block of an architecture: how many raw counters of a block one pass can hold.
pub fn slots(arch: &str) -> Option<&'static BTreeMap<&'static str, u32>> {
    SLOTS_OF.get(table_of(arch))
}

/// The name of an architecture in the tables.
pub(super) fn table_of(name: &str) -> &str {
    arch::find(name).map_or(arch::base_name(name), |arch| arch.facts.counters.as_str())
}

/// The names of a table's columns.
pub(super) fn columns(table: &'static str) -> Vec<&'static str> {
    table
        .lines()
        .find(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').collect())
        .unwrap_or_default()
}

/// The rows of a table.
pub(super) fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    table.lines().filter(|line| !line.starts_with('#')).skip(1).map(|line| line.split('\t').collect())
}

fn load(arch: &str, column: usize) -> Catalogue {
    let mut catalogue = Catalogue::default();
    for row in rows(RAW) {
        let (name, block, cell, meaning) = (row[0], row[1], row[column], row[row.len() - 1]);
        let mut parts = cell.split(':');
        let Some(event) = parts.next().and_then(|event| event.parse().ok()) else { continue };
        let need = |accumulate| RawNeed { counter: name.to_owned(), block: block.to_owned(), accumulate };
        for reduction in parts {
            let separator = if meaning.is_empty() { "" } else { ", " };
            catalogue.add(Counter {
                name: format!("{name}_{reduction}"),
                kind: CounterKind::Derived { formula: format!("reduce({name},{reduction})"), extra: false },
                meaning: format!("{meaning}{separator}{reduction} over instances"),
                needs: vec![need(false)],
            });
        }
        if block == "SQ" && name.contains("LEVEL") {
            catalogue.add(Counter {
                name: format!("{name}_ACCUM"),
                kind: CounterKind::Derived { formula: format!("accumulate({name},HIGH_RES)"), extra: true },
                meaning: format!("{name} added up over every cycle"),
                needs: vec![need(true)],
            });
        }
        catalogue.add(Counter {
            name: name.to_owned(),
            kind: CounterKind::Raw { block: block.to_owned(), event },
            meaning: meaning.to_owned(),
            needs: vec![need(false)],
        });
    }
    let derived = rows(DERIVED).filter(|row| row[1].split(' ').any(|name| name == arch));
    let derived: BTreeMap<&str, Vec<&str>> = derived.map(|row| (row[0], row)).collect();
    for (name, row) in &derived {
        let mut needs = Vec::new();
        gather(name, row[2], &derived, &catalogue, &mut needs);
        needs.sort();
        needs.dedup();
        catalogue.add(Counter {
            name: (*name).to_owned(),
            kind: CounterKind::Derived { formula: row[2].to_owned(), extra: false },
            meaning: row[3].to_owned(),
            needs,
        });
    }
    catalogue
}

/// Adds the raw counters of a formula, through other derived counters; names of GPU properties cost nothing.
fn gather(
    name: &str,
    formula: &str,
    derived: &BTreeMap<&str, Vec<&str>>,
    known: &Catalogue,
    needs: &mut Vec<RawNeed>,
) {
    for operand in formula::operands(formula) {
        if let Some(row) = derived.get(operand.name).filter(|_| operand.name != name) {
            gather(operand.name, row[2], derived, known, needs);
        } else if let Some(counter) = known.find(operand.name) {
            let accumulated = |need: &RawNeed| RawNeed {
                accumulate: operand.accumulated || need.accumulate,
                ..need.clone()
            };
            needs.extend(counter.needs.iter().map(accumulated));
        }
    }
}

impl Catalogue {
    fn add(&mut self, counter: Counter) {
        self.counters.insert(counter.name.clone(), counter);
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;

    fn needs(arch: &str, name: &str) -> Vec<String> {
        find(arch, name).unwrap().needs.iter().map(|need| need.counter.clone()).collect()
    }

    #[test]
    fn a_derived_counter_needs_the_raw_ones_of_its_formula() {
        assert_eq!(needs("gfx942", "FETCH_SIZE"), ["TCC_BUBBLE", "TCC_EA0_RDREQ", "TCC_EA0_RDREQ_32B"]);
        assert_eq!(needs("gfx90a:xnack-", "FetchSize"), ["TCC_EA_RDREQ", "TCC_EA_RDREQ_32B"]);
        assert_eq!(needs("gfx942", "CU_NUM"), [""; 0]);
        assert_eq!(needs("gfx942", "TCC_HIT_sum"), ["TCC_HIT"]);
    }

    #[test]
    fn an_accumulated_level_takes_two_registers() {
        let latency = find("gfx942", "LdsLatency").unwrap();
        let cost: u32 = latency.needs.iter().map(RawNeed::cost).sum();
        assert_eq!(cost, 3);
        let level = find("gfx950", "SQ_LEVEL_WAVES_ACCUM").unwrap();
        assert!(matches!(level.kind, CounterKind::Derived { extra: true, .. }));
        assert_eq!(level.needs[0].cost(), 2);
    }

    #[test]
    fn names_may_carry_a_channel_or_a_device() {
        assert_eq!(find("gfx942", "TCC_HIT[3]").unwrap().name, "TCC_HIT");
        assert_eq!(find("gfx942", "SQ_WAVES:device=0").unwrap().name, "SQ_WAVES");
        assert!(find("gfx942", "SQ_NOTHING").is_none());
        assert!(find("gfx1030", "SQ_WAVES").is_none());
    }

    #[test]
    fn every_block_with_counters_has_registers() {
        for (arch, catalogue) in CATALOGUES.iter() {
            let slots = slots(arch).unwrap();
            for need in catalogue.iter().flat_map(|counter| &counter.needs) {
                assert!(slots.contains_key(need.block.as_str()), "{arch} {need:?}");
            }
        }
        assert_eq!(slots("gfx1201").unwrap()["SQ"], 16);
    }
}

//! The lanes of a trace: work in order on each stream, with everything that matching needs of a row.

use std::collections::BTreeMap;

use trace::{Map, RowRef, StrId, Table};

use super::catalogue::{FusionCatalogue, Group, is_main};
use model::Run;
use model::attribution::SiteId;
use model::classify::Category;
use model::names::canonical;
use model::stages::Stage;

/// A row of GPU work as seen by matching.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub row: RowRef,
    pub start: i64,
    pub end: i64,
    pub stage: Stage,
    pub step: Option<usize>,
    /// Rows with the same name and op have the same kind.
    pub kind: u32,
    /// Whether its category is main work.
    pub main: bool,
    /// Whether it only moves data.
    pub moves: bool,
    /// The graph replay it belongs to, numbered from 1; 0 for work launched on its own.
    pub replay: u32,
}

/// All lanes, and which groups each kind of kernel is in.
pub(super) struct Lanes {
    /// Each lane in time order.
    pub lanes: Vec<Vec<Item>>,
    groups_of: Vec<Vec<u64>>,
    /// (name, op) of every kind.
    pub kinds: Vec<KernelKind>,
}

/// A kernel name, its op and its module class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct KernelKind {
    pub name: StrId,
    pub op: StrId,
    class: u32,
}

impl Lanes {
    /// Sorts all rows into lanes and tests each kind against every group once.
    pub fn of(context: &Run<'_>, catalogue: &FusionCatalogue) -> Self {
        let mut kinds = Kinds::default();
        let mut lanes: BTreeMap<u32, Vec<Item>> = BTreeMap::new();
        let mut replay_of: Map<RowRef, u32> = Map::default();
        for (number, replay) in context.attribution.replays.iter().enumerate() {
            replay_of.extend(replay.rows.iter().map(|&row| (row, number as u32 + 1)));
        }
        for &row in &context.rows {
            let (start, end) = context.time(row);
            let item = Item {
                row,
                start,
                end,
                stage: context.stage(row),
                step: context.stages.step(row),
                kind: kinds.of(context, row),
                main: is_main(context.category(row)),
                moves: context.category(row) == Category::Memory,
                replay: replay_of.get(&row).copied().unwrap_or(0),
            };
            if let Some(place) = context.place(row) {
                lanes.entry(context.work.stream[place]).or_default().push(item);
            }
        }
        let groups_of = kinds.rows.iter().map(|&row| memberships(context, catalogue, row)).collect();
        Self { lanes: lanes.into_values().collect(), groups_of, kinds: kinds.kinds }
    }

    /// Whether a row is in a group.
    pub fn is_in(&self, item: &Item, group: usize) -> bool {
        self.groups_of[item.kind as usize][group / 64] >> (group % 64) & 1 == 1
    }
}

/// Kinds by index, with one example row for each.
#[derive(Default)]
struct Kinds {
    numbers: Map<(KernelKind, bool), u32>,
    kinds: Vec<KernelKind>,
    rows: Vec<RowRef>,
    classes: Map<String, u32>,
    class_of: Map<SiteId, u32>,
}

impl Kinds {
    fn of(&mut self, context: &Run<'_>, row: RowRef) -> u32 {
        let site = context.site(row);
        let kind = KernelKind { name: context.name(row), op: site.cpu_op, class: self.class(context, row) };
        let is_copy = row.row_of(Table::MemoryCopies).is_some();
        let next = self.kinds.len() as u32;
        let number = *self.numbers.entry((kind, is_copy)).or_insert(next);
        if number == next {
            self.kinds.push(kind);
            self.rows.push(row);
        }
        number
    }

    /// The index of its module class: `RMSNorm_0` and `RMSNorm_7` share one.
    fn class(&mut self, context: &Run<'_>, row: RowRef) -> u32 {
        let site = context.attribution.site_of(row);
        if let Some(&known) = self.class_of.get(&site) {
            return known;
        }
        let class = without_number(context.attribution.text(context.site(row).module));
        let next = self.classes.len() as u32;
        let number = *self.classes.entry(class.to_string()).or_insert(next);
        self.class_of.insert(site, number);
        number
    }
}

fn without_number(module: &str) -> &str {
    module.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_')
}

fn memberships(context: &Run<'_>, catalogue: &FusionCatalogue, row: RowRef) -> Vec<u64> {
    let mut bits = vec![0u64; catalogue.groups.len().div_ceil(64)];
    let name = canonical(context.trace.strings.get(context.name(row)));
    let (op, module) = {
        let site = context.site(row);
        (context.attribution.text(site.cpu_op), context.attribution.text(site.module))
    };
    let category = context.category(row);
    for (place, group) in catalogue.groups.iter().enumerate() {
        let category_fits = group.category.is_empty() || group.category.contains(&category);
        if category_fits && texts_fit(group, &name, op, module) {
            bits[place / 64] |= 1 << (place % 64);
        }
    }
    bits
}

fn texts_fit(group: &Group, name: &str, op: &str, module: &str) -> bool {
    let fits = |pattern: &Option<regex::Regex>, text: &str| {
        pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
    };
    let any_fits = group.any.as_ref().is_none_or(|any| [name, op, module].iter().any(|t| any.is_match(t)));
    let forbidden = group.not.as_ref().is_some_and(|not| not.is_match(name) || not.is_match(op));
    let what_fits = group.what.as_ref().is_none_or(|what| what.is_match(name) || what.is_match(op));
    what_fits
        && fits(&group.name, name)
        && fits(&group.op, op)
        && fits(&group.module, module)
        && any_fits
        && !forbidden
}

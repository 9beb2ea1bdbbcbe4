//! Colours of categories: those with the most time get their own.

use report::chart::{Ink, Series};
use trace::{Map, Trace};

use model::classify::{Category, Classes};
use model::lanes::Lane;

/// Colours of categories by time; the rest are grey.
pub struct Palette {
    colored: Vec<Category>,
}

impl Palette {
    /// The categories of a trace, most time first.
    pub fn of(trace: &Trace, classes: &Classes, lanes: &[Lane]) -> Self {
        let mut totals: Map<Category, i64> = Map::default();
        for row in lanes.iter().flat_map(|lane| &lane.rows) {
            if let Some(class) =
                classes.of_row(trace, row.row).filter(|class| class.category != Category::Other)
            {
                *totals.entry(class.category).or_default() += row.work.end - row.work.start;
            }
        }
        let mut by_time: Vec<(Category, i64)> = totals.into_iter().collect();
        by_time.sort_by_key(|&(category, total)| (-total, category));
        Self { colored: by_time.into_iter().take(Ink::SERIES).map(|(category, _)| category).collect() }
    }

    /// The series index of a category.
    pub fn kind(&self, category: Category) -> usize {
        self.colored.iter().position(|colored| *colored == category).unwrap_or(self.rest())
    }

    /// The series index of all other categories.
    pub fn rest(&self) -> usize {
        self.colored.len()
    }

    /// The colour of a category.
    pub fn ink(&self, category: Category) -> Ink {
        match self.kind(category) {
            kind if kind == self.rest() => Ink::Rest,
            kind => Ink::Series(kind),
        }
    }

    /// All series; the rest comes last.
    pub fn series(&self) -> Vec<Series> {
        let colored = self.colored.iter().enumerate().map(|(i, category)| Series::new(category.name(), i));
        colored.chain([Series::rest("other")]).collect()
    }

    /// The series with any data according to `used`, and their new indices by old index.
    pub fn used(&self, used: impl Fn(usize) -> bool) -> (Vec<Series>, Vec<Option<usize>>) {
        let mut kept = Vec::new();
        let numbers = self.series().into_iter().enumerate().map(|(i, series)| {
            used(i).then(|| {
                kept.push(series);
                kept.len() - 1
            })
        });
        let numbers = numbers.collect();
        (kept, numbers)
    }
}

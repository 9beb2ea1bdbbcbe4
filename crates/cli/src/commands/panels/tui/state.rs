//! The selection and the input line; knows nothing about drawing.

use app::Trace;
use app::panels::catalogue::Catalogue;
use app::panels::{
    Block, Blocks, Dispatches, NormalUnit, PanelsOptions, Rule, TableValues, TopKernel, choose, evaluate,
    specs_of,
};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Which list the arrow keys move in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Focus {
    Kernels,
    Tables,
    Metrics,
}

/// A table of the catalogue.
pub struct Entry {
    pub panel: u32,
    pub table: u32,
    pub title: String,
}

/// The browser's state.
pub struct State<'t> {
    runs: &'t [Trace],
    options: PanelsOptions,
    /// Rows of all selected kernels, then of each kernel.
    pub kernels: Vec<(String, f64, Vec<u32>)>,
    pub tables: Vec<Entry>,
    pub focus: Focus,
    /// Index of the selected kernel, table and metric among those shown.
    pub kernel: usize,
    pub table: usize,
    pub metric: usize,
    /// The kernel to compare others with.
    pub base: Option<usize>,
    /// Text that names must contain, and whether the user is typing it.
    pub filter: String,
    pub typing: bool,
    /// Values of the table, and the values to compare them with.
    pub shown: Option<TableValues>,
    pub other: Option<TableValues>,
    pub other_name: String,
    /// Whether the change is from the other values to those shown, or the reverse.
    pub from_other: bool,
}

impl<'t> State<'t> {
    pub fn new(runs: &'t [Trace], options: PanelsOptions) -> Self {
        let trace = &runs[0];
        let (rows, top) = choose(trace, &options.choice).unwrap_or_default();
        let total = top.iter().map(|kernel| kernel.total).sum();
        let mut kernels = vec![("all kernels".to_string(), total, rows.clone())];
        for TopKernel { name, rows: of_kernel, total, .. } in top {
            let of_kernel: Vec<u32> =
                of_kernel.into_iter().filter(|row| rows.binary_search(row).is_ok()).collect();
            if !of_kernel.is_empty() {
                kernels.push((trace.strings.get(name).to_string(), total, of_kernel));
            }
        }
        let wanted = |panel: u32, table: u32| options.blocks.want_table(panel, table);
        let mut tables = Vec::new();
        for panel in &Catalogue::builtin().panels {
            for table in panel.tables.iter().filter(|table| wanted(panel.number, table.number)) {
                let title = table.title.replace("normUnit", "unit");
                tables.push(Entry { panel: panel.number, table: table.number, title });
            }
        }
        let mut state = Self {
            runs,
            options,
            kernels,
            tables,
            focus: Focus::Kernels,
            kernel: 0,
            table: 0,
            metric: 0,
            base: None,
            filter: String::new(),
            typing: false,
            shown: None,
            other: None,
            other_name: String::new(),
            from_other: true,
        };
        state.evaluate();
        state
    }

    /// Handles a key; `true` if the user quits.
    pub fn press(&mut self, key: KeyEvent) -> bool {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return true;
        }
        if self.typing {
            self.type_filter(key.code);
            return false;
        }
        match key.code {
            KeyCode::Char('q') => return true,
            KeyCode::Esc if self.filter.is_empty() => return true,
            KeyCode::Esc => {
                self.filter.clear();
                self.kernel = 0;
                self.metric = 0;
            }
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Tab | KeyCode::Right => self.focus = self.focus.next(),
            KeyCode::BackTab | KeyCode::Left => self.focus = self.focus.next().next(),
            KeyCode::Up | KeyCode::Char('k') => self.step(-1),
            KeyCode::Down | KeyCode::Char('j') => self.step(1),
            KeyCode::PageUp => self.step(-10),
            KeyCode::PageDown => self.step(10),
            KeyCode::Home => self.step(isize::MIN / 2),
            KeyCode::End => self.step(isize::MAX / 2),
            KeyCode::Char('n') => {
                self.options.unit = match self.options.unit {
                    NormalUnit::PerKernel => NormalUnit::PerWave,
                    NormalUnit::PerWave => NormalUnit::PerCycle,
                    NormalUnit::PerCycle => NormalUnit::PerSecond,
                    NormalUnit::PerSecond => NormalUnit::PerKernel,
                }
            }
            KeyCode::Char('v') => {
                self.options.rule = match self.options.rule {
                    Rule::RatioOfSums => Rule::MeanOfRatios,
                    Rule::MeanOfRatios => Rule::RatioOfSums,
                }
            }
            KeyCode::Char('c') => {
                let chosen = self.shown_kernels().get(self.kernel).copied();
                self.base = if self.base == chosen { None } else { chosen };
            }
            _ => return false,
        }
        self.evaluate();
        false
    }

    fn type_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => _ = self.filter.pop(),
            KeyCode::Char(letter) => self.filter.push(letter),
            _ => return,
        }
        (self.kernel, self.metric) = (0, 0);
        self.evaluate();
    }

    fn step(&mut self, by: isize) {
        let (place, count) = match self.focus {
            Focus::Kernels => (self.kernel, self.shown_kernels().len()),
            Focus::Tables => (self.table, self.tables.len()),
            Focus::Metrics => (self.metric, self.shown_metrics().len()),
        };
        let place = (place as isize).saturating_add(by).clamp(0, count.saturating_sub(1) as isize) as usize;
        match self.focus {
            Focus::Kernels => self.kernel = place,
            Focus::Tables => (self.table, self.metric) = (place, 0),
            Focus::Metrics => self.metric = place,
        }
    }

    /// Kernels whose name contains the filter; all if none does, because then the filter is for metrics.
    pub fn shown_kernels(&self) -> Vec<usize> {
        let held: Vec<usize> =
            (0..self.kernels.len()).filter(|&at| holds(&self.kernels[at].0, &self.filter)).collect();
        if held.is_empty() { (0..self.kernels.len()).collect() } else { held }
    }

    /// Metrics whose name contains the filter; all if none does, because then the filter is for kernels.
    pub fn shown_metrics(&self) -> Vec<usize> {
        let rows = self.shown.as_ref().map_or(0, |values| values.rows.len());
        let name = |at: usize| self.shown.as_ref().map_or("", |values| values.rows[at].metric.as_str());
        let held: Vec<usize> = (0..rows).filter(|&at| holds(name(at), &self.filter)).collect();
        if held.is_empty() { (0..rows).collect() } else { held }
    }

    /// The normalisation of numbers and the source of their formulas, for the heading.
    pub fn mode(&self) -> String {
        let rule = match self.options.rule {
            Rule::RatioOfSums => "ratio of sums",
            Rule::MeanOfRatios => "vendor parity",
        };
        format!("per {}, {rule}", self.options.unit.word())
    }

    fn evaluate(&mut self) {
        let chosen = self.shown_kernels().get(self.kernel).copied().unwrap_or(0);
        let name = self.kernels[chosen].0.clone();
        self.shown = self.values(&self.runs[0], &self.kernels[chosen].2);
        self.from_other = self.base.is_some();
        (self.other, self.other_name) = match (self.base, self.runs.get(1)) {
            (Some(base), _) if base != chosen => {
                let (name, _, rows) = &self.kernels[base];
                (self.values(&self.runs[0], rows), name.clone())
            }
            (None, Some(run)) => {
                let same =
                    |row: &u32| chosen == 0 || run.strings.get(run.kernels.name[*row as usize]) == name;
                let rows: Vec<u32> = (0..run.kernels.len() as u32).filter(same).collect();
                (self.values(run, &rows), "second run".into())
            }
            _ => (None, String::new()),
        };
    }

    fn values(&self, trace: &Trace, rows: &[u32]) -> Option<TableValues> {
        let entry = self.tables.get(self.table)?;
        if rows.is_empty() {
            return None;
        }
        let specs = specs_of(trace, &self.options.corrections);
        let dispatches =
            Dispatches::of(trace, specs, self.options.rule, self.options.unit).only(rows.to_vec());
        let block = Block { panel: entry.panel, table: Some(entry.table), row: None };
        evaluate(&dispatches, &Blocks(vec![block])).into_iter().next()
    }
}

fn holds(name: &str, filter: &str) -> bool {
    name.to_lowercase().contains(&filter.to_lowercase())
}

impl Focus {
    fn next(self) -> Self {
        match self {
            Focus::Kernels => Focus::Tables,
            Focus::Tables => Focus::Metrics,
            Focus::Metrics => Focus::Kernels,
        }
    }
}

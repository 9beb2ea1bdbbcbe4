//! Draws the state: kernels and tables on the left, metrics on the right; stacked in a narrow terminal.

use app::panels::Cell;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, List, ListItem, ListState, Paragraph, Row, Table, TableState};

use super::state::{Focus, State};

const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);
/// In narrower terminals, lists and metrics go below each other: side by side, metric names would be cut.
const NARROW: u16 = 90;
const QUIET: Style = Style::new().fg(Color::DarkGray);

/// Draws one frame.
pub fn draw(frame: &mut Frame<'_>, state: &mut State<'_>) {
    let [main, keys] = Layout::vertical([Constraint::Min(3), Constraint::Length(1)]).areas(frame.area());
    let narrow = frame.area().width < NARROW;
    let [kernels, tables, metrics] = if narrow {
        let heights = [Constraint::Percentage(20), Constraint::Percentage(20), Constraint::Min(6)];
        Layout::vertical(heights).areas(main)
    } else {
        let [left, right] = Layout::horizontal([Constraint::Length(30), Constraint::Min(20)]).areas(main);
        let [kernels, tables] =
            Layout::vertical([Constraint::Percentage(40), Constraint::Min(3)]).areas(left);
        [kernels, tables, right]
    };
    draw_kernels(frame, state, kernels);
    draw_tables(frame, state, tables);
    draw_metrics(frame, state, metrics);
    let line = if state.typing {
        format!("filter: {}▏ (Enter keeps, Esc clears)", state.filter)
    } else if narrow {
        "↑↓ move  Tab list  / filter  c cmp  n unit  q quit".to_string()
    } else {
        "↑↓ move  Tab list  / filter  c compare  n unit  v vendor  q quit".to_string()
    };
    frame.render_widget(Paragraph::new(line).style(QUIET), keys);
}

fn frame_of(title: String, focused: bool) -> Block<'static> {
    let style = if focused { Style::new().fg(Color::Cyan) } else { QUIET };
    Block::bordered().title(title).border_style(style)
}

fn draw_kernels(frame: &mut Frame<'_>, state: &State<'_>, area: Rect) {
    let shown = state.shown_kernels();
    let all = state.kernels[0].1;
    let room = usize::from(area.width.saturating_sub(11));
    let item = |&at: &usize| {
        let (name, time, _) = &state.kernels[at];
        let share = if all > 0.0 { format!("{:5.1} %", 100.0 * time / all) } else { "      –".into() };
        let mark = if state.base == Some(at) { "*" } else { " " };
        ListItem::new(format!("{mark}{:room$} {share}", cut(name, room)))
    };
    let items: Vec<ListItem<'_>> = shown.iter().map(item).collect();
    let title = format!(" Kernels ({}) ", state.kernels.len() - 1);
    let list = List::new(items).block(frame_of(title, state.focus == Focus::Kernels)).highlight_style(CHOSEN);
    frame.render_stateful_widget(list, area, &mut ListState::default().with_selected(Some(state.kernel)));
}

fn draw_tables(frame: &mut Frame<'_>, state: &State<'_>, area: Rect) {
    let item = |entry: &super::state::Entry| {
        let id = format!("{}.{}", entry.panel, entry.table);
        ListItem::new(format!("{id:5} {}", entry.title))
    };
    let items: Vec<ListItem<'_>> = state.tables.iter().map(item).collect();
    let list = List::new(items)
        .block(frame_of(" Tables ".into(), state.focus == Focus::Tables))
        .highlight_style(CHOSEN);
    frame.render_stateful_widget(list, area, &mut ListState::default().with_selected(Some(state.table)));
}

fn draw_metrics(frame: &mut Frame<'_>, state: &State<'_>, area: Rect) {
    let focused = state.focus == Focus::Metrics;
    let Some(values) = &state.shown else {
        let text = Paragraph::new("no such table for this GPU");
        frame.render_widget(text.block(frame_of(" Metrics ".into(), focused)), area);
        return;
    };
    let [area, reason] = Layout::vertical([Constraint::Min(3), Constraint::Length(2)]).areas(area);
    let shown = state.shown_metrics();
    // Room for as many numbers as fit next to name and unit.
    let room = usize::from(area.width.saturating_sub(2 + 26 + 15)) / 11;
    let columns = values.columns.len().min(if state.other.is_some() { 1 } else { room.max(1) });
    let mut header = vec!["metric".to_string()];
    header.extend(values.columns[..columns].iter().map(|key| key.replace('_', " ")));
    let mut widths = vec![Constraint::Min(20)];
    widths.extend(vec![Constraint::Length(10); columns]);
    if state.other.is_some() {
        header.extend(["other".to_string(), "change".to_string()]);
        widths.extend([Constraint::Length(10), Constraint::Length(9)]);
    }
    header.push("unit".into());
    widths.push(Constraint::Length(15));
    let row = |&at: &usize| {
        let row = &values.rows[at];
        let mut cells = vec![row.metric.clone()];
        cells.extend(row.cells[..columns].iter().map(number));
        if let Some(other) = &state.other {
            let same = other.rows.iter().find(|other| other.metric == row.metric);
            let cell = same.map_or_else(|| Err(String::new()), |other| other.cells[0].clone());
            cells.push(number(&cell));
            let (base, new) = if state.from_other { (&cell, &row.cells[0]) } else { (&row.cells[0], &cell) };
            cells.push(change(base, new));
        }
        cells.push(row.unit.clone());
        Row::new(cells)
    };
    let rows: Vec<Row<'_>> = shown.iter().map(row).collect();
    let mut title = format!(" {}.{} {} ({}) ", values.panel, values.table, values.title, state.mode());
    if state.other.is_some() {
        title.push_str(&format!("against {} ", cut(&state.other_name, 24)));
    }
    let table = Table::new(rows, widths)
        .header(Row::new(header).style(Style::new().add_modifier(Modifier::BOLD)))
        .block(frame_of(title, focused))
        .row_highlight_style(if focused { CHOSEN } else { Style::new() });
    frame.render_stateful_widget(table, area, &mut TableState::default().with_selected(Some(state.metric)));
    let why = shown.get(state.metric).and_then(|&at| values.rows[at].cells[0].as_ref().err());
    let why = why.map_or(String::new(), |why| format!(" N/A: {why}"));
    frame.render_widget(Paragraph::new(Line::from(why)).style(QUIET), reason);
}

fn number(cell: &Cell) -> String {
    match cell {
        Ok(value) if value.is_infinite() => "inf".into(),
        Ok(value) if value.abs() >= 1e9 => format!("{value:.3e}"),
        Ok(value) if value.fract() == 0.0 => format!("{value:.0}"),
        Ok(value) => format!("{value:.2}"),
        Err(_) => "N/A".into(),
    }
}

fn change(base: &Cell, new: &Cell) -> String {
    match (base, new) {
        (Ok(base), Ok(new)) if *base != 0.0 => format!("{:+.1} %", 100.0 * (new - base) / base.abs()),
        (Ok(base), Ok(new)) if base == new => "+0.0 %".into(),
        _ => "–".into(),
    }
}

fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_string();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

//! A document as a spreadsheet: a sheet for each table, with real numbers.

use rust_xlsxwriter::{
    Color, ConditionalFormatDataBar, DocProperties, ExcelDateTime, Format, FormatAlign, Image, Workbook,
    Worksheet, XlsxError,
};

use super::RenderError;
use super::image::png;
use crate::chart::SvgOptions;
use crate::document::{Document, SectionContent};
use crate::{Column, Table, Unit, Value, layout};

/// Maximum rows of a sheet, including the heading.
const MOST_ROWS: usize = 1_048_576;
/// Maximum characters of a cell.
const MOST_CHARACTERS: usize = 32_767;
/// Widest column of text, in characters.
const WIDEST: usize = 70;
/// Height of a sheet row, in pixels.
const ROW_PIXELS: u32 = 20;

impl From<XlsxError> for RenderError {
    fn from(error: XlsxError) -> Self {
        RenderError::Encoding(error.to_string())
    }
}

/// The spreadsheet.
pub fn xlsx(document: &Document) -> Result<Vec<u8>, RenderError> {
    let mut book = Workbook::new();
    // Same input, same bytes: the file must not contain the current date.
    let date = ExcelDateTime::from_ymd(2000, 1, 1)?;
    let properties = DocProperties::new().set_title(&document.title).set_creation_datetime(&date);
    book.set_properties(&properties);
    let mut names = Names::default();
    overview(book.add_worksheet().set_name(names.unique("Overview"))?, document)?;
    if !document.report.findings.is_empty() {
        findings(book.add_worksheet().set_name(names.unique("Findings"))?, document)?;
    }
    if document.report.charts.iter().any(|chart| !chart.is_empty()) {
        charts(book.add_worksheet().set_name(names.unique("Charts"))?, document)?;
    }
    for (_, parts) in document.outline() {
        for part in parts {
            if let SectionContent::Table(table) = part {
                sheet(book.add_worksheet().set_name(names.unique(&table.title))?, table)?;
            }
        }
    }
    Ok(book.save_to_buffer()?)
}

/// Names of sheets: at most 31 characters, without special characters, all unique.
#[derive(Default)]
struct Names {
    taken: Vec<String>,
}

impl Names {
    fn unique(&mut self, title: &str) -> String {
        let plain: String =
            title.chars().filter(|c| !matches!(c, '[' | ']' | ':' | '*' | '?' | '/' | '\\' | '\'')).collect();
        let mut name: String = plain.chars().take(31).collect();
        let mut number = 2;
        while self.taken.contains(&name.to_lowercase()) || name.is_empty() {
            name = plain.chars().take(27).collect::<String>() + &format!(" {number}");
            number += 1;
        }
        self.taken.push(name.to_lowercase());
        name
    }
}

fn heading() -> Format {
    Format::new()
        .set_bold()
        .set_background_color(Color::RGB(0xF0F2F5))
        .set_align(FormatAlign::Top)
        .set_text_wrap()
}

fn overview(sheet: &mut Worksheet, document: &Document) -> Result<(), RenderError> {
    let (title, bold, wrapped) =
        (Format::new().set_bold().set_font_size(16), Format::new().set_bold(), Format::new().set_text_wrap());
    sheet.set_column_width(0, 26)?.set_column_width(1, 26)?.set_column_width(2, 90)?;
    sheet.write_with_format(0, 0, &document.title, &title)?;
    sheet.write(1, 0, clipped(&document.subtitle))?;
    let mut row = 3;
    for figure in &document.figures {
        sheet.write_with_format(row, 0, &figure.label, &bold)?;
        sheet.write(row, 1, &figure.value)?;
        sheet.write(row, 2, &figure.note)?;
        row += 1;
    }
    let report = &document.report;
    row += 1;
    for (column, name) in ["input", "format", "path"].iter().enumerate() {
        sheet.write_with_format(row, column as u16, *name, &heading())?;
    }
    for (number, input) in report.inputs.iter().enumerate() {
        row += 1;
        match input.rank {
            Some(rank) => sheet.write(row, 0, format!("rank {rank}"))?,
            None => sheet.write(row, 0, (number + 1) as u32)?,
        };
        sheet.write(row, 1, &input.format)?.write(row, 2, clipped(&input.path))?;
    }
    row += 2;
    for (column, name) in ["health check", "status", "what"].iter().enumerate() {
        sheet.write_with_format(row, column as u16, *name, &heading())?;
    }
    for check in &report.health {
        row += 1;
        sheet.write(row, 0, &check.id)?.write(row, 1, check.status.name())?;
        sheet.write_with_format(row, 2, clipped(&check.message), &wrapped)?;
    }
    row += 1;
    for note in &report.notes {
        row += 1;
        sheet.write(row, 0, clipped(note))?;
    }
    sheet.write(row + 2, 0, format!("rocm-perf {}", document.version))?;
    Ok(())
}

fn findings(sheet: &mut Worksheet, document: &Document) -> Result<(), RenderError> {
    let columns: [(&str, f64); 5] = [
        ("finding", 24.0),
        ("severity", 11.0),
        ("gain ceiling (ns)", 18.0),
        ("what", 70.0),
        ("what to do", 90.0),
    ];
    for (column, (name, width)) in columns.iter().enumerate() {
        sheet
            .write_with_format(0, column as u16, *name, &heading())?
            .set_column_width(column as u16, *width)?;
    }
    let top = Format::new().set_align(FormatAlign::Top);
    let wrapped = top.clone().set_text_wrap();
    let number = top.clone().set_num_format("#,##0");
    for (i, finding) in document.report.findings.iter().enumerate() {
        let row = i as u32 + 1;
        sheet.write_with_format(row, 0, &finding.id, &top)?;
        sheet.write_with_format(row, 1, finding.severity.name(), &top)?;
        if let Some(gain) = finding.gain_ceiling_ns {
            sheet.write_with_format(row, 2, gain as f64, &number)?;
        }
        sheet.write_with_format(row, 3, clipped(&finding.title), &wrapped)?;
        sheet.write_with_format(row, 4, clipped(&finding.recommendation), &wrapped)?;
    }
    sheet.set_freeze_panes(1, 0)?;
    Ok(())
}

fn charts(sheet: &mut Worksheet, document: &Document) -> Result<(), RenderError> {
    let mut row = 0;
    for chart in document.report.charts.iter().filter(|chart| !chart.is_empty()) {
        let bytes = png(&chart.svg(&SvgOptions::default()), 2.0)?;
        let image = Image::new_from_buffer(&bytes)?.set_scale_width(0.5).set_scale_height(0.5);
        let image = image.set_alt_text(format!("{}. {}", chart.title, chart.description));
        let height = (image.height() / 2.0) as u32;
        sheet.insert_image(row, 0, &image)?;
        row += height / ROW_PIXELS + 2;
    }
    sheet.set_screen_gridlines(false);
    Ok(())
}

/// A table: frozen bold heading, numbers in their unit, filters, data bars for shares.
fn sheet(sheet: &mut Worksheet, table: &Table) -> Result<(), RenderError> {
    let columns: Vec<usize> = (0..table.columns.len()).collect();
    let shown =
        layout::cells(&Table { rows: table.rows.iter().take(200).cloned().collect(), ..table.clone_head() });
    for &c in &columns {
        let column = &table.columns[c];
        let (place, title) = (c as u16, title(column));
        sheet.write_with_format(0, place, &title, &heading())?;
        let widest = shown.iter().map(|row| row[c].chars().count()).max().unwrap_or(0);
        let width = if column.text { widest.min(WIDEST) } else { widest.min(24) };
        sheet.set_column_width(place, width.max(title.chars().count() + 3).max(8) as f64 + 2.0)?;
    }
    let rows = table.rows.len().min(MOST_ROWS - 1);
    let formats: Vec<Format> =
        table.columns.iter().map(|column| Format::new().set_num_format(number_format(column))).collect();
    for (i, row) in table.rows.iter().take(rows).enumerate() {
        for &c in &columns {
            cell(sheet, (i as u32 + 1, c as u16), &row[c], table.columns[c].unit, &formats[c])?;
        }
    }
    let (last_row, last_column) = (rows as u32, columns.len().saturating_sub(1) as u16);
    sheet.set_freeze_panes(1, 1)?.autofilter(0, 0, last_row, last_column)?;
    for &c in columns.iter().filter(|&&c| table.columns[c].unit == Unit::Pct && !table.columns[c].text) {
        let bar = ConditionalFormatDataBar::new().set_fill_color(Color::RGB(0x9DB9DE)).set_solid_fill(true);
        sheet.add_conditional_format(1, c as u16, last_row.max(1), c as u16, &bar)?;
    }
    Ok(())
}

impl Table {
    /// The table without its rows.
    fn clone_head(&self) -> Table {
        Table {
            rows: Vec::new(),
            columns: self.columns.clone(),
            ..Table::new(&self.name, &self.title, Vec::new())
        }
    }
}

/// The heading with the unit of the numbers.
fn title(column: &Column) -> String {
    match column.unit {
        Unit::Ns => format!("{} (ns)", column.heading()),
        Unit::Bytes if !column.heading().ends_with("bytes") => format!("{} (bytes)", column.heading()),
        _ => column.heading(),
    }
}

fn number_format(column: &Column) -> &'static str {
    match (column.unit, column.text) {
        (_, true) => "@",
        (Unit::Ns | Unit::Bytes, _) => "#,##0",
        (Unit::Pct, _) => "0.0%",
        (Unit::Gbps, _) => "#,##0.00",
        (Unit::Exact, _) => "0",
        (Unit::None, _) => "#,##0.###",
    }
}

fn cell(
    sheet: &mut Worksheet,
    (row, column): (u32, u16),
    value: &Value,
    unit: Unit,
    format: &Format,
) -> Result<(), RenderError> {
    match value {
        // In a spreadsheet a share of a half is 0.5, shown as 50 %.
        Value::Int(n) if unit == Unit::Pct => {
            sheet.write_with_format(row, column, *n as f64 / 100.0, format)?
        }
        Value::Float(f) if unit == Unit::Pct => sheet.write_with_format(row, column, *f / 100.0, format)?,
        // Numbers above 2⁵³ would lose digits, and are rarely quantities.
        Value::Int(n) if n.unsigned_abs() > 1 << 53 => sheet.write(row, column, n.to_string())?,
        Value::Int(n) => sheet.write_with_format(row, column, *n as f64, format)?,
        Value::Float(f) if f.is_finite() => sheet.write_with_format(row, column, *f, format)?,
        Value::Float(f) => sheet.write(row, column, f.to_string())?,
        Value::Text(text) => sheet.write_with_format(row, column, clipped(text), format)?,
        Value::Json(json) => sheet.write(row, column, clipped(&json.to_string()))?,
        Value::Absent(_) => return Ok(()),
    };
    Ok(())
}

/// Text that fits a cell.
fn clipped(text: &str) -> String {
    if text.len() <= MOST_CHARACTERS {
        return text.to_string();
    }
    text.chars().take(MOST_CHARACTERS - 1).chain(['…']).collect()
}

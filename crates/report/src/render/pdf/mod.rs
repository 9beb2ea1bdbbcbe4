//! A document as PDF: A4 pages with bookmarks, tables with repeated headings, and vector charts.
//!
//! ```text
//! document ─► flow (what goes on which page) ─► sheets (pages of marks) ─► pen (operators of a page) ─► emit (PDF)
//! ```

mod emit;
mod flow;
mod pen;
mod sheets;
mod table;

use super::RenderError;
use crate::document::Document;

/// The PDF file; tables show at most `rows` rows (0 for all).
pub fn pdf(document: &Document, rows: usize) -> Result<Vec<u8>, RenderError> {
    emit::emit(document, flow::flow(document, rows))
}

//! Renderers: a report as terminal text, JSON, CSV or Markdown; a document as a page, PDF, spreadsheet or Markdown.

mod csv;
mod error;
mod html;
mod image;
mod jpeg;
mod json;
mod markdown;
mod markdown_document;
#[cfg(feature = "pdf")]
mod pdf;
mod terminal;
mod xlsx;

pub use csv::{csv, csv_header, csv_rows};
pub use error::RenderError;
pub use html::{html, html_fragment};
pub use image::{jpeg, png};
pub use json::{json, json_rows};
pub use markdown::{markdown, markdown_table};
pub use markdown_document::markdown_document;
#[cfg(feature = "pdf")]
pub use pdf::pdf;
pub use terminal::{TerminalOptions, terminal};
pub use xlsx::xlsx;

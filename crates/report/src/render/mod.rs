//! Renderers: a report as terminal text, JSON, CSV or Markdown; a document as a page, PDF, spreadsheet or Markdown.

mod csv;
mod html;
mod json;
mod markdown;
mod terminal;

pub use csv::{csv, csv_header, csv_rows};
pub use html::html;
pub use json::{json, json_rows};
pub use markdown::{markdown, markdown_table};
pub use terminal::{TerminalOptions, terminal};

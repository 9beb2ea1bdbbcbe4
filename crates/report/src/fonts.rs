//! The fonts of charts, pages and PDF files, so that they look the same on every machine.

/// Roboto Regular.
pub const REGULAR: &[u8] = include_bytes!("../fonts/Roboto-Regular.ttf");
/// Roboto Medium, for headings.
pub const MEDIUM: &[u8] = include_bytes!("../fonts/Roboto-Medium.ttf");

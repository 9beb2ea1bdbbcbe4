//! Errors when making a file from a report.

/// Why a file could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A chart's drawing could not be parsed.
    #[error("cannot read the drawing: {0}")]
    Drawing(String),
    /// The picture would be too large.
    #[error("{0} × {1} pixels are too many")]
    TooLarge(u32, u32),
    /// An encoder failed.
    #[error("{0}")]
    Encoding(String),
}

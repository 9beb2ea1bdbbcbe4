//! Why a mapping trace could not be used.

/// Why a mapping trace could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Formal and mapping trace are of different models.
    #[error(
        "the mapping trace is of another model: it has {shared} of the {names} kernel names to be located"
    )]
    DifferentModels {
        /// Names both have.
        shared: usize,
        /// Names of the formal trace that were looked for.
        names: usize,
    },
}

//! Why a mapping trace could not be used.

/// Why a mapping trace could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Formal and mapping trace are of different models.
    #[error(
        "the mapping trace is from a different model: it has only {shared} of the {names} kernel names to locate"
    )]
    DifferentModels {
        /// Kernel names that both traces have.
        shared: usize,
        /// Kernel names of the formal trace that were looked up.
        names: usize,
    },
}

//! rocprofv3 CSV sets.

pub(crate) mod header;

use trace::{Needs, Trace};

use crate::{Error, Input, Progress};

/// Reads one set of CSV files (`input.files`).
pub fn read(input: &Input, needs: &Needs, progress: &Progress) -> Result<Trace, Error> {
    let _ = (input, needs, progress);
    unimplemented!()
}

//! rocpd databases.

use trace::{Needs, Trace};

use crate::{Error, Input, Progress};

/// Reads one database.
pub fn read(input: &Input, needs: &Needs, progress: &Progress) -> Result<Trace, Error> {
    let _ = (input, needs, progress);
    unimplemented!()
}

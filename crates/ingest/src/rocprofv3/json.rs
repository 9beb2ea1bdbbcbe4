//! rocprofv3 JSON (`rocprofiler-sdk-tool`).

use trace::{Needs, Trace};

use crate::{Error, Input, Progress};

/// Reads one JSON result (plain, gzip or zstd).
pub fn read(input: &Input, needs: &Needs, progress: &Progress) -> Result<Trace, Error> {
    let _ = (input, needs, progress);
    unimplemented!()
}

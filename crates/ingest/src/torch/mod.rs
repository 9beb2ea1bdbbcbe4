//! torch/Kineto/Chrome traces.

use trace::{Needs, Trace};

use crate::{Error, Input, Progress};

/// Reads one trace (`.json`, `.json.gz`, `.json.zst`, or standard input).
pub fn read(input: &Input, needs: &Needs, progress: &Progress) -> Result<Trace, Error> {
    let _ = (input, needs, progress);
    unimplemented!()
}

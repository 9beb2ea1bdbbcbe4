//! The compiler's metadata in a code object's notes: one map per kernel.

use super::msgpack::{Broken, Cursor};
use super::{Argument, CodeObjectKernel};

/// The parsed metadata.
#[derive(Default)]
pub(super) struct Metadata {
    /// The target; `None` before version 4.
    pub target: Option<String>,
    /// The kernels with the name of their descriptor; vector registers are still the compiler's total.
    pub kernels: Vec<(String, CodeObjectKernel)>,
    /// True if the document ended early.
    pub cut_short: bool,
}

/// Reads a document; everything before an error is kept.
pub(super) fn read(document: &[u8]) -> Metadata {
    let mut metadata = Metadata::default();
    metadata.cut_short = walk(&mut Cursor::new(document), &mut metadata).is_err();
    metadata
}

fn walk(cursor: &mut Cursor<'_>, into: &mut Metadata) -> Result<(), Broken> {
    for _ in 0..cursor.map()? {
        match cursor.string()? {
            "amdhsa.target" => {
                let target = cursor.string()?;
                into.target =
                    target.rsplit("--").next().filter(|target| !target.is_empty()).map(str::to_owned);
            }
            "amdhsa.kernels" => {
                for _ in 0..cursor.array()? {
                    let kernel = kernel(cursor)?;
                    into.kernels.push(kernel);
                }
            }
            _ => cursor.skip()?,
        }
    }
    Ok(())
}

fn kernel(cursor: &mut Cursor<'_>) -> Result<(String, CodeObjectKernel), Broken> {
    let mut kernel = CodeObjectKernel { exact: true, ..CodeObjectKernel::default() };
    let mut symbol = String::new();
    for _ in 0..cursor.map()? {
        match cursor.string()? {
            ".name" => kernel.name = cursor.string()?.to_owned(),
            ".symbol" => symbol = cursor.string()?.to_owned(),
            ".vgpr_count" => kernel.vgpr = cursor.number()?.unwrap_or_default(),
            ".agpr_count" => kernel.agpr = cursor.number()?.unwrap_or_default(),
            ".sgpr_count" => kernel.sgpr = cursor.number()?.unwrap_or_default(),
            ".vgpr_spill_count" => kernel.vgpr_spills = cursor.number()?,
            ".sgpr_spill_count" => kernel.sgpr_spills = cursor.number()?,
            ".group_segment_fixed_size" => kernel.lds_bytes = cursor.number()?.unwrap_or_default(),
            ".private_segment_fixed_size" => kernel.scratch_bytes = cursor.number()?.unwrap_or_default(),
            ".kernarg_segment_size" => kernel.kernarg_bytes = cursor.number()?.unwrap_or_default(),
            ".max_flat_workgroup_size" => kernel.max_workgroup = cursor.number()?,
            ".wavefront_size" => kernel.wave_size = cursor.number()?.unwrap_or_default(),
            ".reqd_workgroup_size" => kernel.required_workgroup = sizes(cursor)?,
            ".args" => {
                for _ in 0..cursor.array()? {
                    let argument = argument(cursor)?;
                    if !argument.kind.starts_with("hidden_") {
                        kernel.arguments.push(argument);
                    }
                }
            }
            _ => cursor.skip()?,
        }
    }
    Ok((symbol, kernel))
}

/// Three sizes; other lengths are skipped.
fn sizes(cursor: &mut Cursor<'_>) -> Result<Option<[u32; 3]>, Broken> {
    let mut sizes = Vec::new();
    for _ in 0..cursor.array()? {
        sizes.push(cursor.number()?);
    }
    let sizes: Option<Vec<u32>> = sizes.into_iter().collect();
    Ok(sizes.and_then(|sizes| sizes.try_into().ok()))
}

fn argument(cursor: &mut Cursor<'_>) -> Result<Argument, Broken> {
    let mut argument = Argument::default();
    for _ in 0..cursor.map()? {
        match cursor.string()? {
            ".name" => argument.name = cursor.string()?.to_owned(),
            ".offset" => argument.offset = cursor.number()?.unwrap_or_default(),
            ".size" => argument.size = cursor.number()?.unwrap_or_default(),
            ".value_kind" => argument.kind = cursor.string()?.to_owned(),
            _ => cursor.skip()?,
        }
    }
    Ok(argument)
}

//! The guard on the built program: the kernel's ABI and resources, from the metadata of its code objects.

use std::path::PathBuf;

use hw::code_object::{self, CodeObjectKernel};
use hw::occupancy::theoretical;
use serde_json::{Value as Json, json};

use super::guard::Header;
use super::source::base_name;

/// What a candidate may use more of than before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Spilled registers.
    pub spills: u32,
    /// Bytes of scratch per lane.
    pub scratch_bytes: u32,
    /// Least theoretical occupancy in percent, unless it was already lower.
    pub least_occupancy_pct: f64,
}

/// What built files contain about a kernel, or why they contain nothing.
pub fn read(files: &[PathBuf], kernel: &str) -> Result<Vec<CodeObjectKernel>, String> {
    let named = |one: &CodeObjectKernel| base_name(&model::names::demangle(&one.name)) == kernel;
    let (mut found, mut why) = (Vec::new(), "the build did not write this file".to_string());
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let bytes = std::fs::read(path).map_err(|error| error.to_string());
        match bytes.and_then(|bytes| code_object::read(&bytes).map_err(|error| error.to_string())) {
            Ok(kernels) => {
                why = format!("`{name}` has no kernel `{kernel}`");
                found.extend(kernels.into_iter().filter(named));
            }
            Err(error) => why = format!("`{name}`: {error}"),
        }
    }
    found.sort_by(|a, b| (&a.name, &a.target).cmp(&(&b.name, &b.target)));
    if found.is_empty() { Err(why) } else { Ok(found) }
}

/// Compares the builds before and after; `workgroup` is that of the dispatches, if known.
pub fn check(
    before: &[CodeObjectKernel],
    after: &[CodeObjectKernel],
    header: Header,
    limits: &Limits,
    workgroup: Option<u32>,
) -> Result<(), String> {
    if before.len() != after.len() {
        return Err(format!(
            "the code object has {} variants of the kernel instead of {}",
            after.len(),
            before.len()
        ));
    }
    for (was, is) in before.iter().zip(after) {
        abi(was, is, header)?;
        resources(was, is, limits, workgroup)?;
    }
    Ok(())
}

fn abi(was: &CodeObjectKernel, is: &CodeObjectKernel, header: Header) -> Result<(), String> {
    if was.name != is.name {
        return Err(format!("the symbol is `{}` instead of `{}`", is.name, was.name));
    }
    if was.kernarg_bytes != is.kernarg_bytes {
        return Err(format!(
            "the kernel's arguments take {} bytes instead of {}",
            is.kernarg_bytes, was.kernarg_bytes
        ));
    }
    let places = |one: &CodeObjectKernel| -> Vec<(u32, u32, String)> {
        one.arguments.iter().map(|argument| (argument.offset, argument.size, argument.kind.clone())).collect()
    };
    if places(was) != places(is) {
        return Err("the kernel's arguments are laid out differently".into());
    }
    // Launch bounds are meant to change this.
    if header == Header::Identical && was.max_workgroup != is.max_workgroup {
        return Err("the maximum workgroup size changed".into());
    }
    if was.required_workgroup != is.required_workgroup {
        return Err("the required workgroup size changed".into());
    }
    Ok(())
}

fn resources(
    was: &CodeObjectKernel,
    is: &CodeObjectKernel,
    limits: &Limits,
    workgroup: Option<u32>,
) -> Result<(), String> {
    let more = |was: Option<u32>, is: Option<u32>| is.unwrap_or(0).saturating_sub(was.unwrap_or(0));
    let spilled = more(was.vgpr_spills, is.vgpr_spills) + more(was.sgpr_spills, is.sgpr_spills);
    if spilled > limits.spills {
        return Err(format!("spills {spilled} more registers; at most {} more are allowed", limits.spills));
    }
    let scratch = is.scratch_bytes.saturating_sub(was.scratch_bytes);
    // Spilled registers need scratch, and the compiler rounds up.
    let for_spills = if limits.spills > 0 { 4 * limits.spills + 12 } else { 0 };
    if scratch > limits.scratch_bytes.max(for_spills) {
        return Err(format!(
            "needs {scratch} more bytes of scratch per lane; at most {} more are allowed",
            limits.scratch_bytes
        ));
    }
    if let (Some(before), Some(after)) = (occupancy(was, workgroup), occupancy(is, workgroup))
        && after < before
        && after < limits.least_occupancy_pct
    {
        return Err(format!(
            "occupancy fell from {before:.1} % to {after:.1} %; the minimum is {} %",
            limits.least_occupancy_pct
        ));
    }
    Ok(())
}

/// Theoretical occupancy in percent; `None` for unknown GPUs.
fn occupancy(kernel: &CodeObjectKernel, workgroup: Option<u32>) -> Option<f64> {
    let workgroup = workgroup.or(kernel.workgroup())?;
    Some(theoretical(kernel.arch()?, &kernel.resources(workgroup, 0)).percent())
}

/// JSON for the audit and for proposers.
pub fn to_json(kernels: &Result<Vec<CodeObjectKernel>, String>, workgroup: Option<u32>) -> Json {
    match kernels {
        Err(why) => json!({ "absent": why }),
        Ok(kernels) => kernels
            .iter()
            .map(|one| {
                json!({
                    "name": one.name, "target": one.target, "vgpr": one.vgpr, "agpr": one.agpr, "sgpr": one.sgpr,
                    "vgpr_spills": one.vgpr_spills, "sgpr_spills": one.sgpr_spills, "lds_bytes": one.lds_bytes,
                    "scratch_bytes": one.scratch_bytes, "kernarg_bytes": one.kernarg_bytes,
                    "max_workgroup": one.max_workgroup, "occupancy_pct": occupancy(one, workgroup),
                })
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use hw::code_object::Argument;

    use super::*;

    fn kernel() -> CodeObjectKernel {
        CodeObjectKernel {
            name: "_Z1kPf".into(),
            target: "gfx942".into(),
            vgpr: 32,
            wave_size: 64,
            kernarg_bytes: 8,
            max_workgroup: Some(1024),
            vgpr_spills: Some(1),
            arguments: vec![Argument {
                offset: 0,
                size: 8,
                kind: "global_buffer".into(),
                ..Argument::default()
            }],
            ..CodeObjectKernel::default()
        }
    }

    #[test]
    fn the_abi_must_stay_and_resources_must_not_grow_beyond_limits() {
        let limits = Limits { spills: 2, scratch_bytes: 0, least_occupancy_pct: 50.0 };
        let verdict = |change: &dyn Fn(&mut CodeObjectKernel), header| {
            let mut after = kernel();
            change(&mut after);
            check(&[kernel()], &[after], header, &limits, Some(256)).err().unwrap_or_default()
        };
        let strict = Header::Identical;
        for (change, expected) in [
            (&(|k: &mut CodeObjectKernel| k.vgpr += 40) as &dyn Fn(&mut CodeObjectKernel), ""),
            (&|k| k.vgpr_spills = Some(3), ""),
            (&|k| k.vgpr_spills = Some(4), "spills 3 more registers"),
            (&|k| k.scratch_bytes = 16, ""),
            (&|k| k.scratch_bytes = 32, "needs 32 more bytes of scratch"),
            (&|k| k.vgpr = 256, " % to 25.0 %; the minimum is"),
            (&|k| k.name = "_Z1kPi".into(), "the symbol is"),
            (&|k| k.arguments[0].size = 4, "laid out differently"),
            (&|k| k.kernarg_bytes = 16, "take 16 bytes instead of 8"),
            (&|k| k.max_workgroup = Some(256), "the maximum workgroup size changed"),
        ] {
            let why = verdict(change, strict);
            assert!(why.contains(expected) && why.is_empty() == expected.is_empty(), "{expected}: {why}");
        }
        assert_eq!(verdict(&|k| k.max_workgroup = Some(256), Header::Hints), "");
        assert!(check(&[kernel()], &[], strict, &limits, None).is_err());
    }
}

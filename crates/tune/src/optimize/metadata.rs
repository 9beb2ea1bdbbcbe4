//! The guard on what was built: the kernel's ABI and resources as the code object's metadata tells them.

use std::path::Path;

use hw::code_object::{self, CodeObjectKernel};
use serde_json::{Value as Json, json};

use super::guard::Header;
use super::source::base_name;

/// What the built program tells of a kernel; the reason where it tells nothing.
pub fn read(program: &Path, kernel: &str) -> Result<Vec<CodeObjectKernel>, String> {
    let bytes = std::fs::read(program).map_err(|error| format!("`{}`: {error}", program.display()))?;
    let kernels = code_object::read(&bytes).map_err(|error| error.to_string())?;
    let named = |one: &CodeObjectKernel| base_name(&analysis::names::demangle(&one.name)) == kernel;
    let found: Vec<CodeObjectKernel> = kernels.into_iter().filter(named).collect();
    if found.is_empty() { Err(format!("its code object has no kernel `{kernel}`")) } else { Ok(found) }
}

/// Compares what was built before and after; `spills` more spilled registers are allowed.
pub fn check(
    before: &[CodeObjectKernel],
    after: &[CodeObjectKernel],
    header: Header,
    spills: u32,
) -> Result<(), String> {
    if before.len() != after.len() {
        return Err(format!(
            "the code object has {} variants of the kernel instead of {}",
            after.len(),
            before.len()
        ));
    }
    for (was, is) in before.iter().zip(after) {
        if was.name != is.name {
            return Err(format!("the symbol is `{}` instead of `{}`", is.name, was.name));
        }
        let shape = |one: &CodeObjectKernel| {
            let places =
                one.arguments.iter().map(|argument| (argument.offset, argument.size, argument.kind.clone()));
            (one.kernarg_bytes, places.collect::<Vec<_>>())
        };
        if shape(was) != shape(is) {
            return Err("the kernel's arguments are laid out differently".into());
        }
        // Launch bounds are there to change this.
        if header == Header::Identical && was.max_workgroup != is.max_workgroup {
            return Err("the largest workgroup is another".into());
        }
        if was.required_workgroup != is.required_workgroup {
            return Err("the required workgroup is another".into());
        }
        let more = |was: Option<u32>, is: Option<u32>| is.unwrap_or(0).saturating_sub(was.unwrap_or(0));
        let spilled = more(was.vgpr_spills, is.vgpr_spills) + more(was.sgpr_spills, is.sgpr_spills);
        if spilled > spills {
            return Err(format!("{spilled} more registers are spilled, and {spills} are allowed"));
        }
    }
    Ok(())
}

/// For the audit.
pub fn to_json(kernels: &Result<Vec<CodeObjectKernel>, String>) -> Json {
    match kernels {
        Err(why) => json!({ "absent": why }),
        Ok(kernels) => kernels
            .iter()
            .map(|one| {
                json!({
                    "name": one.name, "target": one.target, "vgpr": one.vgpr, "agpr": one.agpr, "sgpr": one.sgpr,
                    "vgpr_spills": one.vgpr_spills, "sgpr_spills": one.sgpr_spills, "lds_bytes": one.lds_bytes,
                    "scratch_bytes": one.scratch_bytes, "kernarg_bytes": one.kernarg_bytes,
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
    fn the_abi_must_stay_and_spills_must_not_grow() {
        let verdict = |change: &dyn Fn(&mut CodeObjectKernel), header| {
            let mut after = kernel();
            change(&mut after);
            check(&[kernel()], &[after], header, 2).err()
        };
        let strict = Header::Identical;
        assert_eq!(verdict(&|k| k.vgpr += 40, strict), None);
        assert_eq!(verdict(&|k| k.vgpr_spills = Some(3), strict), None);
        assert!(
            verdict(&|k| k.vgpr_spills = Some(4), strict).is_some_and(|why| why.contains("3 more registers"))
        );
        assert!(verdict(&|k| k.name = "_Z1kPi".into(), strict).is_some());
        assert!(verdict(&|k| k.arguments[0].size = 4, strict).is_some());
        assert!(verdict(&|k| k.kernarg_bytes = 16, strict).is_some());
        assert!(verdict(&|k| k.max_workgroup = Some(256), strict).is_some());
        assert_eq!(verdict(&|k| k.max_workgroup = Some(256), Header::Hints), None);
        assert!(check(&[kernel()], &[], strict, 0).is_err());
    }
}

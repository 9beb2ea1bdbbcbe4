//! Code objects: the kernels in an ELF file for AMD GPUs and their resources, also inside offload bundles
//! (even compressed), archives, and the executables and libraries that contain them.
//!
//! Everything is bounds-checked: any input gives kernels, problems or an error, never a panic.

mod bundle;
mod descriptor;
mod elf;
mod metadata;
mod msgpack;

use crate::arch::{self, Arch};
use crate::occupancy::KernelResources;

/// A compiled kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeObjectKernel {
    /// The name, mangled as in the source language.
    pub name: String,
    /// The architecture with its features, as in `gfx942:sramecc+:xnack-`.
    pub target: String,
    /// Vector registers per lane, without accumulation registers.
    pub vgpr: u32,
    /// Accumulation registers per lane.
    pub agpr: u32,
    /// Scalar registers per wave.
    pub sgpr: u32,
    /// Vector registers spilled to scratch, if the compiler recorded it.
    pub vgpr_spills: Option<u32>,
    /// Scalar registers spilled, if the compiler recorded it.
    pub sgpr_spills: Option<u32>,
    /// LDS per workgroup that is fixed at compile time.
    pub lds_bytes: u32,
    /// Scratch per lane.
    pub scratch_bytes: u32,
    /// Whether scratch may grow at run time.
    pub dynamic_stack: bool,
    /// Bytes of kernel arguments, hidden ones included.
    pub kernarg_bytes: u32,
    /// Most threads per workgroup that the kernel was compiled for.
    pub max_workgroup: Option<u32>,
    /// Threads per workgroup that every launch must have.
    pub required_workgroup: Option<[u32; 3]>,
    /// Lanes per wave.
    pub wave_size: u32,
    /// RDNA: whether a workgroup stays within one compute unit.
    pub cu_mode: bool,
    /// The arguments that the source declares.
    pub arguments: Vec<Argument>,
    /// Whether the compiler's metadata was present; otherwise the numbers are from the hardware's descriptor,
    /// rounded up.
    pub exact: bool,
}

/// An argument of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Argument {
    /// The name, if the compiler kept it.
    pub name: String,
    /// Offset in the argument block.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Its kind: `by_value`, `global_buffer`, `dynamic_shared_pointer` and so on.
    pub kind: String,
}

impl CodeObjectKernel {
    /// The architecture, if known.
    pub fn arch(&self) -> Option<&'static Arch> {
        arch::find(&self.target)
    }

    /// Resources of a launch with these threads per workgroup and this much dynamic LDS.
    pub fn resources(&self, workgroup: u32, dynamic_lds: u32) -> KernelResources {
        KernelResources {
            vgpr: self.vgpr,
            agpr: self.agpr,
            sgpr: self.sgpr,
            lds_bytes: self.lds_bytes.saturating_add(dynamic_lds),
            workgroup,
            wave_size: Some(self.wave_size).filter(|&size| size > 0),
            cu_mode: self.cu_mode,
        }
    }

    /// Threads per workgroup, if the code object has it: required, else the most it was compiled for.
    pub fn workgroup(&self) -> Option<u32> {
        let product = |[x, y, z]: [u32; 3]| x.checked_mul(y)?.checked_mul(z);
        self.required_workgroup.and_then(product).or(self.max_workgroup)
    }
}

/// Contents of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The kernels, in the order of the file; one per kernel and architecture.
    pub kernels: Vec<CodeObjectKernel>,
    /// Code objects that were read.
    pub code_objects: usize,
    /// Parts that could not be read, in words.
    pub problems: Vec<String>,
}

/// Why a file gave no kernels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeObjectError {
    /// Another kind of file.
    #[error("neither a code object nor a file that holds one")]
    NotACodeObject,
    /// A program without GPU code.
    #[error("a program or library without GPU code (no `.hip_fatbin` section)")]
    NoGpuCode,
    /// Nothing could be read.
    #[error("{0}")]
    Damaged(String),
}

/// Whether a file that begins like this is GPU code or may contain some: a code object, a program, a bundle,
/// an archive.
pub fn is_code(head: &[u8]) -> bool {
    head.starts_with(b"\x7fELF") || head.starts_with(b"!<arch>\n") || bundle::starts_bundle(head)
}

/// Bundles in archives in bundles: no real file is nested deeper.
const MAX_DEPTH: usize = 4;

/// The kernels of a file; an error if there are none and something was wrong.
pub fn read(bytes: &[u8]) -> Result<Vec<CodeObjectKernel>, CodeObjectError> {
    contents(bytes).map(|contents| contents.kernels)
}

/// The kernels of a file, and its unreadable parts.
pub fn contents(bytes: &[u8]) -> Result<Contents, CodeObjectError> {
    let mut contents = Contents::default();
    visit(bytes, None, 0, &mut contents)?;
    if contents.code_objects == 0 {
        return match contents.problems.into_iter().next() {
            Some(problem) => Err(CodeObjectError::Damaged(problem)),
            None => Err(CodeObjectError::NoGpuCode),
        };
    }
    Ok(contents)
}

/// Reads any kind of file; `target` comes from the bundle around it.
fn visit(
    bytes: &[u8],
    target: Option<&str>,
    depth: usize,
    into: &mut Contents,
) -> Result<(), CodeObjectError> {
    if depth > MAX_DEPTH {
        return Err(CodeObjectError::Damaged("bundles are nested too deeply".to_owned()));
    }
    if bundle::starts_bundle(bytes) {
        for part in bundle::parts(bytes) {
            match part {
                Ok(part) => visit_part(&part.bytes, Some(&part.target), depth, into),
                Err(problem) => into.problems.push(problem),
            }
        }
        return Ok(());
    }
    if bytes.starts_with(b"!<arch>\n") {
        return visit_archive(bytes, depth, into);
    }
    if bytes.starts_with(b"\x7fELF") {
        return visit_elf(bytes, target, depth, into);
    }
    Err(CodeObjectError::NotACodeObject)
}

/// A part of a larger file: its errors are problems of that file, and reading continues.
fn visit_part(bytes: &[u8], target: Option<&str>, depth: usize, into: &mut Contents) {
    match visit(bytes, target, depth + 1, into) {
        Ok(()) | Err(CodeObjectError::NoGpuCode) => {}
        Err(error) => into.problems.push(error.to_string()),
    }
}

fn visit_archive(bytes: &[u8], depth: usize, into: &mut Contents) -> Result<(), CodeObjectError> {
    let damaged = |error: object::Error| CodeObjectError::Damaged(format!("a damaged archive: {error}"));
    let archive = object::read::archive::ArchiveFile::parse(bytes).map_err(damaged)?;
    for member in archive.members() {
        match member.and_then(|member| member.data(bytes)) {
            Ok(data) if data.starts_with(b"\x7fELF") || bundle::starts_bundle(data) => {
                visit_part(data, None, depth, into)
            }
            Ok(_) => {}
            Err(error) => into.problems.push(format!("a damaged member of an archive: {error}")),
        }
    }
    Ok(())
}

fn visit_elf(
    bytes: &[u8],
    target: Option<&str>,
    depth: usize,
    into: &mut Contents,
) -> Result<(), CodeObjectError> {
    match elf::open(bytes)? {
        elf::File::Gpu(object) => {
            into.code_objects += 1;
            let found = elf::kernels(&object, target, &mut into.problems);
            into.kernels.extend(found);
        }
        elf::File::Host(sections) => {
            for section in sections {
                for bundle in bundle::find_all(section) {
                    visit_part(bundle, None, depth, into);
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_are_told_apart() {
        assert_eq!(read(b""), Err(CodeObjectError::NotACodeObject));
        assert_eq!(read(b"#!/bin/sh\n"), Err(CodeObjectError::NotACodeObject));
        assert!(matches!(read(b"\x7fELF"), Err(CodeObjectError::Damaged(_))));
        assert!(matches!(read(b"__CLANG_OFFLOAD_BUNDLE__"), Err(CodeObjectError::Damaged(_))));
        assert!(matches!(read(b"CCOB\x02\x00\x01\x00"), Err(CodeObjectError::Damaged(_))));
        assert_eq!(read(b"!<arch>\n"), Err(CodeObjectError::NoGpuCode));
    }
}

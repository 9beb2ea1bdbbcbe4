//! ELF files: code objects with their kernels, and the sections of programs that hold bundles.

use super::descriptor::{self, Descriptor};
use super::{CodeObjectError, CodeObjectKernel, metadata};
use crate::arch::{self, Arch, RegisterFile};
use object::LittleEndian;
use object::elf::{EM_AMDGPU, FileHeader64, PT_NOTE};
use object::read::elf::{ElfFile64, FileHeader, NoteIterator, ProgramHeader, SectionHeader, Sym};
use std::collections::{BTreeMap, HashMap, HashSet};

type Header = FileHeader64<LittleEndian>;

/// The note with the compiler's metadata.
const NOTE_METADATA: u32 = 32;
/// Its predecessor in code objects of version 2.
const NOTE_METADATA_V2: u32 = 10;

/// An ELF file.
pub(super) enum File<'a> {
    /// A code object.
    Gpu(Box<ElfFile64<'a, LittleEndian>>),
    /// A program or library, by its sections of bundles.
    Host(Vec<&'a [u8]>),
}

/// Opens an ELF file.
pub(super) fn open(bytes: &[u8]) -> Result<File<'_>, CodeObjectError> {
    let damaged = |error: object::Error| CodeObjectError::Damaged(format!("a damaged ELF file: {error}"));
    let file = ElfFile64::<LittleEndian>::parse(bytes).map_err(damaged)?;
    if file.elf_header().e_machine(LittleEndian) == EM_AMDGPU {
        return Ok(File::Gpu(Box::new(file)));
    }
    let sections = file.elf_section_table();
    let mut bundles = Vec::new();
    for section in sections.iter() {
        let name = sections.section_name(LittleEndian, section).unwrap_or_default();
        if name == b".hip_fatbin" || name.starts_with(b"__CLANG_OFFLOAD_BUNDLE__hip") {
            bundles.push(section.data(LittleEndian, bytes).map_err(damaged)?);
        }
    }
    Ok(File::Host(bundles))
}

/// The kernels of a code object.
pub(super) fn kernels(
    file: &ElfFile64<'_, LittleEndian>,
    bundle_target: Option<&str>,
    problems: &mut Vec<String>,
) -> Vec<CodeObjectKernel> {
    let descriptors = Descriptors::of(file);
    let machine = file.elf_header().e_flags(LittleEndian) & 0xff;
    let by_flags = arch::by_elf_machine(machine).map(|arch| arch.name.clone());
    let fallback =
        bundle_target.map(str::to_owned).or(by_flags).unwrap_or_else(|| format!("processor {machine:#x}"));
    let mut kernels = Vec::new();
    let mut seen = HashSet::new();
    for note in notes(file, problems) {
        let metadata = metadata::read(note);
        let target = metadata.target.unwrap_or_else(|| fallback.clone());
        let arch = arch::find(&target);
        if metadata.cut_short {
            let read = metadata.kernels.len();
            problems
                .push(format!("the metadata of a code object for {target} is cut off after {read} kernels"));
        }
        for (symbol, mut kernel) in metadata.kernels {
            let descriptor = descriptors.get(&symbol);
            split_registers(&mut kernel, arch, descriptor);
            kernel.target.clone_from(&target);
            kernel.dynamic_stack = descriptor.is_some_and(|descriptor| descriptor.dynamic_stack);
            kernel.cu_mode = arch.is_some_and(|arch| arch.facts.cus_per_wgp > 1)
                && descriptor.is_some_and(|descriptor| descriptor.cu_mode());
            seen.insert(symbol);
            kernels.push(kernel);
        }
    }
    let missing = descriptors.by_symbol.iter().filter(|(symbol, _)| !seen.contains(**symbol));
    kernels.extend(missing.map(|(symbol, descriptor)| described(symbol, descriptor, &fallback)));
    kernels
}

/// On chips with one register file the compiler gives the total: subtracts the accumulation registers.
fn split_registers(kernel: &mut CodeObjectKernel, arch: Option<&Arch>, descriptor: Option<Descriptor>) {
    if arch.is_some_and(|arch| arch.facts.vgpr.file == RegisterFile::Unified) {
        if kernel.agpr == 0 {
            // Older metadata without the count: the descriptor says where accumulation registers start.
            let starts = descriptor.map_or(kernel.vgpr, |descriptor| descriptor.accumulation_starts());
            kernel.agpr = kernel.vgpr.saturating_sub(starts);
        }
        kernel.vgpr = kernel.vgpr.saturating_sub(kernel.agpr);
    }
}

/// A kernel without metadata, from its hardware descriptor.
fn described(symbol: &str, descriptor: &Descriptor, target: &str) -> CodeObjectKernel {
    let arch = arch::find(target);
    let both_sizes = arch.is_some_and(|arch| arch.facts.wave_sizes.len() > 1);
    let wave_size = if both_sizes { descriptor.wave_size() } else { arch.map_or(0, Arch::wave_size) };
    let unified = arch.is_some_and(|arch| arch.facts.vgpr.file == RegisterFile::Unified);
    // The unit in which the count is stored, which on RDNA is finer than the allocation unit.
    let granule = if unified || wave_size == 32 { 8 } else { 4 };
    let (vgpr, agpr) = descriptor.registers(unified, granule);
    let counts_scalars = arch.is_some_and(|arch| !arch.facts.sgpr.waves.is_empty());
    CodeObjectKernel {
        name: symbol.strip_suffix(".kd").unwrap_or(symbol).to_owned(),
        target: target.to_owned(),
        vgpr,
        agpr,
        sgpr: if counts_scalars { descriptor.scalar_registers() } else { 0 },
        lds_bytes: descriptor.lds_bytes,
        scratch_bytes: descriptor.scratch_bytes,
        kernarg_bytes: descriptor.kernarg_bytes,
        dynamic_stack: descriptor.dynamic_stack,
        wave_size,
        cu_mode: both_sizes && descriptor.cu_mode(),
        ..CodeObjectKernel::default()
    }
}

/// The metadata documents in the notes of segments, or of sections if no segment has any.
fn notes<'a>(file: &ElfFile64<'a, LittleEndian>, problems: &mut Vec<String>) -> Vec<&'a [u8]> {
    let bytes = file.data();
    let mut found = Documents::default();
    for segment in file.elf_program_headers().iter().filter(|segment| segment.p_type(LittleEndian) == PT_NOTE)
    {
        found.take(segment.notes(LittleEndian, bytes));
    }
    if found.documents.is_empty() {
        file.elf_section_table().iter().for_each(|section| found.take(section.notes(LittleEndian, bytes)));
    }
    if found.documents.is_empty() && found.version_2 {
        problems.push("a code object of version 2, whose metadata is too old to read".to_owned());
    }
    found.documents
}

/// Metadata found in notes.
#[derive(Default)]
struct Documents<'a> {
    documents: Vec<&'a [u8]>,
    version_2: bool,
}

impl<'a> Documents<'a> {
    fn take(&mut self, notes: object::read::Result<Option<NoteIterator<'a, Header>>>) {
        let Ok(Some(mut notes)) = notes else { return };
        while let Ok(Some(note)) = notes.next() {
            match (note.name(), note.n_type(LittleEndian)) {
                (b"AMDGPU", NOTE_METADATA) => self.documents.push(note.desc()),
                (b"AMD", NOTE_METADATA_V2) => self.version_2 = true,
                _ => {}
            }
        }
    }
}

/// The descriptors of a code object by symbol.
struct Descriptors<'a> {
    by_symbol: BTreeMap<&'a str, Descriptor>,
}

impl<'a> Descriptors<'a> {
    fn of(file: &ElfFile64<'a, LittleEndian>) -> Descriptors<'a> {
        let mut by_symbol = BTreeMap::new();
        for table in [file.elf_dynamic_symbol_table(), file.elf_symbol_table()] {
            let mut cache = HashMap::new();
            for symbol in table.iter() {
                let Ok(name) = symbol.name(LittleEndian, table.strings()) else { continue };
                let Some(name) = str::from_utf8(name).ok().filter(|name| name.ends_with(".kd")) else {
                    continue;
                };
                let address = symbol.st_value(LittleEndian);
                let index = symbol.st_shndx(LittleEndian);
                let section = *cache.entry(index).or_insert_with(|| section_data(file, index));
                let bytes = section.and_then(|(start, data)| {
                    let at = usize::try_from(address.checked_sub(start)?).ok()?;
                    data.get(at..)?.first_chunk::<{ descriptor::SIZE }>()
                });
                if let Some(bytes) = bytes {
                    by_symbol.insert(name, Descriptor::read(bytes));
                }
            }
            if !by_symbol.is_empty() {
                break;
            }
        }
        Descriptors { by_symbol }
    }

    fn get(&self, symbol: &str) -> Option<Descriptor> {
        self.by_symbol.get(symbol).copied()
    }
}

/// Address and bytes of a section.
fn section_data<'a>(file: &ElfFile64<'a, LittleEndian>, index: u16) -> Option<(u64, &'a [u8])> {
    let section = file.elf_section_table().section(object::SectionIndex(index.into())).ok()?;
    Some((section.sh_addr(LittleEndian), section.data(LittleEndian, file.data()).ok()?))
}

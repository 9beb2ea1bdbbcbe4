//! Where a shared library looks for others: RPATH and RUNPATH of an ELF file, read without the rest of it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const STRING_TABLE: u64 = 5;
const RPATH: u64 = 15;
const RUNPATH: u64 = 29;
/// Longest dynamic section and longest path that are accepted.
const MOST_BYTES: u64 = 1 << 16;

struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    bytes: u64,
}

/// The folders in a 64-bit little-endian ELF file, in order, `$ORIGIN` unresolved; `None` for other files, or
/// without folders.
pub(super) fn search_path(path: &Path) -> Option<Vec<String>> {
    let file = File::open(path).ok()?;
    let header = read(&file, 0, 64)?;
    if header[..6] != [0x7f, b'E', b'L', b'F', 2, 1] {
        return None;
    }
    let (table, size, count) = (u64_at(&header, 32)?, u16_at(&header, 54)?, u16_at(&header, 56)?);
    let mut segments = Vec::new();
    for number in 0..u64::from(count) {
        let entry = read(&file, table.checked_add(number * u64::from(size))?, 56)?;
        segments.push(Segment {
            kind: u32_at(&entry, 0)?,
            offset: u64_at(&entry, 8)?,
            address: u64_at(&entry, 16)?,
            bytes: u64_at(&entry, 32)?,
        });
    }
    let dynamic = segments.iter().find(|segment| segment.kind == DYNAMIC)?;
    let entries = read(&file, dynamic.offset, dynamic.bytes.min(MOST_BYTES))?;
    let value = |tag: u64| {
        entries
            .chunks_exact(16)
            .find(|entry| u64_at(entry, 0) == Some(tag))
            .and_then(|entry| u64_at(entry, 8))
    };
    let strings = value(STRING_TABLE)?;
    let place = value(RPATH).or_else(|| value(RUNPATH))?;
    let address = strings.checked_add(place)?;
    let load = segments.iter().find(|segment| {
        segment.kind == LOAD && address >= segment.address && address - segment.address < segment.bytes
    })?;
    let offset = load.offset.checked_add(address - load.address)?;
    let text = read_some(&file, offset, MOST_BYTES as usize)?;
    let end = text.iter().position(|byte| *byte == 0)?;
    let text = String::from_utf8_lossy(&text[..end]).into_owned();
    Some(text.split(':').map(str::to_string).collect())
}

fn read(file: &File, offset: u64, bytes: u64) -> Option<Vec<u8>> {
    let mut block = vec![0; usize::try_from(bytes).ok()?];
    file.read_exact_at(&mut block, offset).ok()?;
    Some(block)
}

/// Reads as much as there is, up to a limit.
fn read_some(file: &File, offset: u64, most: usize) -> Option<Vec<u8>> {
    let mut block = vec![0; most];
    let read = file.read_at(&mut block, offset).ok()?;
    block.truncate(read);
    Some(block)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

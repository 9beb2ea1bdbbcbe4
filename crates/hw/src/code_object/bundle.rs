//! Clang's offload bundles: several code objects in one file, plain or compressed.

use std::borrow::Cow;
use std::io::Read;

const PLAIN: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const COMPRESSED: &[u8] = b"CCOB";

/// A compressed bundle may claim any size; no real one is larger than this.
const MAX_UNCOMPRESSED: u64 = 4 << 30;

/// Compiler output shrinks to about a tenth. Anything that grows by more than this was made to fill memory.
const MAX_RATIO: u64 = 200;
/// A small bundle may be mostly zeros.
const ALWAYS_ALLOWED: u64 = 16 << 20;

/// One code object of a bundle.
pub(super) struct BundleEntry<'a> {
    /// The architecture with its features.
    pub target: String,
    /// The code object, or other contents.
    pub bytes: Cow<'a, [u8]>,
}

/// Whether a bundle begins here.
pub(super) fn starts_bundle(bytes: &[u8]) -> bool {
    bytes.starts_with(PLAIN) || bytes.starts_with(COMPRESSED)
}

/// The GPU parts of the bundle that begins here; unreadable ones are errors.
pub(super) fn parts(bytes: &[u8]) -> Vec<Result<BundleEntry<'_>, String>> {
    if bytes.starts_with(PLAIN) {
        return plain(bytes, Cow::Borrowed);
    }
    match uncompressed(bytes) {
        Ok(whole) => {
            if !whole.starts_with(PLAIN) {
                return vec![Err("a compressed bundle without a bundle inside".to_owned())];
            }
            let parts = plain(&whole, |part| Cow::Owned(part.to_vec()));
            parts.into_iter().map(|part| part.map(owned)).collect()
        }
        Err(problem) => vec![Err(problem)],
    }
}

fn owned(part: BundleEntry<'_>) -> BundleEntry<'static> {
    BundleEntry { target: part.target, bytes: Cow::Owned(part.bytes.into_owned()) }
}

/// Every bundle in a section of a program: one per translation unit, each starting on a new page.
pub(super) fn find_all(section: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut rest = section;
    while let Some(at) = next(rest) {
        let bundle = &rest[at..];
        let length = length(bundle).unwrap_or(COMPRESSED.len()).clamp(COMPRESSED.len(), bundle.len());
        // If the length is unknown the bundle gets everything that follows.
        found.push(if length > COMPRESSED.len() { &bundle[..length] } else { bundle });
        rest = &bundle[length..];
    }
    found
}

/// Where the next bundle begins.
fn next(bytes: &[u8]) -> Option<usize> {
    let finders = [PLAIN, COMPRESSED].map(memchr::memmem::Finder::new);
    finders.iter().filter_map(|finder| finder.find(bytes)).min()
}

/// Length of the bundle that begins here, if recorded.
fn length(bundle: &[u8]) -> Option<usize> {
    if bundle.starts_with(PLAIN) {
        let entries = entries(bundle).into_iter().filter_map(Result::ok);
        return entries.map(|entry| entry.offset.saturating_add(entry.size)).max()?.try_into().ok();
    }
    let header = Header::read(bundle)?;
    header.file_size?.try_into().ok()
}

/// One line of a bundle's table.
struct Entry<'a> {
    offset: u64,
    size: u64,
    id: &'a str,
}

/// The table of a plain bundle; ends with an error at the first unreadable entry.
fn entries(bytes: &[u8]) -> Vec<Result<Entry<'_>, String>> {
    let mut entries = Vec::new();
    let mut at = PLAIN.len();
    let Some(count) = u64_at(bytes, at) else {
        return vec![Err("a bundle that is cut off in its header".to_owned())];
    };
    at += 8;
    for _ in 0..count {
        let entry = || {
            let id_length = usize::try_from(u64_at(bytes, at + 16)?).ok()?;
            let id = bytes.get(at + 24..)?.get(..id_length)?;
            let entry = Entry {
                offset: u64_at(bytes, at)?,
                size: u64_at(bytes, at + 8)?,
                id: str::from_utf8(id).ok()?,
            };
            Some((entry, at + 24 + id_length))
        };
        let Some((entry, next)) = entry() else {
            entries.push(Err("a bundle with a damaged table".to_owned()));
            break;
        };
        entries.push(Ok(entry));
        at = next;
    }
    entries
}

fn plain<'a>(
    bytes: &'a [u8],
    keep: impl Fn(&'a [u8]) -> Cow<'a, [u8]>,
) -> Vec<Result<BundleEntry<'a>, String>> {
    let mut parts = Vec::new();
    for entry in entries(bytes) {
        match entry {
            Err(problem) => parts.push(Err(problem)),
            Ok(entry) if entry.size == 0 || !entry.id.contains("amdgcn") => {}
            Ok(entry) => {
                let part = usize::try_from(entry.offset).ok().and_then(|offset| bytes.get(offset..));
                let part = part.and_then(|rest| rest.get(..usize::try_from(entry.size).ok()?));
                // `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+`
                let target = entry.id.rsplit("--").next().unwrap_or_default().to_owned();
                parts.push(match part {
                    Some(part) => Ok(BundleEntry { target, bytes: keep(part) }),
                    None => Err(format!("the bundle ends before its code object for {target}")),
                });
            }
        }
    }
    parts
}

/// The header of a compressed bundle.
struct Header {
    zstd: bool,
    file_size: Option<u64>,
    uncompressed: u64,
    data_at: usize,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Header> {
        let version = u16_at(bytes, 4)?;
        let zstd = u16_at(bytes, 6)? == 1;
        Some(match version {
            1 => Header { zstd, file_size: None, uncompressed: u32_at(bytes, 8)?.into(), data_at: 20 },
            2 => Header {
                zstd,
                file_size: u32_at(bytes, 8).map(u64::from),
                uncompressed: u32_at(bytes, 12)?.into(),
                data_at: 24,
            },
            3 => Header { zstd, file_size: u64_at(bytes, 8), uncompressed: u64_at(bytes, 16)?, data_at: 32 },
            _ => return None,
        })
    }
}

fn uncompressed(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let header = Header::read(bytes).ok_or("a compressed bundle with an unknown header")?;
    let data = bytes.get(header.data_at..).unwrap_or_default();
    let most = (data.len() as u64).saturating_mul(MAX_RATIO).clamp(ALWAYS_ALLOWED, MAX_UNCOMPRESSED);
    if header.uncompressed > most {
        return Err(format!(
            "a compressed bundle of {} bytes claims {} bytes of content: not plausible",
            data.len(),
            header.uncompressed
        ));
    }
    let most = header.uncompressed;
    let mut whole = Vec::new();
    let read = if header.zstd {
        zstd::stream::read::Decoder::with_buffer(data)
            .map(zstd::stream::read::Decoder::single_frame)
            .and_then(|decoder| decoder.take(most).read_to_end(&mut whole))
    } else {
        flate2::bufread::ZlibDecoder::new(data).take(most).read_to_end(&mut whole)
    };
    match read {
        Ok(length) if length as u64 == header.uncompressed => Ok(whole),
        Ok(_) => Err("a compressed bundle that is shorter than its header says".to_owned()),
        Err(error) => Err(format!("a compressed bundle that cannot be decompressed: {error}")),
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..)?.get(..2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..)?.get(..4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..)?.get(..8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A compressed bundle of version 3, with the size that it claims.
    fn bundle(says: u64, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"CCOB".to_vec();
        bytes.extend([3, 0, 1, 0]);
        bytes.extend((32 + data.len() as u64).to_le_bytes());
        bytes.extend(says.to_le_bytes());
        bytes.extend(0u64.to_le_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn g9_a_small_compressed_bundle_took_gigabytes_of_memory() {
        let zeros = zstd::encode_all(std::io::repeat(0).take(64 << 20), 1).unwrap();
        // It holds more than it claims: nothing beyond that is unpacked.
        let short = uncompressed(&bundle(1 << 20, &zeros));
        assert!(short.is_ok_and(|whole| whole.len() == 1 << 20));
        let refused = uncompressed(&bundle(4 << 30, &zeros)).unwrap_err();
        assert!(refused.contains("not plausible"), "{refused}");
        let plain = zstd::encode_all(&b"code"[..], 1).unwrap();
        assert_eq!(uncompressed(&bundle(4, &plain)).unwrap(), b"code");
    }
}

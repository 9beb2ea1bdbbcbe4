//! Pages stored next to the file: newer ones in a write-ahead log, older ones in a hot rollback journal.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;
use trace::Map;

/// Pages that replace those of the file.
pub(super) struct Overlay {
    bytes: Mmap,
    offsets: Map<u32, usize>,
    /// Bytes of a page.
    pub page_size: usize,
    /// Pages in the database, which may differ from the number in the file.
    pub pages: Option<u32>,
    /// `-wal` or `-journal`.
    pub name: &'static str,
}

impl Overlay {
    /// The companion file of a database that must be applied, if any.
    pub fn beside(path: &Path) -> Option<Self> {
        Self::wal(path).or_else(|| Self::journal(path))
    }

    /// The replacement of a page.
    pub fn page(&self, number: u32) -> Option<&[u8]> {
        let offset = *self.offsets.get(&number)?;
        self.bytes.get(offset..offset + self.page_size)
    }

    fn wal(path: &Path) -> Option<Self> {
        let bytes = map(path, "-wal")?;
        let magic = be32(&bytes, 0)?;
        let big_endian = match magic {
            0x377f_0682 => false,
            0x377f_0683 => true,
            _ => return None,
        };
        let page_size = be32(&bytes, 8)? as usize;
        let salts = bytes.get(16..24)?;
        if !valid_page_size(page_size) {
            return None;
        }
        let mut sums = checksum(bytes.get(..24)?, (0, 0), big_endian);
        if sums != (be32(&bytes, 24)?, be32(&bytes, 28)?) {
            return None;
        }
        let (mut committed, mut pages): (Map<u32, usize>, _) = (Map::default(), None);
        let mut pending: Vec<(u32, usize)> = Vec::new();
        let mut at = 32;
        while let Some(frame) = bytes.get(at..at + 24 + page_size) {
            let (number, size) = (be32(frame, 0)?, be32(frame, 4)?);
            sums = checksum(&frame[..8], sums, big_endian);
            sums = checksum(&frame[24..], sums, big_endian);
            if &frame[8..16] != salts || (be32(frame, 16)?, be32(frame, 20)?) != sums {
                break;
            }
            pending.push((number, at + 24));
            // Frames count only once their transaction is committed.
            if size != 0 {
                committed.extend(pending.drain(..));
                pages = Some(size);
            }
            at += 24 + page_size;
        }
        (!committed.is_empty()).then_some(Self { bytes, offsets: committed, page_size, pages, name: "-wal" })
    }

    fn journal(path: &Path) -> Option<Self> {
        const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
        let bytes = map(path, "-journal")?;
        let (mut offsets, mut pages, mut page_size): (Map<u32, usize>, _, _) = (Map::default(), None, 0);
        let mut at = 0;
        while bytes.get(at..at + 8).is_some_and(|magic| magic == MAGIC) {
            let Some(nonce) = be32(&bytes, at + 12) else { break };
            let (count, size) = (be32(&bytes, at + 8)?, be32(&bytes, at + 16)?);
            let (sector, this_page_size) = (be32(&bytes, at + 20)? as usize, be32(&bytes, at + 24)? as usize);
            if !valid_page_size(this_page_size) || !(28..=1 << 16).contains(&sector) {
                break;
            }
            page_size = this_page_size;
            pages = pages.or(Some(size));
            at += sector;
            let record = page_size + 8;
            let mut left = match count {
                u32::MAX => (bytes.len().saturating_sub(at) / record) as u32,
                count => count,
            };
            while left > 0 {
                let (Some(number), Some(page), Some(sum)) = (
                    be32(&bytes, at),
                    bytes.get(at + 4..at + 4 + page_size),
                    be32(&bytes, at + 4 + page_size),
                ) else {
                    break;
                };
                if number == 0 || journal_checksum(nonce, page) != sum {
                    break;
                }
                offsets.entry(number).or_insert(at + 4);
                at += record;
                left -= 1;
            }
            if left > 0 {
                break;
            }
            at = at.next_multiple_of(sector);
        }
        (!offsets.is_empty()).then_some(Self { bytes, offsets, page_size, pages, name: "-journal" })
    }
}

/// Whether a page size is one that SQLite uses.
pub(super) fn valid_page_size(size: usize) -> bool {
    (512..=65536).contains(&size) && size.is_power_of_two()
}

fn map(path: &Path, ending: &str) -> Option<Mmap> {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    let file = File::open(Path::new(&name)).ok()?;
    if file.metadata().ok()?.len() < 28 {
        return None;
    }
    // SAFETY: the file is only read; a writer that shortens it now is the usual risk of a mapped file.
    unsafe { Mmap::map(&file) }.ok()
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn checksum(bytes: &[u8], (mut a, mut b): (u32, u32), big_endian: bool) -> (u32, u32) {
    let word = |w: &[u8]| {
        let w = [w[0], w[1], w[2], w[3]];
        if big_endian { u32::from_be_bytes(w) } else { u32::from_le_bytes(w) }
    };
    for pair in bytes.chunks_exact(8) {
        a = a.wrapping_add(word(&pair[..4])).wrapping_add(b);
        b = b.wrapping_add(word(&pair[4..])).wrapping_add(a);
    }
    (a, b)
}

fn journal_checksum(nonce: u32, page: &[u8]) -> u32 {
    let mut sum = nonce;
    let mut at = page.len() as i64 - 200;
    while at > 0 {
        sum = sum.wrapping_add(u32::from(page[at as usize]));
        at -= 200;
    }
    sum
}

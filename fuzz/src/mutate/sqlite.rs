//! Changes to SQLite databases: pages, the pointers to their cells, and the records in them.

use super::Random;

const MAGIC: &[u8] = b"SQLite format 3\0";
const HEADER: usize = 100;

pub fn change(bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    if bytes.len() < HEADER || !bytes.starts_with(MAGIC) {
        return None;
    }
    let size = match u16::from_be_bytes([bytes[16], bytes[17]]) {
        1 => 65_536,
        size => usize::from(size),
    };
    if !size.is_power_of_two() || size < 512 || size > bytes.len() {
        return None;
    }
    let mut out = bytes.to_vec();
    let pages = out.len() / size;
    let page = random.below(pages);
    let start = page * size;
    let end = (start + size).min(out.len());
    let head = start + if page == 0 { HEADER } else { 0 };
    if head + 12 > end {
        return None;
    }
    let cells = usize::from(u16::from_be_bytes([out[head + 3], out[head + 4]]));
    let is_interior = matches!(out[head], 2 | 5);
    let pointers = head + if is_interior { 12 } else { 8 };
    let pointer = pointers + 2 * random.below(cells);
    let cell = match out.get(pointer..pointer + 2) {
        Some(at) => start + usize::from(u16::from_be_bytes([at[0], at[1]])),
        None => return None,
    };
    match random.below(10) {
        // A record: its length, its row number, its types, the first values.
        0..=3 if cell + 16 < end => {
            let at = cell + random.below(16);
            out[at] = *random.pick(&[0, 1, 2, 5, 6, 7, 8, 9, 11, 12, 13, 0x7f, 0x80, 0x81, 0xff])?;
        }
        4 if cell + 40 < end => out[cell + random.below(40)] = random.next() as u8,
        // A pointer to a cell.
        5 => {
            let to = [random.next() as u8 % 16, random.next() as u8];
            out[pointer..pointer + 2].copy_from_slice(&to);
        }
        // The kind of page, its number of cells, its free blocks.
        6 => out[head + random.below(12)] = *random.pick(&[0, 1, 2, 5, 10, 13, 0xff])?,
        // Copy one page over another.
        7 => {
            let other = random.below(pages) * size;
            out.copy_within(other..(other + size).min(bytes.len()), start.min(bytes.len() - size));
        }
        // The number of a page: a child, the root in the schema, an overflow.
        8 => {
            let at = head + random.below(end - head - 4);
            out[at..at + 4].copy_from_slice(&(random.below(pages + 2) as u32).to_be_bytes());
        }
        _ if random.below(4) == 0 => out.truncate(start + random.below(size)),
        _ => {
            let at = start + random.below(end - start);
            out[at] ^= 1 << random.below(8);
        }
    }
    Some(out)
}

//! LZ4 frames, as databases use them for JSON: blocks of any kind, without dictionaries.

/// Magic number of a frame.
const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
/// Bit of a block size that marks an uncompressed block.
const STORED: u32 = 1 << 31;
/// More than any JSON of an event or an agent: a damaged length must not take all memory.
const MOST_BYTES: usize = 64 << 20;

/// Whether bytes begin like a frame.
pub fn is_frame(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// The content of one frame; `None` if it is damaged, too long or needs a dictionary.
pub fn decompress(frame: &[u8]) -> Option<Vec<u8>> {
    let mut rest = frame.strip_prefix(&MAGIC)?;
    let flags = *rest.first()?;
    let (version, checked_blocks, sized, checked, dictionary) =
        (flags >> 6, flags >> 4 & 1 == 1, flags >> 3 & 1 == 1, flags >> 2 & 1 == 1, flags & 1 == 1);
    if version != 1 || dictionary {
        return None;
    }
    // Flags, block size, the content's size if present, and the header's checksum.
    rest = rest.get(3 + if sized { 8 } else { 0 }..)?;
    let mut out = Vec::new();
    loop {
        let (size, after) = rest.split_first_chunk::<4>()?;
        let size = u32::from_le_bytes(*size);
        if size == 0 {
            return (after.len() >= if checked { 4 } else { 0 }).then_some(out);
        }
        let length = (size & !STORED) as usize;
        let block = after.get(..length)?;
        if size & STORED == 0 {
            add_block(block, &mut out)?;
        } else {
            out.extend_from_slice(block);
        }
        if out.len() > MOST_BYTES {
            return None;
        }
        rest = after.get(length + if checked_blocks { 4 } else { 0 }..)?;
    }
}

/// Adds a compressed block: alternating literals and copies of earlier bytes.
fn add_block(mut block: &[u8], out: &mut Vec<u8>) -> Option<()> {
    while let Some((&token, rest)) = block.split_first() {
        block = rest;
        let literals = length(usize::from(token >> 4), &mut block)?;
        out.extend_from_slice(block.get(..literals)?);
        block = &block[literals..];
        if block.is_empty() {
            return Some(());
        }
        let (offset, rest) = block.split_first_chunk::<2>()?;
        block = rest;
        let offset = usize::from(u16::from_le_bytes(*offset));
        let copied = length(usize::from(token & 15), &mut block)? + 4;
        let from = out.len().checked_sub(offset).filter(|_| offset > 0)?;
        if out.len() + copied > MOST_BYTES {
            return None;
        }
        // A copy may read what it has just written.
        for at in from..from + copied {
            out.push(out[at]);
        }
    }
    Some(())
}

/// A length of four bits that continues in bytes of 255.
fn length(start: usize, block: &mut &[u8]) -> Option<usize> {
    let mut length = start;
    if start == 15 {
        loop {
            let (&more, rest) = block.split_first()?;
            *block = rest;
            length += usize::from(more);
            if more != 255 {
                break;
            }
            if length > MOST_BYTES {
                return None;
            }
        }
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(block: &[u8], stored: bool) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([0x60, 0x40, 0]);
        let size = block.len() as u32 | if stored { STORED } else { 0 };
        bytes.extend(size.to_le_bytes());
        bytes.extend(block);
        bytes.extend([0; 4]);
        bytes
    }

    #[test]
    fn matches_may_overlap_themselves_and_lengths_go_on() {
        // 1 literal `a`, then 4 + 15 + 7 more of it, then the closing literals.
        let block = [0x1f, b'a', 1, 0, 7, 0x20, b'b', b'c'];
        assert_eq!(decompress(&frame(&block, false)), Some([&[b'a'; 27][..], b"bc"].concat()));
        assert_eq!(decompress(&frame(b"{}", true)).as_deref(), Some(&b"{}"[..]));
    }

    #[test]
    fn damage_is_refused() {
        assert_eq!(decompress(&frame(&[0x10, b'a', 0, 0], false)), None);
        assert_eq!(decompress(b"{}"), None);
        let whole = frame(&[0x1f, b'a', 1, 0, 7, 0x20, b'b', b'c'], false);
        assert!((0..whole.len()).all(|end| decompress(&whole[..end]).is_none()));
        assert_eq!(decompress(&frame(&[0x1f, b'a', 2, 0, 7], false)), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fail(block: Vec<u8>, cut in 0usize..64) {
            let whole = frame(&block, false);
            let _ = decompress(&whole[..whole.len().saturating_sub(cut)]);
        }

        #[test]
        fn stored_blocks_come_back(block: Vec<u8>) {
            prop_assume!(!block.is_empty());
            prop_assert_eq!(decompress(&frame(&block, true)), Some(block));
        }
    }
}

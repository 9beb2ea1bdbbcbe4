//! Turns marks into bytes once the window is known.

use crate::WINDOW;
use crate::chunk::Chunk;
use crate::copy::MARK;

/// The bytes before a chunk: up to 32 KiB, those at the end.
pub(crate) type Window = Vec<u8>;

/// The window behind a chunk. A chunk with marks needs a whole window before it.
pub(crate) fn window_behind(chunk: &Chunk, before: &Window) -> Window {
    let plain = chunk.plain.decoded();
    if plain.len() >= WINDOW {
        return plain[plain.len() - WINDOW..].to_vec();
    }
    let marked = chunk.marked.decoded();
    let from_marked = marked.len().min(WINDOW - plain.len());
    let from_before = before.len().min(WINDOW - plain.len() - from_marked);
    let mut window = before[before.len() - from_before..].to_vec();
    window.extend(marked[marked.len() - from_marked..].iter().map(
        |&symbol| match symbol.checked_sub(MARK) {
            Some(place) => before[usize::from(place)],
            None => symbol as u8,
        },
    ));
    window.extend_from_slice(plain);
    window
}

/// Bytes of symbols, with a table of all symbols that is kept from call to call.
pub(crate) fn resolve(marked: &[u16], before: &Window, table: &mut Vec<u8>, into: &mut Vec<u8>) {
    if table.is_empty() {
        table.resize(1 << 16, 0);
        (0..=255u8).for_each(|byte| table[usize::from(byte)] = byte);
    }
    let table: &mut [u8; 1 << 16] = table.as_mut_slice().try_into().expect("one entry for each symbol");
    table[usize::from(MARK)..].copy_from_slice(before);
    into.resize(marked.len(), 0);
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has it.
        return unsafe { translate_avx2(marked, table, into) };
    }
    translate(marked, table, into);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn translate_avx2(marked: &[u16], table: &[u8; 1 << 16], into: &mut [u8]) {
    translate(marked, table, into);
}

#[inline(always)]
fn translate(marked: &[u16], table: &[u8; 1 << 16], into: &mut [u8]) {
    // Long steps, as branches that cannot be foreseen cost more than lookups.
    const STEP: usize = 512;
    for (from, to) in marked.chunks(STEP).zip(into.chunks_mut(STEP)) {
        if from.iter().fold(0, |all, symbol| all | symbol) < MARK {
            from.iter().zip(to).for_each(|(from, to)| *to = *from as u8);
        } else {
            from.iter().zip(to).for_each(|(from, to)| *to = table[usize::from(*from)]);
        }
    }
}

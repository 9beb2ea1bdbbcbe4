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
    const STEP: usize = 32;
    let whole = marked.len() / STEP * STEP;
    for (from, to) in marked[..whole].chunks_exact(STEP).zip(into[..whole].chunks_exact_mut(STEP)) {
        let from: &[u16; STEP] = from.try_into().expect("a step");
        let to: &mut [u8; STEP] = to.try_into().expect("a step");
        if from.iter().fold(0, |all, symbol| all | symbol) < MARK {
            for at in 0..STEP {
                to[at] = from[at] as u8;
            }
        } else {
            for at in 0..STEP {
                to[at] = table[usize::from(from[at])];
            }
        }
    }
    for (from, to) in marked[whole..].iter().zip(&mut into[whole..]) {
        *to = table[usize::from(*from)];
    }
}

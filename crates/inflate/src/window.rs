//! The bytes that a chunk may copy from.

use crate::WINDOW;
use crate::chunk::Chunk;
use crate::copy::MARK;

/// The last bytes before a chunk, up to 32 KiB.
pub(crate) type Window = Vec<u8>;

/// The window after a chunk. A recorded chunk needs a full window before it.
pub(crate) fn window_behind(chunk: &Chunk, before: &Window) -> Window {
    let plain = chunk.plain.decoded();
    if plain.len() >= WINDOW {
        return plain[plain.len() - WINDOW..].to_vec();
    }
    let tail = chunk.recorded.tail();
    let from_tail = tail.len().min(WINDOW - plain.len());
    let from_before = before.len().min(WINDOW - plain.len() - from_tail);
    let mut window = before[before.len() - from_before..].to_vec();
    window.extend(tail[tail.len() - from_tail..].iter().map(|&symbol| byte_of(symbol, before)));
    window.extend_from_slice(plain);
    window
}

/// The byte that a symbol stands for.
pub(crate) fn byte_of(symbol: u16, before: &[u8]) -> u8 {
    symbol.checked_sub(MARK).map_or(symbol as u8, |at| before[usize::from(at)])
}

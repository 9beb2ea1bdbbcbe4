//! A name for a document, made from its content: equal documents have equal names, compressed or not.

use rapidhash::v3::{RapidSecrets, rapidhash_v3, rapidhash_v3_seeded};

/// Bytes of the head and of the tail that go into the name.
const EDGE: usize = 64 << 10;

/// The head, the tail and the length of a document.
#[derive(Debug, Default)]
pub(super) struct Fingerprint {
    head: Vec<u8>,
    tail: Vec<u8>,
    bytes: u64,
}

impl Fingerprint {
    /// Adds the next part of the document.
    pub fn add(&mut self, text: &[u8]) {
        self.bytes += text.len() as u64;
        let more = (EDGE - self.head.len()).min(text.len());
        self.head.extend_from_slice(&text[..more]);
        if text.len() >= EDGE {
            self.tail.clear();
            self.tail.extend_from_slice(&text[text.len() - EDGE..]);
        } else {
            let kept = (EDGE - text.len()).min(self.tail.len());
            self.tail.drain(..self.tail.len() - kept);
            self.tail.extend_from_slice(text);
        }
    }

    /// Bytes of the document.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// 32 hexadecimal digits.
    pub fn name(&self) -> String {
        let head = rapidhash_v3(&self.head);
        let tail = rapidhash_v3_seeded(&self.tail, &RapidSecrets::seed(self.bytes));
        format!("{head:016x}{tail:016x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_does_not_depend_on_the_parts() {
        let text: Vec<u8> = (0..400_000u32).flat_map(u32::to_le_bytes).collect();
        let name = |part: usize, text: &[u8]| {
            let mut fingerprint = Fingerprint::default();
            text.chunks(part).for_each(|chunk| fingerprint.add(chunk));
            fingerprint.name()
        };
        let whole = name(text.len(), &text);
        assert_eq!(whole, name(1000, &text));
        assert_eq!(whole, name(100_000, &text));
        assert_ne!(whole, name(text.len(), &text[..text.len() - 1]));
        assert_ne!(whole, name(text.len(), &text[1..]));
        assert_eq!(name(10, &text[..100]), name(100, &text[..100]));
    }
}

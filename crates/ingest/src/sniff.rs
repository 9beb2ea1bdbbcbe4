//! Magic numbers of unsupported files, and the top-level keys of JSON.

use std::io::Read;

/// Beginnings of files that people pass by mistake, and what to tell them.
const MAGIC: &[(&[u8], &str)] = &[
    (b"PK\x03\x04", "a ZIP archive; unpack it first"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"BZh", "bzip2 data; decompress it, or recompress it with gzip or zstd"),
    (b"\xfd7zXZ\0", "xz data; unpack it, or pack it with gzip or zstd"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first"),
    (b"\x04\x22\x4d\x18", "lz4 data; unpack it, or pack it with gzip or zstd"),
    (b"\x03\x42", "part of an OTF2 archive, which is not supported; collect with `--output-format rocpd`"),
    (b"\x03\x23", "part of an OTF2 archive, which is not supported; collect with `--output-format rocpd`"),
    (b"OTF2", "an OTF2 archive, which is not supported; collect with `--output-format rocpd`"),
    (b"PAR1", "a Parquet file, which is not supported"),
    (b"ARROW1", "an Arrow file, which is not supported"),
    (b"\x7fELF", "a program or code object (ELF)"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a PNG image"),
    (b"<!DOCTYPE", "a web page"),
    (b"<!doctype", "a web page"),
    (b"<html", "a web page"),
    (b"<?xml", "XML text"),
    (b"version https://git-lfs", "a Git LFS pointer; fetch the file itself with `git lfs pull`"),
];

/// A known but unsupported format.
pub(crate) fn describe(head: &[u8]) -> Option<&'static str> {
    if head.len() > 262 && &head[257..262] == b"ustar" {
        return Some("a tar archive; unpack it first");
    }
    MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, what)| *what)
}

/// A Perfetto trace is a list of packets: tag 10, length, packet, tag 10 …
pub(crate) fn is_perfetto(head: &[u8]) -> bool {
    let Some((&10, rest)) = head.split_first() else { return false };
    let (mut length, mut shift) = (0usize, 0);
    for (place, byte) in rest.iter().enumerate().take(4) {
        length |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            let packet = &rest[place + 1..];
            // Fields of a packet have small numbers, and text does not contain such bytes.
            let next = packet.get(length).is_none_or(|tag| *tag == 10);
            return length > 1 && next && head[..head.len().min(64)].iter().any(|b| *b < 9);
        }
    }
    false
}

/// An XSpace is a list of planes, each with its number and then its name: `/host:CPU`, `/device:GPU:0`.
pub(crate) fn is_xplane(head: &[u8]) -> bool {
    const NAMES: [&[u8]; 4] = [b"/host:", b"/device:", b"Task Environment", b"/task:"];
    let varint = |at: usize| {
        let length = head.get(at..)?.iter().take(10).position(|byte| byte & 0x80 == 0)? + 1;
        Some(at + length)
    };
    let name = || {
        let mut at = varint((head.first() == Some(&10)).then_some(1)?)?;
        if head.get(at) == Some(&8) {
            at = varint(at + 1)?;
        }
        let at = varint((head.get(at) == Some(&18)).then_some(at + 1)?)?;
        head.get(at..)
    };
    name().is_some_and(|name| NAMES.iter().any(|known| name.starts_with(known)))
}

/// What a JSON document is.
#[derive(Debug, PartialEq)]
pub(crate) enum JsonKind {
    /// torch/Kineto/Chrome trace.
    Torch,
    /// rocprofv3 result.
    Rocprofv3,
    /// Neither; the first top-level keys.
    Other(Vec<String>),
}

/// Keys that only torch traces have next to `traceEvents`; they decide if the document is truncated or huge.
const TORCH_KEYS: &[&str] =
    &["deviceProperties", "distributedInfo", "baseTimeNanoseconds", "displayTimeUnit", "traceName"];

/// Walks a document until a top-level key (or the first event of a bare array) identifies it.
pub(crate) fn top_level(mut from: impl Read) -> JsonKind {
    let mut walk = Walk::default();
    let mut block = vec![0; 64 << 10];
    loop {
        match from.read(&mut block) {
            Ok(0) => break,
            Ok(bytes) => {
                let mut rest = &block[..bytes];
                while let Some((byte, after)) = rest[walk.idle(rest)..].split_first() {
                    if let Some(kind) = walk.step(*byte) {
                        return kind;
                    }
                    rest = after;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let torch = walk.keys.iter().any(|key| TORCH_KEYS.contains(&key.as_str()));
    if torch { JsonKind::Torch } else { JsonKind::Other(walk.keys) }
}

#[derive(Default)]
struct Walk {
    depth: u32,
    in_string: bool,
    escaped: bool,
    array: bool,
    /// The last string at the relevant level.
    text: Vec<u8>,
    keys: Vec<String>,
}

const KEYS_SHOWN: usize = 3;

impl Walk {
    /// How many bytes to skip before the next relevant one.
    fn idle(&self, bytes: &[u8]) -> usize {
        let telling = if self.array { 2 } else { 1 };
        if self.depth <= telling || self.escaped {
            return 0;
        }
        let next = match self.in_string {
            true => memchr::memchr2(b'"', b'\\', bytes),
            false => bytes.iter().position(|byte| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']')),
        };
        next.unwrap_or(bytes.len())
    }

    fn step(&mut self, byte: u8) -> Option<JsonKind> {
        let telling = if self.array { 2 } else { 1 };
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ if self.depth == telling && self.text.len() < 64 => self.text.push(byte),
                _ => {}
            }
            return None;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == telling {
                    self.text.clear();
                }
            }
            b'{' | b'[' => {
                self.array |= self.depth == 0 && byte == b'[';
                self.depth += 1;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b':' if self.depth == telling => return self.key(),
            _ => {}
        }
        None
    }

    fn key(&mut self) -> Option<JsonKind> {
        let key = String::from_utf8_lossy(&self.text).into_owned();
        match (key.as_str(), self.array) {
            ("traceEvents", false) | ("ph", true) => return Some(JsonKind::Torch),
            ("rocprofiler-sdk-tool", _) => return Some(JsonKind::Rocprofv3),
            _ if self.keys.len() < KEYS_SHOWN || TORCH_KEYS.contains(&key.as_str()) => self.keys.push(key),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_telling_key_may_come_late_or_never() {
        let late = format!(
            r#"{{"metadata": {{"traceEvents": 1, "s": "{{\"["}}, "x": [{}], "traceEvents": []}}"#,
            "1,".repeat(100_000)
        );
        for (text, expected) in [
            (late.as_str(), JsonKind::Torch),
            (r#"[{"name": "k", "ph": "X"}]"#, JsonKind::Torch),
            (r#"{"deviceProperties": [{"id""#, JsonKind::Torch),
            (r#"{ "rocprofiler-sdk-tool" : {"#, JsonKind::Rocprofv3),
            (r#"{"a": {"traceEvents": []}, "b": 1}"#, JsonKind::Other(vec!["a".into(), "b".into()])),
            (r#"[1, 2]"#, JsonKind::Other(vec![])),
        ] {
            assert_eq!(top_level(text.as_bytes()), expected, "{text:.80}");
        }
    }

    #[test]
    fn perfetto_is_recognised_and_text_is_not() {
        assert!(is_perfetto(&[10, 3, 8, 1, 2, 10, 2, 8, 1]));
        assert!(!is_perfetto(b"\n{\"traceEvents\": []}"));
    }
}

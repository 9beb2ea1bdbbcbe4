//! Whether a trace file is complete: a server's files appear before they are fully written.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Reads a file to its end; says what is missing.
pub(super) fn check(path: &Path) -> Result<(), String> {
    let open = || -> io::Result<(Box<dyn Read>, bool)> {
        let mut magic = [0; 4];
        let mut file = File::open(path)?;
        let known = file.read(&mut magic)?;
        let raw = BufReader::with_capacity(1 << 18, io::Cursor::new(magic[..known].to_vec()).chain(file));
        Ok(match magic {
            [0x1f, 0x8b, ..] => (Box::new(flate2::bufread::MultiGzDecoder::new(raw)), known > 0),
            [0x28, 0xb5, 0x2f, 0xfd] => (Box::new(zstd::stream::read::Decoder::with_buffer(raw)?), true),
            _ => (Box::new(raw), known > 0),
        })
    };
    let (reader, any) = open().map_err(|e| e.to_string().to_lowercase())?;
    if !any {
        return Err("the file is empty".into());
    }
    brackets(reader)
}

/// Whether every bracket is closed at the end.
fn brackets(mut reader: impl Read) -> Result<(), String> {
    let mut block = vec![0; 1 << 18];
    let (mut depth, mut opened) = (0u64, false);
    let (mut in_string, mut escaped) = (false, false);
    loop {
        let count = match reader.read(&mut block) {
            Ok(0) => break,
            Ok(count) => count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                return Err("the compressed data is cut off".into());
            }
            Err(e) => return Err(e.to_string().to_lowercase()),
        };
        let bytes = &block[..count];
        let mut at = 0;
        while at < bytes.len() {
            if escaped {
                escaped = false;
                at += 1;
                continue;
            }
            if in_string {
                let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at..]) else { break };
                at += found + 1;
                escaped = bytes[at - 1] == b'\\';
                in_string = escaped;
                continue;
            }
            match bytes[at] {
                b'"' => in_string = true,
                b'{' | b'[' => (depth, opened) = (depth + 1, true),
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
    }
    match (opened, depth == 0 && !in_string) {
        (false, _) => Err("no JSON in it".into()),
        (true, false) => Err("the JSON is cut off".into()),
        (true, true) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_whole_files_pass() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.json");
        let text = br#"{"traceEvents": [{"name": "a]}\"", "ts": 1}, {"b": []}]}"#;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        let packed = encoder.finish().unwrap();
        for whole in [&text[..], &packed] {
            for cut in 0..whole.len() {
                std::fs::write(&path, &whole[..cut]).unwrap();
                assert!(check(&path).is_err(), "cut at {cut}");
            }
            std::fs::write(&path, whole).unwrap();
            assert_eq!(check(&path), Ok(()));
        }
    }
}

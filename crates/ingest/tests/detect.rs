//! Formats are detected from content, and files that are not traces are named.

use std::fs;
use std::io::Write;
use std::path::Path;

use rocm_perf_ingest::{Error, Format, detect};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 1).unwrap()
}

fn verdict(content: &[u8]) -> Result<Format, Error> {
    let folder = tempfile::tempdir().unwrap();
    // The name says nothing.
    let path = folder.path().join("file");
    fs::write(&path, content).unwrap();
    detect(&path)
}

const TORCH: &[u8] = br#"{"schemaVersion": 1, "traceEvents": []}"#;
const SDK: &[u8] = br#"{"rocprofiler-sdk-tool": [{"metadata": {}}]}"#;
const CSV: &[u8] = b"\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n";

#[test]
fn traces_are_recognised_in_every_wrapping() {
    let large =
        [br#"{"metadata": ["#, "1,".repeat(200_000).as_bytes(), br#"0], "traceEvents": []}"#].concat();
    for (content, expected) in [
        (TORCH.to_vec(), Format::Torch),
        ([b"\xef\xbb\xbf \n", TORCH].concat(), Format::Torch),
        (br#"[{"ph": "X", "name": "k", "ts": 1, "dur": 1}]"#.to_vec(), Format::Torch),
        (br#"{"deviceProperties": [{"id": 0, "na"#.to_vec(), Format::Torch),
        (large, Format::Torch),
        (SDK.to_vec(), Format::Rocprofv3Json),
        (CSV.to_vec(), Format::Rocprofv3Csv),
        (CSV.to_ascii_lowercase(), Format::Rocprofv3Csv),
        (vec![10, 3, 8, 1, 2, 10, 2, 8, 1], Format::Perfetto),
    ] {
        for packed in [content.clone(), gzip(&content), zst(&content)] {
            let text = String::from_utf8_lossy(&content);
            assert_eq!(verdict(&packed).unwrap(), expected, "{text:.60}");
        }
    }
    let cut = gzip(TORCH);
    assert_eq!(verdict(&cut[..cut.len() - 6]).unwrap(), Format::Torch);
}

#[test]
fn what_is_no_trace_is_named() {
    let foreign = {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        rusqlite::Connection::open(&path)
            .unwrap()
            .execute_batch("CREATE TABLE t(a); INSERT INTO t VALUES(1)")
            .unwrap();
        fs::read(&path).unwrap()
    };
    for (content, says) in [
        (foreign.clone(), "rocpd"),
        (gzip(&foreign), "unpack"),
        (b"PK\x03\x04rest".to_vec(), "ZIP"),
        (b"\x03\x42\0\0\0\0".to_vec(), "OTF2"),
        (b"\x7fELF\x02".to_vec(), "ELF"),
        (br#"{"model": "x", "layers": 3}"#.to_vec(), "`model`"),
        (b"[1, 2, 3]".to_vec(), "JSON"),
        (b"hello world\n".to_vec(), "text"),
        (b"a,b,c\n1,2,3\n".to_vec(), "columns"),
        (b"Dispatch_ID,GPU_ID,LDS_Per_Workgroup,Kernel_Name\n".to_vec(), "rocprof-compute"),
        (b"Codeobj,Vaddr,Instruction\n".to_vec(), "thread trace"),
        (vec![1, 2, 3, 0, 0, 200, 201, 7], "binary"),
        (b"\x1f\x8b\x08garbage".to_vec(), "gzip"),
        (gzip(b""), "gzip"),
    ] {
        match verdict(&content) {
            Err(Error::NotATrace { why, .. }) => assert!(why.contains(says), "{why} should say {says}"),
            other => panic!("{other:?} for {says}"),
        }
    }
}

#[test]
fn empty_and_unreadable_files_say_why() {
    assert!(matches!(verdict(b""), Err(Error::Empty { .. })));
    match detect(Path::new("no/such/file.db")) {
        Err(Error::Unreadable { why, .. }) => assert_eq!(why, "no such file or directory"),
        other => panic!("{other:?}"),
    }
}

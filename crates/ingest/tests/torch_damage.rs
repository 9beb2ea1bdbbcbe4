//! Truncated and damaged traces: never an abort, and only the damaged part is lost.

use crate::torch_common;

use rocm_perf_ingest::Error;
use torch_common::{Dice, data, generated, gunzip, gzip, misleading, problem, read};
use trace::Trace;

/// Events before a position, from a scan of the text that shares nothing with the reader.
fn events_before(text: &[u8], place: usize) -> (usize, usize) {
    let whole: serde_json::Value = serde_json::from_slice(text).unwrap();
    let first = text.windows(13).position(|w| w == b"\"traceEvents\"").unwrap();
    let (mut kernels, mut regions) = (0, 0);
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    let mut number = 0;
    for &b in &text[first..place.max(first)] {
        match b {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth -= 1;
                if depth == 0 && number < whole["traceEvents"].as_array().unwrap().len() {
                    let event = &whole["traceEvents"][number];
                    kernels += usize::from(event["cat"] == "kernel");
                    let gpu = ["kernel", "gpu_memcpy", "gpu_memset", "cuda_sync"];
                    let category = event["cat"].as_str().unwrap_or_default();
                    regions += usize::from(event["ph"] == "X" && !gpu.contains(&category));
                    number += 1;
                }
            }
            _ => {}
        }
    }
    (kernels, regions)
}

/// Regions that are single events in the file.
fn complete_regions(trace: &Trace) -> usize {
    trace.regions.rows().filter(|r| trace.strings.get(r.category) != "own").count()
}

fn cut_everywhere(text: &[u8], cuts: usize) {
    let mut dice = Dice(5);
    let first = text.windows(13).position(|w| w == b"\"traceEvents\"").unwrap();
    // After the first few events, so that there is something to keep.
    let least = first + 3000;
    for _ in 0..cuts {
        let place = least + dice.roll(text.len() - least);
        let (kernels, regions) = events_before(text, place);
        let trace = read(&text[..place]).unwrap();
        assert_eq!((trace.kernels.len(), complete_regions(&trace)), (kernels, regions), "cut at {place}");
        assert!(problem(&trace, "truncated").is_some(), "cut at {place}");
        assert_eq!(problem(&trace, "lost_events"), None, "cut at {place}");
    }
}

fn cut_packed(text: &[u8], cuts: usize) {
    let mut dice = Dice(6);
    let packed = gzip(text);
    let whole = read(&packed).unwrap();
    for _ in 0..cuts {
        let place = packed.len() / 4 + dice.roll(packed.len() * 3 / 4);
        let trace = read(&packed[..place]).unwrap();
        assert!(problem(&trace, "truncated").is_some());
        // Deflate returns only whole blocks, so a little more may be lost than the missing bytes.
        assert!(trace.kernels.len() + trace.regions.len() > 0, "cut at {place} of {}", packed.len());
        let names = |t: &Trace| -> Vec<String> {
            t.kernels.name.iter().map(|id| t.strings.get(*id).to_string()).collect()
        };
        assert!(names(&whole).starts_with(&names(&trace)), "cut at {place} of {}", packed.len());
    }
}

fn flip(text: &[u8], rounds: usize) {
    let mut dice = Dice(7);
    let whole = read(text).unwrap();
    let rows = |t: &Trace| t.kernels.len() + t.memory_copies.len() + complete_regions(t);
    for _ in 0..rounds {
        let mut dirty = text.to_vec();
        let flips = 1 + dice.roll(8);
        for _ in 0..flips {
            let at = dice.roll(dirty.len());
            dirty[at] ^= 1 << dice.roll(8);
        }
        let trace = read(&dirty).unwrap();
        // A flipped byte costs its own event and at most its neighbour; one in a field may also move a row
        // between tables.
        assert!(rows(&trace) + 2 * flips >= rows(&whole), "{} of {} rows", rows(&trace), rows(&whole));
    }
}

#[test]
fn a_generated_trace_survives_cuts() {
    cut_everywhere(&generated(400, false), 30);
    cut_everywhere(&generated(400, true), 30);
    cut_packed(&generated(4000, false), 10);
}

#[test]
fn a_generated_trace_survives_flips() {
    flip(&generated(400, false), 100);
    flip(&generated(400, true), 100);
    flip(&misleading(400, false), 100);
}

#[test]
fn a_real_trace_survives_cuts_and_flips() {
    let Some(data) = data() else { return };
    for file in ["mi300_bert-small", "sglang_decode/sglang_Qwen3-8B_decode"] {
        let text = gunzip(&data.join(format!("traces/{file}.json.gz")));
        cut_everywhere(&text, 30);
        cut_packed(&text, 10);
        flip(&text, 30);
    }
}

#[test]
fn damage_in_every_event_leaves_the_sound_one() {
    // Each event loses the quote that closes its last string: the whole rest could belong to it.
    let event = br#"{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{"x":"y}},"#;
    let mut text = b"[".to_vec();
    for _ in 0..20_000 {
        text.extend_from_slice(event);
    }
    text.extend_from_slice(br#"{"ph":"X","cat":"cpu_op","name":"last","pid":1,"tid":1,"ts":1,"dur":1}]"#);
    let trace = read(&text).unwrap();
    assert!(!trace.regions.is_empty());
    assert!(problem(&trace, "lost_events").unwrap() >= 9_000.0);
}

#[test]
fn what_is_no_trace_is_refused() {
    for text in [
        &b"{}"[..],
        b"[]",
        b"{\"traceEvents\": []}",
        b"[1, 2, 3]",
        b"{\"a\": {\"ph\": \"X\"}}",
        b"hello",
        b"\x00\x01\x02",
        b"[{\"a\": 1}, {\"b\": 2}]",
        b" ",
        b"{\"rocprofiler-sdk-tool\": [{\"name\": \"x\"}]}",
    ] {
        let answer = read(text);
        let refused = matches!(answer, Err(Error::NotATrace { .. }));
        assert!(refused, "{}: {answer:?}", String::from_utf8_lossy(text));
    }
    assert!(matches!(read(b""), Err(Error::Empty { .. })));
    assert!(matches!(read(&gzip(b"{\"traceEvents\": [1]}")[..12]), Err(Error::Damaged { .. })));
}

//! However a trace is split, compressed or laid out, the result is the same.

use crate::torch_common;

use rocm_perf_ingest::torch::Parts;
use torch_common::{data, dump, generated, gunzip, gzip, misleading, read_with};
use trace::Needs;

fn parts(size: usize) -> Parts {
    Parts { stretch: size, block: size }
}

/// Smaller blocks add only hand-overs between threads.
const SMALLEST_BLOCK: usize = 50;

fn same_for_all_sizes(text: &[u8], sizes: &[usize], needs: &Needs) {
    let whole = dump(&read_with(text, needs, parts(1 << 30)).unwrap());
    let packed = gzip(text);
    for &size in sizes {
        let split = dump(&read_with(text, needs, parts(size)).unwrap());
        assert!(split == whole, "stretches of {size}");
        if size < SMALLEST_BLOCK && text.len() > 2000 {
            continue;
        }
        let streamed = dump(&read_with(&packed, needs, parts(size)).unwrap());
        assert!(streamed == whole, "blocks of {size}");
    }
}

#[test]
fn splits_do_not_change_a_generated_trace() {
    let sizes = [1, 2, 3, 5, 8, 13, 21, 34, 64, 100, 257, 1000, 4096, 10_000];
    same_for_all_sizes(&generated(3, false), &[1, 2, 7], &Needs::everything());
    for pretty in [false, true] {
        same_for_all_sizes(&generated(60, pretty), &sizes, &Needs::everything());
        same_for_all_sizes(&misleading(60, pretty), &sizes, &Needs::everything());
    }
    same_for_all_sizes(&generated(3000, false), &[5000, 77_777, 100_000], &Needs::summary());
}

#[test]
fn splits_do_not_change_a_damaged_trace() {
    let mut dice = torch_common::Dice(11);
    for _ in 0..40 {
        let kind = if dice.roll(2) == 0 { generated } else { misleading };
        let mut text = kind(40, dice.roll(2) == 0);
        // The same invalid bytes in many places are one invalid name.
        let places: Vec<_> = memchr::memmem::find_iter(&text, "aten::op3").collect();
        places.into_iter().for_each(|at| text[at + 8] = 0xff);
        for _ in 0..1 + dice.roll(4) {
            let at = 300 + dice.roll(text.len() - 300);
            text[at] = b"\"}{],[x\\0:\n"[dice.roll(11)];
        }
        text.truncate(text.len() - dice.roll(200));
        same_for_all_sizes(&text, &[1, 90, 333, 1000, 3000], &Needs::everything());
    }
}

#[test]
fn splits_do_not_change_bare_lists_and_key_orders() {
    let text = String::from_utf8(generated(30, false)).unwrap();
    let from = text.find(r#"[{"name": "process_name""#).unwrap();
    let to = text.rfind(r#"], "traceName""#).unwrap();
    let list = &text[from..to];
    let (bare, open) = (format!("{list}]"), format!("{list},\n"));
    let last = format!(r#"{{"traceName": "t", "a": [{{"ph": 1}}, {{"ph": 2}}], "traceEvents": {list}]}}"#);
    for text in [bare, open, last] {
        same_for_all_sizes(text.as_bytes(), &[1, 64, 500, 5000], &Needs::everything());
    }
}

#[test]
fn containers_do_not_change_a_trace() {
    let text = generated(200, false);
    let plain = dump(&read_with(&text, &Needs::everything(), Parts::default()).unwrap());
    let members = [gzip(&text[..7000]), gzip(b""), gzip(&text[7000..])].concat();
    let zst = zstd::stream::encode_all(&text[..], 3).unwrap();
    for packed in [gzip(&text), members, zst] {
        assert!(dump(&read_with(&packed, &Needs::everything(), Parts::default()).unwrap()) == plain);
    }
}

#[test]
fn splits_do_not_change_real_traces() {
    let Some(data) = data() else { return };
    for file in ["mi300_qwen1.5-0.5b", "hta_nccl_metadata", "sglang_decode/sglang_Qwen3-8B_decode"] {
        let text = gunzip(&data.join(format!("traces/{file}.json.gz")));
        same_for_all_sizes(&text, &[10_007, 300_000], &Needs::everything());
    }
}

/// Found by fuzzing: damage that closes a bare list must not turn it into an object for what follows.
#[test]
fn splits_do_not_change_a_bare_list_that_damage_closed() {
    let text = String::from_utf8(generated(30, false)).unwrap();
    let from = text.find(r#"[{"name": "process_name""#).unwrap();
    let to = text.rfind(r#"], "traceName""#).unwrap();
    let list = &text[from..to];
    let dirty = format!("{}] 9}}}}, {}]", list, &list[1..]);
    same_for_all_sizes(dirty.as_bytes(), &[1, 64, 500, 5000], &Needs::everything());
}

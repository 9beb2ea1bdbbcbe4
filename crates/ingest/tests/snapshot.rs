//! Memory snapshots, compared with Python's own pickle, and files that are truncated, damaged or hostile.

use std::io::Read;
use std::path::Path;

use ingest::{Error, Format, Progress};
use rocm_perf_ingest as ingest;
use trace::{AllocatorAction, BlockState, Needs, Trace};

fn read(path: &Path) -> Result<Trace, Error> {
    ingest::read(&[path.to_path_buf()], &Needs::everything(), &Progress::default())
}

fn read_bytes(bytes: &[u8]) -> Result<Trace, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("snapshot.pickle");
    std::fs::write(&path, bytes).unwrap();
    read(&path)
}

fn shared() -> Option<Vec<u8>> {
    let path = testing::data("formats/memory_snapshot.pickle.gz")?;
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    Some(bytes)
}

fn sum(trace: &Trace, action: AllocatorAction) -> (usize, i64) {
    let events = &trace.allocator_events;
    let rows = (0..events.len()).filter(|&row| events.action[row] == action);
    rows.fold((0, 0), |(count, bytes), row| (count + 1, bytes + events.bytes[row].get().unwrap()))
}

/// The numbers come from `pickle.loads` and plain loops over the dictionaries.
#[test]
fn the_shared_snapshot_has_the_rows_that_python_sees() {
    let Some(path) = testing::data("formats/memory_snapshot.pickle.gz") else { return };
    assert_eq!(ingest::detect(&path).unwrap(), Format::Snapshot);
    let trace = read(&path).unwrap();
    assert_eq!(trace.allocator_events.len(), 853);
    assert_eq!(sum(&trace, AllocatorAction::Alloc).0, 312);
    assert_eq!(sum(&trace, AllocatorAction::FreeCompleted).0, 269);
    assert_eq!(sum(&trace, AllocatorAction::FreeRequested).0, 269);
    assert_eq!(sum(&trace, AllocatorAction::SegmentAlloc), (3, 6_291_456));
    assert_eq!(trace.allocator_segments.len(), 43);
    assert_eq!(trace.allocator_segments.bytes.iter().sum::<i64>(), 2_071_986_176);
    let blocks = &trace.allocator_blocks;
    let held: Vec<usize> =
        (0..blocks.len()).filter(|&block| blocks.state[block] == BlockState::Allocated).collect();
    assert_eq!((blocks.len(), held.len()), (85, 61));
    assert_eq!(held.iter().map(|&block| blocks.bytes[block]).sum::<i64>(), 673_265_664);
    assert_eq!(held.iter().map(|&block| blocks.requested[block].get().unwrap()).sum::<i64>(), 672_217_088);
    assert_eq!(trace.stacks.len(), 76);
    assert_eq!(trace.regions.len(), 6);
    assert_eq!(trace.health.checks.iter().filter(|check| check.id == "truncated").count(), 0);
    let events = &trace.allocator_events;
    assert_eq!(events.start[0], 1_794_751_327_246_241_000);
    let outermost = trace.stacks.get(events.stack[0]).next_back().unwrap();
    assert!(trace.strings.get(outermost.file).ends_with(".py"));
}

#[test]
fn a_cut_snapshot_is_read_as_far_as_it_goes_and_said() {
    let Some(bytes) = shared() else { return };
    let mut before = usize::MAX;
    for percent in [99, 90, 60, 40] {
        let trace = read_bytes(&bytes[..bytes.len() * percent / 100]).unwrap();
        let events = trace.allocator_events.len();
        assert!(events > 0 && events < before, "{percent} %: {events} events");
        assert!(
            trace.allocator_events.agent.iter().all(|agent| agent.is_some()),
            "every event has its device"
        );
        assert!(trace.health.checks.iter().any(|check| check.id == "truncated"));
        before = events;
    }
    assert!(matches!(read_bytes(&bytes[..20]), Err(Error::Damaged { .. } | Error::NotATrace { .. })));
}

/// A pickle with a snapshot's keys, followed by this.
fn hostile(rest: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x80\x04}\x94(\x8c\x08segments\x94]\x94\x8c\x0ddevice_traces\x94".to_vec();
    bytes.extend_from_slice(rest);
    bytes
}

#[test]
fn whatever_is_not_data_is_refused_by_name_and_place() {
    let cases: [(&[u8], &str, &str); 14] = [
        (b"cposix\nsystem\n", "GLOBAL", "`posix.system`"),
        (b"\x8c\x02os\x94\x8c\x06system\x94\x93", "STACK_GLOBAL", "`os.system`"),
        (b"iposix\nsystem\n", "INST", "`posix.system`"),
        (b"]R", "REDUCE", "a call"),
        (b"}}b", "BUILD", "state"),
        (b"(o", "OBJ", "class"),
        (b"))\x81", "NEWOBJ", "class"),
        (b"))}\x92", "NEWOBJ_EX", "class"),
        (b"Pstorage\n", "PERSID", "`storage`"),
        (b"K\x01Q", "BINPERSID", "persistent id"),
        (b"\x82\x07", "EXT1", "extension 7"),
        (b"\x83\x07\x01", "EXT2", "extension 263"),
        (b"\x84\x07\x00\x00\x00", "EXT4", "extension 7"),
        (b"\x97", "NEXT_BUFFER", "buffer"),
    ];
    for (rest, opcode, asks) in cases {
        let bytes = hostile(rest);
        let error = read_bytes(&bytes).expect_err(opcode);
        let text = error.to_string();
        let Error::Refused { opcode: named, at, .. } = error else { panic!("{opcode}: {text}") };
        assert_eq!(named, opcode);
        assert!(text.contains(asks), "{text}");
        assert!(at >= hostile(b"").len() as u64 && at < bytes.len() as u64, "{opcode} at {at}");
    }
}

#[test]
fn a_pickle_that_is_no_snapshot_is_named_as_what_it_is() {
    let text = |bytes: &[u8]| read_bytes(bytes).unwrap_err().to_string();
    assert!(text(b"\x80\x04cposix\nsystem\n\x8c\x02ls\x85R.").contains("`posix.system` (GLOBAL at byte 2)"));
    assert!(text(b"\x80\x04]\x94(K\x01K\x02e.").contains("not a memory snapshot"));
}

/// A small snapshot as protocols 2 (numbered memo) and 5 (frames, counted memo) write it.
#[test]
fn protocols_2_and_5_give_the_same_rows() {
    let two = b"\x80\x02}q\x00(X\x08\x00\x00\x00segmentsq\x01]q\x02X\x0d\x00\x00\x00device_tracesq\x03]q\x04]q\x05}q\x06(\
        X\x06\x00\x00\x00actionq\x07X\x05\x00\x00\x00allocq\x08X\x04\x00\x00\x00addrq\x09\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x90\x00\
        X\x04\x00\x00\x00sizeq\x0aM\x00\x02X\x07\x00\x00\x00time_usq\x0bK\x05uaau.";
    let five = b"\x80\x05\x95\x60\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x08segments\x94]\x94\x8c\x0ddevice_traces\x94]\x94]\x94}\x94(\
        \x8c\x06action\x94\x8c\x05alloc\x94\x8c\x04addr\x94\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x90\x00\
        \x8c\x04size\x94M\x00\x02\x8c\x07time_us\x94K\x05uaau.";
    for bytes in [&two[..], &five[..]] {
        let trace = read_bytes(bytes).unwrap();
        let event = trace.allocator_events.get(0);
        assert_eq!((event.action, event.start, event.bytes.get()), (AllocatorAction::Alloc, 5000, Some(512)));
        assert_eq!(
            event.address.get(),
            Some(0x9000_0000_0000_0000_u64 as i64),
            "the upper half keeps its bits"
        );
    }
}

#[test]
fn claims_of_huge_sizes_cost_nothing() {
    for rest in [
        &b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"[..],
        b"\x8b\xff\xff\xff\x7f",
        b"]r\xff\xff\xff\xff",
        b"j\xff\xff\xff\xff",
    ] {
        let error = read_bytes(&hostile(rest)).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
    }
    // A million values that are never combined.
    let waiting = hostile(&vec![b'N'; 3 << 20]);
    assert!(read_bytes(&waiting).unwrap_err().to_string().contains("too many values"));
}

/// Random damage anywhere: an error or a trace, never a panic.
#[test]
fn damaged_snapshots_never_panic() {
    let Some(whole) = shared() else { return };
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for round in 0..300 {
        // Mostly the beginning: it has every kind of dictionary, and a short file is quick to read.
        let length = if round % 10 == 0 { whole.len() } else { 20_000 };
        let mut bytes = whole[..length].to_vec();
        for _ in 0..1 + random(20) {
            let at = 2 + random(bytes.len() - 2);
            match random(3) {
                0 => bytes[at] = random(256) as u8,
                1 => drop(bytes.drain(at..(at + 1 + random(8)).min(bytes.len()))),
                _ => bytes[at] ^= 1 << random(8),
            }
        }
        let _ = read_bytes(&bytes);
    }
}

//! Output of RCCL's Inspector, compared with sums of the same objects by a plain JSON parser.

use std::collections::BTreeMap;
use std::path::Path;

use ingest::{Error, Format, Progress};
use rocm_perf_ingest as ingest;
use serde_json::{Value, json};
use trace::{Needs, Trace};

fn read(paths: &[&Path]) -> Result<Trace, Error> {
    let paths: Vec<_> = paths.iter().map(|path| path.to_path_buf()).collect();
    ingest::read(&paths, &Needs::everything(), &Progress::default())
}

fn collective(id: &str, rank: u32, name: &str, number: u64) -> Value {
    json!({
        "header": { "id": id, "rank": rank, "n_ranks": 4, "nnodes": 1 },
        "metadata": {
            "inspector_output_format_version": "v4.0", "git_rev": "", "rec_mechanism": "nccl_profiler_interface",
            "dump_timestamp_us": 1_748_030_377_748_202u64 + number, "hostname": "node1", "pid": 100 + rank,
        },
        "coll_perf": {
            "coll": name, "coll_sn": number, "coll_msg_size_bytes": 1024 * (number + 1), "coll_exec_time_us": 10 + number,
            "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": 1.5, "coll_busbw_gbs": 2.25,
        },
    })
}

fn write(path: &Path, objects: &[Value]) {
    let lines: Vec<String> = objects.iter().map(|object| format!("{object}\n")).collect();
    std::fs::write(path, lines.concat()).unwrap();
}

fn of_rank(id: &str, rank: u32, count: u64) -> Vec<Value> {
    let names = ["AllReduce", "AllGather", "ReduceScatter"];
    (0..count).map(|number| collective(id, rank, names[number as usize % 3], number)).collect()
}

/// (operations, bytes, nanoseconds) by operation.
type Sums = BTreeMap<String, (u64, i64, i64)>;

fn sums_of(trace: &Trace) -> Sums {
    let rows = &trace.collectives;
    let mut sums = Sums::new();
    for row in 0..rows.len() {
        let sum = sums.entry(trace.strings.get(rows.operation[row]).into()).or_default();
        sum.0 += 1;
        sum.1 += rows.bytes[row].get().unwrap();
        sum.2 += rows.time_ns[row].get().unwrap();
    }
    sums
}

fn sums_by_hand(objects: &[Value]) -> Sums {
    let mut sums = Sums::new();
    for object in objects {
        let perf = &object["coll_perf"];
        let sum = sums.entry(perf["coll"].as_str().unwrap().into()).or_default();
        sum.0 += 1;
        sum.1 += perf["coll_msg_size_bytes"].as_i64().unwrap();
        sum.2 += 1000 * perf["coll_exec_time_us"].as_i64().unwrap();
    }
    sums
}

#[test]
fn rows_add_up_to_the_sums_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let ranks: Vec<Vec<Value>> = (0..4).map(|rank| of_rank("0x7f8c", rank, 50)).collect();
    for (rank, objects) in ranks.iter().enumerate() {
        write(&folder.path().join(format!("node1-pid{rank}.log")), objects);
    }
    assert_eq!(ingest::detect(&folder.path().join("node1-pid0.log")).unwrap(), Format::Inspector);
    let trace = read(&[folder.path()]).unwrap();
    assert_eq!(sums_of(&trace), sums_by_hand(&ranks.concat()));
    let ranks: Vec<_> = trace.processes.iter().map(|process| process.rank).collect();
    assert_eq!(ranks, [Some(0), Some(1), Some(2), Some(3)]);
    assert!(trace.health.checks.iter().all(|check| check.id != "other_job"));
}

#[test]
fn a_file_of_another_job_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..3 {
        write(&folder.path().join(format!("rank{rank}.jsonl")), &of_rank("0x7f8c", rank, 5));
    }
    write(&folder.path().join("stray.jsonl"), &of_rank("0xbad", 0, 5));
    let trace = read(&[folder.path()]).unwrap();
    let check = trace.health.checks.iter().find(|check| check.id == "other_job").expect("it is said");
    assert!(
        check.message.contains("stray.jsonl") && !check.message.contains("rank0.jsonl"),
        "{}",
        check.message
    );
    assert_eq!(trace.collectives.len(), 20, "its rows are there all the same");
}

#[test]
fn sends_verbose_times_and_many_lines_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p2p.jsonl");
    let send = json!({
        "header": { "id": "0x1", "rank": 1, "n_ranks": 2 },
        "p2p_perf": {
            "p2p": "Send", "p2p_sn": 3, "p2p_peer": 0, "p2p_msg_size_bytes": 4096, "p2p_exec_time_us": 12.5,
            "event_trace_ts": { "p2p_start_ts": 990, "kernel_events": [
                { "channel_id": 1, "kernel_start_ts": 1005, "kernel_stop_ts": 1010 },
                { "channel_id": 0, "kernel_start_ts": 1000, "kernel_stop_ts": 1012 },
            ] },
        },
    });
    // Pretty-printed objects, too.
    std::fs::write(&path, format!("{send:#}\n{send}\n")).unwrap();
    let trace = read(&[&path]).unwrap();
    for row in trace.collectives.rows() {
        assert_eq!(
            (row.peer.get(), row.start.get(), row.time_ns.get()),
            (Some(0), Some(1_000_000), Some(12_500))
        );
        assert_eq!(trace.strings.get(row.operation), "Send");
    }
    // Enough for several threads.
    let many = of_rank("0x7f8c", 0, 30_000);
    write(&path, &many);
    assert!(std::fs::metadata(&path).unwrap().len() > 8 << 20);
    assert_eq!(sums_of(&read(&[&path]).unwrap()), sums_by_hand(&many));
}

#[test]
fn damaged_lines_and_a_cut_end_cost_only_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.jsonl");
    let objects = of_rank("0x7f8c", 0, 10);
    let mut lines: Vec<String> = objects.iter().map(Value::to_string).collect();
    lines[4] = "{\"header\": {\"id\": oops".into();
    let last = lines[9].len() / 2;
    lines[9].truncate(last);
    std::fs::write(&path, lines.join("\n")).unwrap();
    let trace = read(&[&path]).unwrap();
    let whole: Vec<Value> =
        objects[..9].iter().enumerate().filter(|(i, _)| *i != 4).map(|(_, o)| o.clone()).collect();
    assert_eq!(sums_of(&trace), sums_by_hand(&whole));
    let check = trace.health.checks.iter().find(|check| check.id == "damaged_rows").expect("it is said");
    assert_eq!(check.value, Some(2.0));
    std::fs::write(&path, "{\"header\": {}, \"coll_perf\": {}}\n").unwrap();
    assert!(matches!(read(&[&path]), Err(Error::Damaged { .. })));
}

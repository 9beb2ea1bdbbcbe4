//! The collectives of a rank as RCCL's Inspector writes them: one JSON object a line.

use std::io::{self, BufWriter, Write};

use serde_json::json;
use stats::random::mix;
use trace::{Table, Trace};

/// RCCL's names of collectives.
const NAMES: [(&str, &str); 8] = [
    ("allreduce", "AllReduce"),
    ("all_reduce", "AllReduce"),
    ("_allgather_base", "AllGather"),
    ("allgather", "AllGather"),
    ("_reduce_scatter_base", "ReduceScatter"),
    ("reduce_scatter", "ReduceScatter"),
    ("all_to_all", "AllToAll"),
    ("broadcast", "Broadcast"),
];

/// Bytes on the wire for each byte of the message, times the number of ranks.
fn bus_factor(name: &str, ranks: f64) -> f64 {
    match name {
        "AllReduce" => 2.0 * (ranks - 1.0) / ranks,
        "AllGather" | "ReduceScatter" | "AllToAll" => (ranks - 1.0) / ranks,
        _ => 1.0,
    }
}

/// Writes the collectives of one rank; how many bytes. Communicators of a run have ids that follow from its seed.
pub(crate) fn write(trace: &Trace, to: impl Write, seed: u64, rank: u32) -> io::Result<u64> {
    let mut to = BufWriter::with_capacity(1 << 20, to);
    let collectives = &trace.collectives;
    let mut written = 0;
    for row in 0..collectives.len() {
        let Some(kernel) = collectives.row[row].row_of(Table::Kernels) else { continue };
        let (start, end) = (trace.kernels.start[kernel] / 1000, trace.kernels.end[kernel] / 1000);
        let group = trace.strings.get(collectives.group[row]);
        let id = group.bytes().fold(mix(seed), |id, byte| mix(id ^ u64::from(byte))) >> 8;
        let operation = trace.strings.get(collectives.operation[row]);
        let name = NAMES.iter().find(|(known, _)| *known == operation).map_or(operation, |(_, name)| name);
        let ranks = collectives.group_size[row].get().unwrap_or(1);
        let (bytes, time_us) = (collectives.bytes[row].get().unwrap_or(0), (end - start).max(1));
        let speed = bytes as f64 / time_us as f64 / 1000.0;
        let process = &trace.processes[collectives.process[row].get().unwrap_or_default()];
        let line = json!({
            "header": { "id": format!("0x{id:x}"), "rank": rank, "n_ranks": ranks, "nnodes": 1 },
            "metadata": {
                "inspector_output_format_version": "v4.0",
                "git_rev": "",
                "rec_mechanism": "nccl_profiler_interface",
                "dump_timestamp_us": end + 500,
                "hostname": trace.strings.get(process.hostname),
                "pid": process.pid,
            },
            "coll_perf": {
                "coll": name,
                "coll_sn": collectives.sequence[row].get().unwrap_or(row as i64),
                "coll_msg_size_bytes": bytes,
                "coll_exec_time_us": time_us,
                "coll_timing_source": "kernel_gpu",
                "coll_algobw_gbs": speed,
                "coll_busbw_gbs": speed * bus_factor(name, ranks as f64),
                "event_trace_ts": {
                    "coll_start_ts": start - 5,
                    "coll_stop_ts": start - 1,
                    "kernel_events": [
                        { "channel_id": 0, "kernel_start_ts": start, "kernel_stop_ts": end, "kernel_record_ts": end },
                    ],
                },
            },
        });
        let line = format!("{line}\n");
        written += line.len() as u64;
        to.write_all(line.as_bytes())?;
    }
    to.flush()?;
    Ok(written)
}

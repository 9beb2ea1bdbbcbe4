//! The collectives of a rank as RCCL's Inspector writes them: one JSON object per line.

use std::io::{self, BufWriter, Write};

use serde_json::json;
use stats::random::mix;
use trace::{Table, Trace};

use crate::ranks::Layout;

/// RCCL's names of collectives.
const NAMES: [(&str, &str); 11] = [
    ("allreduce", "AllReduce"),
    ("all_reduce", "AllReduce"),
    ("_allgather_base", "AllGather"),
    ("allgather", "AllGather"),
    ("_reduce_scatter_base", "ReduceScatter"),
    ("reduce_scatter", "ReduceScatter"),
    ("all_to_all", "AllToAll"),
    ("all_to_allv", "AllToAll"),
    ("send", "Send"),
    ("recv", "Recv"),
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

/// A rank's position in its run.
pub(crate) struct Member<'a> {
    pub rank: u32,
    pub layout: &'a Layout,
    pub ranks_per_node: u32,
}

/// Writes the collectives of one rank; returns how many bytes. Communicator ids follow from the run's seed.
pub(crate) fn write(trace: &Trace, to: impl Write, seed: u64, member: &Member<'_>) -> io::Result<u64> {
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
        // Ranks are counted within the communicator.
        let members = member.layout.ranks_of(group.parse().unwrap_or_default());
        let place =
            |rank: i64| members.iter().position(|&other| i64::from(other) == rank).unwrap_or_default();
        let mut nodes: Vec<u32> = members.iter().map(|rank| rank / member.ranks_per_node).collect();
        nodes.dedup();
        let peer = collectives.peer[row].get();
        let (perf, kind) = if peer.is_some() { ("p2p_perf", "p2p") } else { ("coll_perf", "coll") };
        let key = |name: &str| format!("{kind}_{name}");
        let mut line = json!({
            "header": {
                "id": format!("0x{id:x}"),
                "rank": place(i64::from(member.rank)),
                "n_ranks": ranks,
                "nnodes": nodes.len(),
            },
            "metadata": {
                "inspector_output_format_version": "v4.0",
                "git_rev": "",
                "rec_mechanism": "nccl_profiler_interface",
                "dump_timestamp_us": end + 500,
                "hostname": trace.strings.get(process.hostname),
                "pid": process.pid,
            },
            perf: {
                kind: name,
                key("sn"): collectives.sequence[row].get().unwrap_or(row as i64),
                key("msg_size_bytes"): bytes,
                key("exec_time_us"): time_us,
                key("timing_source"): "kernel_gpu",
                key("algobw_gbs"): speed,
                key("busbw_gbs"): speed * bus_factor(name, ranks as f64),
                "event_trace_ts": {
                    key("start_ts"): start - 5,
                    key("stop_ts"): start - 1,
                    "kernel_events": [
                        { "channel_id": 0, "kernel_start_ts": start, "kernel_stop_ts": end, "kernel_record_ts": end },
                    ],
                },
            },
        });
        if let Some(peer) = peer {
            line[perf]["p2p_peer"] = place(peer).into();
        }
        let line = format!("{line}\n");
        written += line.len() as u64;
        to.write_all(line.as_bytes())?;
    }
    to.flush()?;
    Ok(written)
}

//! The graph node that a kernel or copy ran as, in every format that can be read back.

use crate::common;

use std::path::{Path, PathBuf};

use common::example;
use rocm_perf_convert::rocpd::four::{self, FourVersion};
use rocm_perf_convert::rocprofv3::{csv, json};
use rocm_perf_convert::{pftrace, rocpd, torch};
use trace::{Graph, GraphNode, Needs, RowRef, Table, Trace};

/// Numbers as in profilers: handles of graphs, nodes that count up.
fn with_graphs() -> Trace {
    let mut trace = example();
    trace.graph_nodes = Default::default();
    for i in (0..trace.kernels.len()).step_by(2) {
        trace.kernels.graph[i] = Graph::Replayed;
        trace.graph_nodes.push(GraphNode { row: RowRef::kernel(i), exec: 9_000_000_001, node: i as i64 + 3 });
    }
    assert!(!trace.memory_copies.is_empty());
    trace.memory_copies.graph[0] = Graph::Replayed;
    let row = RowRef::new(Table::MemoryCopies, 0);
    trace.graph_nodes.push(GraphNode { row, exec: 9_000_000_001, node: 2 });
    trace
}

/// (is it a kernel, start, graph, node)
fn nodes(trace: &Trace) -> Vec<(bool, i64, i64, i64)> {
    let mut nodes: Vec<_> = trace
        .graph_nodes
        .rows()
        .map(|node| match node.row.get().unwrap() {
            (Table::Kernels, row) => (true, trace.kernels.start[row], node.exec, node.node),
            (_, row) => (false, trace.memory_copies.start[row], node.exec, node.node),
        })
        .collect();
    nodes.sort_unstable();
    nodes
}

fn read(path: &Path) -> Trace {
    ingest::read(&[path.to_path_buf()], &Needs::everything(), &Default::default()).unwrap()
}

#[test]
fn graph_and_node_ids_survive_every_conversion() {
    let trace = with_graphs();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    rocpd::write(&trace, &at("three.db"), &Default::default()).unwrap();
    four::write(&trace, &at("four.db"), FourVersion::V4_1, &Default::default()).unwrap();
    pftrace::write(&trace, &at("run.pftrace"), &Default::default()).unwrap();
    torch::write(&trace, &at("run.json"), &Default::default()).unwrap();
    std::fs::create_dir(at("csv")).unwrap();
    let options = csv::Options { columns: csv::ColumnSet::Rocpd, ..Default::default() };
    csv::write(&trace, &at("csv").join("14"), &options).unwrap();
    for name in ["three.db", "four.db", "run.pftrace", "run.json", "csv"] {
        assert_eq!(nodes(&read(&at(name))), nodes(&trace), "{name}");
    }
    // A second conversion: a torch trace that was read, as a database.
    rocpd::write(&read(&at("run.json")), &at("again.db"), &Default::default()).unwrap();
    assert_eq!(nodes(&read(&at("again.db"))), nodes(&trace));
    // Read alone, without all arguments.
    let only = Needs { kernels: true, memory_copies: true, graph_nodes: true, ..Needs::nothing() };
    let back = ingest::read(&[at("run.json")], &only, &Default::default()).unwrap();
    assert_eq!(nodes(&back), nodes(&trace));
    // Its copies cannot hold them.
    json::write(&trace, &at("sdk.json")).unwrap();
    let kernels =
        |nodes: Vec<(bool, i64, i64, i64)>| nodes.into_iter().filter(|node| node.0).collect::<Vec<_>>();
    assert_eq!(kernels(nodes(&read(&at("sdk.json")))), kernels(nodes(&trace)));
}

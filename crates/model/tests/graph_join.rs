//! Replayed kernels joined to their captures, against the golden joins of real traces.

use std::path::{Path, PathBuf};

use ingest::Progress;
use rocm_perf_model::attribution::{self, Attribution, Error, Source, attribute};
use trace::{RowRef, Trace};

fn data() -> Option<PathBuf> {
    testing::data("")
}

fn read(path: PathBuf) -> Trace {
    ingest::read(&[path], &attribution::needs(), &Progress::default()).unwrap()
}

const SGLANG: [&str; 2] =
    ["sglang_decode/sglang_Qwen3-8B_decode.json.gz", "sglang_decode/capture_traces/bs_32_rank0.json.gz"];
const VLLM: [&str; 2] = [
    "vllm_decode_full/graph_execution.json.gz",
    "vllm_decode_full/capture_traces/graph_capture_rank_0.1773709742341309550.pt.trace.json.gz",
];

fn pair(data: &Path, [formal, mapping]: [&str; 2]) -> (Trace, Trace) {
    (read(data.join("traces").join(formal)), read(data.join("traces").join(mapping)))
}

fn golden(data: &Path, files: [&str; 2], table: &str, rows: usize) -> (Trace, Attribution) {
    let (formal, mapping) = pair(data, files);
    let found = attribute(&formal, Some(&mapping)).unwrap();
    let golden = std::fs::read_to_string(data.join("graph_join").join(table)).unwrap();
    let golden: Vec<Vec<&str>> = golden.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    assert_eq!(golden.len(), rows);
    assert_eq!(found.replays.len(), 1);
    let replay = &found.replays[0];
    assert_eq!((replay.rows.len(), replay.matched), (rows, rows));
    for (row, line) in replay.rows.iter().zip(&golden) {
        let kernel = row.row_of(trace::Table::Kernels).unwrap();
        let site = found.site(*row);
        assert_eq!(formal.strings.get(formal.kernels.name[kernel]), line[1]);
        let texts =
            [site.cpu_op, site.input_dims, site.module, site.leaf, site.chain].map(|id| found.text(id));
        assert_eq!(texts, line[3..8], "row {kernel}");
        assert_eq!((site.source, site.confidence_pct), (Source::CaptureJoin, 100));
    }
    let join = found.join.unwrap();
    assert_eq!((join.rows, join.by_position, join.by_name), (rows, rows, 0));
    assert_eq!(join.names, join.shared_names);
    (formal, found)
}

#[test]
fn sglang_decode_equals_the_golden_join() {
    let Some(data) = data() else { return };
    let (_, found) = golden(&data, SGLANG, "sglang_decode_full.tsv", 544);
    assert_eq!(found.replays[0].capture_mode.as_deref(), Some("DECODE"));
    assert_eq!(found.replays[0].capture_batch, Some(32));
    let located = found.located;
    assert_eq!(located.located_ns(), located.total_ns, "{located:?}");
}

#[test]
fn vllm_decode_equals_the_golden_join() {
    let Some(data) = data() else { return };
    let (_, found) = golden(&data, VLLM, "vllm_decode_full.tsv", 421);
    assert_eq!(found.replays[0].capture_mode.as_deref(), Some("FULL"));
    let located = found.located;
    assert_eq!(located.located_ns(), located.total_ns, "{located:?}");
}

#[test]
fn locations_pass_over_wrappers() {
    let Some(data) = data() else { return };
    let (formal, mapping) = pair(&data, SGLANG);
    let found = attribute(&formal, Some(&mapping)).unwrap();
    let site = found.site(found.replays[0].rows[1]);
    assert_eq!(found.text(site.leaf), "aiter/jit/core.py(1396): wrapper");
    assert_eq!(found.text(site.library_frame), "aiter/ops/rmsnorm.py(62): rmsnorm2d_fwd");
    assert_eq!(found.text(site.location), "python/sglang/srt/layers/layernorm.py(281): forward_aiter");
    assert_eq!(found.text(site.model_frame), "python/sglang/srt/models/qwen3.py(384): forward");
}

#[test]
fn without_a_mapping_only_the_graph_launch_is_known() {
    let Some(data) = data() else { return };
    let formal = read(data.join("traces").join(SGLANG[0]));
    let found = attribute(&formal, None).unwrap();
    let site = found.site(found.replays[0].rows[0]);
    assert_eq!(site.source, Source::GraphLaunch);
    assert!(!site.is_located());
    let located = found.located;
    assert!(located.graph_launch_ns * 10 > located.total_ns * 9, "{located:?}");
    let parts = located.located_ns() + located.graph_launch_ns + located.launch_only_ns + located.unlinked_ns;
    assert_eq!(parts, located.total_ns);
}

#[test]
fn a_mapping_of_another_model_is_refused_with_the_overlap() {
    let Some(data) = data() else { return };
    let formal = read(data.join("traces").join(SGLANG[0]));
    let other = read(data.join("traces").join(VLLM[1]));
    let error = attribute(&formal, Some(&other)).unwrap_err();
    let Error::DifferentModels { shared, names } = error;
    assert!(shared * 2 < names, "{shared} of {names}");
}

/// A prefill step of the same model has other kernels for the GEMMs: names decide, with less confidence.
#[test]
fn an_eager_step_of_another_stage_is_used_by_name() {
    let Some(data) = data() else { return };
    let formal = read(data.join("traces").join(SGLANG[0]));
    let eager = read(data.join("traces/sglang_prefilldecode.json.gz"));
    let found = attribute(&formal, Some(&eager)).unwrap();
    let join = found.join.unwrap();
    assert_eq!((join.names, join.shared_names), (16, 9));
    assert_eq!((join.by_position, join.by_name), (0, 327));
    let rows = &found.replays[0].rows;
    let voted: Vec<_> = rows.iter().filter(|row| found.site(**row).source == Source::MappingTrace).collect();
    assert_eq!(voted.len(), 327);
    assert!(voted.iter().all(|row| found.site(**row).confidence_pct <= 90));
}

#[test]
fn kernels_without_a_launch_stay_unlocated() {
    let Some(data) = data() else { return };
    let trace = read(data.join("traces/mi300_qwen1.5-0.5b.json.gz"));
    let found = attribute(&trace, None).unwrap();
    let unknown =
        (0..trace.kernels.len()).filter(|&row| found.site(RowRef::kernel(row)).source == Source::None);
    assert_eq!(unknown.count(), 463);
    assert!(found.located.unlinked_ns > 0 && found.replays.is_empty() && found.join.is_none());
    let linked =
        (0..trace.kernels.len()).map(RowRef::kernel).filter(|&row| found.site(row).source == Source::Eager);
    assert!(linked.clone().all(|row| !found.site(row).cpu_op.is_empty()));
    assert_eq!(linked.count(), 1516 - 463);
}

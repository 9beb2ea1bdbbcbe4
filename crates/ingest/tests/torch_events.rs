//! Events of every kind become the rows they should.

use crate::torch_common;

use rocm_perf_ingest::torch::Parts;
use torch_common::{data, problem, read, read_file, read_with};
use trace::{AgentKind, ArgNeeds, Graph, LinkKind, Needs, OptI64, RowRef, Table, Trace};

const BASE: i64 = 1_700_000_000_000_000_000;

fn events(list: &[&str]) -> Trace {
    events_with(list, "")
}

fn events_with(list: &[&str], keys: &str) -> Trace {
    read(format!(r#"{{"traceEvents": [{}]{keys}}}"#, list.join(",\n")).as_bytes()).unwrap()
}

fn name(trace: &Trace, id: trace::StrId) -> &str {
    trace.strings.get(id)
}

#[test]
fn a_kernel_has_all_that_the_event_says() {
    let trace = events_with(
        &[
            r#"{"ph":"X","cat":"kernel","name":"gemm","pid":9,"tid":0,"ts":100.001,"dur":2.5,"args":{"External id":5,"device":9,"stream":0,"correlation":42,"kind":"Dispatch Kernel","grid":[3,2,1],"block":[256,1,1],"shared memory":512,"registers per thread":96}}"#,
            r#"{"ph":"X","cat":"kernel","name":"gemm","pid":9,"tid":0,"ts":103,"dur":1,"args":{"device":9,"stream":0,"correlation":43,"kind":"Dispatch Task"}}"#,
            r#"{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":251,"tid":252,"ts":99,"dur":9,"args":{"External id":5}}"#,
            r#"{"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","pid":251,"tid":252,"ts":99.5,"dur":0.25,"args":{"correlation":42,"External id":5}}"#,
            r#"{"ph":"M","name":"process_name","pid":251,"tid":0,"ts":0,"args":{"name":"sglang"}}"#,
            r#"{"ph":"M","name":"thread_name","pid":9,"tid":0,"ts":0,"args":{"name":"stream 0 "}}"#,
            r#"{"ph":"M","name":"thread_name","pid":251,"tid":252,"ts":0,"args":{"name":"worker"}}"#,
        ],
        r#","baseTimeNanoseconds":1700000000000000000,"deviceProperties":[{"id":0,"name":"AMD Instinct MI300X","numSms":304,"totalGlobalMem":206141652992}],"distributedInfo":{"rank":3}"#,
    );
    let kernel = trace.kernels.get(0);
    assert_eq!((kernel.start, kernel.end), (BASE + 100_001, BASE + 102_501));
    assert_eq!((kernel.correlation, kernel.external), (42, OptI64::some(5)));
    let shape = trace.shapes.get(kernel.shape);
    assert_eq!((shape.grid, shape.workgroup), (Some([768, 2, 1]), Some([256, 1, 1])));
    assert_eq!((shape.lds_bytes, shape.vgpr), (OptI64::some(512), OptI64::some(96)));
    assert_eq!(trace.kernels.graph, [Graph::Direct, Graph::Replayed]);
    assert_eq!(trace.kernels.shape[1].0, 0);
    let stream = &trace.streams[kernel.stream.get().unwrap()];
    assert_eq!((stream.id, name(&trace, stream.name)), (0, "stream 0"));
    let agent = &trace.agents[kernel.agent.get().unwrap()];
    assert_eq!((agent.kind, agent.absolute_index), (AgentKind::Gpu, OptI64::some(9)));
    assert_eq!(name(&trace, agent.product), "AMD Instinct MI300X");
    assert_eq!((agent.compute_units, agent.memory_bytes), (OptI64::some(304), OptI64::some(206141652992)));
    let process = &trace.processes[kernel.process.get().unwrap()];
    assert_eq!((process.pid, process.rank, name(&trace, process.command)), (251, Some(3), "sglang"));
    assert_eq!((trace.sources[0].rank, trace.processes.len()), (Some(3), 1));
    assert_eq!(trace.regions.correlation, [0, 42]);
    let thread = &trace.threads[trace.regions.thread[0].get().unwrap()];
    assert_eq!((thread.tid, name(&trace, thread.name)), (252, "worker"));
}

/// A message in each direction, a collective, the op behind them, and calls with and without an event.
const MESSAGES: &[&str] = &[
    r#"{"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv","pid":0,"tid":1,"ts":100,"dur":5,"args":{"device":0,"stream":1,"correlation":1,"Collective name":"send","Process Group Name":"7","Process Group Ranks":"[0, 4]","Dst Rank":4}}"#,
    r#"{"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv","pid":0,"tid":1,"ts":110,"dur":5,"args":{"device":0,"stream":1,"correlation":2,"Collective name":"recv","Process Group Name":"7","Src Rank":4}}"#,
    r#"{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":1,"ts":120,"dur":5,"args":{"device":0,"stream":1,"correlation":3,"Collective name":"allreduce","Process Group Name":"0","Rank":0}}"#,
    r#"{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":9,"tid":9,"ts":90,"dur":5,"args":{"External id":5,"Process Group Ranks":"[0, 4]","Dst Rank":4}}"#,
    r#"{"ph":"X","cat":"cuda_runtime","name":"hipEventRecord","pid":9,"tid":9,"ts":95,"dur":1,"args":{"External id":5,"correlation":8,"cid":1,"event":"0x77"}}"#,
    r#"{"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","pid":9,"tid":9,"ts":97,"dur":1,"args":{"correlation":1,"cid":1,"kernel":"ncclDevKernel_SendRecv","External id":5}}"#,
];

#[test]
fn messages_know_the_other_rank() {
    let trace = events(MESSAGES);
    assert_eq!(trace.collectives.peer, [OptI64::some(4), OptI64::some(4), OptI64::NONE]);
}

#[test]
fn arguments_of_kernels_alone_leave_all_else_as_it_is() {
    let text = format!(r#"{{"traceEvents": [{}]}}"#, MESSAGES.join(","));
    let keys = ArgNeeds::Keys(vec!["Process Group Ranks".into()]);
    let of_all = Needs { args: keys, ..Needs::everything() };
    let of_kernels = Needs { only_kernel_args: true, ..of_all.clone() };
    let [all, few] =
        [of_all, of_kernels].map(|needs| read_with(text.as_bytes(), &needs, Parts::default()).unwrap());
    let owners = |trace: &Trace| {
        trace.args.owner.iter().map(|owner| owner.get().map(|(table, _)| table)).collect::<Vec<_>>()
    };
    assert_eq!(owners(&few), [Some(Table::Kernels)]);
    assert_eq!(owners(&all).len(), 2);
    assert_eq!(few.syncs.event, all.syncs.event);
    assert_eq!(few.syncs.event, [OptI64::some(0x77)]);
    assert_eq!(
        (&few.regions.correlation, &few.regions.external),
        (&all.regions.correlation, &all.regions.external)
    );
    assert_eq!(few.collectives.peer, all.collectives.peer);
}

#[test]
fn copies_know_their_ends() {
    let trace = events(&[
        r#"{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":7,"ts":1,"dur":1,"args":{"device":0,"stream":7,"bytes":4096}}"#,
        r#"{"ph":"X","cat":"gpu_memcpy","name":"CopyDeviceToHost","pid":0,"tid":7,"ts":2,"dur":1,"args":{"kind":"DtoH"}}"#,
        r#"{"ph":"X","cat":"gpu_memset","name":"Memset (Device)","pid":0,"tid":7,"ts":3,"dur":1}"#,
        r#"{"ph":"X","cat":"gpu_memcpy","name":"Copy","pid":0,"tid":7,"ts":4,"dur":1}"#,
    ]);
    let copies = &trace.memory_copies;
    let kinds = |ids: &[trace::AgentId]| -> Vec<_> {
        ids.iter().map(|id| id.get().map(|i| trace.agents[i].kind)).collect()
    };
    let (cpu, gpu) = (Some(AgentKind::Cpu), Some(AgentKind::Gpu));
    assert_eq!(kinds(&copies.src), [cpu, gpu, None, None]);
    assert_eq!(kinds(&copies.dst), [gpu, cpu, gpu, None]);
    assert_eq!(copies.bytes, [OptI64::some(4096), OptI64::NONE, OptI64::NONE, OptI64::NONE]);
    assert!(copies.stream.iter().all(|stream| *stream == copies.stream[0]));
}

#[test]
fn times_are_exact_and_bad_ones_are_counted() {
    let trace = events(&[
        r#"{"ph":"X","cat":"a","name":"1","pid":1,"tid":1,"ts":6500000000000.123,"dur":0.001}"#,
        r#"{"ph":"X","cat":"a","name":"2","pid":1,"tid":1,"ts":1.5e3,"dur":1E1}"#,
        r#"{"ph":"X","cat":"a","name":"3","pid":1,"tid":1,"ts":7,"dur":"2.5"}"#,
        r#"{"ph":"X","cat":"a","name":"4","pid":1,"tid":1,"ts":NaN,"dur":1}"#,
        r#"{"ph":"X","cat":"a","name":"5","pid":1,"tid":1,"ts":1,"dur":Infinity}"#,
        r#"{"ph":"X","cat":"a","name":"6","pid":1,"tid":1,"ts":1}"#,
        r#"{"ph":"X","cat":"a","name":"7","pid":1,"tid":1,"dur":1}"#,
        r#"{"ph":"X","cat":"a","name":"8","pid":1,"tid":1,"ts":1e40,"dur":1}"#,
        r#"{"cat":"a","name":"9","pid":1,"tid":1,"ts":1,"dur":1}"#,
        r#"{"ph":"X","cat":"a","name":"10","pid":1,"tid":1,"ts":-2.0005,"dur":-0.0}"#,
        r#"{"ph":"X","cat":"a","name":"11","pid":1,"tid":1,"ts":9,"dur":1,"args":{"x":NaN,"y":-inf}}"#,
    ]);
    assert_eq!(trace.regions.start, [6_500_000_000_000_123, 1_500_000, 7_000, -2_001, 9_000]);
    assert_eq!(trace.regions.end, [6_500_000_000_000_124, 1_510_000, 9_500, -2_001, 10_000]);
    assert_eq!(problem(&trace, "bad_values"), Some(6.0));
    assert_eq!(problem(&trace, "truncated"), None);
}

#[test]
fn dirty_text_is_read() {
    let mut text = b"{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\x01\n\tb\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1},".to_vec();
    text.extend_from_slice(
        b"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"c\xff\xfed\",\"pid\":1,\"tid\":1,\"ts\":2,\"dur\":1},",
    );
    text.extend_from_slice(b"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"e\\u00e9\\\"\\\\\",\"pid\":1,\"tid\":1,\"ts\":3,\"dur\":1}]}");
    let trace = read(&text).unwrap();
    let names: Vec<_> = trace.regions.name.iter().map(|id| name(&trace, *id)).collect();
    assert_eq!(names, ["a\u{1}\n\tb", "c\u{fffd}\u{fffd}d", "e\u{e9}\"\\"]);
    assert_eq!(problem(&trace, "utf8"), Some(1.0));
}

#[test]
fn missing_fields_lose_nothing_but_themselves() {
    let trace = events(&[
        r#"{"ph":"X","ts":1,"dur":1}"#,
        r#"{"ph":"X","name":"n","ts":2,"dur":1,"args":null}"#,
        r#"{"dur":1,"ts":3,"args":{"correlation":8,"External id":"7"},"tid":5,"pid":4,"name":"hipMalloc","cat":"cuda_runtime","ph":"X"}"#,
        r#"{"ph":"X","cat":"kernel","name":"k","pid":4,"tid":2,"ts":4,"dur":1}"#,
        r#"{}"#,
    ]);
    assert_eq!((trace.regions.len(), trace.kernels.len()), (3, 1));
    assert_eq!((trace.regions.correlation[2], trace.regions.external[2]), (8, OptI64::some(7)));
    assert_eq!(trace.streams[trace.kernels.stream[0].get().unwrap()].id, 2);
    assert_eq!(problem(&trace, "bad_values"), Some(1.0));
}

#[test]
fn pairs_and_flows_are_joined() {
    let trace = events(&[
        r#"{"ph":"B","cat":"own","name":"outer","pid":1,"tid":1,"ts":1,"args":{"k":"v"}}"#,
        r#"{"ph":"B","cat":"own","name":"inner","pid":1,"tid":1,"ts":2}"#,
        r#"{"ph":"E","pid":1,"tid":1,"ts":3}"#,
        r#"{"ph":"E","pid":1,"tid":1,"ts":5}"#,
        r#"{"ph":"E","pid":1,"tid":1,"ts":6}"#,
        r#"{"ph":"b","cat":"async","id":"0x1","name":"req","pid":1,"tid":1,"ts":2}"#,
        r#"{"ph":"e","cat":"async","id":"0x1","name":"req","pid":1,"tid":2,"ts":9}"#,
        r#"{"ph":"X","cat":"cpu_op","name":"fwd","pid":1,"tid":1,"ts":10.5,"dur":2}"#,
        r#"{"ph":"X","cat":"cpu_op","name":"bwd","pid":1,"tid":2,"ts":20,"dur":2}"#,
        r#"{"ph":"s","cat":"fwdbwd","id":4,"name":"fwdbwd","pid":1,"tid":1,"ts":10.5}"#,
        r#"{"ph":"f","cat":"fwdbwd","id":4,"name":"fwdbwd","pid":1,"tid":2,"ts":20,"bp":"e"}"#,
        r#"{"ph":"f","cat":"ac2g","id":4,"name":"ac2g","pid":1,"tid":2,"ts":20,"bp":"e"}"#,
    ]);
    let find = |wanted: &str| trace.regions.name.iter().position(|id| name(&trace, *id) == wanted).unwrap();
    let (outer, inner, req) = (find("outer"), find("inner"), find("req"));
    assert_eq!((trace.regions.start[outer], trace.regions.end[outer]), (1_000, 5_000));
    assert_eq!((trace.regions.start[inner], trace.regions.end[inner]), (2_000, 3_000));
    assert_eq!((trace.regions.start[req], trace.regions.end[req]), (2_000, 9_000));
    let key = trace.strings.find("k").unwrap();
    let value = trace.args.value(RowRef::region(outer), key).unwrap();
    assert_eq!(name(&trace, value), "\"v\"");
    assert_eq!(trace.links.kind, [LinkKind::ForwardBackward]);
    assert_eq!(
        (trace.links.from[0], trace.links.to[0]),
        (RowRef::region(find("fwd")), RowRef::region(find("bwd")))
    );
    assert_eq!(problem(&trace, "unmatched"), Some(1.0));
}

#[test]
fn allocations_counters_and_instants_have_their_tables() {
    let trace = events(&[
        r#"{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":1,"args":{"Bytes":512,"Device Id":0,"Device Type":6,"Addr":140255988547584}}"#,
        r#"{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":2,"args":{"Bytes":-512,"Device Id":0,"Device Type":6,"Addr":18446744073709551615}}"#,
        r#"{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":3,"args":{"Bytes":8,"Device Id":-1,"Device Type":0}}"#,
        r#"{"ph":"C","name":"power","pid":1,"tid":1,"ts":4,"args":{"watt":750.5}}"#,
        r#"{"ph":"C","name":"clock","pid":1,"tid":1,"ts":5,"args":{"sclk":2100,"mclk":1300}}"#,
        r#"{"ph":"i","name":"Record Window End","pid":"","tid":"","ts":6,"s":"g"}"#,
    ]);
    let kinds: Vec<_> = trace.memory_allocations.kind.iter().map(|id| name(&trace, *id)).collect();
    assert_eq!(kinds, ["ALLOC", "FREE", "ALLOC"]);
    assert_eq!(trace.memory_allocations.bytes[1], OptI64::some(512));
    assert_eq!(trace.memory_allocations.address[..2], [OptI64::some(140255988547584), OptI64::some(-1)]);
    let agents: Vec<_> =
        trace.memory_allocations.agent.iter().map(|a| trace.agents[a.get().unwrap()].kind).collect();
    assert_eq!(agents, [AgentKind::Gpu, AgentKind::Gpu, AgentKind::Cpu]);
    let samples: Vec<_> = trace
        .samples
        .rows()
        .map(|s| (name(&trace, s.kind).to_string(), name(&trace, s.name).to_string(), s.value))
        .collect();
    assert_eq!(samples[0], ("counter".into(), "power".into(), 750.5));
    assert_eq!(samples[1], ("counter".into(), "clock: sclk".into(), 2100.0));
    assert_eq!(samples[2], ("counter".into(), "clock: mclk".into(), 1300.0));
    assert_eq!((&samples[3].0[..], &samples[3].1[..]), ("instant", "Record Window End"));
    assert!(samples[3].2.is_nan());
}

#[test]
fn frames_are_skipped_or_kept_with_their_parents() {
    let list = [
        r#"{"ph":"X","cat":"python_function","name":"a.py(1): f","pid":1,"tid":1,"ts":1,"dur":9,"args":{"Python id":1,"Python parent id":null}}"#,
        r#"{"ph":"X","cat":"python_function","name":"b.py(2): g","pid":1,"tid":1,"ts":2,"dur":3,"args":{"Python parent id":1,"Python id":2}}"#,
        r#"{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":3,"dur":1}"#,
    ];
    let trace = events(&list);
    assert_eq!(trace.regions.external[..2], [OptI64::some(1), OptI64::some(2)]);
    assert_eq!(trace.regions.parent[..2], [0, 1]);
    assert_eq!(trace.sources[0].frames_skipped, 0);
    let text = format!(r#"{{"traceEvents": [{}]}}"#, list.join(","));
    let trace = read_with(text.as_bytes(), &Needs::summary(), Parts::default()).unwrap();
    assert_eq!((trace.regions.len(), trace.sources[0].frames_skipped), (1, 2));
}

#[test]
fn only_arguments_that_were_asked_for_are_kept() {
    let text = br#"[{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":1,"args":{"External id":5,"Input Dims":[[2,3],[3,4]],"note":"x\ty"}},
        {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":1,"ts":2,"dur":1,"args":{"device":0,"Input Dims":"no","stream":1,"note":7}}]"#;
    let keys = vec!["Input Dims".to_string(), "note".to_string()];
    let needs = Needs { args: ArgNeeds::Keys(keys), ..Needs::summary() };
    let trace = read_with(text, &needs, Parts::default()).unwrap();
    let args: Vec<_> = (trace.args.rows())
        .map(|a| (a.owner.get().unwrap(), a.position, name(&trace, a.name), name(&trace, a.value)))
        .collect();
    assert_eq!(
        args,
        [
            ((Table::Regions, 0), 1, "Input Dims", "[[2,3],[3,4]]"),
            ((Table::Regions, 0), 2, "note", r#""x\ty""#),
            ((Table::Kernels, 0), 1, "Input Dims", r#""no""#),
            ((Table::Kernels, 0), 3, "note", "7"),
        ]
    );
    assert_eq!(trace.regions.external[0], OptI64::some(5));
    assert_eq!(read_with(text, &Needs::summary(), Parts::default()).unwrap().args.len(), 0);
}

#[test]
fn ranks_of_a_merged_trace_stay_apart() {
    let mut list = Vec::new();
    for (rank, pid) in [("[TP00]", 100), ("[TP01]", 100)] {
        list.push(format!(r#"{{"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","pid":"{rank} {pid}","tid":{pid},"ts":1,"dur":1,"args":{{"correlation":5}}}}"#));
        list.push(format!(r#"{{"ph":"X","cat":"kernel","name":"k","pid":"{rank} 0","tid":3,"ts":2,"dur":1,"args":{{"device":0,"stream":3,"correlation":5}}}}"#));
        list.push(format!(r#"{{"ph":"X","cat":"Trace","name":"p","pid":"{rank} Spans","tid":"PyTorch Profiler","ts":2,"dur":1}}"#));
    }
    let list: Vec<&str> = list.iter().map(String::as_str).collect();
    let mut trace = events_with(&list, r#","distributedInfo":{"rank":0}"#);
    assert_eq!(trace.sources[0].role.as_deref(), Some("merged"));
    assert_eq!((trace.sources[0].rank, trace.processes.len()), (None, 2));
    assert_eq!([trace.processes[0].rank, trace.processes[1].rank], [Some(0), Some(1)]);
    assert_ne!(trace.processes[0].guid, trace.processes[1].guid);
    assert_ne!(trace.kernels.process[0], trace.kernels.process[1]);
    assert_ne!(trace.kernels.agent[0], trace.kernels.agent[1]);
    assert_eq!(trace.threads.len(), 4);
    trace.finish();
    let launches: Vec<_> = (0..2).map(|k| trace.links.launch_of(RowRef::kernel(k)).unwrap()).collect();
    for (kernel, call) in launches.into_iter().enumerate() {
        assert_eq!(trace.regions.process[call], trace.kernels.process[kernel]);
    }
}

#[test]
fn gpu_lanes_are_not_taken_for_processes() {
    let trace = events(&[
        r#"{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1}"#,
        r#"{"ph":"X","cat":"kernel","name":"k","pid":1,"tid":1,"ts":2,"dur":1,"args":{"device":1,"stream":1}}"#,
        r#"{"ph":"X","cat":"gpu_user_annotation","name":"step","pid":1,"tid":1,"ts":2,"dur":1}"#,
        r#"{"ph":"X","cat":"Trace","name":"p","pid":"Spans","tid":"PyTorch Profiler","ts":2,"dur":1}"#,
        r#"{"ph":"X","cat":"overhead","name":"o","pid":-1,"tid":0,"ts":2,"dur":1}"#,
    ]);
    assert_eq!((trace.processes.len(), trace.streams.len(), trace.threads.len()), (1, 1, 4));
    let threads: Vec<_> = trace.threads.iter().map(|t| name(&trace, t.name)).collect();
    assert_eq!(threads, ["", "GPU 1 stream 1", "PyTorch Profiler", ""]);
    assert_ne!(trace.regions.thread[0], trace.regions.thread[1]);
}

#[test]
fn synchronisations_are_kept_when_asked_for() {
    let trace = events(&[
        r#"{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":20,"ts":0,"dur":1,"args":{"device":0,"stream":20}}"#,
        r#"{"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":7,"ts":1,"dur":2,"args":{"cuda_sync_kind":"Stream Wait Event","stream":7,"correlation":15,"device":0,"context":1,"wait_on_stream":20,"wait_on_cuda_event_record_corr_id":12,"wait_on_cuda_event_id":3}}"#,
        r#"{"ph":"X","cat":"cuda_sync","name":"Context Sync","pid":0,"tid":-1,"ts":4,"dur":2,"args":{"stream":-1,"correlation":16}}"#,
        r#"{"ph":"X","cat":"cuda_runtime","name":"hipEventRecord","pid":5,"tid":6,"ts":7,"dur":1,"args":{"correlation":12,"event":"0x10"}}"#,
    ]);
    let syncs = &trace.syncs;
    let kinds: Vec<_> = syncs.kind.iter().map(|id| name(&trace, *id)).collect();
    assert_eq!(kinds, ["Stream Wait Event", "Context Sync", "hipEventRecord"]);
    assert_eq!(trace.streams[syncs.stream[0].get().unwrap()].id, 7);
    assert_eq!(trace.streams[syncs.waits_for[0].get().unwrap()].id, 20);
    assert_eq!((syncs.awaited[0], syncs.event[0]), (OptI64::some(12), OptI64::some(3)));
    assert_eq!(syncs.stream[1].get(), None);
    assert_eq!((syncs.event[2], syncs.correlation[2]), (OptI64::some(16), 12));
    assert!(syncs.thread[2].is_some() && trace.regions.len() == 1);
}

#[test]
fn real_traces_say_what_they_are() {
    let Some(data) = data() else { return };
    let open = |file: &str| {
        let path = data.join(format!("traces/{file}.json.gz"));
        let mut trace = read_file(&path, &Needs::everything(), Parts::default()).unwrap();
        let known: Vec<_> = trace.health.problems().cloned().collect();
        assert!(known.is_empty(), "{file}: {known:?}");
        trace.finish();
        trace
    };
    let decode = open("sglang_decode/sglang_Qwen3-8B_decode");
    assert_eq!(decode.kernels.graph.iter().filter(|g| **g == Graph::Replayed).count(), 544);
    assert_eq!((decode.sources[0].rank, &decode.sources[0].role), (Some(0), &None));
    let agent = &decode.agents[decode.kernels.agent[0].get().unwrap()];
    assert_eq!((name(&decode, agent.name), agent.compute_units), ("gfx942", OptI64::some(304)));

    for capture in [
        "sglang_decode/capture_traces/bs_32_rank0",
        "vllm_decode_full/capture_traces/graph_capture_rank_0.1773709742341309550.pt.trace",
    ] {
        assert_eq!(open(capture).sources[0].role.as_deref(), Some("capture"));
    }
    let nccl = open("hta_nccl_metadata");
    assert_eq!(nccl.links.kind.iter().filter(|k| **k == LinkKind::ForwardBackward).count(), 543);
    let collective = nccl.collectives.get(0);
    let kernel = collective.row.row_of(Table::Kernels).unwrap();
    assert!(name(&nccl, nccl.kernels.name[kernel]).starts_with("nccl"));
    assert_eq!((collective.group_size, name(&nccl, collective.dtype)), (OptI64::some(2), "Float"));
    assert!(collective.bytes.get().unwrap() > 0);

    let qwen = open("mi300_qwen1.5-0.5b");
    assert_eq!(qwen.memory_allocations.len(), 2692);
    let linked =
        (0..qwen.kernels.len()).filter(|k| qwen.links.launch_of(RowRef::kernel(*k)).is_some()).count();
    assert_eq!(linked, 1053);
    assert_eq!(open("hta_cp_simple_add").syncs.kind.len(), 41 + sync_calls(&open("hta_cp_simple_add")));
}

/// Runtime calls that record or await, recognised by name alone.
fn sync_calls(trace: &Trace) -> usize {
    let names = ["EventRecord", "StreamWaitEvent", "Synchronize", "EventQuery"];
    (trace.regions.rows())
        .filter(|r| name(trace, r.category) == "cuda_runtime")
        .filter(|r| names.iter().any(|n| name(trace, r.name).contains(n)))
        .count()
}

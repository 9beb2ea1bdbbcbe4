//! The tables of `breakdown` on a small run with numbers that can be checked by hand.

use model::classify::{Classes, Classifier};
use report::{Report, Table, render};
use rocm_perf_analysis::{BreakdownOptions, breakdown};
use trace::{
    Agent, AgentId, AgentKind, CopyKind, Kernel, MemoryCopy, OptI64, Process, ProcessId, Region, RowRef,
    Source, Trace,
};

/// Times of one rank in µs: a product, an all-reduce half hidden by it, a blit copy, a fill and a copy row.
fn add_rank(trace: &mut Trace, rank: u32) {
    let source = trace.add_source(Source { rank: Some(rank), ..Source::named("run.json", "torch") });
    let guid = trace.strings.intern(&format!("guid {rank}"));
    let process = trace.add_process(Process { guid, ..Process::new(source, i64::from(rank)) });
    let index = OptI64::some(i64::from(rank));
    let agent =
        trace.add_agent(Agent { process, kind: AgentKind::Gpu, absolute_index: index, ..Agent::default() });
    let kernels = [
        ("attn_fwd", 0, 5, 0),
        ("Cijk_Alik_Bljk_BBS_BH_Bias_UserArgs_MT64x64x64_ISA942", 10, 30, 1),
        ("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", 20, 40 + i64::from(rank), 2),
        ("__amd_rocclr_copyBuffer.kd", 50, 54, 3),
        ("__amd_rocclr_fillBufferAligned.kd", 54, 55, 4),
        ("attn_fwd", 60, 62, 99),
    ];
    for (name, start, end, correlation) in kernels {
        kernel(trace, process, agent, (name, start, end, correlation));
        if (1..90).contains(&correlation) {
            let (start, end) = (start * 1000 - 900, start * 1000 - 800);
            trace.regions.push(Region { start, end, process, correlation, ..Region::default() });
        }
    }
    let name = trace.strings.intern("Memcpy HtoD (Host -> Device)");
    // Nothing records this copy's GPU: it must be the only one of its rank.
    let copy =
        MemoryCopy { name, kind: CopyKind::Copy, start: 25_000, end: 45_000, process, ..Default::default() };
    trace.memory_copies.push(copy);
}

fn kernel(
    trace: &mut Trace,
    process: ProcessId,
    agent: AgentId,
    (name, start, end, correlation): (&str, i64, i64, i64),
) {
    let name = trace.strings.intern(name);
    let (start, end) = (start * 1000, end * 1000);
    trace.kernels.push(Kernel { name, start, end, process, agent, correlation, ..Kernel::default() });
}

fn run(options: &BreakdownOptions) -> Report {
    let mut trace = Trace::default();
    add_rank(&mut trace, 1);
    add_rank(&mut trace, 0);
    trace.finish();
    breakdown(&trace, &Classes::of(&trace, &Classifier::builtin()), options)
}

fn csv(report: &Report, table: &str) -> String {
    let table: &Table = report.table(table).expect("the table is there");
    render::csv(table)
}

#[test]
fn the_timeline_tells_what_is_exposed() {
    insta::assert_snapshot!(csv(&run(&BreakdownOptions::default()), "timeline"), @r"
    rank,agent,total_ns,busy_ns,idle_ns,compute_ns,communication_ns,memcpy_ns,exposed_communication_ns,exposed_memcpy_ns
    0,0,62000,47000,15000,28000,20000,24000,10000,9000
    1,1,62000,47000,15000,28000,21000,24000,11000,8000
    ");
}

#[test]
fn only_launched_work_counts_when_asked() {
    insta::assert_snapshot!(csv(&run(&BreakdownOptions { linked: true, ..Default::default() }), "timeline"), @r"
    rank,agent,total_ns,busy_ns,idle_ns,compute_ns,communication_ns,memcpy_ns,exposed_communication_ns,exposed_memcpy_ns
    0,0,45000,35000,10000,21000,20000,4000,10000,4000
    1,1,45000,36000,9000,21000,21000,4000,11000,4000
    ");
}

#[test]
fn combinations_are_exact() {
    insta::assert_snapshot!(csv(&run(&BreakdownOptions::default()), "combinations"), @r"
    rank,agent,combination,total_ns,share_pct
    0,0,compute,18000,29.032258064516128
    0,0,idle,15000,24.193548387096776
    0,0,communication + memcpy,10000,16.129032258064516
    0,0,memcpy,9000,14.516129032258064
    0,0,compute + communication,5000,8.064516129032258
    0,0,compute + communication + memcpy,5000,8.064516129032258
    1,1,compute,18000,29.032258064516128
    1,1,idle,15000,24.193548387096776
    1,1,communication + memcpy,11000,17.741935483870968
    1,1,memcpy,8000,12.903225806451612
    1,1,compute + communication,5000,8.064516129032258
    1,1,compute + communication + memcpy,5000,8.064516129032258
    ");
}

#[test]
fn categories_are_of_all_ranks_or_of_each() {
    insta::assert_snapshot!(csv(&run(&BreakdownOptions::default()), "categories"), @r"
    stage,category,backend,calls,total_ns,share_pct
    all,memory,hip-runtime,6,50000,34.48275862068966
    all,communication,rccl,2,41000,28.275862068965516
    all,gemm,hipblaslt,2,40000,27.586206896551722
    all,attention,aotriton,4,14000,9.655172413793103
    ");
    let by_rank = run(&BreakdownOptions { by_rank: true, ..Default::default() });
    insta::assert_snapshot!(csv(&by_rank, "categories"), @r"
    rank,stage,category,backend,calls,total_ns,share_pct
    0,all,memory,hip-runtime,3,25000,34.72222222222222
    0,all,communication,rccl,1,20000,27.77777777777778
    0,all,gemm,hipblaslt,1,20000,27.77777777777778
    0,all,attention,aotriton,2,7000,9.722222222222221
    1,all,memory,hip-runtime,3,25000,34.24657534246575
    1,all,communication,rccl,1,21000,28.767123287671232
    1,all,gemm,hipblaslt,1,20000,27.397260273972602
    1,all,attention,aotriton,2,7000,9.58904109589041
    ");
}

#[test]
fn stages_come_from_the_caller() {
    let stage_of = |row: RowRef| {
        if row.row_of(trace::Table::Kernels).is_some_and(|row| row < 4) { "prefill" } else { "decode" }
    };
    let report = run(&BreakdownOptions { stage_of: Some(&stage_of), ..Default::default() });
    insta::assert_snapshot!(csv(&report, "categories"), @r"
    stage,category,backend,calls,total_ns,share_pct
    decode,memory,hip-runtime,6,50000,52.63157894736842
    decode,communication,rccl,2,41000,43.1578947368421
    decode,attention,aotriton,2,4000,4.2105263157894735
    prefill,gemm,hipblaslt,2,40000,80
    prefill,attention,aotriton,2,10000,20
    ");
}

#[test]
fn unlinked_work_is_told_apart() {
    insta::assert_snapshot!(csv(&run(&BreakdownOptions::default()), "coverage"), @r"
    rank,agent,part,calls,total_ns,busy_ns,share_pct
    0,0,lead_in,1,5000,5000,6.944444444444445
    0,0,linked,4,45000,35000,62.5
    0,0,unlinked_inside,2,22000,22000,30.555555555555557
    1,1,lead_in,1,5000,5000,6.8493150684931505
    1,1,linked,4,46000,36000,63.013698630136986
    1,1,unlinked_inside,2,22000,22000,30.136986301369863
    ");
}

#[test]
fn a_trace_without_gpu_work_has_no_tables() {
    let mut trace = Trace::default();
    trace.finish();
    let report =
        breakdown(&trace, &Classes::of(&trace, &Classifier::builtin()), &BreakdownOptions::default());
    assert!(report.tables.is_empty());
    assert_eq!(report.health.len(), 1, "health says that nothing was recorded");
}

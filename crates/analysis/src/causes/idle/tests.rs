//! Accounts of random runs: exact, and the same with and without joined calls.

use proptest::prelude::*;
use trace::{Agent, AgentKind, Kernel, OptI64, Process, Region, Source, Stream, Thread};

use super::*;
use model::classify::Classifier;

const CALLS: [&str; 6] = [
    "hipLaunchKernel",
    "hipDeviceSynchronize",
    "hipMalloc",
    "hipModuleLoad",
    "hipStreamWaitEvent",
    "hipEventRecord",
];

/// One call: which, the time before it, its duration, and the work it launches: GPU, delay, duration.
type Step = (usize, i64, i64, (usize, i64, i64));

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let call = prop_oneof![6 => Just(0usize), 4 => 1usize..CALLS.len()];
    // Some times are long enough to be host code, code loading or held-back work.
    let time = || prop_oneof![8 => 0i64..8_000, 1 => 50_000i64..700_000];
    prop::collection::vec((call, time(), time(), (0usize..3, time(), 1i64..30_000)), 1..60)
}

fn run(steps: &[Step]) -> Trace {
    let mut trace = Trace::default();
    let source = trace.add_source(Source::named("run", "rocpd"));
    let process = trace.add_process(Process::new(source, 100));
    let thread = trace.add_thread(Thread { process, tid: 1, ..Thread::default() });
    let gpus: Vec<_> = (0..3)
        .map(|index| {
            let absolute_index = OptI64::some(index);
            let agent =
                trace.add_agent(Agent { process, kind: AgentKind::Gpu, absolute_index, ..Agent::default() });
            (agent, trace.add_stream(Stream { process, id: index, ..Stream::default() }))
        })
        .collect();
    let category = trace.strings.intern("HIP_RUNTIME_API");
    let mut now = 0;
    for (number, &(call, before, takes, (gpu, after, runs))) in steps.iter().enumerate() {
        let (start, correlation) = (now + before, number as i64 + 1);
        now = start + takes;
        let name = trace.strings.intern(CALLS[call]);
        let region =
            Region { name, category, start, end: now, process, thread, correlation, ..Region::default() };
        trace.regions.push(region);
        if call == 0 {
            let (agent, stream) = gpus[gpu];
            let (name, start) = (trace.strings.intern("gemm"), start + after);
            let end = start + runs;
            trace.kernels.push(Kernel {
                name,
                start,
                end,
                process,
                agent,
                stream,
                correlation,
                ..Kernel::default()
            });
        }
    }
    trace.finish();
    trace
}

proptest! {
    /// Runs of launches are skipped in one step; the account must match one made call by call.
    #[test]
    fn joined_launches_give_the_same_account(steps in steps()) {
        let trace = run(&steps);
        let classes = Classes::of(&trace, &Classifier::builtin());
        let joined = causes(&trace, &classes);
        let mut gpus: Vec<GpuAccount> = lanes::lanes(&trace, &classes).into_iter().map(account).collect();
        gpus.retain(|gpu| !gpu.rows.is_empty());
        common_spans(&trace, &mut gpus);
        let calls = Calls::of(&trace);
        let host = HostThreads::of(&trace, &gpus, &calls).one_by_one();
        let expected = beside(&trace, &host, gpus, Places::Any);
        prop_assert_eq!(joined.gpus.len(), expected.len());
        for (found, expected) in joined.gpus.iter().zip(&expected) {
            prop_assert_eq!(&found.idle, &expected.idle);
            let work = merged(found.rows.iter()).iter().map(|(start, end)| end - start).sum::<Ns>();
            prop_assert_eq!(found.busy, work);
            prop_assert_eq!(found.busy + found.idle_total(), found.total());
        }
    }
}

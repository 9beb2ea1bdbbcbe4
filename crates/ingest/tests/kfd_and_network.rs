//! Page faults, migrations and network cards in rocpd databases: intervals are regions, values are samples of their card.

use rocm_perf_ingest::{Progress, read};
use trace::{Agent, AgentKind, Needs, OptI64, Process, Region, Sample, Source, Thread, Trace};

fn recorded() -> Trace {
    let mut trace = Trace::default();
    let source = trace.add_source(Source::named("run", "rocpd"));
    let guid = trace.strings.intern("00000000-0000-7000-8000-000000000001");
    let process = trace.add_process(Process { guid, ..Process::new(source, 77) });
    let name = trace.strings.intern("main");
    let thread = trace.add_thread(Thread { process, tid: 78, name });
    let card = Agent {
        process,
        kind: AgentKind::Nic,
        name: trace.strings.intern("mlx5_0"),
        absolute_index: OptI64::some(3),
        ..Agent::default()
    };
    let card = trace.add_agent(card);
    // Categories of rocprofv3 and of rocprof-sys.
    for (at, (category, name)) in [
        ("KFD_PAGE_FAULT", "KFD_PAGE_FAULT_READ_FAULT_MIGRATED"),
        ("KFD_PAGE_MIGRATE", "KFD_PAGE_MIGRATE_PAGEFAULT_GPU"),
        ("rocm_kfd_page_migrate", "KFD_PAGE_MIGRATE_PREFETCH"),
        ("ucx", "ucp_put_nbx"),
    ]
    .into_iter()
    .enumerate()
    {
        let (category, name) = (trace.strings.intern(category), trace.strings.intern(name));
        let start = 1000 * at as i64;
        trace.regions.push(Region {
            name,
            category,
            start,
            end: start + 500,
            process,
            thread,
            ..Region::default()
        });
    }
    for (at, value) in [(100, 5.0), (200, 7.0)] {
        let [kind, name, unit] =
            ["ainic", "NIC RDMA TX bytes", "bytes"].map(|text| trace.strings.intern(text));
        let sample =
            Sample { start: at, end: at, kind, name, value, unit, process, agent: card, ..Sample::default() };
        trace.samples.push(sample);
    }
    trace.finish();
    trace
}

#[test]
fn they_are_regions_and_samples_of_the_network_card() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("77_results.db");
    convert::rocpd::write(&recorded(), &path, &convert::rocpd::Options::default()).unwrap();
    let trace = read(&[path], &Needs::everything(), &Progress::default()).unwrap();
    let text = |id| trace.strings.get(id);
    let regions: Vec<_> =
        trace.regions.rows().map(|r| (text(r.category), text(r.name), r.end - r.start)).collect();
    assert_eq!(
        regions,
        [
            ("KFD_PAGE_FAULT", "KFD_PAGE_FAULT_READ_FAULT_MIGRATED", 500),
            ("KFD_PAGE_MIGRATE", "KFD_PAGE_MIGRATE_PAGEFAULT_GPU", 500),
            ("rocm_kfd_page_migrate", "KFD_PAGE_MIGRATE_PREFETCH", 500),
            ("ucx", "ucp_put_nbx", 500),
        ]
    );
    let samples: Vec<_> = trace.samples.rows().map(|s| (s.start, text(s.name), s.value, s.agent)).collect();
    assert_eq!(samples.len(), 2);
    for (sample, expected) in samples.iter().zip([(100, 5.0), (200, 7.0)]) {
        assert_eq!((sample.0, sample.1, sample.2), (expected.0, "NIC RDMA TX bytes", expected.1));
        let card = &trace.agents[sample.3.get().expect("a card")];
        assert_eq!((card.kind, text(card.name)), (AgentKind::Nic, "mlx5_0"));
    }
}

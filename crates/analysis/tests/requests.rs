//! Requests of two servers, compared with the simulator's truth for each.

use rocm_perf_analysis::serving::requests::{Parts, Requests, compute, needs};
use synth::{
    Disaggregated, DisaggregatedOptions, OutputFormat, PartsTruth, generate_disaggregated,
    simulate_disaggregated,
};

fn scenario(name: &str) -> Disaggregated {
    Disaggregated::builtin(name).expect("a scenario of two servers").unwrap()
}

fn same(parts: &Parts, truth: &PartsTruth) -> bool {
    (parts.gpu_ns, parts.transfer_ns, parts.queue_ns, parts.host_ns, parts.not_recorded_ns)
        == (truth.gpu_ns, truth.transfer_ns, truth.queue_ns, truth.host_ns, 0)
}

/// Writes both traces, reads them back and computes the requests.
fn requests(scenario: &Disaggregated, seed: u64) -> Requests {
    let folder = tempfile::tempdir().unwrap();
    let options = DisaggregatedOptions { seed, requests: None };
    let files = generate_disaggregated(scenario, options, folder.path(), OutputFormat::Torch, false).unwrap();
    let paths: Vec<_> = files.into_iter().filter(|file| file.role.is_some()).map(|file| file.path).collect();
    assert_eq!(paths.len(), 2);
    compute(&ingest::read(&paths, &needs(), &ingest::Progress::default()).unwrap())
}

#[test]
fn every_part_of_every_request_is_exact() {
    let scenario = scenario("disaggregated");
    for seed in 1..=8 {
        let options = DisaggregatedOptions { seed, requests: None };
        let truth = simulate_disaggregated(&scenario, options).unwrap().truth;
        let found = requests(&scenario, seed);
        assert_eq!(found.requests.len(), truth.requests.len());
        for (request, known) in found.requests.iter().zip(&truth.requests) {
            assert_eq!(request.id, known.room, "seed {seed}");
            assert_eq!(request.arrival_ns, known.arrival_ns, "seed {seed}, {}", known.room);
            let (first, generation) =
                (request.first_token.as_ref().unwrap(), request.generation.as_ref().unwrap());
            assert_eq!(first.total(), known.first_token_ns, "seed {seed}, {}", known.room);
            assert!(same(first, &known.first_token), "seed {seed}: {first:?} is not {:?}", known.first_token);
            assert_eq!(generation.total(), known.generation_ns, "seed {seed}, {}", known.room);
            assert!(same(generation, &known.generation), "{generation:?} is not {:?}", known.generation);
            assert_eq!(request.token_ns.len() as u64 + 1, known.output_tokens);
            assert_eq!(request.token_ns.iter().sum::<i64>(), known.generation_ns);
        }
        for server in &found.servers {
            let parts = &server.parts;
            let sum = parts.gpu_ns + parts.host_ns + parts.transfer_ns + parts.queue_ns + parts.idle_ns;
            assert_eq!(sum, server.span_ns);
        }
        assert_eq!(found.servers.len(), 2);
        assert!(
            truth.requests.iter().any(|request| request.first_token.queue_ns > 1_000_000),
            "no queue: seed {seed}"
        );
        assert!(found.clocks.pairs.iter().all(|pair| pair.disagreement.is_none()));
    }
}

#[test]
fn clocks_that_do_not_agree_are_refused_with_the_reason() {
    for offset_us in [-5e6, -4e5, 4e5, 5e6] {
        let mut scenario = scenario("disaggregated-clocks");
        scenario.decode.clock_offset_us = offset_us;
        let found = requests(&scenario, 3);
        let pair = &found.clocks.pairs[0];
        let why = pair.disagreement.as_ref().expect("the clocks differ");
        assert!(why.contains("the clocks of the servers do not agree: "), "{why}");
        let offset = (offset_us * 1e3) as i64;
        assert!(pair.at_least_ns.unwrap() <= offset && offset <= pair.at_most_ns.unwrap(), "{pair:?}");
        assert!(found.requests.iter().all(|request| request.first_token.as_ref() == Err(why)));
        // Times on one clock are still known.
        let truth = simulate_disaggregated(&scenario, DisaggregatedOptions { seed: 3, requests: None })
            .unwrap()
            .truth;
        let known = |room: &str| truth.requests.iter().find(|request| request.room == room).unwrap();
        for request in &found.requests {
            assert!(same(request.generation.as_ref().unwrap(), &known(&request.id).generation));
        }
    }
}

#[test]
fn requests_of_a_server_without_a_gpu_trace_are_not_charged_to_its_host() {
    let scenario = scenario("disaggregated");
    let options = DisaggregatedOptions { seed: 5, requests: Some(6) };
    let run = simulate_disaggregated(&scenario, options).unwrap();
    let mut trace = run.prefill;
    let mut decode = run.decode;
    decode.kernels = Default::default();
    decode.memory_copies = Default::default();
    decode.links = Default::default();
    trace.append(decode);
    trace.finish();
    let found = compute(&trace);
    for (request, known) in found.requests.iter().zip(&run.truth.requests) {
        assert!(same(request.first_token.as_ref().unwrap(), &known.first_token));
        let generation = request.generation.as_ref().unwrap();
        assert_eq!(generation.not_recorded_ns, known.generation_ns);
    }
}

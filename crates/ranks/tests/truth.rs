//! Simulated jobs with clocks that are off, one straggler or slow link and lost records: what is found against what is true.

use model::classify::Classifier;
use rocm_perf_ranks::clocks::MemberClock;
use rocm_perf_ranks::{FleetBuilder, Ranks, compute, digest};
use synth::{Faults, Options, Parallelism, Scenario, Simulation, Straggler, simulate};

fn simulated(seed: u64, straggler: Option<&str>, link: Option<&str>) -> Simulation {
    let faults = Faults {
        clock_offset_ms: Some(5.0),
        drift_ppm: Some(20.0),
        stragglers: straggler.map(|text| text.parse::<Straggler>().unwrap()).into_iter().collect(),
        slow_links: link.map(|text| text.parse().unwrap()).into_iter().collect(),
        ..Faults::default()
    };
    let options = Options {
        seed,
        steps: Some(6),
        ranks: Some(16),
        stacks: false,
        parallel: Parallelism { tensor: Some(4), pipeline: Some(2), expert: None },
        lose: vec!["collective=0.02".parse().unwrap()],
        faults,
        ..Options::default()
    };
    simulate(&Scenario::builtin("parallel-training").unwrap(), &options).unwrap()
}

fn ranks(simulation: &Simulation) -> Ranks {
    let classifier = Classifier::builtin();
    let mut fleet = FleetBuilder::default();
    for run in &simulation.runs {
        for digest in digest::of_trace(&run.trace, &classifier, 0) {
            let bytes = digest::encode(&digest);
            fleet.add(digest::decode(&bytes).unwrap());
        }
    }
    compute(fleet.finish())
}

#[test]
fn look() {
    let causes = ["more-work", "larger-kernels", "slower-kernels", "lower-clocks", "data-loader", "gc-pause"];
    for seed in 1..=12u64 {
        let cause = causes[seed as usize % causes.len()];
        let simulation = simulated(seed, Some(&format!("any:{cause}:1.3")), None);
        let found = ranks(&simulation);
        let across = simulation.truth.across_ranks.as_ref().unwrap();
        println!("== seed {seed} {cause}: rank {:?} added {}", across.causes[0].rank, across.causes[0].added_ns);
        println!("members {} meetings {} unmatched {} of {} missing {:?} not joined {:?}", found.fleet.members.len(), found.meetings.all.len(), found.meetings.unmatched, found.meetings.collectives, found.fleet.missing, found.meetings.not_joined);
        for group in &found.fleet.groups {
            println!("  group {} {} {:?}", group.label, group.name, group.members);
        }
        let truth = &simulation.truth.ranks;
        let reference = found.clocks.reference.unwrap() as usize;
        for (member, clock) in found.clocks.members.iter().enumerate() {
            match clock {
                MemberClock::Aligned(line) => {
                    let exact = (truth[member].clock_offset_ns - truth[reference].clock_offset_ns) as f64;
                    println!("  rank {member} offset {:.0} ± {:.0}, exact {exact} diff {:.0}; drift {:.2}±{:.2} exact {:.2}; residual {:.0} n {}", line.offset_ns, line.error_ns, line.offset_ns - exact, line.drift * 1e6, line.drift_error * 1e6, truth[member].clock_drift_ppm - truth[reference].clock_drift_ppm, line.residual_ns, line.points);
                }
                MemberClock::Refused(why) => println!("  rank {member} refused {why}"),
            }
        }
        println!("  step {:?} without {:?}; truth {} without {}", found.delays.step_ns, found.delays.step_without_ns, across.step_time_ns, across.step_time_without_ns);
        println!("  excess {:?}", found.delays.excess_ns.iter().map(|ns| (ns / 1e3) as i64).collect::<Vec<_>>());
        for straggler in &found.delays.stragglers {
            println!("  straggler {} {:?} excess {:.0} {:?} → {:?} {:?}", straggler.member, straggler.cause, straggler.excess_ns, straggler.step_ns, straggler.step_without_ns, straggler.evidence);
        }
        for one in &found.delays.propagated {
            println!("  propagated {one:?}");
        }
        for link in &found.delays.slow_links { println!("  slow {link:?}"); }
    }
}

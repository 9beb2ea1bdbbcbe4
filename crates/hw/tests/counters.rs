//! Checks the counter tables against the profiler's own definitions, if those are available.

use rocm_perf_hw::counters::{self, CounterKind, RawNeed};
use std::collections::BTreeSet;

fn shared(name: &str) -> Option<String> {
    Some(std::fs::read_to_string(testing::data(name)?).unwrap())
}

fn token(need: &RawNeed) -> String {
    if need.accumulate { format!("{}:acc", need.counter) } else { need.counter.clone() }
}

#[test]
fn the_catalogue_has_every_counter_of_the_definitions_and_no_other() {
    let Some(text) = shared("counters.tsv") else { return };
    let mut listed: BTreeSet<(&str, &str)> = BTreeSet::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let (arch, block, name, event) = (cells[0], cells[1], cells[2], cells[3]);
        listed.insert((arch, name));
        let counter = counters::find(arch, name).unwrap_or_else(|| panic!("{arch} {name} is missing"));
        assert_eq!(counter.meaning, cells[8], "{arch} {name}");
        match &counter.kind {
            CounterKind::Raw { block: ours, event: number } => {
                assert_eq!((ours.as_str(), number.to_string().as_str()), (block, event), "{arch} {name}");
            }
            CounterKind::Derived { formula, extra } => {
                assert!(!extra && cells[4] == "1", "{arch} {name}");
                assert_eq!(formula.replace(' ', ""), cells[5].replace(' ', ""), "{arch} {name}");
                let theirs: BTreeSet<String> = cells[6]
                    .split(';')
                    .filter(|need| !need.is_empty())
                    .map(|need| need.replace(":acc_HIGH_RES", ":acc").replace(":acc_LOW_RES", ":acc"))
                    .collect();
                let ours: BTreeSet<String> = counter.needs.iter().map(token).collect();
                assert_eq!(ours, theirs, "{arch} {name}");
                for part in cells[7].split(',').filter(|part| !part.is_empty()) {
                    let (block, cost) = part.split_once(':').unwrap();
                    let ours: u32 =
                        counter.needs.iter().filter(|need| need.block == block).map(RawNeed::cost).sum();
                    assert_eq!(ours.to_string(), cost, "{arch} {name} {block}");
                }
            }
        }
    }
    assert_eq!(listed.len(), 1986);
    for arch in ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100"] {
        for counter in counters::catalogue(arch).unwrap().iter() {
            let ours_alone = matches!(counter.kind, CounterKind::Derived { extra: true, .. });
            assert!(ours_alone || listed.contains(&(arch, counter.name.as_str())), "{arch} {}", counter.name);
        }
    }
}

#[test]
fn the_registers_are_those_of_the_definitions() {
    let Some(text) = shared("counter_slots.tsv") else { return };
    let mut rows = 0;
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        assert_eq!(counters::slots(cells[0]).unwrap()[cells[1]].to_string(), cells[2], "{line}");
        rows += 1;
    }
    let ours: usize = ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200"]
        .map(|arch| counters::slots(arch).unwrap().len())
        .iter()
        .sum();
    assert_eq!(ours, rows);
}

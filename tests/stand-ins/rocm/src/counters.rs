//! Counter values: the same for the same kernel, counter and architecture; waves are exact.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use hw::counters::{CounterKind, RawNeed};

use crate::log::Kernel;
use crate::machine::Product;

/// The value of a counter for a dispatch, summed over all instances.
pub fn value(counter: &str, kernel: &Kernel, part: &Product) -> f64 {
    let waves = waves(kernel, part) as f64;
    let base = counter
        .trim_end_matches("_sum")
        .trim_end_matches("_max")
        .trim_end_matches("_avr")
        .trim_end_matches("_min");
    let duration = (kernel.when.end - kernel.when.start).max(1) as f64;
    match base {
        "SQ_WAVES" => waves,
        // Cycles of the clock on every XCC: the only values that follow the measured time.
        "GRBM_GUI_ACTIVE" | "GRBM_COUNT" => {
            (duration * f64::from(part.clock_mhz) / 1000.0).round() * f64::from(part.xccs)
        }
        "SQ_WAVE_CYCLES" | "SQ_BUSY_CYCLES" | "SQ_BUSY_CU_CYCLES" => waves * 400.0,
        "TCC_REQ" => value("TCC_HIT", kernel, part) + value("TCC_MISS", kernel, part),
        "FETCH_SIZE" | "WRITE_SIZE" => waves * f64::from(part.wave_size) * 4.0 / 1024.0,
        _ => waves * (1 + hash(&(base, &kernel.symbol, part.arch)) % 64) as f64,
    }
}

/// Waves of a dispatch: whole workgroups, each a whole number of waves.
pub fn waves(kernel: &Kernel, part: &Product) -> u64 {
    let groups: u64 =
        kernel.grid.iter().zip(kernel.workgroup).map(|(g, w)| u64::from(g.div_ceil(w.max(1)))).product();
    let items: u64 = kernel.workgroup.iter().map(|w| u64::from(*w)).product();
    groups * items.div_ceil(u64::from(part.wave_size))
}

/// A value split over the XCCs, as one row each: whole numbers that sum to it.
pub fn instances(value: f64, part: &Product) -> Vec<f64> {
    let count = f64::from(part.xccs.max(1));
    let each = (value / count).floor();
    let mut rows = vec![each; part.xccs.max(1) as usize];
    rows[0] += value - each * count;
    rows
}

/// Registers of a kernel: made from its name, so they stay the same.
pub fn registers(symbol: &str) -> (i64, i64, i64) {
    let hash = hash(&symbol);
    (8 * (1 + (hash % 12) as i64), 0, 16 * (1 + (hash / 12 % 6) as i64))
}

/// Register counts as the profiler records them: on gfx950 it uses an older register file, like all releases
/// before mid-2026, and halves the total.
pub fn recorded_registers(symbol: &str, arch: &str) -> (i64, i64, i64) {
    match registers(symbol) {
        (vgpr, agpr, sgpr) if arch == "gfx950" => ((vgpr + agpr) / 2, 0, sgpr),
        right => right,
    }
}

/// A hash that is the same on every run.
pub fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// Whether the profiler defines a counter on an architecture.
pub fn exists(counter: &str, arch: &str) -> bool {
    let own = |kind: &CounterKind| !matches!(kind, CounterKind::Derived { extra: true, .. });
    hw::counters::find(arch, counter).is_some_and(|known| own(&known.kind))
}

/// Every counter of an architecture.
pub fn all(arch: &str) -> Vec<&'static str> {
    let catalogue = hw::counters::catalogue(arch);
    let names = catalogue.into_iter().flat_map(|c| c.iter()).map(|counter| counter.name.as_str());
    names.filter(|name| exists(name, arch)).collect()
}

/// The block with too few registers for the counters of one pass, with the number needed and available.
pub fn over_limit(counters: &[&str], arch: &str) -> Option<(String, u32, u32)> {
    let slots = hw::counters::slots(arch)?;
    let known = counters.iter().filter_map(|name| hw::counters::find(arch, name));
    let needs: BTreeSet<&RawNeed> = known.flat_map(|counter| &counter.needs).collect();
    let mut used: BTreeMap<&str, u32> = BTreeMap::new();
    for need in needs {
        *used.entry(need.block.as_str()).or_default() += need.cost();
    }
    let over = used.into_iter().find(|(block, used)| slots.get(block).is_some_and(|slots| used > slots));
    over.map(|(block, used)| (block.into(), used, slots[block]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::When;
    use crate::machine::part_of;

    fn kernel() -> Kernel {
        Kernel {
            symbol: "k".into(),
            when: When { start: 0, end: 1000, ..When::default() },
            dispatch: 1,
            device: 0,
            stream: 0,
            grid: [1000, 2, 1],
            workgroup: [100, 1, 1],
            static_lds: 0,
            dynamic_lds: 0,
        }
    }

    #[test]
    fn waves_are_true_and_values_repeat() {
        let (part, kernel) = (part_of("gfx942"), kernel());
        // Ten workgroups in x, two in y, each of 100 work-items: two waves of 64.
        assert_eq!(value("SQ_WAVES", &kernel, &part), 40.0);
        assert_eq!(value("SQ_WAVES", &kernel, &part_of("gfx1100")), 80.0);
        assert_eq!(value("TCC_HIT_sum", &kernel, &part), value("TCC_HIT_sum", &kernel, &part));
        assert_eq!(instances(43.0, &part).iter().sum::<f64>(), 43.0);
        assert_eq!(instances(43.0, &part).len(), 8);
    }

    #[test]
    fn registers_of_a_block_run_out() {
        assert!(exists("TCC_EA0_RDREQ_sum", "gfx942") && !exists("TCC_EA_RDREQ_sum", "gfx942"));
        assert_eq!(over_limit(&["FETCH_SIZE", "WRITE_SIZE"], "gfx90a"), None);
        assert_eq!(over_limit(&["FETCH_SIZE", "WRITE_SIZE"], "gfx942").map(|o| o.0), Some("TCC".into()));
    }
}

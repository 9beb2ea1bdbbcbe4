//! Where a kernel stands under the roofs: the share of each ceiling that it reaches, and which one binds.

use std::collections::BTreeMap;

use hw::peaks::Peaks;
use hw::{DataType, Level, Pipe};

/// A kernel that reaches this share of a ceiling is bound by it.
const BOUND_PCT: f64 = 60.0;
/// A kernel below this share of every ceiling is limited by something other than rates.
const FAR_PCT: f64 = 30.0;

/// What a kernel did in all its dispatches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// Operations.
    pub flops: BTreeMap<(DataType, Pipe), f64>,
    /// Bytes moved.
    pub bytes: BTreeMap<Level, f64>,
    /// Operations that were not counted, with the counters they need.
    pub missing_flops: BTreeMap<(DataType, Pipe), Vec<String>>,
    /// Bytes that were not counted, with the counters they need.
    pub missing_bytes: BTreeMap<Level, Vec<String>>,
}

impl Work {
    /// All operations, or the counters that were not collected.
    pub fn total_flops(&self) -> Result<f64, Vec<String>> {
        if self.missing_flops.is_empty() && !self.flops.is_empty() {
            return Ok(self.flops.values().sum());
        }
        let mut missing: Vec<String> = self.missing_flops.values().flatten().cloned().collect();
        missing.sort();
        missing.dedup();
        Err(missing)
    }

    /// The counted operations if some counters are missing: a lower bound.
    pub fn flops_at_least(&self) -> Option<f64> {
        let some = !self.missing_flops.is_empty() && !self.flops.is_empty();
        some.then(|| self.flops.values().sum()).filter(|flops| *flops > 0.0)
    }

    /// Bytes at a level, or the counters that were not collected.
    pub fn level(&self, level: Level) -> Result<f64, Vec<String>> {
        self.bytes
            .get(&level)
            .copied()
            .ok_or_else(|| self.missing_bytes.get(&level).cloned().unwrap_or_default())
    }

    /// Operations per byte at a level.
    pub fn intensity(&self, level: Level) -> Option<f64> {
        let (flops, bytes) = (self.total_flops().ok()?, self.level(level).ok()?);
        (bytes > 0.0).then(|| flops / bytes)
    }
}

/// What limits a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The arithmetic units.
    Compute,
    /// A level of memory.
    Memory(Level),
    /// No ceiling is near: latency, occupancy, or too little work.
    Latency,
}

impl Bound {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Bound::Compute => "compute",
            Bound::Memory(level) => level.name(),
            Bound::Latency => "latency",
        }
    }
}

/// A kernel under the roofs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placed {
    /// Share of the compute ceiling: the time its operations take at their peaks, over its time.
    pub compute_pct: Option<f64>,
    /// The compute share at the peaks that libraries reach; `None` if none is known for its types.
    pub achievable_pct: Option<f64>,
    /// The compute ceiling for its mix of types, in operations per second: a weighted harmonic mean.
    pub compute_peak: Option<f64>,
    /// Share of the bandwidth of each level.
    pub level_pct: BTreeMap<Level, f64>,
    /// The nearest ceiling and the share of it, if known.
    pub nearest: Option<(Bound, f64)>,
    /// What limits it, if that is certain.
    pub bound: Option<Bound>,
    /// Whether the bound is only the nearest ceiling: not far from it, but not close enough to be sure.
    pub partly: bool,
}

/// A kernel or an op, with the work of all its calls and where that stands under the roofs.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedWork {
    /// Name as the trace has it.
    pub name: String,
    /// Dispatches of a kernel, calls of an op.
    pub dispatches: i64,
    /// GPU time of all of them.
    pub total_ns: i64,
    /// Operations and bytes.
    pub work: Work,
    /// Where it stands.
    pub placed: Placed,
}

impl PlacedWork {
    /// Its time; absent if the source has none.
    pub fn seconds(&self) -> Option<f64> {
        (self.total_ns > 0).then_some(self.total_ns as f64 / 1e9)
    }

    /// Billions of operations per second, if all were counted.
    pub fn gflops(&self) -> Option<f64> {
        Some(self.work.total_flops().ok()? / self.seconds()? / 1e9)
    }

    /// Billions of bytes per second to and from memory, if they were counted.
    pub fn gbps(&self) -> Option<f64> {
        Some(self.work.level(Level::Hbm).ok()? / self.seconds()? / 1e9)
    }

    /// What limits it, as text, if known.
    pub fn bound(&self) -> Option<String> {
        let word = self.placed.bound?.word();
        Some(if self.placed.partly { format!("towards {word}") } else { word.to_owned() })
    }
}

/// Places a kernel that took `total_ns` over all its dispatches.
pub fn place(work: &Work, total_ns: i64, peaks: &Peaks) -> Placed {
    let mut placed = Placed::default();
    if total_ns <= 0 {
        return placed;
    }
    let seconds = total_ns as f64 / 1e9;
    // Operations of several types share the time: the times at each type's peak add up.
    let at_peak = |(&(data_type, pipe), &flops): (&(DataType, Pipe), &f64)| {
        if flops == 0.0 { Some(0.0) } else { peaks.flops(pipe, data_type).map(|peak| flops / peak) }
    };
    let counted: Option<f64> = work.flops.iter().map(at_peak).sum();
    placed.compute_pct = counted.filter(|_| !work.flops.is_empty()).map(|counted| 100.0 * counted / seconds);
    let operations: f64 = work.flops.values().sum();
    placed.compute_peak = counted.filter(|counted| *counted > 0.0).map(|counted| operations / counted);
    placed.achievable_pct = at_achievable(work, peaks).map(|counted| 100.0 * counted / seconds);
    for (&level, &bytes) in &work.bytes {
        if let Some(peak) = peaks.bandwidth(level) {
            placed.level_pct.insert(level, 100.0 * bytes / seconds / peak);
        }
    }
    // A kernel that computed nothing is near no ceiling.
    let compute =
        placed.compute_pct.filter(|_| placed.compute_peak.is_some() || !placed.level_pct.is_empty());
    let compute = compute.map(|share| (Bound::Compute, share));
    let levels = placed.level_pct.iter().map(|(&level, &share)| (Bound::Memory(level), share));
    placed.nearest = compute.into_iter().chain(levels).max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((bound, share)) = placed.nearest {
        // A kernel near one ceiling is bound by it; to know that it is far from all takes every counter.
        let complete = work.missing_flops.is_empty()
            && work.missing_bytes.is_empty()
            && placed.compute_pct.is_some()
            && placed.level_pct.contains_key(&Level::Hbm);
        if share >= BOUND_PCT {
            placed.bound = Some(bound);
        } else if complete {
            placed.partly = share >= FAR_PCT;
            placed.bound = Some(if placed.partly { bound } else { Bound::Latency });
        }
    }
    placed
}

/// Seconds that the operations take at the peaks that libraries reach, or at data sheet peaks otherwise;
/// `None` if no type of the work has a library peak.
fn at_achievable(work: &Work, peaks: &Peaks) -> Option<f64> {
    let mut known = false;
    let mut seconds = 0.0;
    for (&(data_type, pipe), &flops) in work.flops.iter().filter(|(_, flops)| **flops > 0.0) {
        let reached = peaks.achievable.get(&data_type).filter(|_| pipe == Pipe::Matrix);
        known |= reached.is_some();
        seconds += flops / reached.map(|peak| peak.per_second).or_else(|| peaks.flops(pipe, data_type))?;
    }
    known.then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hw::peaks::{Setup, peaks};
    use proptest::prelude::*;

    fn mi300x() -> Peaks {
        peaks(hw::arch::find("gfx942").unwrap(), &Setup { product: Some("MI300X"), ..Setup::default() })
    }

    fn work(fp16_matrix: f64, hbm: f64) -> Work {
        Work {
            flops: BTreeMap::from([((DataType::Fp16, Pipe::Matrix), fp16_matrix)]),
            bytes: BTreeMap::from([(Level::Hbm, hbm)]),
            ..Work::default()
        }
    }

    #[test]
    fn the_nearest_ceiling_binds() {
        let peaks = mi300x();
        // A millisecond at 1307.4 TFLOP/s and 5.3 TB/s allows 1.3074e12 operations and 5.3e9 bytes.
        let compute = place(&work(1.0e12, 1e9), 1_000_000, &peaks);
        assert_eq!(compute.bound, Some(Bound::Compute));
        assert!((compute.compute_pct.unwrap() - 76.49).abs() < 0.01);
        let memory = place(&work(1e9, 4.24e9), 1_000_000, &peaks);
        assert_eq!(memory.bound, Some(Bound::Memory(Level::Hbm)));
        assert!((memory.level_pct[&Level::Hbm] - 80.0).abs() < 1e-9);
        let neither = place(&work(1e9, 1e8), 1_000_000, &peaks);
        assert_eq!(neither.bound, Some(Bound::Latency));
        let partly = place(&work(1e9, 2.12e9), 1_000_000, &peaks);
        assert_eq!((partly.bound, partly.partly), (Some(Bound::Memory(Level::Hbm)), true));
    }

    #[test]
    fn types_share_the_time() {
        let peaks = mi300x();
        let mut mixed = work(1307.4e9 / 2.0, 0.0);
        mixed.flops.insert((DataType::Fp64, Pipe::Vector), 81.7e9 / 2.0);
        let placed = place(&mixed, 1_000_000, &peaks);
        assert!((placed.compute_pct.unwrap() - 100.0).abs() < 0.1, "half the time at each peak is all of it");
    }

    #[test]
    fn the_peak_of_a_mix_is_the_harmonic_mean_of_its_types() {
        let peaks = mi300x();
        let mut mixed = work(3e12, 0.0);
        mixed.flops.insert((DataType::Fp8, Pipe::Matrix), 1e12);
        let (fp16, fp8) = (
            peaks.flops(Pipe::Matrix, DataType::Fp16).unwrap(),
            peaks.flops(Pipe::Matrix, DataType::Fp8).unwrap(),
        );
        let placed = place(&mixed, 10_000_000, &peaks);
        let mean = 1.0 / (0.75 / fp16 + 0.25 / fp8);
        assert!((placed.compute_peak.unwrap() / mean - 1.0).abs() < 1e-12);
        // 4e12 operations in 10 ms of that mean.
        assert!((placed.compute_pct.unwrap() - 100.0 * 4e14 / mean).abs() < 1e-9);
        // 654 and 1273 TFLOP/s are reached.
        let reached = 100.0 * (3.0 / 654.0 + 1.0 / 1273.0) / 0.01;
        assert!((placed.achievable_pct.unwrap() - reached).abs() < 1e-9);
        assert_eq!(place(&work(0.0, 1e9), 1_000_000, &peaks).compute_peak, None, "no operations, no ceiling");
    }

    #[test]
    fn without_all_counters_nothing_is_called_far_from_its_roofs() {
        let mut lacking = work(1e9, 1e8);
        lacking
            .missing_flops
            .insert((DataType::Fp8, Pipe::Matrix), vec!["SQ_INSTS_VALU_MFMA_MOPS_F8".into()]);
        assert_eq!(place(&lacking, 1_000_000, &mi300x()).bound, None);
        assert_eq!(lacking.total_flops(), Err(vec!["SQ_INSTS_VALU_MFMA_MOPS_F8".into()]));
        lacking.bytes.insert(Level::Hbm, 5e9);
        assert_eq!(place(&lacking, 1_000_000, &mi300x()).bound, Some(Bound::Memory(Level::Hbm)));
        // It may be bound by a level that was not counted.
        let mut lacking = work(1e9, 1e8);
        lacking.missing_bytes.insert(Level::Lds, vec!["SQ_LDS_IDX_ACTIVE".into()]);
        assert_eq!(place(&lacking, 1_000_000, &mi300x()).bound, None);
        assert_eq!(place(&work(1e9, 1e8), 0, &mi300x()), Placed::default());
        assert_eq!(place(&work(0.0, 1e8), 1_000_000, &Peaks::default()).nearest, None);
    }

    proptest! {
        #[test]
        fn the_share_of_a_ceiling_is_that_of_the_roof_line(flops in 1.0..1e13f64, bytes in 1.0..1e11f64, ns in 1i64..1_000_000_000) {
            let peaks = mi300x();
            let placed = place(&work(flops, bytes), ns, &peaks);
            // The roof line: the lower of the peak and intensity times bandwidth.
            let (peak, bandwidth) = (peaks.flops(Pipe::Matrix, DataType::Fp16).unwrap(), peaks.bandwidth(Level::Hbm).unwrap());
            let roof = peak.min(flops / bytes * bandwidth);
            let attained = flops / (ns as f64 / 1e9);
            let expected = 100.0 * attained / roof;
            let (_, share) = placed.nearest.unwrap();
            prop_assert!((share - expected).abs() <= 1e-9 * expected);
        }
    }
}

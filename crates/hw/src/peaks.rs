//! Peak rates of a GPU: operations per second by data type, bytes per second by memory level.

use crate::arch::Arch;
use crate::product::Product;
use crate::rates::{DataType, Level, Pipe};
use std::collections::BTreeMap;
use std::fmt;

/// What is known about the GPU; missing values come from the product.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup<'a> {
    /// The product's name, as printed by any tool.
    pub product: Option<&'a str>,
    /// Compute partition mode: SPX, DPX, TPX, QPX, CPX.
    pub compute_partition: Option<&'a str>,
    /// Memory partition mode: NPS1, NPS2, NPS4, NPS8.
    pub memory_partition: Option<&'a str>,
    /// Compute units of the logical device.
    pub cus: Option<u32>,
    /// Memory of the device in bytes, which distinguishes products with the same compute units.
    pub memory_bytes: Option<u64>,
    /// XCCs of the logical device.
    pub xccs: Option<u32>,
    /// Engine clock in MHz.
    pub clock_mhz: Option<f64>,
    /// Memory bandwidth of the logical device in GB/s.
    pub memory_gbps: Option<f64>,
}

/// One peak and its formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Peak {
    /// Operations or bytes per second.
    pub per_second: f64,
    /// Where it comes from, in words.
    pub formula: String,
}

/// The peaks of one logical device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Peaks {
    /// The device they were computed for, in words.
    pub device: String,
    /// Compute units of the logical device, if known.
    pub compute_units: Option<u32>,
    /// The engine clock of the peaks, if known.
    pub clock_mhz: Option<f64>,
    /// Vector operations per second.
    pub vector: BTreeMap<DataType, Peak>,
    /// Vector operations per second with packed instructions, if different.
    pub packed: BTreeMap<DataType, Peak>,
    /// Matrix operations per second.
    pub matrix: BTreeMap<DataType, Peak>,
    /// Matrix operations per second that the vendor's libraries reach.
    pub achievable: BTreeMap<DataType, Peak>,
    /// Bytes per second.
    pub bytes: BTreeMap<Level, Peak>,
    /// What could not be computed, and why.
    pub absent: Vec<String>,
}

impl Peaks {
    /// The peak of a data type on a pipe.
    pub fn flops(&self, pipe: Pipe, data_type: DataType) -> Option<f64> {
        let table = if pipe == Pipe::Vector { &self.vector } else { &self.matrix };
        table.get(&data_type).map(|peak| peak.per_second)
    }

    /// The bandwidth of a level.
    pub fn bandwidth(&self, level: Level) -> Option<f64> {
        self.bytes.get(&level).map(|peak| peak.per_second)
    }

    /// Replaces a bandwidth, for instance by a measured one.
    pub fn set_bandwidth(&mut self, level: Level, per_second: f64, formula: impl fmt::Display) {
        self.bytes.insert(level, Peak { per_second, formula: formula.to_string() });
    }

    /// Replaces an arithmetic peak, for instance by a measured one.
    pub fn set_flops(
        &mut self,
        pipe: Pipe,
        data_type: DataType,
        per_second: f64,
        formula: impl fmt::Display,
    ) {
        let table = if pipe == Pipe::Vector { &mut self.vector } else { &mut self.matrix };
        table.insert(data_type, Peak { per_second, formula: formula.to_string() });
    }
}

/// Computes the peaks of a device; unknown ones are listed as absent.
pub fn peaks(arch: &Arch, setup: &Setup) -> Peaks {
    let setup = &Setup { product: setup.product.filter(|name| !name.trim().is_empty()), ..setup.clone() };
    let product = product_of(arch, setup);
    let mut peaks = Peaks { device: describe(arch, product, setup), ..Peaks::default() };
    if let (Some(asked), None) = (setup.product, product) {
        peaks.absent.push(format!("`{asked}` is not a known product with {}", arch.name));
    }
    let xccs = xccs_of(product, setup, &mut peaks.absent);
    let cus = setup
        .cus
        .or_else(|| product.map(|product| product.cus.saturating_mul(xccs) / product.total_xccs().max(1)));
    let clock = setup.clock_mhz.filter(|mhz| *mhz > 0.0).or_else(|| product.map(|product| product.clock_mhz));

    (peaks.compute_units, peaks.clock_mhz) = (cus, clock);
    match (cus, clock) {
        (Some(cus), Some(mhz)) => {
            let rates = &arch.facts.flops_per_clock;
            let per_cu = |rates: &BTreeMap<DataType, u32>| -> BTreeMap<DataType, Peak> {
                rates
                    .iter()
                    .map(|(&data_type, &rate)| (data_type, per_clock(rate, cus, "CUs", mhz)))
                    .collect()
            };
            peaks.vector = per_cu(&rates.vector);
            peaks.packed = per_cu(&rates.packed);
            peaks.matrix = per_cu(&rates.matrix);
            let bytes = &arch.facts.bytes_per_clock;
            if let Some(rate) = bytes.l1_per_cu {
                peaks.bytes.insert(Level::L1, per_clock(rate, cus, "CUs", mhz));
            }
            if let Some(rate) = bytes.lds_per_cu {
                peaks.bytes.insert(Level::Lds, per_clock(rate, cus, "CUs", mhz));
            }
            let channels = product.and_then(|product| product.l2_channels_per_xcc);
            if let (Some(rate), Some(channels)) = (bytes.l2_per_channel, channels) {
                peaks
                    .bytes
                    .insert(Level::L2, per_clock(rate, channels.saturating_mul(xccs), "channels", mhz));
            }
        }
        _ => peaks.absent.push("compute units or clock unknown: give the product, or both".to_owned()),
    }
    memory(product, setup, &mut peaks);
    if let Some(product) = product {
        let share = f64::from(xccs) / f64::from(product.total_xccs().max(1));
        for (&data_type, &tflops) in &product.achievable_tflops {
            let formula = format!("{tflops} TFLOP/s measured by the vendor with its own libraries");
            peaks.achievable.insert(data_type, Peak { per_second: tflops * 1e12 * share, formula });
        }
    }
    peaks
}

/// The named product, or the one with that many compute units; identical products are interchangeable.
fn product_of<'a>(arch: &'a Arch, setup: &Setup) -> Option<&'a Product> {
    if let Some(product) = setup.product.and_then(|name| arch.product(name)) {
        return Some(product);
    }
    let cus = setup.cus.or(setup.product.is_none().then_some(0));
    let memory_fits = |product: &Product| {
        // Vendors count in GB, and drivers report that number in GiB, minus what firmware keeps.
        let ratio = |bytes: u64| bytes as f64 / (product.memory_gb * 1_073_741_824.0);
        setup.memory_bytes.is_none_or(|bytes| (0.9..1.05).contains(&ratio(bytes)))
    };
    let fits = |product: &&Product| {
        cus.is_some_and(|cus| cus == 0 || product.cus == cus) && (cus == Some(0) || memory_fits(product))
    };
    let mut candidates = arch.products.iter().filter(fits);
    let first = candidates.next()?;
    let same = |other: &Product| {
        (other.cus, other.clock_mhz, other.memory_gbps) == (first.cus, first.clock_mhz, first.memory_gbps)
    };
    candidates.all(same).then_some(first)
}

/// XCCs of a device, if known.
pub fn xccs(arch: &Arch, setup: &Setup) -> Option<u32> {
    let setup = &Setup { product: setup.product.filter(|name| !name.trim().is_empty()), ..setup.clone() };
    let product = product_of(arch, setup);
    let given = setup.xccs.filter(|&xccs| xccs > 0);
    given.or_else(|| product.map(|_| xccs_of(product, setup, &mut Vec::new())))
}

/// XCCs of the logical device.
fn xccs_of(product: Option<&Product>, setup: &Setup, absent: &mut Vec<String>) -> u32 {
    let whole = product.map_or(1, Product::total_xccs);
    if let Some(xccs) = setup.xccs.filter(|&xccs| xccs > 0) {
        return xccs;
    }
    // A partition has its share of the compute units.
    let by_cus = || {
        let (product, cus) = product.zip(setup.cus)?;
        // A trace may name any number of compute units.
        let (all, cus) = (u64::from(product.cus), u64::from(cus));
        let is_share = |xccs: u32| all * u64::from(xccs) == cus * u64::from(product.total_xccs());
        product.xccs.values().copied().find(|&xccs| is_share(xccs))
    };
    let Some(mode) = setup.compute_partition else { return by_cus().unwrap_or(whole) };
    let mode = mode.to_ascii_uppercase();
    match product.and_then(|product| product.xccs.get(mode.as_str())) {
        Some(&xccs) => xccs,
        None if matches!(mode.as_str(), "NA" | "N/A" | "") => by_cus().unwrap_or(whole),
        None if mode == "SPX" => whole,
        None => {
            absent.push(format!("unknown partition mode `{mode}` for this GPU; peaks are of the whole GPU"));
            whole
        }
    }
}

/// Memory and Infinity Cache: shared by the XCCs, divided only by memory partitions.
fn memory(product: Option<&Product>, setup: &Setup, peaks: &mut Peaks) {
    let parts = match setup.memory_partition.map(str::to_ascii_uppercase).as_deref() {
        None | Some("NA" | "N/A" | "") => 1,
        Some(mode) => match mode.strip_prefix("NPS").and_then(|parts| parts.parse().ok()) {
            Some(parts @ 1..=8u32) => parts,
            _ => {
                peaks.absent.push(format!("unknown memory mode `{mode}`; bandwidth is of the whole GPU"));
                1
            }
        },
    };
    let share = |gbps: f64| {
        let formula = if parts == 1 { format!("{gbps} GB/s") } else { format!("{gbps} GB/s ÷ {parts}") };
        Peak { per_second: gbps * 1e9 / f64::from(parts), formula }
    };
    match (setup.memory_gbps, product) {
        (Some(gbps), _) => peaks.set_bandwidth(Level::Hbm, gbps * 1e9, format!("{gbps} GB/s as given")),
        (None, Some(product)) => {
            peaks.bytes.insert(Level::Hbm, share(product.memory_gbps));
        }
        (None, None) => {
            peaks.absent.push("memory bandwidth unknown: give the product, or the bandwidth".to_owned())
        }
    }
    if let Some(gbps) = product.and_then(|product| product.mall_gbps) {
        peaks.bytes.insert(Level::Mall, share(gbps));
    }
}

fn per_clock(rate: u32, units: u32, unit: &str, mhz: f64) -> Peak {
    let per_second = f64::from(rate) * f64::from(units) * mhz * 1e6;
    Peak { per_second, formula: format!("{rate} per clock × {units} {unit} × {mhz} MHz") }
}

fn describe(arch: &Arch, product: Option<&Product>, setup: &Setup) -> String {
    let mut text =
        product.map_or_else(|| arch.name.clone(), |product| format!("{} ({})", product.name, arch.name));
    for mode in [setup.compute_partition, setup.memory_partition].into_iter().flatten() {
        if !mode.is_empty() && !mode.eq_ignore_ascii_case("na") {
            text.push(' ');
            text.push_str(&mode.to_ascii_uppercase());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::find;

    fn tera(arch: &str, product: &str, pipe: Pipe, data_type: DataType) -> Option<f64> {
        let setup = Setup { product: Some(product), ..Setup::default() };
        peaks(find(arch).unwrap(), &setup).flops(pipe, data_type).map(|peak| (peak / 1e11).round() / 10.0)
    }

    #[test]
    fn a_trace_with_billions_of_compute_units_ended_the_program() {
        let arch = find("gfx942").unwrap();
        let setup = Setup { product: Some("MI300X"), cus: Some(u32::MAX), ..Setup::default() };
        assert_eq!(
            xccs_of(product_of(arch, &Setup { cus: None, ..setup.clone() }), &setup, &mut Vec::new()),
            8
        );
        assert!(peaks(arch, &Setup { xccs: Some(u32::MAX), cus: None, ..setup }).compute_units.is_some());
    }

    #[test]
    fn peaks_are_those_of_the_data_sheets() {
        use DataType::*;
        use Pipe::*;
        let cases = [
            ("gfx908", "MI100", Vector, Fp32, 23.1),
            ("gfx908", "MI100", Matrix, Fp16, 184.6),
            ("gfx90a", "MI210", Vector, Fp64, 22.6),
            ("gfx90a", "MI210", Matrix, Fp16, 181.0),
            ("gfx90a", "MI250X", Matrix, Fp64, 47.9),
            ("gfx942", "MI300A", Matrix, Bf16, 980.6),
            ("gfx942", "MI300X", Vector, Fp32, 163.4),
            ("gfx942", "MI300X", Matrix, Xf32, 653.7),
            ("gfx942", "MI300X", Matrix, Fp16, 1307.4),
            ("gfx942", "MI300X", Matrix, Fp8, 2614.9),
            ("gfx950", "MI350X", Matrix, Fp16, 2306.9),
            ("gfx950", "MI355X", Matrix, Fp64, 78.6),
            ("gfx950", "MI355X", Matrix, Fp8, 5033.2),
            ("gfx950", "MI355X", Matrix, Fp4, 10066.3),
            ("gfx1100", "RX 7900 XTX", Vector, Fp32, 61.4),
        ];
        for (arch, product, pipe, data_type, expected) in cases {
            assert_eq!(tera(arch, product, pipe, data_type), Some(expected), "{product} {data_type}");
        }
        assert_eq!(tera("gfx950", "MI355X", Matrix, Xf32), None);
    }

    #[test]
    fn an_unnamed_gpu_was_unknown_though_compute_units_and_memory_tell_it() {
        let device = |memory_bytes| {
            let setup = Setup { cus: Some(304), memory_bytes, ..Setup::default() };
            peaks(find("gfx942").unwrap(), &setup).device
        };
        assert!(device(Some(206_141_652_992)).contains("MI300X"), "{}", device(Some(206_141_652_992)));
        assert!(device(Some(274_877_906_944)).contains("MI325X"), "{}", device(Some(274_877_906_944)));
        assert!(!device(None).contains("MI3"), "compute units alone leave two: {}", device(None));
    }

    #[test]
    fn bandwidths_are_those_of_the_data_sheets() {
        let of = |arch: &str, product: &str, level| {
            let setup = Setup { product: Some(product), ..Setup::default() };
            peaks(find(arch).unwrap(), &setup).bandwidth(level).map(|peak| (peak / 1e11).round() / 10.0)
        };
        assert_eq!(of("gfx942", "MI300X", Level::L2), Some(34.4));
        assert_eq!(of("gfx90a", "MI210", Level::L2), Some(7.0));
        assert_eq!(of("gfx950", "MI355X", Level::Hbm), Some(8.0));
        assert_eq!(of("gfx950", "MI355X", Level::Mall), None);
        assert_eq!(of("gfx942", "MI300X", Level::Mall), Some(17.2));
    }

    #[test]
    fn partitions_take_their_share() {
        let arch = find("gfx942").unwrap();
        let whole = peaks(arch, &Setup { product: Some("MI300X"), ..Setup::default() });
        let setup = Setup {
            product: Some("MI300X"),
            compute_partition: Some("CPX"),
            memory_partition: Some("NPS4"),
            ..Setup::default()
        };
        let part = peaks(arch, &setup);
        let fp16 = |peaks: &Peaks| peaks.flops(Pipe::Matrix, DataType::Fp16).unwrap();
        assert!((fp16(&whole) / fp16(&part) - 8.0).abs() < 1e-9);
        assert!(
            (whole.bandwidth(Level::Hbm).unwrap() / part.bandwidth(Level::Hbm).unwrap() - 4.0).abs() < 1e-9
        );
        assert!(
            (whole.bandwidth(Level::L2).unwrap() / part.bandwidth(Level::L2).unwrap() - 8.0).abs() < 1e-9
        );
        assert_eq!(part.device, "MI300X (gfx942) CPX NPS4");
        assert!(part.absent.is_empty());
        // Compute units show the partition if its mode is not recorded.
        let by_cus = Setup { product: Some("MI300X"), cus: Some(38), ..Setup::default() };
        assert_eq!(xccs(arch, &by_cus), Some(1));
        assert_eq!(peaks(arch, &by_cus).bandwidth(Level::L2), part.bandwidth(Level::L2));
        assert_eq!(xccs(arch, &Setup { cus: Some(304), ..by_cus.clone() }), Some(8));
        assert_eq!(xccs(arch, &Setup { cus: Some(300), ..by_cus.clone() }), Some(8));
        assert_eq!(xccs(arch, &Setup { xccs: Some(2), ..by_cus }), Some(2));
        assert_eq!(xccs(arch, &Setup { product: Some("MI999"), ..Setup::default() }), None);
    }

    #[test]
    fn what_is_given_wins_and_what_is_unknown_is_named() {
        let arch = find("gfx942").unwrap();
        let setup = Setup { cus: Some(38), clock_mhz: Some(1000.0), ..Setup::default() };
        let given = peaks(arch, &setup);
        assert_eq!(given.flops(Pipe::Matrix, DataType::Fp16), Some(2048.0 * 38.0 * 1e9));
        assert_eq!(given.bandwidth(Level::Hbm), None);
        assert!(given.absent.iter().any(|text| text.contains("memory bandwidth")));

        // Only the compute units distinguish an MI300X from an MI300A; an MI325X has as many.
        assert_eq!(
            peaks(arch, &Setup { cus: Some(228), ..Setup::default() }).bandwidth(Level::Hbm),
            Some(5.3e12)
        );
        assert_eq!(peaks(arch, &Setup { cus: Some(304), ..Setup::default() }).bandwidth(Level::Hbm), None);
        let mi200 = Setup { product: Some("MI200"), cus: Some(104), ..Setup::default() };
        assert_eq!(peaks(find("gfx90a").unwrap(), &mi200).bandwidth(Level::Hbm), Some(1.638e12));

        let unknown = peaks(arch, &Setup { product: Some("MI999"), ..Setup::default() });
        assert!(unknown.vector.is_empty() && unknown.absent.iter().any(|text| text.contains("`MI999`")));
    }
}

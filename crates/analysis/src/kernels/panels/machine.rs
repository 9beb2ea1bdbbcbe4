//! Facts about a GPU for traces without a system description: from the agent and the product catalogue.

use hw::arch;
use serde_json::Value;
use trace::{AgentKind, Trace};

use crate::kernels::gpu::Specs;

/// The vendor's count for every GPU in the catalogue.
const PIPES: u32 = 4;
/// Bytes that a memory channel moves per cycle.
const BYTES_PER_CHANNEL: f64 = 32.0;

/// Adds missing facts, from the first GPU that ran a kernel.
pub(super) fn complete(specs: &mut Specs, trace: &Trace) {
    if specs.text("gpu_arch").is_some() {
        correct_memory_channels(specs);
        return;
    }
    let used = trace.kernels.agent.iter().find_map(|agent| agent.get());
    let Some(agent) = used.map(|at| &trace.agents[at]).filter(|agent| agent.kind != AgentKind::Cpu) else {
        return;
    };
    let extra: Value = serde_json::from_str(trace.strings.get(agent.extra)).unwrap_or_default();
    let said = |key: &str| extra.get(key).and_then(Value::as_f64).filter(|number| *number > 0.0);
    let name = trace.strings.get(agent.name);
    let Some(arch) = arch::find(name) else {
        specs.add("gpu_arch", name);
        return;
    };
    specs.add("gpu_arch", &arch.name);
    let product_name = trace.strings.get(agent.product);
    let product = arch.product(product_name);
    specs.add("gpu_model", product.map_or(product_name, |product| product.name.as_str()));
    let mut add = |key: &str, value: Option<f64>| {
        if let Some(value) = value {
            specs.add(key, value);
        }
    };
    let cus = agent.compute_units.get().map(|cus| cus as f64).or(said("cu_count"));
    let cus = cus.or(product.map(|product| product.cus.into()));
    let xcds = said("num_xcc").or(product.map(|product| product.total_xccs().into())).unwrap_or(1.0);
    let channels =
        product.and_then(|product| product.l2_channels_per_xcc).map(|per_xcc| f64::from(per_xcc) * xcds);
    let engines = said("num_shader_banks");
    add("cu_per_gpu", cus);
    add("num_xcd", Some(xcds));
    add("se_per_gpu", engines);
    add("simd_per_cu", Some(arch.facts.simds_per_cu.into()));
    add("max_waves_per_cu", said("max_waves_per_cu").or(Some(arch.max_waves_per_cu().into())));
    add("wave_size", Some(arch.wave_size().into()));
    add("lds_banks_per_cu", Some(arch.facts.lds.banks.into()));
    add("pipes_per_gpu", Some(PIPES.into()));
    add("max_sclk", said("max_engine_clk_fcompute").or(product.map(|product| product.clock_mhz)));
    add("total_l2_chan", channels);
    // Two CUs share an instruction and scalar cache.
    add("sqc_per_gpu", cus.zip(engines).map(|(cus, engines)| engines * (cus / engines / 2.0).ceil()));
    // The product's bandwidth, as the clock that this many channels would need to reach it.
    let whole_gpu = product.map(|product| xcds / f64::from(product.total_xccs().max(1)));
    let bandwidth = product.zip(whole_gpu).map(|(product, share)| product.memory_gbps * share);
    let memory_channels = product.and_then(|product| product.memory_channels).zip(whole_gpu);
    let memory_channels = memory_channels.map(|(channels, share)| f64::from(channels) * share).or(channels);
    add("num_hbm_channels", memory_channels);
    add(
        "max_mclk",
        bandwidth.zip(memory_channels).map(|(gbps, channels)| gbps * 1000.0 / BYTES_PER_CHANNEL / channels),
    );
}

/// The profiler counts one memory channel per L2 channel. An MI300A has three quarters of the MI300X's XCCs
/// but all of its memory, so its bandwidth came out as 3,994 GB/s instead of 5,325.
fn correct_memory_channels(specs: &mut Specs) {
    let arch = specs.text("gpu_arch").and_then(arch::find);
    let product = arch.zip(specs.text("gpu_model")).and_then(|(arch, model)| arch.product(model));
    let Some((product, channels)) = product.and_then(|product| Some((product, product.memory_channels?)))
    else {
        return;
    };
    let counted = product.l2_channels_per_xcc.map(|per_xcc| f64::from(per_xcc * product.total_xccs()));
    if specs.number("num_hbm_channels").is_some() && specs.number("num_hbm_channels") == counted {
        let corrections = [("num_hbm_channels".to_string(), f64::from(channels))];
        *specs = std::mem::take(specs).corrected(&corrections);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_peak_of_an_mi300a_was_3994() {
        let mut specs = Specs::default();
        for (key, value) in [
            ("gpu_arch", "gfx942"),
            ("gpu_model", "MI300A"),
            ("num_hbm_channels", "96"),
            ("max_mclk", "1300"),
        ] {
            specs.add(key, value);
        }
        complete(&mut specs, &Trace::default());
        let gbps = specs.number("max_mclk").unwrap() / 1000.0
            * BYTES_PER_CHANNEL
            * specs.number("num_hbm_channels").unwrap();
        assert_eq!(gbps.round(), 5325.0);
        // Other products, and values corrected by the user, do not change.
        let mut other = Specs::default();
        for (key, value) in [("gpu_arch", "gfx942"), ("gpu_model", "MI300X"), ("num_hbm_channels", "96")] {
            other.add(key, value);
        }
        complete(&mut other, &Trace::default());
        assert_eq!(other.number("num_hbm_channels"), Some(96.0));
    }
}

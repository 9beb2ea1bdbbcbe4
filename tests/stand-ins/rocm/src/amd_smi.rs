//! `amd-smi`: JSON in the shape of its release, with the gaps that real GPUs leave.

use std::process::ExitCode;

use serde_json::{Map, Value, json};

use crate::machine::{Product, part_of};
use crate::settings::{self, Version, fault};

/// Runs as `amd-smi`.
pub fn main(arguments: &[String]) -> ExitCode {
    let part = part_of(&settings::arch());
    if fault("amd_smi") {
        eprintln!(
            "AMDSMI has returned error 'AMDSMI_STATUS_NOT_INIT - Device not initialized' Error code: 32"
        );
        return ExitCode::from(255);
    }
    let command = arguments.iter().find(|word| !word.starts_with('-')).map_or("", String::as_str);
    let chosen = arguments.iter().position(|word| word == "-g" || word == "--gpu").map(|at| {
        arguments[at + 1..].iter().map_while(|word| word.parse::<usize>().ok()).collect::<Vec<_>>()
    });
    let gpus: Vec<usize> =
        (0..settings::gpus()).filter(|gpu| chosen.as_ref().is_none_or(|c| c.contains(gpu))).collect();
    let document = match command {
        "metric" if arguments.iter().any(|word| word == "-w" || word == "--watch") => return ExitCode::SUCCESS,
        "metric" => list(gpus.iter().map(|gpu| metric(*gpu, &part)).collect()),
        "static" => list(gpus.iter().map(|gpu| static_facts(*gpu, &part)).collect()),
        "monitor" => Value::Array(gpus.iter().map(|gpu| monitor(*gpu, &part)).collect()),
        "list" => Value::Array(gpus.iter().map(|gpu| json!({"gpu": gpu, "bdf": bdf(*gpu), "uuid": format!("{gpu:08x}-0000-1000-80c9-0f0e3dd5b5b5")})).collect()),
        "version" => json!([{"tool": "AMDSMI Tool", "version": "26.0.0+stand-in",
            "amdsmi_library_version": "26.0.0", "rocm_version": settings::rocm_version().to_string()}]),
        _ => {
            eprintln!("usage: amd-smi [-h] {{version,list,static,metric,monitor}} ...");
            return ExitCode::from(2);
        }
    };
    if fault("amd_smi_warning") {
        println!("WARNING: User is missing the following required groups: render");
    }
    if arguments.iter().any(|word| word == "--json") {
        println!("{}", serde_json::to_string_pretty(&document).unwrap_or_default());
    } else {
        println!("GPU: 0\n    (text output is not part of the stand-in)");
    }
    ExitCode::SUCCESS
}

/// An array until 6.x, an object around it from 7.0 on.
fn list(gpus: Vec<Value>) -> Value {
    if settings::rocm_version() >= Version(7, 0, 0) {
        json!({ "gpu_data": gpus })
    } else {
        Value::Array(gpus)
    }
}

fn bdf(gpu: usize) -> String {
    format!("0000:{:02x}:00.0", 0x0c + 0x10 * gpu)
}

fn with_unit(value: impl Into<Value>, unit: &str) -> Value {
    json!({"value": value.into(), "unit": unit})
}

fn metric(gpu: usize, part: &Product) -> Value {
    let number = gpu as u64;
    let total = part.memory_gib * 1024;
    let instinct = part.wave_size == 64;
    let mut clock = Map::new();
    for (name, mhz) in [("gfx_0", part.clock_mhz), ("mem_0", part.memory_mhz)] {
        let entry = json!({"clk": with_unit(mhz - 100, "MHz"), "min_clk": with_unit(132, "MHz"),
            "max_clk": with_unit(mhz, "MHz"), "clk_locked": "DISABLED", "deep_sleep": "DISABLED"});
        clock.insert(name.into(), entry);
    }
    clock.insert("vclk_0".into(), json!({"clk": "N/A", "min_clk": "N/A", "max_clk": "N/A"}));
    json!({
        "gpu": gpu,
        "usage": {"gfx_activity": with_unit(40 + number, "%"), "umc_activity": with_unit(12, "%"), "mm_activity": "N/A",
            "vcn_activity": [with_unit(0, "%"), "N/A"], "jpeg_activity": ["N/A"]},
        "power": {"socket_power": with_unit(550 + 10 * number, "W"), "gfx_voltage": "N/A", "soc_voltage": "N/A",
            "mem_voltage": "N/A", "throttle_status": "N/A", "power_management": "ENABLED"},
        "clock": clock,
        "temperature": {"edge": if instinct { json!("N/A") } else { with_unit(48, "C") },
            "hotspot": with_unit(56 + number, "C"), "mem": with_unit(61, "C")},
        "energy": {"total_energy_consumption": with_unit(123_456.789, "J")},
        "mem_usage": {"total_vram": with_unit(total, "MB"), "used_vram": with_unit(total / 4, "MB"),
            "free_vram": with_unit(total - total / 4, "MB"), "total_gtt": with_unit(1024, "MB")},
    })
}

fn monitor(gpu: usize, part: &Product) -> Value {
    json!({"gpu": gpu, "power_usage": with_unit(550 + 10 * gpu, "W"), "hotspot_temperature": with_unit(56 + gpu, "C"),
        "memory_temperature": with_unit(61, "C"), "gfx": with_unit(40 + gpu, "%"),
        "gfx_clock": with_unit(part.clock_mhz - 100, "MHz"), "mem": with_unit(12, "%"),
        "mem_clock": with_unit(part.memory_mhz - 100, "MHz"), "encoder": "N/A", "decoder": "N/A",
        "vram_used": with_unit(part.memory_gib * 256, "MB"), "vram_total": with_unit(part.memory_gib * 1024, "MB")})
}

fn static_facts(gpu: usize, part: &Product) -> Value {
    json!({
        "gpu": gpu,
        "asic": {"market_name": part.product, "vendor_id": "0x1002", "device_id": format!("{:#x}", part.device_id),
            "rev_id": "0x00", "asic_serial": format!("0x{gpu:016X}"), "oam_id": gpu,
            "num_compute_units": part.units, "target_graphics_version": part.arch},
        "bus": {"bdf": bdf(gpu)},
        "driver": {"name": "amdgpu", "version": "6.12.12"},
        "partition": {"compute_partition": "SPX", "memory_partition": "NPS1"},
        "vram": {"type": "HBM3", "vendor": "N/A", "size": with_unit(part.memory_gib * 1024, "MB"), "bit_width": part.bus_bits},
    })
}

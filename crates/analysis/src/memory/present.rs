//! The tables, findings and chart of `memory`.

use report::{Column, Finding, Report, Severity, Table, Unit, Value, show};
use stats::percent;
use trace::{Ns, OptI64, Trace};

use super::{DeviceFigures, Memory, NeverFreed, OutOfMemory, chart};
use crate::base;

/// Why allocator sizes are absent.
const NO_SNAPSHOT: &str = "only a memory snapshot records what the allocator holds";
/// This many never-freed blocks from one line are a pattern.
const MANY: usize = 3;
/// Never-freed allocations that cover this share of the record happen all the time.
const SPREAD_PCT: f64 = 50.0;
/// A share of memory that is worth a finding.
const LARGE_PCT: f64 = 10.0;

/// The whole report.
pub fn present(trace: &Trace, memory: &Memory) -> Report {
    let mut report = base::report("memory", trace);
    // Kernels were not read, so they are not missing.
    report.health.retain(|check| !["kernels", "coverage"].contains(&check.id.as_str()));
    report.tables = vec![
        devices(memory),
        holders("peak_owners", "What held the peak, by line of the program", memory),
        operations(memory),
        never_freed(memory),
        largest(memory),
        pools(memory),
        out_of_memory(memory),
        segments(memory),
    ];
    report.findings = findings(memory);
    report.charts.extend(chart::chart(memory));
    report.trace_start_ns = memory.devices.iter().filter_map(|device| device.start).min();
    let lost: usize = memory.devices.iter().map(|device| device.lost_frees).sum();
    if lost > 0 {
        let note = format!(
            "{lost} blocks were allocated again without a free in the record; they count as freed then"
        );
        report.notes.push(note.as_str().into());
    }
    report
}

fn since(device: &DeviceFigures, at: Option<Ns>, why: &str) -> Value {
    Value::int_or(at.zip(device.start).map(|(at, start)| at - start), why)
}

fn devices(memory: &Memory) -> Table {
    let columns = vec![
        Column::text("device"),
        Column::int("peak_bytes", Unit::Bytes).key(),
        Column::int("peak_at_ns", Unit::Ns),
        Column::int("start_bytes", Unit::Bytes),
        Column::int("end_bytes", Unit::Bytes).key(),
        Column::int("rounding_bytes", Unit::Bytes).detail(),
        Column::int("reserved_bytes", Unit::Bytes).key(),
        Column::int("unused_bytes", Unit::Bytes),
        Column::int("fragmented_bytes", Unit::Bytes),
        Column::int("record_ns", Unit::Ns).detail(),
        Column::int("changes", Unit::None).detail(),
    ];
    let mut table = Table::new("devices", "Memory by device", columns);
    for device in &memory.devices {
        let reserved = device.reserved_at_end;
        let of_pools = |bytes: fn(&super::Pool) -> i64| {
            let has_pools = !device.pools.is_empty();
            Value::int_or(has_pools.then(|| device.pools.iter().map(bytes).sum()), NO_SNAPSHOT)
        };
        table.push(vec![
            Value::from(device.label.as_str()),
            Value::Int(device.peak.bytes),
            since(device, device.peak.at, "the peak was held before the record"),
            Value::Int(device.at_start),
            Value::Int(device.at_end),
            Value::int_or(device.rounded_at_end.map(|rounded| rounded - device.at_end), NO_SNAPSHOT),
            Value::int_or(reserved, NO_SNAPSHOT),
            of_pools(|pool| pool.unused),
            of_pools(|pool| pool.fragmented),
            Value::Int(device.span_ns),
            Value::from(device.changes),
        ]);
    }
    table
}

fn text_or(text: &str, why: &str) -> Value {
    if text.is_empty() { Value::absent(why) } else { Value::from(text) }
}

fn holders(name: &str, title: &str, memory: &Memory) -> Table {
    let columns = vec![
        Column::text("device").normal(),
        Column::text("line"),
        Column::int("blocks", Unit::None),
        Column::int("peak_bytes", Unit::Bytes).key(),
        Column::int("share_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new(name, title, columns);
    for device in &memory.devices {
        for holder in &device.peak_lines {
            table.push(vec![
                Value::from(device.label.as_str()),
                text_or(&holder.line, "no line was recorded"),
                Value::from(holder.blocks),
                Value::Int(holder.bytes),
                Value::Float(percent(holder.bytes, device.peak.bytes)),
            ]);
        }
    }
    table
}

fn operations(memory: &Memory) -> Table {
    let columns = vec![
        Column::text("device").normal(),
        Column::text("op"),
        Column::text("module").normal(),
        Column::int("blocks", Unit::None),
        Column::int("peak_bytes", Unit::Bytes).key(),
        Column::int("share_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("peak_ops", "What held the peak, by operation and module", columns);
    for device in &memory.devices {
        for holder in &device.peak_ops {
            table.push(vec![
                Value::from(device.label.as_str()),
                text_or(&holder.op, "no operation was recorded"),
                text_or(&holder.module, "no module is on the stack"),
                Value::from(holder.blocks),
                Value::Int(holder.bytes),
                Value::Float(percent(holder.bytes, device.peak.bytes)),
            ]);
        }
    }
    table
}

fn never_freed(memory: &Memory) -> Table {
    let columns = vec![
        Column::text("device").normal(),
        Column::text("line"),
        Column::int("blocks", Unit::None),
        Column::int("held_bytes", Unit::Bytes).key(),
        Column::int("first_ns", Unit::Ns),
        Column::int("last_ns", Unit::Ns),
        Column::int("share_pct", Unit::Pct).detail(),
    ];
    let mut table = Table::new("never_freed", "Allocated in the record and never freed", columns);
    for device in &memory.devices {
        for line in &device.never_freed {
            table.push(vec![
                Value::from(device.label.as_str()),
                text_or(&line.line, "no line was recorded"),
                Value::from(line.blocks),
                Value::Int(line.bytes),
                since(device, Some(line.first), ""),
                since(device, Some(line.last), ""),
                Value::Float(percent(line.bytes, device.at_end)),
            ]);
        }
    }
    table
}

fn address(address: OptI64) -> Value {
    address.get().map_or_else(
        || Value::absent("no address was recorded"),
        |address| Value::Text(format!("0x{:x}", address as u64)),
    )
}

fn largest(memory: &Memory) -> Table {
    let columns = vec![
        Column::text("device").normal(),
        Column::text("address").detail(),
        Column::int("held_bytes", Unit::Bytes).key(),
        Column::text("line"),
        Column::text("op").normal(),
        Column::int("allocated_ns", Unit::Ns).detail(),
    ];
    let mut table = Table::new("largest_blocks", "Largest blocks held at the end", columns);
    for device in &memory.devices {
        for block in &device.largest {
            table.push(vec![
                Value::from(device.label.as_str()),
                address(block.address),
                Value::Int(block.bytes),
                text_or(&block.line, "no line was recorded"),
                text_or(&block.op, "no operation was recorded"),
                since(device, block.from, "it was allocated before recording started"),
            ]);
        }
    }
    table
}

fn pools(memory: &Memory) -> Table {
    let columns = vec![
        Column::text("device").normal(),
        Column::text("pool"),
        Column::int("segments", Unit::None),
        Column::int("reserved_bytes", Unit::Bytes).key(),
        Column::int("held_bytes", Unit::Bytes),
        Column::int("unused_bytes", Unit::Bytes),
        Column::int("fragmented_bytes", Unit::Bytes).key(),
        Column::int("largest_free_bytes", Unit::Bytes),
        Column::int("share_pct", Unit::Pct).key(),
    ];
    let title = "Fragmentation: what the allocator holds and the program does not";
    let mut table = Table::new("fragmentation", title, columns);
    for device in &memory.devices {
        for pool in &device.pools {
            table.push(vec![
                Value::from(device.label.as_str()),
                text_or(&pool.name, "the snapshot names no pool"),
                Value::from(pool.segments),
                Value::Int(pool.reserved),
                Value::Int(pool.held),
                Value::Int(pool.unused),
                Value::Int(pool.fragmented),
                Value::Int(pool.largest_free),
                Value::Float(percent(pool.fragmented, pool.reserved)),
            ]);
        }
    }
    table
}

fn segments(memory: &Memory) -> Table {
    let columns = vec![
        Column::text("device").normal(),
        Column::text("address"),
        Column::text("pool"),
        Column::int("stream", Unit::Exact).detail(),
        Column::int("reserved_bytes", Unit::Bytes).key(),
        Column::int("held_bytes", Unit::Bytes),
        Column::int("free_bytes", Unit::Bytes).key(),
        Column::int("largest_free_bytes", Unit::Bytes).key(),
        Column::int("blocks", Unit::None),
    ];
    let mut table = Table::new("segments", "Segments, those with most free memory first", columns).detail();
    for device in &memory.devices {
        for segment in &device.segments {
            table.push(vec![
                Value::from(device.label.as_str()),
                address(OptI64::some(segment.address)),
                text_or(&segment.pool, "the snapshot names no pool"),
                Value::int_or(segment.stream, "no stream was recorded"),
                Value::Int(segment.bytes),
                Value::Int(segment.held),
                Value::Int(segment.free),
                Value::Int(segment.largest_free),
                Value::from(segment.blocks),
            ]);
        }
    }
    table
}

fn out_of_memory(memory: &Memory) -> Table {
    let columns = vec![
        Column::text("device").normal(),
        Column::int("at_ns", Unit::Ns),
        Column::int("asked_bytes", Unit::Bytes).key(),
        Column::int("device_free_bytes", Unit::Bytes).key(),
        Column::int("short_bytes", Unit::Bytes).key(),
        Column::int("held_bytes", Unit::Bytes),
        Column::int("cached_bytes", Unit::Bytes),
        Column::text("line"),
    ];
    let mut table = Table::new("out_of_memory", "Allocations that failed, and what they needed", columns);
    for device in &memory.devices {
        for failed in &device.out_of_memory {
            table.push(vec![
                Value::from(device.label.as_str()),
                since(device, Some(failed.at), "there is no other event"),
                Value::Int(failed.asked),
                Value::int_or(failed.device_free, "the snapshot does not record it"),
                Value::int_or(failed.short(), "the snapshot does not record free memory"),
                Value::Int(failed.held),
                Value::int_or(failed.cached(), "the snapshot has no segments"),
                text_or(&failed.line, "no line was recorded"),
            ]);
        }
    }
    table
}

fn bytes(bytes: i64) -> String {
    show(&Value::Int(bytes), Unit::Bytes)
}

fn findings(memory: &Memory) -> Vec<Finding> {
    let mut found = Vec::new();
    for device in &memory.devices {
        found.extend(device.out_of_memory.last().map(|failed| failure(device, failed)));
        found.extend(
            device.never_freed.iter().filter(|line| grows(device, line)).map(|line| leak(device, line)),
        );
        found.extend(fragmentation(device));
    }
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found
}

fn failure(device: &DeviceFigures, failed: &OutOfMemory) -> Finding {
    let free = failed
        .device_free
        .map_or_else(String::new, |free| format!(", with {} left on the device", bytes(free)));
    let recommendation = match (failed.is_fragmentation(), failed.short()) {
        (Some(true), _) => format!(
            "the allocator held {} that nothing used, in pieces too small: set \
             PYTORCH_HIP_ALLOC_CONF=max_split_size_mb:512, or call torch.cuda.empty_cache() before this line",
            bytes(failed.cached().unwrap_or(0))
        ),
        (_, Some(short)) if short > 0 => {
            format!("free {} before this line; `peak_owners` lists what held memory", bytes(short))
        }
        _ => "free memory before this line; `peak_owners` lists what held it".into(),
    };
    Finding {
        id: "out_of_memory".into(),
        key: format!("out_of_memory:{}", device.label),
        severity: Severity::High,
        title: format!("{} ran out of memory: {} asked for{free}", device.label, bytes(failed.asked)),
        evidence: vec![
            ("asked_bytes".into(), Value::Int(failed.asked)),
            ("held_bytes".into(), Value::Int(failed.held)),
            ("failures".into(), Value::from(device.out_of_memory.len())),
        ],
        recommendation,
        ..Finding::default()
    }
}

/// Whether a line keeps allocating and never frees.
fn grows(device: &DeviceFigures, line: &NeverFreed) -> bool {
    line.blocks >= MANY
        && percent(line.last - line.first, device.span_ns) >= SPREAD_PCT
        && percent(line.bytes, device.at_end) >= LARGE_PCT
}

fn leak(device: &DeviceFigures, line: &NeverFreed) -> Finding {
    Finding {
        id: "memory_never_freed".into(),
        key: format!("memory_never_freed:{}:{}", device.label, line.line),
        severity: Severity::Medium,
        title: format!(
            "{}: {} allocates throughout the record and never frees: {} in {} blocks",
            device.label,
            line.line,
            bytes(line.bytes),
            line.blocks
        ),
        evidence: vec![
            ("held_bytes".into(), Value::Int(line.bytes)),
            ("blocks".into(), Value::from(line.blocks)),
        ],
        recommendation: "check what keeps these tensors: a list that grows, or a loss kept with its graph \
                         (use .item() or .detach())"
            .into(),
        ..Finding::default()
    }
}

fn fragmentation(device: &DeviceFigures) -> Option<Finding> {
    let reserved = device.reserved_at_end?;
    let lost: i64 = device.pools.iter().map(|pool| pool.fragmented).sum();
    if percent(lost, reserved) < LARGE_PCT {
        return None;
    }
    Some(Finding {
        id: "memory_fragmentation".into(),
        key: format!("memory_fragmentation:{}", device.label),
        severity: Severity::Medium,
        title: format!(
            "{}: {} of {} reserved memory is free but fragmented",
            device.label,
            bytes(lost),
            bytes(reserved)
        ),
        evidence: vec![
            ("fragmented_bytes".into(), Value::Int(lost)),
            ("reserved_bytes".into(), Value::Int(reserved)),
        ],
        recommendation: "set PYTORCH_HIP_ALLOC_CONF=max_split_size_mb:512 so that large blocks stay whole"
            .into(),
        ..Finding::default()
    })
}

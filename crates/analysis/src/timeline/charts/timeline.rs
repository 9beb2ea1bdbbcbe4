//! What ran when: one strip per GPU.

use report::chart::{Axis, Chart, Lane as Strip, Lanes, Mark, Span};
use report::{Unit, Value, show};
use trace::Table;

use super::{Gpu, duration};
use model::lanes::{GpuRow, Lane};
use model::names::display_name;
use stats::percent;

/// Most GPUs to draw.
const STRIPS: usize = 16;
/// A strip with at most this many non-overlapping rows shows each of them; otherwise it is summed in slots.
const EXACT: usize = 400;
/// Slots per strip: with few strips, and with many.
const SLOTS: (usize, usize) = (360, 180);

pub fn chart(gpu: &Gpu) -> Option<Chart> {
    // Each clock is drawn from its own start, with the length of the longest.
    let starts = gpu.clock_starts()?;
    let length = |(lane, start): (&Lane, &i64)| lane.rows.iter().map(|row| row.work.end - start).max();
    let length = gpu.lanes.iter().zip(&starts).filter_map(length).max().filter(|length| *length > 0)?;
    let shown = &gpu.lanes[..gpu.lanes.len().min(STRIPS)];
    let slots = if shown.len() > 2 { SLOTS.1 } else { SLOTS.0 };
    let mut summed_up = false;
    let strips = shown.iter().zip(&starts).map(|(lane, &start)| {
        let spans = exact(gpu, lane, start).unwrap_or_else(|| {
            summed_up = true;
            summed(gpu, lane, (start, start + length), slots)
        });
        Strip { label: lane.label.clone(), spans }
    });
    let lanes: Vec<Strip> = strips.collect();
    let (series, numbers) =
        gpu.palette.used(|kind| lanes.iter().flat_map(|lane| &lane.spans).any(|span| span.series == kind));
    let renumbered = |span: Span| Span { series: numbers[span.series].unwrap_or(0), ..span };
    let lanes = lanes
        .into_iter()
        .map(|lane| Strip { spans: lane.spans.into_iter().map(renumbered).collect(), ..lane })
        .collect();
    let mut description = if summed_up {
        "How much of each slice of time the GPU worked, and on what; gaps are idle time.".to_string()
    } else {
        "What the GPU ran, and when; gaps are idle time.".to_string()
    };
    if gpu.lanes.len() > STRIPS {
        description.push_str(&format!(" The first {STRIPS} of {} GPUs.", gpu.lanes.len()));
    }
    if let Some(clocks) = &gpu.clocks {
        description.push_str(&format!(" {}.", clocks.note()));
    }
    let chart = Chart::new("timeline", "GPU timeline", Mark::Lanes(Lanes { series, lanes }));
    let x = Axis::of(Unit::Ns).labelled("time since the first GPU work").between(0.0, length as f64);
    Some(chart.with_description(description).with_x(x))
}

/// Every row of work, if there are few and none overlap.
fn exact(gpu: &Gpu, lane: &Lane, start: i64) -> Option<Vec<Span>> {
    if lane.rows.len() > EXACT {
        return None;
    }
    let mut rows: Vec<&GpuRow> = lane.rows.iter().collect();
    rows.sort_by_key(|row| (row.work.start, row.work.end));
    if rows.windows(2).any(|pair| pair[1].work.start < pair[0].work.end) {
        return None;
    }
    let span = |row: &&GpuRow| {
        let (from, to) = ((row.work.start - start) as f64, (row.work.end - start) as f64);
        let name = match row.row.get() {
            Some((Table::Kernels, i)) => gpu.trace.strings.get(gpu.trace.kernels.name[i]),
            Some((_, i)) => gpu.trace.strings.get(gpu.trace.memory_copies.name[i]),
            None => "",
        };
        let name = display_name(name);
        let tip = format!(
            "{name}\n{} at {}",
            duration(row.work.end - row.work.start),
            duration(row.work.start - start)
        );
        Span { label: name, tip, ..Span::new(from, to, gpu.kind(row.row)) }
    };
    Some(rows.iter().map(span).collect())
}

/// Time by category in equal slices of time; overlapping work shares the height.
fn summed(gpu: &Gpu, lane: &Lane, (start, end): (i64, i64), slots: usize) -> Vec<Span> {
    let kinds = gpu.palette.rest() + 1;
    let series = gpu.palette.series();
    let edge = |slot: usize| start + ((end - start) as i128 * slot as i128 / slots as i128) as i64;
    let mut times = vec![0i64; slots * kinds];
    for row in &lane.rows {
        let kind = gpu.kind(row.row);
        let (from, to) = (row.work.start, row.work.end);
        let mut slot = ((from - start) as i128 * slots as i128 / (end - start) as i128) as usize;
        // Rounding may give a slot one too early.
        while slot < slots && edge(slot + 1) <= from {
            slot += 1;
        }
        while slot < slots && edge(slot) < to {
            times[slot * kinds + kind] += to.min(edge(slot + 1)) - from.max(edge(slot));
            slot += 1;
        }
    }
    let mut spans = Vec::new();
    for slot in 0..slots {
        let (from, to) = (edge(slot), edge(slot + 1));
        let sums = &times[slot * kinds..(slot + 1) * kinds];
        let all: i64 = sums.iter().sum();
        let whole = all.max(to - from).max(1);
        let parts: Vec<String> = sums
            .iter()
            .zip(&series)
            .filter(|(time, _)| **time > 0)
            .map(|(time, series)| {
                format!("{} {}", series.name, show(&Value::Float(percent(*time, whole)), Unit::Pct))
            })
            .collect();
        let tip = format!("{} to {}\n{}", duration(from - start), duration(to - start), parts.join("\n"));
        let mut base = 0.0;
        for (kind, &time) in sums.iter().enumerate().filter(|(_, time)| **time > 0) {
            let height = time as f64 / whole as f64;
            let (from, to) = ((from - start) as f64, (to - start) as f64);
            spans.push(Span { base, height, tip: tip.clone(), ..Span::new(from, to, kind) });
            base += height;
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use trace::{Agent, AgentKind, Kernel, Process, Source, Trace};

    use super::super::{Classes, charts};
    use super::*;
    use model::classify::Classifier;

    /// Every nanosecond of work must be in the strip, whatever the slots.
    #[test]
    fn slots_hold_all_time() {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named("run.db", "rocpd"));
        let process = trace.add_process(Process::new(source, 1));
        let agent = trace.add_agent(Agent { process, kind: AgentKind::Gpu, ..Agent::default() });
        let name = trace.strings.intern("gemm");
        let (mut at, mut total) = (1_000_000_007i64, 0i64);
        for i in 0..1000i64 {
            let length = 13 + i * i % 997;
            trace.kernels.push(Kernel {
                name,
                start: at,
                end: at + length,
                process,
                agent,
                ..Kernel::default()
            });
            at += length + i % 7;
            total += length;
        }
        trace.finish();
        let classes = Classes::of(&trace, &Classifier::builtin());
        let all = charts(&trace, &classes, None);
        let timeline = all.iter().find(|chart| chart.name == "timeline").expect("a timeline");
        let Mark::Lanes(lanes) = &timeline.mark else { panic!("lanes") };
        let drawn: f64 = lanes.lanes[0].spans.iter().map(|span| (span.end - span.start) * span.height).sum();
        assert!((drawn - total as f64).abs() < 1.0, "{drawn} of {total}");
    }
}

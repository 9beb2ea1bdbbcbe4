//! Concurrent waves on a shader engine, from when each wave began and ended.

use crate::base::kernel_column;
use std::collections::BTreeMap;

use report::{Column, Table, Unit, Value};
use trace::SlotChange;

use super::TracedKernel;

/// Steps of the timeline.
const STEPS: i64 = 50;

/// Concurrent waves on one shader engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineWaves {
    /// Its number.
    pub engine: i64,
    /// First cycle.
    pub begin: i64,
    /// Last cycle.
    pub end: i64,
    /// Mean over the cycles.
    pub mean_waves: f64,
    /// Most concurrent waves.
    pub peak_waves: i64,
    /// Cycles until it first reaches nine tenths of its peak.
    pub ramp_up: i64,
    /// Cycles after it was last at nine tenths of its peak.
    pub tail: i64,
    /// Wave cycles of the busiest compute unit over the mean.
    pub imbalance: f64,
    /// Mean waves in each step of the timeline.
    pub steps: Vec<f64>,
}

/// The engines of a trace.
pub(super) fn engines(changes: &[SlotChange]) -> Vec<EngineWaves> {
    let mut by_engine: BTreeMap<i64, Vec<&SlotChange>> = BTreeMap::new();
    changes.iter().for_each(|change| by_engine.entry(change.engine).or_default().push(change));
    by_engine.into_iter().filter_map(|(number, changes)| engine(number, &changes)).collect()
}

fn engine(number: i64, changes: &[&SlotChange]) -> Option<EngineWaves> {
    let (begin, end) = (changes.first()?.time, changes.last()?.time);
    let length = end - begin;
    if length <= 0 {
        return None;
    }
    let mut found = EngineWaves {
        engine: number,
        begin,
        end,
        steps: vec![0.0; STEPS as usize],
        ..EngineWaves::default()
    };
    let mut cu_cycles: BTreeMap<i64, i64> = BTreeMap::new();
    let mut cu_waves: BTreeMap<i64, i64> = BTreeMap::new();
    let (mut waves, mut cycles, mut at) = (0i64, 0i64, begin);
    let mut spans: Vec<(i64, i64, i64)> = Vec::new();
    for change in changes {
        let passed = change.time - at;
        if passed > 0 {
            cycles += waves * passed;
            for (cu, waves) in &cu_waves {
                *cu_cycles.entry(*cu).or_default() += waves * passed;
            }
            spans.push((at, change.time, waves));
            at = change.time;
        }
        // A wave that began before the trace ends without a begin event.
        let step = if change.begins { 1 } else { -1 };
        waves = (waves + step).max(0);
        let cu = cu_waves.entry(change.cu).or_default();
        *cu = (*cu + step).max(0);
        cu_cycles.entry(change.cu).or_default();
        found.peak_waves = found.peak_waves.max(waves);
    }
    found.mean_waves = cycles as f64 / length as f64;
    let full = |waves: i64| waves * 10 >= found.peak_waves * 9;
    let first = spans.iter().find(|span| full(span.2)).map_or(end, |span| span.0);
    let last = spans.iter().rev().find(|span| full(span.2)).map_or(begin, |span| span.1);
    (found.ramp_up, found.tail) = (first - begin, end - last);
    let most = cu_cycles.values().copied().max().unwrap_or(0) as f64;
    let mean = cu_cycles.values().sum::<i64>() as f64 / cu_cycles.len().max(1) as f64;
    found.imbalance = if mean > 0.0 { most / mean } else { 1.0 };
    for (from, to, waves) in spans {
        let step_of = |time: i64| ((time - begin) * STEPS / length).min(STEPS - 1);
        for step in step_of(from)..=step_of(to - 1) {
            let (a, b) = (begin + step * length / STEPS, begin + (step + 1) * length / STEPS);
            let inside = (to.min(b) - from.max(a)).max(0);
            found.steps[step as usize] += (waves * inside) as f64 / (b - a).max(1) as f64;
        }
    }
    Some(found)
}

pub(super) fn table(traces: &[TracedKernel]) -> Table {
    let columns = vec![
        kernel_column("kernel"),
        Column::int("shader_engine", Unit::Exact).key(),
        Column::int("mean_waves", Unit::None).key(),
        Column::int("peak_waves", Unit::None).key(),
        Column::int("ramp_up_pct", Unit::Pct),
        Column::int("tail_pct", Unit::Pct),
        Column::int("cu_imbalance", Unit::None),
        Column::int("cycles", Unit::None).detail(),
    ];
    let mut table = Table::new("occupancy", "Waves on each shader engine", columns);
    for trace in traces {
        for engine in &trace.engines {
            let length = engine.end - engine.begin;
            let share = |cycles: i64| Value::Float(100.0 * cycles as f64 / length as f64);
            table.push(vec![
                Value::from(trace.kernel.as_str()),
                Value::Int(engine.engine),
                Value::Float(engine.mean_waves),
                Value::Int(engine.peak_waves),
                share(engine.ramp_up),
                share(engine.tail),
                Value::Float(engine.imbalance),
                Value::Int(length),
            ]);
        }
    }
    table
}

pub(super) fn timeline(traces: &[TracedKernel]) -> Table {
    let columns = vec![
        kernel_column("kernel").detail(),
        Column::int("shader_engine", Unit::Exact).key(),
        Column::int("cycle", Unit::None).key(),
        Column::int("waves", Unit::None).key(),
    ];
    let mut table = Table::new("occupancy_timeline", "Waves over time", columns);
    for trace in traces {
        for engine in &trace.engines {
            for (step, waves) in engine.steps.iter().enumerate() {
                let cycle = step as i64 * (engine.end - engine.begin) / STEPS;
                table.push(vec![
                    Value::from(trace.kernel.as_str()),
                    Value::Int(engine.engine),
                    Value::Int(cycle),
                    Value::Float(*waves),
                ]);
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_are_integrated_over_time() {
        let change = |time: i64, cu: i64, begins: bool| SlotChange { time, engine: 0, cu, simd: 0, begins };
        // CU 0 has one wave for 100 cycles, CU 1 has one for the last 50.
        let changes = [change(0, 0, true), change(50, 1, true), change(100, 0, false), change(100, 1, false)];
        let found = engines(&changes);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].mean_waves, found[0].peak_waves), (1.5, 2));
        assert_eq!((found[0].ramp_up, found[0].tail), (50, 0));
        assert!((found[0].imbalance - 100.0 / 75.0).abs() < 1e-12);
        assert_eq!((found[0].steps[0], found[0].steps[49]), (1.0, 2.0));
        assert!(engines(&[]).is_empty());
    }
}

//! Iteration multiplexing: counter groups take turns over the launches of a kernel, so that one run collects them all.
//!
//! A launch gets the counters of its round: consecutive launches of one kernel, as many as there are groups.

use std::path::Path;

use trace::{Health, Map, Status, StrId};

use super::table::Table;

/// What counter groups rotate over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Policy {
    /// Launches with one name.
    Kernel,
    /// Launches with one name, grid, workgroup and LDS.
    Shape,
}

/// Gives every launch the counters of its round, if the workload was multiplexed.
pub(super) fn fill(table: &mut Table, folder: &Path, health: &mut Health) {
    let Some(policy) = policy(folder) else { return };
    let groups = counter_groups(table);
    let mut all: Vec<u64> = groups.iter().copied().filter(|&group| group != 0).collect();
    all.sort_unstable();
    all.dedup();
    if all.len() < 2 {
        return;
    }
    let (mut short, mut rounds) = (0, Vec::new());
    for rows in launches(table, policy) {
        if rows.len() < all.len() {
            short += 1;
        } else {
            rounds.push((rows_per_round(&rows, &groups), rows));
        }
    }
    for counter in &mut table.counters {
        for (size, rows) in &rounds {
            let mut last = f64::NAN;
            for round in rows.chunks(*size) {
                let known = |row: &&usize| !counter.values[**row].is_nan();
                let first = round.iter().find(known).map_or(last, |&row| counter.values[row]);
                let mut value = first;
                for &row in round {
                    let own = &mut counter.values[row];
                    if own.is_nan() { *own = value } else { value = *own }
                }
                last = value;
            }
        }
    }
    let mut message = format!(
        "counters are multiplexed in {} groups over the launches of each kernel; missing counters are taken from neighbouring launches",
        all.len()
    );
    let status = if short == 0 { Status::Pass } else { Status::Warn };
    if short > 0 {
        message += &format!(
            "; {short} kernels have too few launches for all groups, so some of their metrics are missing"
        );
    }
    health.report("multiplexed", status, Some(f64::from(short)), message);
}

/// How the workload was multiplexed, from the profiler's record of its options.
fn policy(folder: &Path) -> Option<Policy> {
    let text = std::fs::read_to_string(folder.join("profiling_config.yaml")).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix("iteration_multiplexing:"))?;
    match value.trim().trim_matches(['\'', '"']) {
        "kernel" => Some(Policy::Kernel),
        "kernel_launch_params" => Some(Policy::Shape),
        _ => None,
    }
}

/// A number for the set of counters that each launch has; zero for none.
fn counter_groups(table: &Table) -> Vec<u64> {
    let mut groups = vec![0u64; table.dispatches.len()];
    for (place, counter) in table.counters.iter().enumerate() {
        let mark = rapidhash::v3::rapidhash_v3(&place.to_le_bytes()) | 1;
        for (group, value) in groups.iter_mut().zip(&counter.values) {
            if !value.is_nan() {
                *group = group.wrapping_add(mark);
            }
        }
    }
    groups
}

/// Rows of the launches that groups rotate over, each in order.
fn launches(table: &Table, policy: Policy) -> Vec<Vec<usize>> {
    let mut places: Map<(StrId, [u64; 3]), usize> = Map::default();
    let mut found: Vec<Vec<usize>> = Vec::new();
    for (row, dispatch) in table.dispatches.iter().enumerate() {
        let shape = match policy {
            Policy::Kernel => [0; 3],
            Policy::Shape => [dispatch.grid, dispatch.workgroup, dispatch.lds].map(f64::to_bits),
        };
        let place = *places.entry((dispatch.kernel, shape)).or_insert_with(|| {
            found.push(Vec::new());
            found.len() - 1
        });
        found[place].push(row);
    }
    found
}

/// Number of groups before the first one repeats.
fn rows_per_round(rows: &[usize], groups: &[u64]) -> usize {
    let mut seen = Vec::new();
    for &row in rows {
        match groups[row] {
            0 => {}
            group if seen.contains(&group) => break,
            group => seen.push(group),
        }
    }
    seen.len().max(1)
}

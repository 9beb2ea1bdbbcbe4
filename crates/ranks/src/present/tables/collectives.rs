//! Tables of collectives: by kind, by group, and one by one.

use report::{Column, Table, Unit, Value};

use super::{NO_SIZE, NO_TIMES, ns, number, rank};
use crate::Ranks;
use crate::digest::NONE;
use crate::figures::Method;
use crate::fleet::ranges;
use crate::kinds::kinds;

/// Bandwidths above this many times the peak did not use these links.
const ABOVE_PEAK: f64 = 1.05;
const TOO_FAST: &str =
    "faster than the links between the GPUs: the recorded size is not what was sent, or the links are others";

/// Single collectives that are listed; more are only counted.
const MOST_INSTANCES: usize = 20_000;

pub(super) fn collectives(ranks: &Ranks) -> Table {
    let columns = vec![
        Column::text("operation"),
        Column::text("group"),
        Column::int("ranks", Unit::None),
        Column::int("bytes", Unit::Bytes).key(),
        Column::int("calls", Unit::None).key(),
        Column::int("skew_ns", Unit::Ns),
        Column::int("wait_ns", Unit::Ns).key(),
        Column::int("transfer_ns", Unit::Ns).key(),
        Column::int("best_transfer_ns", Unit::Ns).detail(),
        Column::int("algorithm_gbps", Unit::Gbps).detail(),
        Column::int("bus_gbps", Unit::Gbps),
        Column::int("peak_pct", Unit::Pct).detail(),
        Column::text("bound_by"),
        Column::text("matched_by").detail(),
        Column::text("told_by").detail(),
        Column::int("set_apart", Unit::None).detail(),
    ];
    let mut table = Table::new("collectives", "Collectives, means per operation", columns);
    for kind in kinds(ranks) {
        let share = match (kind.bus_gbps, kind.peak_gbps) {
            (Some(gbps), Ok(peak)) if gbps > ABOVE_PEAK * peak => Value::absent(TOO_FAST),
            (Some(gbps), Ok(peak)) => Value::Float(100.0 * gbps / peak),
            (None, _) => Value::absent(NO_SIZE),
            (_, Err(why)) => Value::absent(why),
        };
        table.push(vec![
            Value::from(kind.operation.name()),
            Value::Text(kind.group),
            Value::Int(kind.ranks as i64),
            Value::int_or(kind.bytes.map(|bytes| bytes as i64), NO_SIZE),
            Value::Int(kind.calls as i64),
            ns(kind.skew_ns, NO_TIMES),
            ns(kind.wait_ns, NO_TIMES),
            ns(kind.transfer_ns, NO_TIMES),
            ns(kind.best_transfer_ns, NO_TIMES),
            number(kind.algorithm_gbps, NO_SIZE),
            number(kind.bus_gbps, NO_SIZE),
            share,
            Value::from(kind.bound.name()),
            Value::from(kind.matched_by.name()),
            Value::from(told_by(kind.method)),
            Value::Int(kind.set_apart as i64),
        ]);
    }
    table
}

fn told_by(method: Method) -> &'static str {
    match method {
        Method::Clocks => "aligned clocks",
        Method::Durations => "durations",
        Method::None => "nothing",
    }
}

pub(super) fn groups(ranks: &Ranks) -> Table {
    let columns = vec![
        Column::text("group"),
        Column::text("name").normal(),
        Column::text("kind"),
        Column::int("size", Unit::None),
        Column::text("ranks"),
        Column::int("collectives", Unit::None).key(),
        Column::int("wait_ns", Unit::Ns).key(),
        Column::int("transfer_ns", Unit::Ns).key(),
    ];
    let mut table = Table::new("groups", "Process groups, sums of means per operation", columns).detail();
    let mut sums = vec![(0usize, 0.0f64, 0.0f64); ranks.fleet.groups.len()];
    for one in ranks.figures.meetings.iter().filter(|one| !one.is_start && one.method != Method::None) {
        let sum = &mut sums[one.group as usize];
        *sum = (sum.0 + 1, sum.1 + f64::from(one.wait_ns), sum.2 + f64::from(one.transfer_ns));
    }
    for (group, sum) in ranks.fleet.groups.iter().zip(sums) {
        let of: Vec<u32> =
            group.members.iter().map(|&member| ranks.fleet.members[member as usize].rank).collect();
        let times = |value: f64| if sum.0 > 0 { ns(value, NO_TIMES) } else { Value::absent(NO_TIMES) };
        table.push(vec![
            Value::from(group.label.as_str()),
            Value::from(group.name.as_str()),
            Value::from(group.kind.name()),
            Value::int_or(group.size.map(i64::from), "not in the input"),
            Value::Text(ranges(&of)),
            Value::from(sum.0),
            times(sum.1),
            times(sum.2),
        ]);
    }
    table
}

pub(super) fn instances(ranks: &Ranks) -> Table {
    let columns = vec![
        Column::text("operation"),
        Column::text("group"),
        Column::int("step", Unit::None),
        Column::int("ranks", Unit::None).detail(),
        Column::int("bytes", Unit::Bytes),
        Column::int("skew_ns", Unit::Ns).key(),
        Column::int("wait_ns", Unit::Ns).key(),
        Column::int("transfer_ns", Unit::Ns).key(),
        Column::text("last_rank"),
        Column::int("bus_gbps", Unit::Gbps).detail(),
        Column::text("bound_by"),
        Column::text("set_apart").detail(),
    ];
    let mut table =
        Table::new("collective_calls", "Single collectives, longest waiting first", columns).detail();
    let mut order: Vec<usize> = (0..ranks.figures.meetings.len()).collect();
    let cost = |place: usize| {
        let one = &ranks.figures.meetings[place];
        if one.wait_ns.is_finite() { one.wait_ns } else { -1.0 }
    };
    let by_cost = |&a: &usize, &b: &usize| cost(b).total_cmp(&cost(a)).then(a.cmp(&b));
    table.hidden = order.len().saturating_sub(MOST_INSTANCES);
    if table.hidden > 0 {
        order.select_nth_unstable_by(MOST_INSTANCES, by_cost);
        order.truncate(MOST_INSTANCES);
    }
    order.sort_by(by_cost);
    for &place in order.iter().take(MOST_INSTANCES) {
        let one = &ranks.figures.meetings[place];
        let step = (one.step != NONE).then_some(i64::from(one.step));
        table.push(vec![
            Value::from(one.operation.name()),
            Value::from(ranks.fleet.groups[one.group as usize].label.as_str()),
            Value::int_or(step, "no step annotation"),
            Value::Int(i64::from(one.count)),
            Value::int_or(one.bytes().map(|bytes| bytes as i64), NO_SIZE),
            ns(f64::from(one.skew_ns), NO_TIMES),
            ns(f64::from(one.wait_ns), NO_TIMES),
            ns(f64::from(one.transfer_ns), NO_TIMES),
            rank(&ranks.fleet.members[one.last as usize]),
            number(one.bus_gbps(&ranks.fleet), NO_SIZE),
            Value::from(one.bound().name()),
            Value::from(if one.is_start { "start of recording" } else { "" }),
        ]);
    }
    table
}

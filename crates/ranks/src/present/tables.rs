//! The tables of a job.

use model::names::display_name;
use report::{Column, Table, Unit, Value};
use stats::robust::median;

use crate::Ranks;
use crate::balance::{self, Imbalance};
use crate::clocks::MemberClock;
use crate::figures::{Method, whole_ns};
use crate::fleet::{Member, ranges};
use crate::kinds::kinds;

/// Single collectives that are listed; more are only counted.
const MOST_INSTANCES: usize = 20_000;
const NO_TIMES: &str = "waiting and transfer cannot be told apart";
const NO_SIZE: &str = "the input does not tell the size";
const NO_TIMELINE: &str = "the input is no timeline";
const NO_PREDICTION: &str = "collectives of the ranks contradict each other's order";

pub(super) fn tables(ranks: &Ranks) -> Vec<Table> {
    let mut tables = vec![
        stragglers(ranks),
        collectives(ranks),
        members(ranks),
        delayed(ranks),
        slow_links(ranks),
        pipeline(ranks),
        experts(ranks),
        steps(ranks),
        imbalance(
            "kernel_imbalance",
            "Kernels by how unevenly ranks spend time in them",
            ranks,
            balance::kernels(&ranks.fleet),
        ),
        imbalance(
            "op_imbalance",
            "Ops by how unevenly ranks spend GPU time in them",
            ranks,
            balance::ops(&ranks.fleet),
        ),
        clocks(ranks),
        groups(ranks),
        instances(ranks),
        left_out(ranks),
    ];
    let always = ["collectives", "ranks"];
    for table in &mut tables {
        table.is_detail |= table.rows.is_empty() && !always.contains(&table.name.as_str());
    }
    tables
}

fn ns(value: f64, why: &str) -> Value {
    Value::int_or(whole_ns(value), why)
}

fn optional_ns(value: Option<f64>, why: &str) -> Value {
    Value::int_or(value.and_then(whole_ns), why)
}

fn number(value: Option<f64>, why: &str) -> Value {
    value.filter(|value| value.is_finite()).map_or_else(|| Value::absent(why), Value::Float)
}

fn rank(member: &Member) -> Value {
    Value::from(member.label.as_str())
}

fn host(member: &Member) -> Value {
    if member.host.is_empty() {
        Value::absent("the input does not tell the host")
    } else {
        Value::from(member.host.as_str())
    }
}

fn stragglers(ranks: &Ranks) -> Table {
    let columns = vec![
        Column::text("rank"),
        Column::text("host"),
        Column::text("cause"),
        Column::int("own_excess_ns", Unit::Ns),
        Column::int("step_ns", Unit::Ns).key(),
        Column::int("step_without_ns", Unit::Ns).key(),
        Column::int("gain_pct", Unit::Pct).key(),
        Column::text("kernel").normal(),
        Column::int("kernel_ratio", Unit::None).detail(),
        Column::int("more_work_ns", Unit::Ns).detail(),
        Column::int("slower_ns", Unit::Ns).detail(),
        Column::int("idle_excess_ns", Unit::Ns).detail(),
        Column::text("idle_cause").detail(),
        Column::int("clock_mhz", Unit::None).detail(),
        Column::int("peers_clock_mhz", Unit::None).detail(),
    ];
    let mut table = Table::new("stragglers", "Ranks that the others wait for", columns);
    for found in &ranks.delays.stragglers {
        let (member, evidence) = (&ranks.fleet.members[found.member as usize], &found.evidence);
        let gain =
            found.step_ns.zip(found.step_without_ns).map(|(with, without)| 100.0 * (with - without) / with);
        let none = "no kernel takes longer than on its peers";
        let kernel = evidence.kernel.as_ref();
        let no_clock = "the clock was not sampled on this rank and its peers";
        table.push(vec![
            rank(member),
            host(member),
            Value::from(found.cause.name()),
            ns(found.excess_ns, NO_TIMES),
            optional_ns(found.step_ns, NO_TIMELINE),
            optional_ns(found.step_without_ns, NO_PREDICTION),
            number(gain, NO_PREDICTION),
            kernel.map_or_else(|| Value::absent(none), |(name, _)| Value::Text(display_name(name))),
            number(kernel.map(|kernel| kernel.1), none),
            ns(evidence.more_work_ns, NO_TIMES),
            ns(evidence.slower_ns, NO_TIMES),
            ns(evidence.idle_ns, NO_TIMES),
            evidence
                .idle_cause
                .map_or_else(|| Value::absent("no cause grew"), |cause| Value::from(cause.name())),
            number(evidence.clock_mhz.map(|clock| clock.0), no_clock),
            number(evidence.clock_mhz.map(|clock| clock.1), no_clock),
        ]);
    }
    table
}

fn collectives(ranks: &Ranks) -> Table {
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

fn members(ranks: &Ranks) -> Table {
    let columns = vec![
        Column::text("rank"),
        Column::text("host"),
        Column::text("place").normal(),
        Column::int("steps", Unit::None).detail(),
        Column::int("step_ns", Unit::Ns).key(),
        Column::int("compute_ns", Unit::Ns).key(),
        Column::int("exposed_communication_ns", Unit::Ns).key(),
        Column::int("wait_ns", Unit::Ns).key(),
        Column::int("transfer_ns", Unit::Ns),
        Column::int("idle_ns", Unit::Ns),
        Column::int("last_pct", Unit::Pct),
        Column::int("own_excess_ns", Unit::Ns),
        Column::int("collectives", Unit::None).detail(),
        Column::int("clock_mhz", Unit::None).detail(),
        Column::text("file").detail(),
    ];
    let mut table = Table::new("ranks", "Ranks", columns);
    for (place, member) in ranks.fleet.members.iter().enumerate() {
        let times = &ranks.figures.members[place];
        let told = times.collectives > 0;
        let waits = |value: f64| {
            if told { ns(value, NO_TIMES) } else { Value::absent("no collective has a partner") }
        };
        let has_timeline = member.span.is_some();
        let timeline = |value: i64| if has_timeline { Value::Int(value) } else { Value::absent(NO_TIMELINE) };
        let steps: Vec<f64> = step_times(member);
        table.push(vec![
            rank(member),
            host(member),
            place_of(member),
            Value::from(member.steps.len()),
            if steps.is_empty() {
                Value::absent("fewer than two steps")
            } else {
                ns(median(&steps), NO_TIMES)
            },
            timeline(member.account.compute_ns),
            timeline(member.account.exposed_ns),
            waits(times.wait_ns),
            waits(times.transfer_ns),
            timeline(member.account.idle_total()),
            number(
                told.then(|| 100.0 * times.last as f64 / times.collectives as f64),
                "no collective has a partner",
            ),
            ns(ranks.delays.excess_ns[place], NO_TIMES),
            Value::Int(times.collectives as i64),
            number(member.clock.map(|clock| clock.mean_mhz), "the clock was not sampled"),
            Value::from(member.source.as_str()),
        ]);
    }
    table
}

/// Times of a member's steps: from the end of one to the end of the next.
pub(super) fn step_times(member: &Member) -> Vec<f64> {
    member.steps.windows(2).map(|pair| (pair[1].end - pair[0].end) as f64).collect()
}

/// `pipeline 1 · data 0 · tensor 3`
fn place_of(member: &Member) -> Value {
    let place = &member.place;
    let parts = [
        ("pipeline", place.pipeline),
        ("data", place.data),
        ("tensor", place.tensor),
        ("expert", place.expert),
    ];
    let known: Vec<String> =
        parts.iter().filter_map(|(name, number)| Some(format!("{name} {}", (*number)?))).collect();
    if known.is_empty() {
        return Value::absent("neither names nor groups tell");
    }
    Value::Text(known.join(" · "))
}

fn delayed(ranks: &Ranks) -> Table {
    let columns = vec![
        Column::text("rank"),
        Column::text("host"),
        Column::text("group"),
        Column::int("last_pct", Unit::Pct).key(),
        Column::text("held_up_by"),
    ];
    let mut table = Table::new("delayed", "Ranks that are late because another one is", columns);
    for found in &ranks.delays.propagated {
        let member = &ranks.fleet.members[found.member as usize];
        let from = found.from.map(|from| ranks.fleet.members[from as usize].label.as_str());
        table.push(vec![
            rank(member),
            host(member),
            Value::from(ranks.fleet.groups[found.group as usize].label.as_str()),
            Value::Float(100.0 * found.last_share),
            from.map_or_else(|| Value::absent("no straggler was found"), Value::from),
        ]);
    }
    table
}

fn slow_links(ranks: &Ranks) -> Table {
    let columns = vec![
        Column::text("group"),
        Column::int("factor", Unit::None).key(),
        Column::int("collectives", Unit::None),
        Column::int("added_ns", Unit::Ns).key(),
        Column::int("step_ns", Unit::Ns),
        Column::int("step_without_ns", Unit::Ns).key(),
        Column::int("like_groups", Unit::None).detail(),
    ];
    let mut table =
        Table::new("slow_links", "Groups whose transfers take longer than those of like groups", columns);
    for link in &ranks.delays.slow_links {
        table.push(vec![
            Value::from(ranks.fleet.groups[link.group as usize].label.as_str()),
            Value::Float(link.factor),
            Value::from(link.collectives),
            ns(link.added_ns, NO_TIMES),
            optional_ns(link.step_ns, NO_TIMELINE),
            optional_ns(link.step_without_ns, NO_PREDICTION),
            Value::from(link.groups),
        ]);
    }
    table
}

fn pipeline(ranks: &Ranks) -> Table {
    let columns = vec![
        Column::int("stage", Unit::None).key(),
        Column::text("ranks"),
        Column::int("span_ns", Unit::Ns),
        Column::int("compute_ns", Unit::Ns).key(),
        Column::int("bubble_ns", Unit::Ns).key(),
        Column::int("bubble_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("pipeline", "Pipeline stages, means per rank", columns);
    for stage in balance::pipeline(&ranks.fleet, &ranks.meetings, &ranks.figures) {
        let of: Vec<u32> =
            stage.members.iter().map(|&member| ranks.fleet.members[member as usize].rank).collect();
        table.push(vec![
            Value::Int(i64::from(stage.stage)),
            Value::Text(ranges(&of)),
            ns(stage.span_ns, NO_TIMELINE),
            ns(stage.compute_ns, NO_TIMELINE),
            ns(stage.bubble_ns, NO_TIMES),
            number(Some(100.0 * stage.bubble_ns / stage.span_ns), NO_TIMELINE),
        ]);
    }
    table
}

fn experts(ranks: &Ranks) -> Table {
    let columns = vec![
        Column::text("rank"),
        Column::int("moe_ns", Unit::Ns).key(),
        Column::int("moe_ratio", Unit::None).key(),
        Column::int("received_bytes", Unit::Bytes),
        Column::int("received_ratio", Unit::None).key(),
        Column::int("sent_bytes", Unit::Bytes).detail(),
    ];
    let mut table = Table::new("experts", "Experts: time and traffic of each rank over the mean", columns);
    let loads = balance::experts(&ranks.fleet);
    let count = loads.len().max(1) as f64;
    let mean_time = loads.iter().map(|load| load.moe_ns as f64).sum::<f64>() / count;
    let mean_bytes = loads.iter().map(|load| load.received as f64).sum::<f64>() / count;
    for load in loads {
        let ratio = |value: f64, mean: f64, why: &str| number((mean > 0.0).then(|| value / mean), why);
        table.push(vec![
            rank(&ranks.fleet.members[load.member as usize]),
            Value::Int(load.moe_ns),
            ratio(load.moe_ns as f64, mean_time, "no kernels of experts are known"),
            Value::Int(load.received as i64),
            ratio(load.received as f64, mean_bytes, "no all-to-all tells its sizes"),
            Value::Int(load.sent as i64),
        ]);
    }
    table
}

fn steps(ranks: &Ranks) -> Table {
    let columns = vec![
        Column::int("step", Unit::None).key(),
        Column::int("median_ns", Unit::Ns).key(),
        Column::int("max_ns", Unit::Ns).key(),
        Column::text("slowest_rank"),
        Column::int("compute_spread_pct", Unit::Pct),
        Column::int("exposed_communication_ns", Unit::Ns),
        Column::int("idle_ns", Unit::Ns),
    ];
    let mut table = Table::new("steps", "Steps over all ranks", columns).detail();
    let count = ranks.fleet.members.iter().map(|member| member.steps.len()).max().unwrap_or(0);
    for step in 0..count {
        let of: Vec<(&Member, &crate::digest::Step)> =
            ranks.fleet.members.iter().filter_map(|member| Some((member, member.steps.get(step)?))).collect();
        let times: Vec<f64> = of.iter().map(|(_, step)| (step.end - step.start) as f64).collect();
        let computed: Vec<f64> = of.iter().map(|(_, step)| step.compute_ns as f64).collect();
        let most = of.iter().max_by_key(|(_, step)| step.compute_ns);
        let mean = |value: fn(&crate::digest::Step) -> i64| {
            of.iter().map(|(_, step)| value(step) as f64).sum::<f64>() / of.len().max(1) as f64
        };
        let middle = median(&computed);
        let widest = computed.iter().copied().fold(0.0, f64::max);
        table.push(vec![
            Value::from(step),
            ns(median(&times), NO_TIMELINE),
            ns(times.iter().copied().fold(0.0, f64::max), NO_TIMELINE),
            most.map_or_else(|| Value::absent(NO_TIMELINE), |(member, _)| rank(member)),
            number((middle > 0.0).then(|| 100.0 * (widest / middle - 1.0)), "no computation"),
            ns(mean(|step| step.exposed_ns), NO_TIMELINE),
            ns(mean(|step| step.idle_ns), NO_TIMELINE),
        ]);
    }
    table
}

fn imbalance(name: &str, title: &str, ranks: &Ranks, rows: Vec<Imbalance>) -> Table {
    let columns = vec![
        Column::text("name"),
        Column::text("category").detail(),
        Column::int("ranks", Unit::None).detail(),
        Column::int("calls", Unit::None),
        Column::int("mean_ns", Unit::Ns).key(),
        Column::int("min_ns", Unit::Ns),
        Column::text("min_rank").normal(),
        Column::int("max_ns", Unit::Ns).key(),
        Column::text("max_rank"),
        Column::int("imbalance_pct", Unit::Pct).key(),
        Column::int("median_call_ns", Unit::Ns).detail(),
    ];
    let mut table = Table::new(name, title, columns);
    for row in rows {
        let label = |member: u32| rank(&ranks.fleet.members[member as usize]);
        let share = row.percent();
        table.push(vec![
            Value::Text(display_name(&row.name)),
            Value::Text(row.category),
            Value::from(row.ranks),
            Value::Int(row.calls as i64),
            ns(row.mean_ns, NO_TIMELINE),
            Value::Int(row.min.0),
            label(row.min.1),
            Value::Int(row.max.0),
            label(row.max.1),
            Value::Float(share),
            Value::int_or(row.median_call_ns, NO_TIMELINE),
        ]);
    }
    table
}

fn clocks(ranks: &Ranks) -> Table {
    let columns = vec![
        Column::text("rank"),
        Column::text("host"),
        Column::int("offset_ns", Unit::Ns).key(),
        Column::int("offset_error_ns", Unit::Ns).key(),
        Column::int("drift_ppm", Unit::None).key(),
        Column::int("drift_error_ppm", Unit::None).key(),
        Column::int("residual_ns", Unit::Ns),
        Column::int("collectives", Unit::None),
    ];
    let mut table =
        Table::new("clocks", "Clocks against that of the reference rank, from ends of collectives", columns)
            .detail();
    for (member, clock) in ranks.fleet.members.iter().zip(&ranks.clocks.members) {
        let cells = match clock {
            MemberClock::Aligned(line) => {
                let drift =
                    |value: f64| number(line.has_drift.then_some(value * 1e6), "fewer than 8 collectives");
                vec![
                    ns(line.offset_ns, ""),
                    ns(line.error_ns, ""),
                    drift(line.drift),
                    drift(line.drift_error),
                    ns(line.residual_ns, ""),
                    Value::from(line.points),
                ]
            }
            MemberClock::Refused(why) => vec![Value::absent(why); 6],
        };
        let mut row = vec![rank(member), host(member)];
        row.extend(cells);
        table.push(row);
    }
    table
}

fn groups(ranks: &Ranks) -> Table {
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
        *sum = (sum.0 + 1, sum.1 + one.wait_ns, sum.2 + one.transfer_ns);
    }
    for (group, sum) in ranks.fleet.groups.iter().zip(sums) {
        let of: Vec<u32> =
            group.members.iter().map(|&member| ranks.fleet.members[member as usize].rank).collect();
        let times = |value: f64| if sum.0 > 0 { ns(value, NO_TIMES) } else { Value::absent(NO_TIMES) };
        table.push(vec![
            Value::from(group.label.as_str()),
            Value::from(group.name.as_str()),
            Value::from(group.kind.name()),
            Value::int_or(group.size.map(i64::from), "the input does not tell"),
            Value::Text(ranges(&of)),
            Value::from(sum.0),
            times(sum.1),
            times(sum.2),
        ]);
    }
    table
}

fn instances(ranks: &Ranks) -> Table {
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
    order.sort_by(|&a, &b| cost(b).total_cmp(&cost(a)).then(a.cmp(&b)));
    table.hidden = order.len().saturating_sub(MOST_INSTANCES);
    for &place in order.iter().take(MOST_INSTANCES) {
        let one = &ranks.figures.meetings[place];
        let step = (one.step != crate::digest::NONE).then_some(i64::from(one.step));
        table.push(vec![
            Value::from(one.operation.name()),
            Value::from(ranks.fleet.groups[one.group as usize].label.as_str()),
            Value::int_or(step, "no step annotation"),
            Value::Int(i64::from(one.count)),
            Value::int_or(one.bytes.map(|bytes| bytes as i64), NO_SIZE),
            ns(one.skew_ns, NO_TIMES),
            ns(one.wait_ns, NO_TIMES),
            ns(one.transfer_ns, NO_TIMES),
            rank(&ranks.fleet.members[one.last as usize]),
            number(one.bus_gbps(&ranks.fleet), NO_SIZE),
            Value::from(one.bound().name()),
            Value::from(if one.is_start { "start of recording" } else { "" }),
        ]);
    }
    table
}

fn left_out(ranks: &Ranks) -> Table {
    let columns = vec![Column::text("file"), Column::text("rank"), Column::text("why")];
    let mut table = Table::new("left_out", "Inputs that were left out", columns);
    for left in &ranks.fleet.left_out {
        let number = left.rank.map(|rank| rank.to_string());
        table.push(vec![
            Value::from(left.path.as_str()),
            number.map_or_else(|| Value::absent("it is not known"), Value::Text),
            Value::from(left.why.as_str()),
        ]);
    }
    table
}

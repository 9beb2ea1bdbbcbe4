//! Tables of ranks: what each does, its clock, its steps, and the inputs that are left out.

use report::{Column, Table, Unit, Value};
use stats::robust::median;

use super::{NO_TIMELINE, NO_TIMES, host, ns, number, rank};
use crate::Ranks;
use crate::clocks::MemberClock;
use crate::digest::Step;
use crate::fleet::Member;
use crate::names::rack_of;

pub(super) fn members(ranks: &Ranks) -> Table {
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
fn step_times(member: &Member) -> Vec<f64> {
    member.steps.windows(2).map(|pair| (pair[1].end - pair[0].end) as f64).collect()
}

/// `rack r12 · pp 1 · dp 0 · tp 3`
fn place_of(member: &Member) -> Value {
    let place = &member.place;
    let parts = [("pp", place.pipeline), ("dp", place.data), ("tp", place.tensor), ("ep", place.expert)];
    let rack = rack_of(&member.host).map(|rack| format!("rack {rack}"));
    let parts = parts.iter().filter_map(|(name, number)| Some(format!("{name} {}", (*number)?)));
    let known: Vec<String> = rack.into_iter().chain(parts).collect();
    if known.is_empty() {
        return Value::absent("neither names nor groups show it");
    }
    Value::Text(known.join(" · "))
}

pub(super) fn clocks(ranks: &Ranks) -> Table {
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

pub(super) fn steps(ranks: &Ranks) -> Table {
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
        let of: Vec<(&Member, &Step)> =
            ranks.fleet.members.iter().filter_map(|member| Some((member, member.steps.get(step)?))).collect();
        let times: Vec<f64> = of.iter().map(|(_, step)| (step.end - step.start) as f64).collect();
        let computed: Vec<f64> = of.iter().map(|(_, step)| step.compute_ns as f64).collect();
        let most = of.iter().max_by_key(|(_, step)| step.compute_ns);
        let mean = |value: fn(&Step) -> i64| {
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

pub(super) fn left_out(ranks: &Ranks) -> Table {
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

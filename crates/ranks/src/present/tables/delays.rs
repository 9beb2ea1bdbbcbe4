//! Tables of what holds a job up: stragglers, ranks that they delay, slow links.

use model::names::display_name;
use report::{Column, Table, Unit, Value};

use super::{NO_PREDICTION, NO_TIMELINE, NO_TIMES, host, ns, number, optional_ns, rank};
use crate::Ranks;

pub(super) fn stragglers(ranks: &Ranks) -> Table {
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

pub(super) fn delayed(ranks: &Ranks) -> Table {
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

pub(super) fn slow_links(ranks: &Ranks) -> Table {
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

//! The tables of a job.

mod balance;
mod collectives;
mod delays;
mod members;

use report::{Table, Value};

use crate::Ranks;
use crate::figures::whole_ns;
use crate::fleet::Member;

const NO_TIMES: &str = "waiting and transfer cannot be separated";
const NO_SIZE: &str = "the input does not record the size";
const NO_TIMELINE: &str = "the input is not a timeline";
const NO_PREDICTION: &str = "collectives of the ranks contradict each other's order";

pub(super) fn tables(ranks: &Ranks) -> Vec<Table> {
    let mut tables = vec![
        delays::stragglers(ranks),
        collectives::collectives(ranks),
        members::members(ranks),
        delays::delayed(ranks),
        delays::slow_links(ranks),
        balance::pipeline(ranks),
        balance::experts(ranks),
        members::steps(ranks),
        balance::imbalance(
            "kernel_imbalance",
            "Kernels by how unevenly ranks spend time in them",
            ranks,
            crate::balance::kernels(&ranks.fleet),
        ),
        balance::imbalance(
            "op_imbalance",
            "Ops by how unevenly ranks spend GPU time in them",
            ranks,
            crate::balance::ops(&ranks.fleet),
        ),
        members::clocks(ranks),
        collectives::groups(ranks),
        collectives::instances(ranks),
        members::left_out(ranks),
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
        Value::absent("the input has no host name")
    } else {
        Value::from(member.host.as_str())
    }
}

//! How the instances of a hardware counter become one value: the option, defined once.

use clap::{Args, ValueEnum};
use trace::{Aggregate, Trace};

/// What is made of a counter's instances.
#[derive(Args, Clone, Debug, Default)]
pub struct AggregateArgs {
    /// What is made of the instances of a counter (XCCs, shader engines, channels) of one dispatch
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    aggregate: How,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum How {
    #[default]
    Sum,
    Max,
    Min,
    Avg,
}

impl AggregateArgs {
    /// Makes it so in a trace; sums are what everything does by itself.
    pub fn apply(&self, trace: &mut Trace) {
        match self.aggregate {
            How::Sum => {}
            How::Max => trace.aggregate_counters(Aggregate::Max),
            How::Min => trace.aggregate_counters(Aggregate::Min),
            How::Avg => trace.aggregate_counters(Aggregate::Avg),
        }
    }
}

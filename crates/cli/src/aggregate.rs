//! How the instances of a hardware counter become one value: the option, defined once.

use app::Aggregate;
use clap::{Args, ValueEnum};

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
    /// The same as a request has it; sums are what everything does by itself.
    pub fn request(&self) -> Option<Aggregate> {
        match self.aggregate {
            How::Sum => None,
            How::Max => Some(Aggregate::Max),
            How::Min => Some(Aggregate::Min),
            How::Avg => Some(Aggregate::Avg),
        }
    }
}

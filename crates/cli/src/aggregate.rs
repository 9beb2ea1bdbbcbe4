//! The option that chooses how the instances of a hardware counter become one value, defined once.

use app::Aggregate;
use clap::{Args, ValueEnum};

/// How to combine a counter's instances.
#[derive(Args, Clone, Debug, Default)]
pub struct AggregateArgs {
    /// How to combine a counter's instances (XCCs, shader engines, channels) within a dispatch
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
    /// The method for the request; by default, instances are summed.
    pub fn request(&self) -> Option<Aggregate> {
        match self.aggregate {
            How::Sum => None,
            How::Max => Some(Aggregate::Max),
            How::Min => Some(Aggregate::Min),
            How::Avg => Some(Aggregate::Avg),
        }
    }
}

//! Shared by timeline formats: all rows in time order, each on a lane where slices never cross.

mod categories;
mod lanes;
mod memory;
mod names;
mod near;
mod order;

pub(crate) use categories::category_name;
pub(crate) use lanes::{Lane, LaneKey, Lanes, is_call};
pub(crate) use memory::InUse;
pub(crate) use names::Names;
pub(crate) use near::Near;
pub(crate) use order::{InTimeOrder, in_time_order};

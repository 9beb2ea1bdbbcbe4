//! The memory chart: the traffic between the parts of the GPU, drawn for a page and for a terminal.

mod canvas;
mod drawing;
mod model;
mod text;

pub(super) use drawing::chart;
pub(super) use text::text;

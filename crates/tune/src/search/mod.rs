//! Search: features, models and strategies. Independent of processes and files.

mod cholesky;
mod features;
mod forest;
mod gaussian;
pub mod model;
mod ridge;
mod strategy;

pub use features::Features;
pub use model::{Model, Quality, Samples};
pub use strategy::{Choice, Phase, Settings, Strategy, TRUSTED_R2, View, strategy};

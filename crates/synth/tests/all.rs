//! All tests of this crate in one program: linking one takes seconds, linking one per file took minutes.

mod causality;
mod effects;
mod files;
mod ranks;
mod recording;
mod scenarios;
mod truth;

//! All tests of this crate in one program: linking one takes seconds, linking one per file took minutes.

mod common;

mod files;
mod joins;
mod memory;
mod safety;
mod torch;
mod versions;
mod views;

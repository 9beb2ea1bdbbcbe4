//! All tests of this crate in one program: linking one takes seconds, linking one per file took minutes.

mod attribution;
mod classify_evidence;
mod classify_labels;
mod classify_traps;
mod completeness;
mod graph_join;
mod stages;

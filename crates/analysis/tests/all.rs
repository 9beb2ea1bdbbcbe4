//! All tests of this crate in one binary: linking one takes seconds, linking one per file took minutes.

mod critical_path_maker;
mod fuse_maker;

mod att;
mod breakdown_parity;
mod breakdown_tables;
mod compare_noise;
mod compare_structure;
mod compare_waterfall;
mod critical_path;
mod critical_path_hta;
mod critical_path_ops;
mod critical_path_order;
mod critical_path_parts;
mod critical_path_ranks;
mod critical_path_synth;
mod critical_path_truth;
mod efficiency;
mod explain_docs;
mod explain_scenarios;
mod explain_streams;
mod fuse_accounting;
mod fuse_catalogue;
mod fuse_preconditions;
mod fuse_real;
mod memory;
mod ops_parity;
mod overlap_order;
mod overlap_scenarios;
mod panels_docs;
mod panels_parity;
mod pc_samples;
mod requests;
mod roofline;
mod roofline_ops;
mod triage_real;

//! What a serving engineer can change: kernels by Python line, overlap, fusion, requests.

pub mod fuse;
pub mod overlap;
pub mod requests;
pub mod triage;

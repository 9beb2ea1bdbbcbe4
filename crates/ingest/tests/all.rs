//! All tests of this crate in one program: linking one takes seconds, linking one per file took minutes.

mod rocpd_example;
mod torch_common;

mod att_damage;
mod code_facts;
mod compute;
mod compute_analysis;
mod detect;
mod inputs;
mod inputs_links;
mod inspector;
mod kfd_and_network;
mod perfetto;
mod prometheus;
mod rocpd;
mod rocpd_damage;
mod rocpd_four;
mod rocprofv3_csv;
mod rocprofv3_json;
mod rpd;
mod snapshot;
mod torch_damage;
mod torch_events;
mod torch_golden;
mod torch_split;
mod unified_memory;
mod xplane;

//! The rules, one file each. A rule judges from the trace alone and says when it cannot.

mod agent_imbalance;
mod allocation_churn;
mod blocking_sync;
mod eager_attention;
mod exposed_communication;
mod exposed_copies;
mod first_call;
mod fusable_chain;
mod idle_gpu;
mod kernel_variance;
mod launch_bound;
mod pageable_copies;
mod serialised_streams;
mod slow_copies;
mod slow_kernel;
mod small_copies;
mod straggler;
mod tiny_kernels;

use super::rule::Rule;

/// All rules, in the order they are listed.
pub const RULES: &[Rule] = &[
    idle_gpu::RULE,
    launch_bound::RULE,
    tiny_kernels::RULE,
    blocking_sync::RULE,
    allocation_churn::RULE,
    pageable_copies::RULE,
    small_copies::RULE,
    slow_copies::RULE,
    exposed_copies::RULE,
    serialised_streams::RULE,
    exposed_communication::RULE,
    agent_imbalance::RULE,
    straggler::RULE,
    kernel_variance::RULE,
    first_call::RULE,
    slow_kernel::RULE,
    eager_attention::RULE,
    fusable_chain::RULE,
];

//! Kinds of collectives: their names, and how much of a message crosses the busiest link.

/// A kind of collective, or a message between two ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Operation {
    /// Every rank gets the sum of all.
    AllReduce = 0,
    /// Every rank gets all parts.
    AllGather,
    /// Every rank gets a part of the sum.
    ReduceScatter,
    /// Every rank sends a part to every other.
    AllToAll,
    /// One rank sends to all.
    Broadcast,
    /// One rank gets the sum of all.
    Reduce,
    /// One rank gets all parts.
    Gather,
    /// One rank sends a part to each.
    Scatter,
    /// A message to one rank.
    Send,
    /// A message from one rank.
    Receive,
    /// A message whose direction is unknown.
    SendReceive,
    /// No data.
    Barrier,
    /// The trace does not show it.
    #[default]
    Unknown,
}

/// Parts of names in lower case without `_`, `-` and blanks; the first match counts.
const NAMES: &[(&str, Operation)] = &[
    ("reducescatter", Operation::ReduceScatter),
    ("allreduce", Operation::AllReduce),
    ("crossdevicereduce", Operation::AllReduce),
    ("quickreduce", Operation::AllReduce),
    ("allgather", Operation::AllGather),
    ("alltoall", Operation::AllToAll),
    ("deepepdispatch", Operation::AllToAll),
    ("deepepcombine", Operation::AllToAll),
    ("sendrecv", Operation::SendReceive),
    ("broadcast", Operation::Broadcast),
    ("barrier", Operation::Barrier),
    ("gather", Operation::Gather),
    ("scatter", Operation::Scatter),
    ("reduce", Operation::Reduce),
    ("send", Operation::Send),
    ("recv", Operation::Receive),
];

impl Operation {
    /// All of them, by number.
    pub const ALL: [Operation; 13] = [
        Operation::AllReduce,
        Operation::AllGather,
        Operation::ReduceScatter,
        Operation::AllToAll,
        Operation::Broadcast,
        Operation::Reduce,
        Operation::Gather,
        Operation::Scatter,
        Operation::Send,
        Operation::Receive,
        Operation::SendReceive,
        Operation::Barrier,
        Operation::Unknown,
    ];

    /// The kind of a torch, RCCL or kernel name.
    pub fn of_name(name: &str) -> Self {
        let plain: String =
            name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect();
        NAMES.iter().find(|(part, _)| plain.contains(part)).map_or(Operation::Unknown, |entry| entry.1)
    }

    /// Its word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Operation::AllReduce => "all-reduce",
            Operation::AllGather => "all-gather",
            Operation::ReduceScatter => "reduce-scatter",
            Operation::AllToAll => "all-to-all",
            Operation::Broadcast => "broadcast",
            Operation::Reduce => "reduce",
            Operation::Gather => "gather",
            Operation::Scatter => "scatter",
            Operation::Send => "send",
            Operation::Receive => "receive",
            Operation::SendReceive => "send/receive",
            Operation::Barrier => "barrier",
            Operation::Unknown => "collective",
        }
    }

    /// Whether it is between two ranks.
    pub fn is_message(self) -> bool {
        matches!(self, Operation::Send | Operation::Receive | Operation::SendReceive)
    }

    /// Whether no rank can end it before the last has come, so that all ends are at one moment.
    pub fn ends_together(self) -> bool {
        matches!(
            self,
            Operation::AllReduce
                | Operation::AllGather
                | Operation::ReduceScatter
                | Operation::AllToAll
                | Operation::Barrier
                | Operation::Unknown
        )
    }

    /// The size that bandwidth is counted by, from what each of `ranks` sends: the output of an all-gather, else the input.
    pub fn message_bytes(self, sent: u64, ranks: u64) -> u64 {
        match self {
            Operation::AllGather | Operation::Gather => sent.saturating_mul(ranks),
            _ => sent,
        }
    }

    /// Bus bandwidth over algorithm bandwidth, as in nccl-tests and rccl-tests; `None` if there is no data.
    pub fn bus_factor(self, ranks: u64) -> Option<f64> {
        let n = ranks as f64;
        match self {
            _ if ranks < 2 => None,
            Operation::AllReduce => Some(2.0 * (n - 1.0) / n),
            Operation::AllGather
            | Operation::ReduceScatter
            | Operation::AllToAll
            | Operation::Gather
            | Operation::Scatter => Some((n - 1.0) / n),
            Operation::Broadcast
            | Operation::Reduce
            | Operation::Send
            | Operation::Receive
            | Operation::SendReceive => Some(1.0),
            Operation::Barrier | Operation::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_torch_rccl_and_kernels_are_known() {
        for (name, kind) in [
            ("_allgather_base", Operation::AllGather),
            ("all_gather_into_tensor_coalesced", Operation::AllGather),
            ("_reduce_scatter_base", Operation::ReduceScatter),
            ("allreduce", Operation::AllReduce),
            ("AllReduce", Operation::AllReduce),
            ("all_to_allv", Operation::AllToAll),
            (
                "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                Operation::AllReduce,
            ),
            ("ncclDevKernel_SendRecv(ncclDevKernelArgs)", Operation::SendReceive),
            ("void vllm::cross_device_reduce_1stage<c10::BFloat16, 8>", Operation::AllReduce),
            ("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", Operation::Unknown),
            ("send", Operation::Send),
            ("recv", Operation::Receive),
            ("broadcast", Operation::Broadcast),
        ] {
            assert_eq!(Operation::of_name(name), kind, "{name}");
        }
        for (number, kind) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
    }

    #[test]
    fn bus_factors_are_those_of_the_rccl_tests() {
        assert_eq!(Operation::AllReduce.bus_factor(8), Some(1.75));
        assert_eq!(Operation::AllGather.bus_factor(4), Some(0.75));
        assert_eq!(Operation::AllGather.message_bytes(10, 4), 40);
        assert_eq!(Operation::ReduceScatter.message_bytes(10, 4), 10);
        assert_eq!(Operation::Send.bus_factor(2), Some(1.0));
        assert_eq!(Operation::AllReduce.bus_factor(1), None);
    }
}

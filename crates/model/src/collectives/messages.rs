//! Messages between two ranks: the n-th that one sends is the n-th that the other receives from it.
//!
//! Each rank numbers its own messages, so they are joined by order alone. The join counts only if both ranks
//! recorded equally many and hardly any is received before it is sent.

use trace::{Map, Ns, StrId, Trace};

use super::{Meeting, Meetings, TOGETHER_PCT, is_one_clock};
use crate::recordings::Recordings;
use crate::work::GpuWork;

/// Group, sender and receiver.
type Ends = (StrId, u32, u32);

/// The kernels of messages by who sends to whom.
#[derive(Default)]
pub(super) struct Messages {
    /// Sent and received messages, as rows of `kernels`.
    pairs: Map<Ends, [Vec<u32>; 2]>,
    /// How many do not name both ranks.
    of_unknown: usize,
}

impl Messages {
    /// Takes a row of `collectives` if it is a message; `own` is the rank that recorded it.
    pub fn take(&mut self, trace: &Trace, row: usize, kernel: u32, own: Option<u32>) -> bool {
        let Some(is_received) = is_received(trace.strings.get(trace.collectives.operation[row])) else {
            return false;
        };
        let peer = trace.collectives.peer[row].get().and_then(|peer| u32::try_from(peer).ok());
        match own.zip(peer) {
            Some((own, peer)) => {
                let (from, to) = if is_received { (peer, own) } else { (own, peer) };
                let ends = (trace.collectives.group[row], from, to);
                self.pairs.entry(ends).or_default()[usize::from(is_received)].push(kernel);
            }
            None => self.of_unknown += 1,
        }
        true
    }

    /// Adds a meeting for each sender and receiver, and reports which ranks were not joined.
    pub fn join(self, trace: &Trace, works: &GpuWork, recordings: &Recordings, meetings: &mut Meetings) {
        if self.of_unknown > 0 {
            let count = self.of_unknown;
            meetings.not_joined.push(format!("{count} sends and receives do not name the other rank"));
        }
        let gpu_of =
            |rank: u32| works.gpus.iter().position(|gpu| gpu.rank == Some(rank)).map(|gpu| gpu as u32);
        let mut pairs: Vec<_> = self.pairs.into_iter().collect();
        pairs.sort_unstable_by_key(|(ends, _)| *ends);
        for ((_, from, to), mut sides) in pairs {
            // The other rank may not be among the inputs.
            let (Some(sender), Some(receiver)) = (gpu_of(from), gpu_of(to)) else { continue };
            for side in &mut sides {
                side.sort_unstable_by_key(|&kernel| (trace.kernels.start[kernel as usize], kernel));
            }
            let [sent, received] = sides;
            let is_one_clock = is_one_clock(works, recordings, sender, receiver);
            if sent.len() != received.len() {
                let (sent, received) = (sent.len(), received.len());
                meetings.not_joined.push(format!(
                    "rank {from} recorded {sent} messages to rank {to}, but rank {to} recorded {received}"
                ));
            } else if !is_sent_first(trace, &sent, &received, is_one_clock) {
                meetings.not_joined.push(format!(
                    "messages from rank {from} to rank {to} are received before they are sent"
                ));
            } else {
                meetings.by_order += sent.len();
                let joined =
                    sent.into_iter().zip(received).map(|(one, two)| Meeting { kernels: vec![one, two] });
                meetings.all.extend(joined);
            }
        }
    }
}

/// Whether an operation receives rather than sends; `None` if it is not a message.
fn is_received(operation: &str) -> Option<bool> {
    match operation {
        _ if operation.eq_ignore_ascii_case("send") => Some(false),
        _ if operation.eq_ignore_ascii_case("recv") => Some(true),
        _ => None,
    }
}

/// Whether nearly all messages arrive after they were sent, with clocks aligned by the median of the ends.
fn is_sent_first(trace: &Trace, sent: &[u32], received: &[u32], is_one_clock: bool) -> bool {
    let kernels = &trace.kernels;
    let pairs = || sent.iter().zip(received).map(|(&one, &two)| (one as usize, two as usize));
    let mut apart: Vec<Ns> = pairs().map(|(one, two)| kernels.end[two] - kernels.end[one]).collect();
    let offset = match apart.len() / 2 {
        _ if is_one_clock || apart.is_empty() => 0,
        middle => *apart.select_nth_unstable(middle).1,
    };
    let in_order = pairs().filter(|&(one, two)| kernels.end[two] - offset >= kernels.start[one]).count();
    100 * in_order >= TOGETHER_PCT * sent.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Collective, Kernel, OptI64, Process, RowRef, Source};

    /// Kernels of (rank, operation, peer, start, end), each with a row of `collectives` that its rank numbers itself.
    fn recorded(messages: &[(u32, &str, i64, Ns, Ns)]) -> Trace {
        let mut trace = Trace::default();
        let processes: Vec<_> = (0..3)
            .map(|rank| {
                let source = trace.add_source(Source::named(&format!("{rank}.json"), "torch"));
                let guid = trace.strings.intern(&format!("guid {rank}"));
                trace.add_process(Process { guid, rank: Some(rank), ..Process::new(source, i64::from(rank)) })
            })
            .collect();
        let name = trace.strings.intern("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)");
        for (number, &(rank, operation, peer, start, end)) in messages.iter().enumerate() {
            let process = processes[rank as usize];
            let row = RowRef::kernel(trace.kernels.len());
            trace.kernels.push(Kernel { name, start, end, process, ..Kernel::default() });
            trace.collectives.push(Collective {
                operation: trace.strings.intern(operation),
                peer: if peer < 0 { OptI64::NONE } else { OptI64::some(peer) },
                sequence: OptI64::some(number as i64 % 2),
                row,
                process,
                ..Collective::default()
            });
        }
        trace.finish();
        trace
    }

    fn meetings(trace: &Trace) -> Meetings {
        let classes = crate::classify::Classes::of(trace, &crate::classify::Classifier::builtin());
        let recordings = Recordings::of(trace);
        let works = GpuWork::of_ranks(trace, &classes, &recordings);
        Meetings::of(trace, &works, &recordings)
    }

    #[test]
    fn the_nth_message_to_a_rank_is_its_nth_from_there() {
        let trace = recorded(&[
            (0, "send", 1, 100, 200),
            (1, "recv", 0, 50, 210),
            (1, "send", 2, 220, 300),
            (2, "recv", 1, 10, 310),
            (0, "send", 1, 300, 400),
            (1, "recv", 0, 350, 400),
        ]);
        let found = meetings(&trace);
        let mut starts: Vec<Vec<Ns>> = found
            .all
            .iter()
            .map(|one| one.kernels.iter().map(|&kernel| trace.kernels.start[kernel as usize]).collect())
            .collect();
        starts.sort();
        assert_eq!(starts, [[100, 50], [220, 10], [300, 350]]);
        assert_eq!((found.by_order, found.not_joined.len()), (3, 0));
    }

    #[test]
    fn messages_that_do_not_fit_are_not_joined_and_the_reason_is_given() {
        let lost = recorded(&[(0, "send", 1, 0, 10), (0, "send", 1, 20, 30), (1, "recv", 0, 0, 10)]);
        let early = recorded(&[
            (0, "send", 1, 0, 10),
            (1, "recv", 0, 0, 10),
            (0, "send", 1, 1000, 1010),
            (1, "recv", 0, 20, 30),
            (0, "send", 1, 2000, 2010),
            (1, "recv", 0, 2000, 2010),
        ]);
        let unknown = recorded(&[(0, "send", -1, 0, 10), (1, "recv", -1, 0, 10)]);
        let reasons = [lost, early, unknown].map(|trace| {
            let found = meetings(&trace);
            assert!(found.all.is_empty(), "{:?}", found.all);
            found.not_joined.concat()
        });
        assert_eq!(
            reasons,
            [
                "rank 0 recorded 2 messages to rank 1, but rank 1 recorded 1",
                "messages from rank 0 to rank 1 are received before they are sent",
                "2 sends and receives do not name the other rank",
            ]
        );
    }

    #[test]
    fn a_rank_that_is_not_among_the_inputs_is_not_missed() {
        let trace = recorded(&[(0, "send", 1, 0, 10), (1, "recv", 0, 0, 12), (1, "send", 7, 20, 30)]);
        let found = meetings(&trace);
        assert_eq!((found.all.len(), found.not_joined.len()), (1, 0));
    }
}

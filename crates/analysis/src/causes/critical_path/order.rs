//! Infers events whose streams are not recorded from the order of calls: a record comes after its thread's
//! last launch, a wait is for its thread's last record, and the thread's next launch is what waits.
//!
//! Libraries use events this way, but for a single call it is only a guess. So the guesses are tested: if the
//! times of a run contradict too many of them, none is used.

use trace::{Map, ThreadId};

use model::work::GpuWork;

/// This share of the guesses must agree with the clock.
const AGREE_PCT: usize = 95;

/// The latest operations of one thread.
#[derive(Default)]
struct Thread {
    /// The work of its last launch.
    launched: Vec<u32>,
    /// The work that its last record comes after.
    recorded: Vec<u32>,
    /// The work that its next launch waits for.
    waiting: Vec<u32>,
}

/// The calls of a run in order, by thread.
#[derive(Default)]
pub(super) struct CallOrder {
    threads: Map<ThreadId, Thread>,
    /// Pairs of work: the first ends before the second starts.
    guesses: Vec<(u32, u32)>,
}

impl CallOrder {
    /// Notes that a thread launched work.
    pub fn launch(&mut self, thread: ThreadId, works: &GpuWork, launched: &[u32]) {
        let state = self.threads.entry(thread).or_default();
        for awaited in std::mem::take(&mut state.waiting) {
            let other_lane = |work: &&u32| works.stream[**work as usize] != works.stream[awaited as usize];
            if let Some(&first) = launched.iter().find(other_lane) {
                self.guesses.push((awaited, first));
            }
        }
        state.launched.clear();
        state.launched.extend_from_slice(launched);
    }

    /// Notes that a thread recorded an event on an unknown stream.
    pub fn record(&mut self, thread: ThreadId) {
        let state = self.threads.entry(thread).or_default();
        state.recorded.clone_from(&state.launched);
    }

    /// Notes that a thread made an unknown stream wait for an unknown event.
    pub fn wait(&mut self, thread: ThreadId) {
        let state = self.threads.entry(thread).or_default();
        state.waiting.extend(state.recorded.iter().copied());
    }

    /// The dependencies that times do not contradict; empty if they contradict many.
    pub fn agreed(self, works: &GpuWork, tolerance: i64) -> Vec<(u32, u32)> {
        let all = self.guesses.len();
        let agrees = |&(awaited, work): &(u32, u32)| {
            works.end[awaited as usize] <= works.start[work as usize].saturating_add(tolerance)
        };
        let agreed: Vec<(u32, u32)> = self.guesses.into_iter().filter(agrees).collect();
        if 100 * agreed.len() >= AGREE_PCT * all { agreed } else { Vec::new() }
    }
}

//! Events whose streams are not recorded, told from the order of calls: a record stands behind what its thread launched
//! last, a wait is for what its thread recorded last, and the next launch of the thread is what waits.
//!
//! That is how libraries use events, and no more than a guess for one call. It is put to the test: where the times of a run
//! contradict it more than now and then, none of it is used.

use trace::{Map, ThreadId};

use model::work::GpuWork;

/// Of a hundred guesses so many must agree with the clock.
const AGREE_PCT: usize = 95;

/// What one thread did last.
#[derive(Default)]
struct Thread {
    /// The work of its last launch.
    launched: Vec<u32>,
    /// What its last record stands behind.
    recorded: Vec<u32>,
    /// What its next launch waits for.
    waiting: Vec<u32>,
}

/// The calls of a run in their order, by thread.
#[derive(Default)]
pub(super) struct CallOrder {
    threads: Map<ThreadId, Thread>,
    /// Work that ends, and work that waits for it.
    guesses: Vec<(u32, u32)>,
}

impl CallOrder {
    /// A thread launched work.
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

    /// A thread recorded an event on a stream that is not told.
    pub fn record(&mut self, thread: ThreadId) {
        let state = self.threads.entry(thread).or_default();
        state.recorded.clone_from(&state.launched);
    }

    /// A thread made a stream wait for an event; neither is told.
    pub fn wait(&mut self, thread: ThreadId) {
        let state = self.threads.entry(thread).or_default();
        state.waiting.extend(state.recorded.iter().copied());
    }

    /// The dependencies that times do not contradict; none where they contradict many.
    pub fn agreed(self, works: &GpuWork, tolerance: i64) -> Vec<(u32, u32)> {
        let all = self.guesses.len();
        let agrees = |&(awaited, work): &(u32, u32)| {
            works.end[awaited as usize] <= works.start[work as usize].saturating_add(tolerance)
        };
        let agreed: Vec<(u32, u32)> = self.guesses.into_iter().filter(agrees).collect();
        if 100 * agreed.len() >= AGREE_PCT * all { agreed } else { Vec::new() }
    }
}

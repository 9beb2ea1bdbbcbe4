//! The order that a program imposed on its GPU work: streams, events between them, host waits.
//!
//! Work on one stream runs in order. After a wait, everything later on the stream follows whatever the
//! awaited mark follows; after a blocking call, everything its thread launches follows what the call waited
//! for. So the work on another stream that a kernel follows is always a prefix of that stream, and it only
//! changes at waits: one vector of prefix lengths per stretch between waits is enough. Cost: one step per
//! operation, and one vector with an entry per stream for each wait that changes something.

use trace::{Map, StrId};

/// A host operation, in program order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// A thread launched work number `place` of a stream.
    Launch { stream: u32, place: u32, thread: u32 },
    /// A mark was recorded behind everything on a stream.
    Record { stream: u32, mark: u32 },
    /// A stream waits for a mark.
    Wait { stream: u32, mark: u32 },
    /// A call blocked a thread until this many items of each stream were done.
    Block { thread: u32, done: Vec<(u32, u32)>, call: StrId },
}

/// What made work wait for other work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A wait for an event.
    Event,
    /// A call that blocked the host before the launch.
    Host(StrId),
}

/// A stretch of a stream between waits: where it starts, what it follows, and why.
#[derive(Clone, Debug)]
struct Stretch {
    from: u32,
    follows: Vec<u32>,
    cause: Cause,
}

/// Which work must follow which.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    stretches: Vec<Vec<Stretch>>,
}

impl Order {
    /// The order that operations impose on this many streams.
    pub fn of(streams: usize, ops: &[Op]) -> Self {
        let mut replay = Replay {
            order: Self { stretches: vec![Vec::new(); streams] },
            launched: vec![0; streams],
            marks: Map::default(),
            threads: Map::default(),
            seen: vec![None; streams],
        };
        ops.iter().for_each(|op| replay.step(op));
        replay.order
    }

    fn stretch(&self, stream: u32, place: u32) -> Option<&Stretch> {
        let stretches = &self.stretches[stream as usize];
        let after = stretches.partition_point(|stretch| stretch.from <= place);
        after.checked_sub(1).map(|i| &stretches[i])
    }

    /// How much work of stream `other` comes before the work at `place` of `stream`, and why.
    pub fn follows(&self, stream: u32, place: u32, other: u32) -> (u32, Option<Cause>) {
        match self.stretch(stream, place) {
            Some(stretch) => (stretch.follows[other as usize], Some(stretch.cause)),
            None => (0, None),
        }
    }

    /// The first work of stream `other` that comes after the work at `place` of `stream`, and why.
    pub fn followed_by(&self, stream: u32, place: u32, other: u32) -> Option<(u32, Cause)> {
        let stretches = &self.stretches[other as usize];
        let first = stretches.partition_point(|stretch| stretch.follows[stream as usize] <= place);
        stretches.get(first).map(|stretch| (stretch.from, stretch.cause))
    }
}

/// What a thread's launches follow, with a version that rises with each change.
#[derive(Clone, Debug)]
struct HostClock {
    follows: Vec<u32>,
    version: u32,
    call: StrId,
}

struct Replay {
    order: Order,
    launched: Vec<u32>,
    marks: Map<u32, Vec<u32>>,
    threads: Map<u32, HostClock>,
    /// By stream: the last thread that launched on it, and the version of its clock then.
    seen: Vec<Option<(u32, u32)>>,
}

impl Replay {
    fn step(&mut self, op: &Op) {
        match op {
            &Op::Launch { stream, place, thread } => {
                let place = place.max(self.launched[stream as usize]);
                self.inherit(stream, place, thread);
                self.launched[stream as usize] = place + 1;
            }
            &Op::Record { stream, mark } => {
                let mut follows = self.now(stream);
                follows[stream as usize] = self.launched[stream as usize];
                self.marks.insert(mark, follows);
            }
            Op::Wait { stream, mark } => {
                if let Some(follows) = self.marks.get(mark).cloned() {
                    self.join(*stream, self.launched[*stream as usize], &follows, Cause::Event);
                }
            }
            Op::Block { thread, done, call } => self.block(*thread, done, *call),
        }
    }

    /// What the next launch on a stream follows.
    fn now(&self, stream: u32) -> Vec<u32> {
        let last = self.order.stretches[stream as usize].last();
        last.map_or_else(|| vec![0; self.launched.len()], |stretch| stretch.follows.clone())
    }

    fn block(&mut self, thread: u32, done: &[(u32, u32)], call: StrId) {
        let streams = self.launched.len();
        let mut grown = vec![0; streams];
        for &(stream, count) in done {
            if let Some(last) = count.checked_sub(1) {
                raise(&mut grown, stream as usize, count);
                if let Some(stretch) = self.order.stretch(stream, last) {
                    (0..streams).for_each(|other| raise(&mut grown, other, stretch.follows[other]));
                }
            }
        }
        let fresh = || HostClock { follows: vec![0; streams], version: 0, call };
        let clock = self.threads.entry(thread).or_insert_with(fresh);
        if (0..streams).any(|s| grown[s] > clock.follows[s]) {
            (0..streams).for_each(|s| raise(&mut clock.follows, s, grown[s]));
            (clock.version, clock.call) = (clock.version + 1, call);
        }
    }

    fn inherit(&mut self, stream: u32, place: u32, thread: u32) {
        let Some(clock) = self.threads.get(&thread) else { return };
        let state = Some((thread, clock.version));
        if self.seen[stream as usize] != state {
            let (follows, call) = (clock.follows.clone(), clock.call);
            self.join(stream, place, &follows, Cause::Host(call));
            self.seen[stream as usize] = state;
        }
    }

    fn join(&mut self, stream: u32, from: u32, follows: &[u32], cause: Cause) {
        let mut joined = self.now(stream);
        let own = stream as usize;
        let grows = (0..joined.len()).any(|s| s != own && follows[s] > joined[s]);
        if !grows {
            return;
        }
        (0..joined.len()).filter(|&s| s != own).for_each(|s| raise(&mut joined, s, follows[s]));
        let stretches = &mut self.order.stretches[own];
        stretches.push(Stretch { from, follows: joined, cause });
    }
}

fn raise(clock: &mut [u32], place: usize, to: u32) {
    clock[place] = clock[place].max(to);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STREAMS: u32 = 4;

    /// A random program: launches, records and waits over four streams, blocking calls of two threads.
    fn program() -> impl Strategy<Value = Vec<Op>> {
        prop::collection::vec((0u8..6, 0..STREAMS, 0u32..6, 0u32..2), 0..60).prop_map(|choices| {
            let mut launched = [0u32; STREAMS as usize];
            let mut ops = Vec::new();
            for (what, stream, mark, thread) in choices {
                ops.push(match what {
                    0..=2 => {
                        launched[stream as usize] += 1;
                        Op::Launch { stream, place: launched[stream as usize] - 1, thread }
                    }
                    3 => Op::Record { stream, mark },
                    4 => Op::Wait { stream, mark },
                    _ => Op::Block {
                        thread,
                        done: vec![(stream, launched[stream as usize])],
                        call: StrId(u32::from(what)),
                    },
                });
            }
            ops
        })
    }

    type Node = (u32, u32);

    /// Every launch with everything it must follow, found by walking edges one at a time.
    fn slow(ops: &[Op]) -> Vec<(Node, std::collections::HashSet<Node>)> {
        type Set = std::collections::HashSet<Node>;
        let mut on_stream: Vec<Set> = vec![Set::new(); STREAMS as usize];
        let mut host: Vec<Set> = vec![Set::new(); 2];
        let mut marks: std::collections::HashMap<u32, Set> = Default::default();
        let mut nodes: Vec<(Node, Set)> = Vec::new();
        for op in ops {
            match op {
                &Op::Launch { stream, place, thread } => {
                    let mut set = on_stream[stream as usize].clone();
                    set.extend(&host[thread as usize]);
                    nodes.push(((stream, place), set.clone()));
                    set.insert((stream, place));
                    on_stream[stream as usize] = set;
                }
                &Op::Record { stream, mark } => {
                    marks.insert(mark, on_stream[stream as usize].clone());
                }
                Op::Wait { stream, mark } => {
                    if let Some(set) = marks.get(mark) {
                        on_stream[*stream as usize].extend(set);
                    }
                }
                Op::Block { thread, done, .. } => {
                    for (node, set) in &nodes {
                        if done.iter().any(|&(stream, count)| node.0 == stream && node.1 < count) {
                            host[*thread as usize].insert(*node);
                            host[*thread as usize].extend(set);
                        }
                    }
                }
            }
        }
        nodes
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn equals_following_every_edge(ops in program()) {
            let order = Order::of(STREAMS as usize, &ops);
            let nodes = slow(&ops);
            for ((stream, place), follows) in &nodes {
                for other in (0..STREAMS).filter(|other| other != stream) {
                    let before = follows.iter().filter(|node| node.0 == other).count() as u32;
                    prop_assert_eq!(order.follows(*stream, *place, other).0, before);
                    let after = nodes.iter().filter(|((s, _), set)| *s == other && set.contains(&(*stream, *place)));
                    let first = after.map(|((_, place), _)| *place).min();
                    let launched = nodes.iter().filter(|((s, _), _)| *s == other).count() as u32;
                    let found = order.followed_by(*stream, *place, other).map(|(place, _)| place);
                    // A wait with no launch after it is known too.
                    prop_assert_eq!(found.filter(|place| *place < launched), first);
                }
            }
        }
    }
}

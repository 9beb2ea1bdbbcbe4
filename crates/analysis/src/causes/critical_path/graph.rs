//! The graph of a run: points in time joined by dependencies, each with its minimum duration.
//!
//! Dependencies of a point are stored together. The one that arrives last binds the point and gets the whole
//! observed time; the others keep their minimum. So propagation reproduces the observed times exactly, unless
//! something was changed.

use rayon::prelude::*;
use trace::Map;

use super::NONE;

/// Minimum points per thread: smaller batches finish before another thread wakes up.
pub(super) const POINTS_AT_ONCE: usize = 1 << 14;

/// How a dependency is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Provenance {
    /// From times only.
    Inferred,
    /// From the meaning of calls.
    Api,
    /// From recorded facts: durations, the order on a stream or a thread.
    Measured,
}

impl Provenance {
    pub fn name(self) -> &'static str {
        match self {
            Provenance::Inferred => "inferred",
            Provenance::Api => "api",
            Provenance::Measured => "measured",
        }
    }
}

/// Why one point follows another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Dependency {
    /// A kernel or copy takes its time.
    Work,
    /// A collective takes its time once all ranks have arrived.
    Transfer,
    /// A host thread runs.
    Host,
    /// Work follows the previous work on its stream.
    Stream,
    /// Overlapping work on one queue: only the order of starts is known.
    Beside,
    /// A call launched the work.
    Launch,
    /// Work waits for an event.
    Event,
    /// A call waits for work.
    Sync,
    /// A collective waits for a rank.
    Arrival,
    /// The default stream and other streams wait for each other.
    DefaultStream,
    /// A call returned right after work it found running.
    Return,
    /// A call ran in parallel with the copy it launched and returned when it ended.
    Along,
    /// Work waits for an event, judging by the order of calls.
    Order,
    /// Work of a replayed graph started right after other work of that graph.
    Graph,
    /// Work started right after other work.
    Nearest,
    /// A thread began while another ran.
    HandOff,
}

impl Dependency {
    pub const ALL: [Dependency; 16] = [
        Dependency::Work,
        Dependency::Transfer,
        Dependency::Host,
        Dependency::Stream,
        Dependency::Beside,
        Dependency::Launch,
        Dependency::Event,
        Dependency::Sync,
        Dependency::Arrival,
        Dependency::DefaultStream,
        Dependency::Return,
        Dependency::Along,
        Dependency::Order,
        Dependency::Graph,
        Dependency::Nearest,
        Dependency::HandOff,
    ];

    pub fn provenance(self) -> Provenance {
        use Dependency::*;
        match self {
            Work | Transfer | Host | Stream | Beside => Provenance::Measured,
            Launch | Event | Sync | Arrival | DefaultStream => Provenance::Api,
            Return | Along | Order | Graph | Nearest | HandOff => Provenance::Inferred,
        }
    }

    pub fn name(self) -> &'static str {
        use Dependency::*;
        match self {
            Work => "work",
            Transfer => "transfer",
            Host => "host",
            Stream => "stream order",
            Beside => "overlap on a stream",
            Launch => "launch",
            Event => "event wait",
            Sync => "synchronise",
            Arrival => "collective",
            DefaultStream => "default stream",
            Return => "return of a call",
            Along => "copy during a call",
            Order => "event wait by call order",
            Graph => "order in a graph",
            Nearest => "nearest end",
            HandOff => "thread begins",
        }
    }
}

/// Dependencies while they are collected.
pub(super) struct Draft {
    /// The time of each point.
    pub time: Vec<i64>,
    from: Vec<u32>,
    to: Vec<u32>,
    least: Vec<i64>,
    kind: Vec<Dependency>,
    tolerance: i64,
    /// Dependencies that the clock contradicts, by kind.
    pub contradicted: [usize; Dependency::ALL.len()],
}

impl Draft {
    pub fn new(tolerance: i64) -> Self {
        Self {
            time: Vec::new(),
            from: Vec::new(),
            to: Vec::new(),
            least: Vec::new(),
            kind: Vec::new(),
            tolerance,
            contradicted: [0; Dependency::ALL.len()],
        }
    }

    pub fn reserve(&mut self, points: usize, edges: usize) {
        self.time.reserve(points);
        self.from.reserve(edges);
        self.to.reserve(edges);
        self.least.reserve(edges);
        self.kind.reserve(edges);
    }

    /// A new point.
    pub fn point(&mut self, time: i64) -> u32 {
        self.time.push(time);
        self.time.len() as u32 - 1
    }

    /// `to` follows `from` after at least `least`. Returns the edge, or `None` if the clock contradicts it.
    pub fn add(&mut self, from: u32, to: u32, least: i64, kind: Dependency) -> Option<usize> {
        let lag = self.time[to as usize].saturating_sub(self.time[from as usize]);
        if lag < -self.tolerance || from == to {
            self.contradicted[kind as usize] += 1;
            return None;
        }
        self.from.push(from);
        self.to.push(to);
        self.least.push(least.min(lag));
        self.kind.push(kind);
        Some(self.from.len() - 1)
    }

    /// Changes the minimum duration of a dependency.
    pub fn set_least(&mut self, edge: usize, least: i64) {
        let (from, to) = (self.from[edge] as usize, self.to[edge] as usize);
        self.least[edge] = least.min(self.time[to] - self.time[from]);
    }

    /// Calls `with(to, kind, arrival)` for every dependency.
    pub fn arrivals(&self, mut with: impl FnMut(u32, i64)) {
        for edge in 0..self.from.len() {
            with(self.to[edge], self.time[self.from[edge] as usize] + self.least[edge]);
        }
    }

    /// Orders the points, breaking cycles, and binds each point to its last arrival.
    pub fn finish(self) -> Graph {
        let Draft { time, from, to, least, kind, contradicted, .. } = self;
        let mut first = vec![0u32; time.len() + 1];
        for &to in &to {
            first[to as usize + 1] += 1;
        }
        for point in 0..time.len() {
            first[point + 1] += first[point];
        }
        // Ordering only needs the source of each dependency.
        let of_order = || {
            let from = by_point(&first, &to, from, 0);
            let order = order_without_cycles(&first, &from);
            (from, order)
        };
        let of_times = || (by_point(&first, &to, least, 0), by_point(&first, &to, kind, Dependency::Work));
        let ((from, order), (weight, kind)) = rayon::join(of_order, of_times);
        drop(to);
        let (binding, broken) = (Vec::new(), Vec::new());
        let mut graph =
            Graph { time, first, from, weight, kind, order: Vec::new(), binding, broken, contradicted };
        match order {
            Some(order) => graph.order = order,
            None => graph.sort_and_cut(),
        }
        graph.bind();
        graph
    }
}

/// Sorts per-dependency values by the point they lead to.
fn by_point<T: Copy>(first: &[u32], to: &[u32], of_dependency: Vec<T>, empty: T) -> Vec<T> {
    let mut next = first.to_vec();
    let mut placed = vec![empty; to.len()];
    for (&to, known) in to.iter().zip(of_dependency) {
        let place = &mut next[to as usize];
        placed[*place as usize] = known;
        *place += 1;
    }
    placed
}

/// A topological order; `None` if there is a cycle.
fn order_without_cycles(first: &[u32], from: &[u32]) -> Option<Vec<u32>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Open,
        Waiting,
        Done,
    }
    let points = first.len() - 1;
    let mut order: Vec<u32> = Vec::with_capacity(points);
    let mut state = vec![State::Open; points];
    // Points that wait for a dependency, with the next dependency to visit.
    let mut waiting: Vec<(u32, u32)> = Vec::new();
    for root in 0..points {
        if state[root] == State::Open {
            state[root] = State::Waiting;
            waiting.push((root as u32, first[root]));
        }
        while let Some((point, next)) = waiting.last_mut() {
            let point = *point as usize;
            if *next == first[point + 1] {
                state[point] = State::Done;
                order.push(point as u32);
                waiting.pop();
                continue;
            }
            let before = from[*next as usize] as usize;
            *next += 1;
            match state[before] {
                State::Done => {}
                State::Waiting => return None,
                State::Open => {
                    state[before] = State::Waiting;
                    waiting.push((before as u32, first[before]));
                }
            }
        }
    }
    Some(order)
}

/// The finished graph.
pub(super) struct Graph {
    /// The time of each point.
    pub time: Vec<i64>,
    /// The dependencies of point `p` are `first[p]..first[p + 1]`.
    first: Vec<u32>,
    pub from: Vec<u32>,
    /// The duration of each dependency.
    pub weight: Vec<i64>,
    pub kind: Vec<Dependency>,
    /// Points in topological order.
    pub order: Vec<u32>,
    /// The dependency that binds each point; `NONE` if it has no dependencies.
    pub binding: Vec<u32>,
    /// Dependencies that were cut to break cycles.
    pub broken: Vec<Dependency>,
    /// Dependencies that the clock contradicts, by kind.
    pub contradicted: [usize; Dependency::ALL.len()],
}

impl Graph {
    pub fn len(&self) -> usize {
        self.time.len()
    }

    pub fn dependencies(&self, point: usize) -> std::ops::Range<usize> {
        self.first[point] as usize..self.first[point + 1] as usize
    }

    /// Orders the points and cuts every cycle.
    fn sort_and_cut(&mut self) {
        let points = self.len();
        let mut first_out = vec![0u32; points + 1];
        for &from in &self.from {
            first_out[from as usize + 1] += 1;
        }
        for i in 0..points {
            first_out[i + 1] += first_out[i];
        }
        let mut next = first_out.clone();
        let mut targets = vec![0u32; self.from.len()];
        let mut open = vec![0u32; points];
        for (point, open) in open.iter_mut().enumerate() {
            let dependencies = self.dependencies(point);
            *open = dependencies.len() as u32;
            for edge in dependencies {
                let place = &mut next[self.from[edge] as usize];
                targets[*place as usize] = point as u32;
                *place += 1;
            }
        }
        drop(next);
        let mut order: Vec<u32> = Vec::with_capacity(points);
        order.extend((0..points as u32).filter(|&point| open[point as usize] == 0));
        let (mut at, mut cursor) = (0, 0);
        loop {
            while at < order.len() {
                let point = order[at] as usize;
                at += 1;
                for &target in &targets[first_out[point] as usize..first_out[point + 1] as usize] {
                    if target != NONE {
                        open[target as usize] -= 1;
                        if open[target as usize] == 0 {
                            order.push(target);
                        }
                    }
                }
            }
            if order.len() == points {
                break;
            }
            while open[cursor] == 0 {
                cursor += 1;
            }
            let (edge, to) = self.weakest_of_a_cycle(cursor, &open);
            let from = std::mem::replace(&mut self.from[edge], NONE) as usize;
            let outgoing = &mut targets[first_out[from] as usize..first_out[from + 1] as usize];
            if let Some(target) = outgoing.iter_mut().find(|target| **target as usize == to) {
                *target = NONE;
            }
            self.broken.push(self.kind[edge]);
            open[to] -= 1;
            if open[to] == 0 {
                order.push(to as u32);
            }
        }
        self.order = order;
        if !self.broken.is_empty() {
            self.drop_cut();
        }
    }

    /// The least trusted dependency of a cycle that `start` depends on, and the point it leads to.
    fn weakest_of_a_cycle(&self, start: usize, open: &[u32]) -> (usize, usize) {
        let mut place_of: Map<usize, usize> = Map::default();
        let mut walked: Vec<(usize, usize)> = Vec::new();
        let mut point = start;
        loop {
            if let Some(&place) = place_of.get(&point) {
                let trust = |&&(edge, to): &&(usize, usize)| {
                    let lag = self.time[to] - self.time[self.from[edge] as usize];
                    (self.kind[edge].provenance(), lag, edge)
                };
                return *walked[place..].iter().min_by_key(trust).expect("a cycle has a dependency");
            }
            place_of.insert(point, walked.len());
            // An open point depends on an open point, otherwise it would have been ordered.
            let unresolved = |&edge: &usize| self.from[edge] != NONE && open[self.from[edge] as usize] > 0;
            let edge =
                self.dependencies(point).find(unresolved).expect("an open point waits for an open one");
            walked.push((edge, point));
            point = self.from[edge] as usize;
        }
    }

    /// Removes dependencies that were cut.
    fn drop_cut(&mut self) {
        let (mut kept, mut first) = (0, vec![0u32; self.first.len()]);
        for point in 0..self.len() {
            for edge in self.dependencies(point) {
                if self.from[edge] != NONE {
                    self.from[kept] = self.from[edge];
                    self.weight[kept] = self.weight[edge];
                    self.kind[kept] = self.kind[edge];
                    kept += 1;
                }
            }
            first[point + 1] = kept as u32;
        }
        self.first = first;
        self.from.truncate(kept);
        self.weight.truncate(kept);
        self.kind.truncate(kept);
    }

    /// Binds each point to the dependency that arrives last, which gets the whole observed time.
    fn bind(&mut self) {
        let points = self.len();
        self.binding = vec![NONE; points];
        let Graph { time, first, from, weight, kind, binding, .. } = self;
        // Points, each with its own slice of dependencies.
        let (mut parts, mut weights, mut bindings) = (Vec::new(), &mut weight[..], &mut binding[..]);
        for begin in (0..points).step_by(POINTS_AT_ONCE) {
            let end = points.min(begin + POINTS_AT_ONCE);
            let (own, others) = weights.split_at_mut((first[end] - first[begin]) as usize);
            let (bound, unbound) = bindings.split_at_mut(end - begin);
            (weights, bindings) = (others, unbound);
            parts.push((begin, own, bound));
        }
        parts.into_par_iter().for_each(|(begin, weight, binding)| {
            let base = first[begin] as usize;
            for (point, binding) in (begin..).zip(binding) {
                let arrival = |edge: usize| time[from[edge] as usize] + weight[edge - base];
                let last = (first[point] as usize..first[point + 1] as usize)
                    .max_by_key(|&edge| (arrival(edge), kind[edge].provenance(), std::cmp::Reverse(edge)));
                if let Some(edge) = last {
                    *binding = edge as u32;
                    weight[edge - base] = time[point] - time[from[edge] as usize];
                }
            }
        });
    }

    /// The time of each point if dependencies took `weight(edge, point)`. Points without any keep their time.
    pub fn propagate_into(&self, time: &mut Vec<i64>, weight: impl Fn(usize, usize) -> i64) {
        time.clone_from(&self.time);
        for &point in &self.order {
            let point = point as usize;
            let arrivals =
                self.dependencies(point).map(|edge| time[self.from[edge] as usize] + weight(edge, point));
            if let Some(last) = arrivals.max() {
                time[point] = last;
            }
        }
    }

    /// The latest time of each point that does not make the run end after `end`.
    pub fn latest(&self, end: i64) -> Vec<i64> {
        let mut latest = vec![end; self.len()];
        for &point in self.order.iter().rev() {
            let point = point as usize;
            for edge in self.dependencies(point) {
                let from = self.from[edge] as usize;
                latest[from] = latest[from].min(latest[point] - self.weight[edge]);
            }
        }
        latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(times: &[i64]) -> Draft {
        let mut draft = Draft::new(2_000);
        times.iter().for_each(|&time| {
            draft.point(time);
        });
        draft
    }

    fn propagated(graph: &Graph) -> Vec<i64> {
        let mut times = Vec::new();
        graph.propagate_into(&mut times, |edge, _| graph.weight[edge]);
        times
    }

    #[test]
    fn the_last_arrival_binds_and_takes_what_was_seen() {
        let mut draft = points(&[0, 50, 100]);
        draft.add(0, 2, 10, Dependency::Launch);
        draft.add(1, 2, 5, Dependency::Stream);
        let graph = draft.finish();
        let edge = graph.binding[2] as usize;
        assert_eq!((graph.kind[edge], graph.weight[edge]), (Dependency::Stream, 50));
        assert_eq!(propagated(&graph), [0, 50, 100]);
        assert_eq!(graph.latest(100), [90, 50, 100]);
    }

    #[test]
    fn a_cycle_is_cut_at_the_least_trusted_dependency() {
        let mut draft = points(&[10, 10, 10, 20]);
        draft.add(0, 1, 0, Dependency::Stream);
        draft.add(1, 2, 0, Dependency::Event);
        draft.add(2, 0, 0, Dependency::Nearest);
        draft.add(2, 3, 0, Dependency::Work);
        let graph = draft.finish();
        assert_eq!(graph.broken, [Dependency::Nearest]);
        assert_eq!(graph.order.len(), 4);
        assert_eq!(graph.from.len(), 3);
        assert_eq!(propagated(&graph), [10, 10, 10, 20]);
    }

    #[test]
    fn many_cycles_end() {
        let mut draft = points(&[5; 40]);
        for i in 0..40u32 {
            for j in 0..40u32 {
                draft.add(i, j, 0, if (i + j) % 2 == 0 { Dependency::Graph } else { Dependency::Sync });
            }
        }
        let graph = draft.finish();
        let mut place = vec![0; 40];
        graph.order.iter().enumerate().for_each(|(i, &point)| place[point as usize] = i);
        for point in 0..40 {
            assert!(graph.dependencies(point).all(|edge| place[graph.from[edge] as usize] < place[point]));
        }
        assert!(!graph.broken.is_empty());
    }

    #[test]
    fn what_the_clock_contradicts_is_counted_and_left_out() {
        let mut draft = points(&[10_000, 5_000, 9_000]);
        assert!(draft.add(0, 1, 0, Dependency::Launch).is_none());
        // The difference is within clock tolerance.
        assert!(draft.add(0, 2, 0, Dependency::Launch).is_some());
        let graph = draft.finish();
        assert_eq!(graph.contradicted[Dependency::Launch as usize], 1);
        assert_eq!(propagated(&graph), [10_000, 5_000, 9_000]);
    }
}

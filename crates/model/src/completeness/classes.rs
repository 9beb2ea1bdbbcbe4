//! Graph launches by kernels: launches with the same kernels are one class, and a class may be the remains of
//! a larger one.
//!
//! If kernels carry the number of their graph, launches of one graph must have the same kernels. Other
//! launches do not show which graph they launch, but a graph has the same kernels every time. A class whose
//! kernels are a subset of a larger class is either another, smaller graph or the remains of the larger one.
//! The gaps that lost kernels leave decide.

use trace::{LinkKind, Map, ProcessId, RowRef, StrId, StreamId, Table, Trace};

use super::eager::Times;
use super::launches::{Bits, Scan};

/// Gaps that lost kernels must leave, as a share of their duration.
pub(super) const GAP_SHARE: f64 = 0.5;
/// This many launches whose kernels all differ prove a loss without other evidence.
const VARIED: usize = 4;

/// The kernels of one launch as a hash that ignores their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Contents {
    kernels: u32,
    names: u64,
    graph: Option<GraphId>,
}

/// An instantiated graph: its process and its number in that process.
type GraphId = (ProcessId, i64);

/// Launches with the same kernels.
#[derive(Default)]
pub(super) struct Class {
    /// The graph, if kernels carry its number.
    graph: Option<GraphId>,
    /// Indexes into `Scan::replays`.
    pub launches: Vec<u32>,
    /// Kernels of the first launch with counts, sorted by name.
    pub names: Vec<(StrId, u32)>,
    /// Kernels of the first launch in time order.
    pub order: Vec<StrId>,
    by_stream: Vec<OnStream>,
}

/// Kernels of one launch on one stream.
struct OnStream {
    stream: StreamId,
    kernels: u32,
    first: i64,
    last: i64,
    busy: i64,
}

impl Class {
    pub(super) fn kernels(&self) -> usize {
        self.order.len()
    }

    /// Time in which streams of the graph wait for its next kernel.
    pub(super) fn idle(&self) -> f64 {
        self.by_stream.iter().map(|on| (on.last - on.first - on.busy).max(0) as f64).sum()
    }

    fn busy(&self) -> f64 {
        self.by_stream.iter().map(|on| on.busy as f64).sum()
    }

    /// Whether more kernels may have run than were recorded: no launch has all the kernels seen, or the gaps
    /// are longer than the kernels.
    pub(super) fn may_lack_kernels(&self) -> bool {
        self.launches.is_empty() || self.idle() > self.busy()
    }

    /// Whether it may lack kernels and no other launch confirms it.
    pub(super) fn is_doubtful(&self) -> bool {
        self.launches.len() < 2 && self.may_lack_kernels()
    }

    /// Time in which unrecorded kernels may have run, including before the first and after the last.
    pub(super) fn room(&self) -> f64 {
        let kernels = self.kernels() as f64;
        self.idle() * (kernels + 1.0) / (kernels - 1.0).max(1.0)
    }
}

/// Classes from the largest to the smallest, launches without kernels, and the times of kernels in graphs by name.
pub(super) fn classes(trace: &Trace, scan: &Scan) -> (Vec<Class>, Vec<u32>, Map<StrId, Times>) {
    let place = Places::of(trace, scan);
    let mut contents = vec![Contents::default(); scan.replays.len()];
    let numbered = Numbered::of(trace);
    each_kernel(trace, &place, |launch, kernel| {
        let name = u64::from(trace.kernels.name[kernel].0) + 1;
        let contents = &mut contents[launch];
        if contents.kernels == 0 {
            contents.graph = numbered.graph(trace, kernel);
        }
        contents.kernels += 1;
        contents.names = contents.names.wrapping_add(mix(name));
    });
    let mut launches: Map<Contents, Vec<u32>> = Map::default();
    let mut empty = Vec::new();
    for (launch, contents) in contents.iter().enumerate() {
        match contents.kernels {
            0 => empty.push(launch as u32),
            _ => launches.entry(*contents).or_default().push(launch as u32),
        }
    }
    let mut classes: Vec<Class> = launches
        .into_iter()
        .map(|(contents, launches)| Class { graph: contents.graph, launches, ..Class::default() })
        .collect();
    // One class and nothing missing is the usual case: there is nothing to compare.
    if classes.len() > 1 || !empty.is_empty() || !scan.captured.is_empty() {
        fill(trace, &place, &mut classes);
    }
    // Launches in a recording that has only copies are not lost.
    empty.retain(|&launch| !scan.has_work.get(scan.replays[launch as usize] as usize));
    classes.sort_by_key(|class| (std::cmp::Reverse(class.kernels()), class.launches[0]));
    let may_be_part = |(at, part): (usize, &Class)| {
        let is_part = |whole: &Class| {
            difference(part, whole).is_some() || (part.graph.is_some() && part.graph == whole.graph)
        };
        classes[..at].iter().any(is_part) || part.launches.len() == 1
    };
    // Graphs without kernels in common are whole, and no time is missing.
    let compares = classes.len() > 1 && classes.iter().enumerate().any(may_be_part);
    let times = match compares || !empty.is_empty() || !scan.captured.is_empty() {
        true => times_by_name(trace, &place),
        false => Map::default(),
    };
    (classes, empty, times)
}

/// Calls after which launches of one graph may have different kernels.
const CHANGES: [&str; 3] = ["hipGraphExec", "hipGraphNodeSetEnabled", "hipGraphKernelNodeSet"];
/// Calls with such a name that change nothing.
const NO_CHANGES: [&str; 2] = ["hipGraphExecDestroy", "hipGraphExecGetFlags"];

/// Numbers of graphs with numbered nodes: without numbers a source gives all graphs one, and nodes none.
#[derive(Default)]
struct Numbered(Map<i64, ()>);

impl Numbered {
    fn of(trace: &Trace) -> Self {
        let nodes = &trace.graph_nodes;
        let starts = |name: &str, starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        let changes =
            || trace.strings.iter().any(|name| starts(name, &CHANGES) && !starts(name, &NO_CHANGES));
        if nodes.is_empty() || changes() {
            return Self::default();
        }
        let of_graphs = nodes.exec.iter().zip(&nodes.node).filter(|(exec, node)| **exec != 0 && **node != 0);
        Self(of_graphs.map(|(exec, _)| (*exec, ())).collect())
    }

    fn graph(&self, trace: &Trace, kernel: usize) -> Option<GraphId> {
        if self.0.is_empty() {
            return None;
        }
        let exec = trace.graph_nodes.of(RowRef::kernel(kernel))?.exec;
        self.0.contains_key(&exec).then_some((trace.kernels.process[kernel], exec))
    }
}

/// The index of each graph launch in `Scan::replays`, by its row.
struct Places {
    is_replay: Bits,
    place: Map<u32, u32>,
}

impl Places {
    fn of(trace: &Trace, scan: &Scan) -> Self {
        let mut is_replay = Bits::new(trace.regions.len());
        scan.replays.iter().for_each(|&row| is_replay.set(row as usize));
        let place = scan.replays.iter().enumerate().map(|(place, &row)| (row, place as u32)).collect();
        Self { is_replay, place }
    }
}

/// Calls `each` with the launch and the row of each kernel of a graph launch, in time order.
fn each_kernel(trace: &Trace, places: &Places, mut each: impl FnMut(usize, usize)) {
    let links = &trace.links;
    // Kernels of one launch are adjacent: most look-ups equal the last.
    let mut last = (u32::MAX, 0);
    for i in 0..links.len() {
        let (LinkKind::Launch, Some(call), Some(kernel)) =
            (links.kind[i], links.from[i].row_of(Table::Regions), links.to[i].row_of(Table::Kernels))
        else {
            continue;
        };
        if !places.is_replay.get(call) {
            continue;
        }
        if last.0 != call as u32 {
            last = (call as u32, places.place[&(call as u32)]);
        }
        each(last.1 as usize, kernel);
    }
}

/// The times of all kernels of graph launches.
fn times_by_name(trace: &Trace, places: &Places) -> Map<StrId, Times> {
    let kernels = &trace.kernels;
    let mut times: Map<StrId, Times> = Map::default();
    each_kernel(trace, places, |_, kernel| {
        let time = (kernels.end[kernel] - kernels.start[kernel]) as f64;
        times.entry(kernels.name[kernel]).or_default().add(time, kernels.stream[kernel]);
    });
    times
}

/// Adds the kernels of the first launch of each class.
fn fill(trace: &Trace, places: &Places, classes: &mut [Class]) {
    let first: Map<u32, u32> =
        classes.iter().enumerate().map(|(class, facts)| (facts.launches[0], class as u32)).collect();
    let kernels = &trace.kernels;
    each_kernel(trace, places, |launch, kernel| {
        let (name, stream) = (kernels.name[kernel], kernels.stream[kernel]);
        let (start, end) = (kernels.start[kernel], kernels.end[kernel]);
        let Some(&class) = first.get(&(launch as u32)) else { return };
        let class = &mut classes[class as usize];
        class.order.push(name);
        match class.by_stream.iter_mut().find(|on| on.stream == stream) {
            Some(on) => {
                on.kernels += 1;
                on.busy += (end - start.max(on.last)).max(0);
                on.last = on.last.max(end);
            }
            None => class.by_stream.push(OnStream {
                stream,
                kernels: 1,
                first: start,
                last: end,
                busy: end - start,
            }),
        }
    });
    for class in classes {
        let mut names = class.order.clone();
        names.sort_unstable_by_key(|name| name.0);
        for name in names {
            match class.names.last_mut() {
                Some((last, count)) if *last == name => *count += 1,
                _ => class.names.push((name, 1)),
            }
        }
    }
}

/// By class: the class of the whole graph that it is a part of; itself if it is whole.
pub(super) fn whole_of(classes: &[Class], times: &Map<StrId, Times>) -> Vec<usize> {
    let mut whole: Vec<usize> = (0..classes.len()).collect();
    if classes.len() < 2 {
        return whole;
    }
    for part in 1..classes.len() {
        let larger = (0..part).rev().filter(|&larger| whole[larger] == larger);
        let found = larger
            .filter(|&larger| classes[larger].kernels() > classes[part].kernels())
            .find(|&larger| is_part_of(&classes[part], &classes[larger], times));
        if let Some(larger) = found {
            whole[part] = larger;
        }
    }
    whole
}

/// Kernels by name that `whole` has and `part` lacks; `None` if `part` has kernels of its own.
fn difference(part: &Class, whole: &Class) -> Option<Vec<(StrId, u32)>> {
    let mut rest = Vec::new();
    let mut own = part.names.iter().peekable();
    for &(name, count) in &whole.names {
        let has = own.next_if(|(other, _)| *other == name).map_or(0, |(_, count)| *count);
        if has > count {
            return None;
        }
        if has < count {
            rest.push((name, count - has));
        }
    }
    own.peek().is_none().then_some(rest)
}

/// Expected gaps: those between as many kernels of the whole graph.
pub(super) fn usual_gaps(part: &Class, whole: &Class) -> f64 {
    whole.idle() * part.kernels() as f64 / whole.kernels() as f64
}

/// Whether launches of one class are the remains of a larger one: by graph number, else by the gaps that lost
/// kernels leave.
fn is_part_of(part: &Class, whole: &Class, times: &Map<StrId, Times>) -> bool {
    match (part.graph, whole.graph) {
        (Some(one), Some(other)) if one == other => difference(part, whole).is_some(),
        // Numbers from two processes are unrelated.
        (Some(one), Some(other)) if one.0 == other.0 => false,
        _ => is_rest_of(part, whole, times),
    }
}

/// Whether launches of one class are the remains of a larger one, by the gaps.
fn is_rest_of(part: &Class, whole: &Class, times: &Map<StrId, Times>) -> bool {
    let Some(rest) = difference(part, whole) else { return false };
    let mean = |name: &StrId| times[name].mean();
    let lost: f64 = rest.iter().map(|(name, count)| f64::from(*count) * mean(name)).sum();
    let shortest = rest.iter().map(|(name, _)| mean(name)).fold(f64::MAX, f64::min);
    let usual = usual_gaps(part, whole);
    let gaps = part.idle() - usual;
    if gaps >= GAP_SHARE * lost || (gaps >= GAP_SHARE * part.busy() && gaps > 2.0 * usual) {
        return true;
    }
    let streams_lost = part.by_stream.len() < whole.by_stream.len()
        && part.by_stream.iter().all(|on| {
            whole.by_stream.iter().any(|other| other.stream == on.stream && other.kernels == on.kernels)
        });
    if streams_lost && part.launches.len() <= whole.launches.len() {
        return true;
    }
    // A smaller graph runs more than once. A single launch is more likely cut off: kernels lost at its ends
    // leave no gap.
    let is_piece = || whole.order.windows(part.kernels()).any(|piece| piece == part.order);
    let has_gap = gaps >= GAP_SHARE * shortest && gaps > usual;
    part.launches.len() == 1 && (has_gap || part.kernels() * 10 <= whole.kernels() || is_piece())
}

/// Merges the classes of one graph if each lacks kernels that the others have: all have lost some.
pub(super) fn united(classes: &mut Vec<Class>, whole: &mut Vec<usize>) {
    let mut graphs: Map<GraphId, Vec<usize>> = Map::default();
    for (class, facts) in classes.iter().enumerate().filter(|(class, _)| whole[*class] == *class) {
        if let Some(graph) = facts.graph {
            graphs.entry(graph).or_default().push(class);
        }
    }
    let mut apart: Vec<Vec<usize>> = graphs.into_values().filter(|same| same.len() > 1).collect();
    apart.sort_unstable();
    for same in apart {
        unite(classes, whole, &same);
    }
}

/// Merges launches with the same names if nearly all have different kernels: all have lost some. The whole
/// graph has at least the highest count of each name; it becomes a class without launches.
pub(super) fn varied(classes: &mut Vec<Class>, whole: &mut Vec<usize>) {
    let is_single = |class: usize| whole[class] == class && classes[class].launches.len() == 1;
    let mut same: Vec<usize> = (0..classes.len()).filter(|&class| is_single(class)).collect();
    let launches: usize = classes.iter().map(|class| class.launches.len()).sum();
    let Some(&first) = same.first() else { return };
    same.retain(|&class| {
        let (a, b) = (&classes[class].names, &classes[first].names);
        let shared = a.iter().filter(|(name, _)| count_of(b, *name) > 0).count();
        5 * shared >= 4 * a.len().max(b.len())
    });
    if same.len() < VARIED || 2 * same.len() < launches {
        return;
    }
    unite(classes, whole, &same);
}

/// Makes classes and their parts belong to a new class without launches, with the highest count of each name.
fn unite(classes: &mut Vec<Class>, whole: &mut Vec<usize>, same: &[usize]) {
    let all = classes.len();
    let mut most: Map<StrId, u32> = Map::default();
    for &class in same {
        for &(name, count) in &classes[class].names {
            let seen = most.entry(name).or_default();
            *seen = (*seen).max(count);
        }
    }
    whole.iter_mut().filter(|whole| same.contains(whole)).for_each(|whole| *whole = all);
    let mut names: Vec<(StrId, u32)> = most.into_iter().collect();
    names.sort_unstable_by_key(|(name, _)| name.0);
    let order = names.iter().flat_map(|&(name, count)| std::iter::repeat_n(name, count as usize)).collect();
    whole.push(all);
    classes.push(Class { names, order, ..Class::default() });
}

/// How many kernels have this name.
pub(super) fn count_of(names: &[(StrId, u32)], name: StrId) -> u32 {
    names.binary_search_by_key(&name.0, |(other, _)| other.0).map_or(0, |place| names[place].1)
}

/// Mixes a number into 64 bits.
fn mix(number: u64) -> u64 {
    let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 27)
}

//! From a launch to its op, module and Python frames, by ids first and enclosing regions second.
//!
//! Several threads collect what the trace records for each launch ([`RecordedSite`]). Few of these differ,
//! and each distinct one becomes a [`Site`] once.

use rayon::prelude::*;
use trace::{Map, OptI64, ProcessId, RowRef, StrId, Trace};

use super::forest::Forest;
use super::frames::{FrameRules, Role, Roles, file_and_function};
use super::ids::IdIndex;
use super::site::{Carried, Site, Sites, Source};
use crate::ROWS_AT_ONCE;

/// Look-ups in one trace.
pub(super) struct Locator<'a> {
    pub trace: &'a Trace,
    pub forest: Forest,
    rules: &'a FrameRules,
    ops: IdIndex,
    frames: IdIndex,
    roles: Roles<'a>,
    carried: Carried,
    shown: Carried,
    compact: Carried,
    /// Sites built so far.
    known: Map<RecordedSite, Site>,
    op_category: Option<StrId>,
    frame_category: Option<StrId>,
    dims_key: Option<StrId>,
    types_key: Option<StrId>,
}

/// The place in the program that a trace records, in strings of that trace; empty if it records none.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct RecordedSite {
    launch: StrId,
    op: StrId,
    dims: StrId,
    types: StrId,
    frames: ToldByFrames,
}

/// What the Python frames show.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct ToldByFrames {
    module: StrId,
    leaf: StrId,
    library: StrId,
    location: StrId,
    model: StrId,
    /// The last frames, innermost first.
    chain: [StrId; LONGEST_CHAIN],
}

/// Frames that a chain may have.
const LONGEST_CHAIN: usize = 5;

/// The innermost frame looked at last, and its result: neighbours mostly share it.
type LastFrames = Option<(usize, ToldByFrames)>;

/// What is recorded for many launches, each distinct result once.
pub(super) struct ToldByLaunches {
    /// By launch: an index into `told`.
    pub of_launch: Vec<u32>,
    pub told: Vec<RecordedSite>,
}

impl<'a> Locator<'a> {
    pub fn new(trace: &'a Trace, rules: &'a FrameRules) -> Self {
        let category = |name| trace.strings.find(name);
        let regions = &trace.regions;
        let (op_category, frame_category) = (category("cpu_op"), category("python_function"));
        let (forest, (ops, (frames, roles))) = rayon::join(
            || Forest::of(regions, &trace.strings),
            || {
                rayon::join(
                    || IdIndex::of(trace, |row| Some(regions.category[row]) == op_category),
                    || {
                        let is_frame = |row: &usize| Some(regions.category[*row]) == frame_category;
                        rayon::join(
                            || IdIndex::of(trace, |row| is_frame(&row)),
                            || {
                                let rows = (0..regions.len()).into_par_iter().with_min_len(ROWS_AT_ONCE);
                                let names = rows.filter(is_frame).map(|row| regions.name[row]);
                                Roles::judged(rules, &trace.strings, names)
                            },
                        )
                    },
                )
            },
        );
        Self {
            trace,
            forest,
            rules,
            ops,
            frames,
            roles,
            carried: Carried::new(trace),
            shown: Carried::new(trace),
            compact: Carried::new(trace),
            known: Map::default(),
            op_category,
            frame_category,
            dims_key: trace.strings.find("Input Dims"),
            types_key: trace.strings.find("Input type"),
        }
    }

    /// The site of the launch at a row of `regions`.
    pub fn launched_by(&mut self, launch: usize, sites: &mut Sites) -> Site {
        let told = self.told(launch, &mut None);
        self.site(&told, sites)
    }

    /// The site of work whose launch is not in the trace but whose op is, found by their shared id.
    pub fn by_external(&mut self, process: ProcessId, external: OptI64, sites: &mut Sites) -> Option<Site> {
        let op = self.op_of(process, external)?;
        let told = self.at(op, Some(op), &mut None);
        Some(self.site(&told, sites))
    }

    /// What is recorded for these launches, given as rows of `regions`.
    pub fn told_by(&self, launches: &[u32]) -> ToldByLaunches {
        self.told_in_chunks(launches, LAUNCHES_AT_ONCE)
    }

    fn told_in_chunks(&self, launches: &[u32], at_once: usize) -> ToldByLaunches {
        let of_chunk = |chunk: &[u32]| {
            let (mut told, mut known) = (Vec::new(), Map::<RecordedSite, u32>::default());
            let mut last = None;
            let of_launch: Vec<u32> = chunk
                .iter()
                .map(|&launch| {
                    let next = told.len() as u32;
                    *known.entry(self.told(launch as usize, &mut last)).or_insert_with_key(|&new| {
                        told.push(new);
                        next
                    })
                })
                .collect();
            ToldByLaunches { of_launch, told }
        };
        let chunks: Vec<ToldByLaunches> = launches.par_chunks(at_once).map(of_chunk).collect();
        let (mut all, mut known) = (Vec::new(), Map::<RecordedSite, u32>::default());
        let mut of_launch = Vec::with_capacity(launches.len());
        for chunk in chunks {
            let places: Vec<u32> = chunk
                .told
                .into_iter()
                .map(|told| {
                    let next = all.len() as u32;
                    *known.entry(told).or_insert_with(|| {
                        all.push(told);
                        next
                    })
                })
                .collect();
            of_launch.extend(chunk.of_launch.into_iter().map(|place| places[place as usize]));
        }
        ToldByLaunches { of_launch, told: all }
    }

    /// What is recorded for the launch at a row of `regions`.
    fn told(&self, launch: usize, last: &mut LastFrames) -> RecordedSite {
        let regions = &self.trace.regions;
        let by_id = self.op_of(regions.process[launch], regions.external[launch]);
        let op = by_id.or_else(|| {
            self.forest.chain(launch).find(|&row| Some(regions.category[row]) == self.op_category)
        });
        RecordedSite { launch: regions.name[launch], ..self.at(launch, op, last) }
    }

    fn op_of(&self, process: ProcessId, external: OptI64) -> Option<usize> {
        external.get().and_then(|id| self.ops.get(self.trace, process, id))
    }

    fn at(&self, row: usize, op: Option<usize>, last: &mut LastFrames) -> RecordedSite {
        let regions = &self.trace.regions;
        let is_frame = |row: usize| Some(regions.category[row]) == self.frame_category;
        let frame = match self.frame_category {
            Some(_) => self.forest.chain(row).find(|&row| is_frame(row)),
            None => None,
        };
        let frames = frame.map(|frame| match last {
            Some((known, told)) if *known == frame => *told,
            _ => last.insert((frame, self.frames_at(frame))).1,
        });
        let argument = |key: Option<StrId>| {
            let value = op.zip(key).and_then(|(op, key)| self.trace.args.value(RowRef::region(op), key));
            value.unwrap_or(StrId::EMPTY)
        };
        RecordedSite {
            launch: StrId::EMPTY,
            op: op.map_or(StrId::EMPTY, |op| regions.name[op]),
            dims: argument(self.dims_key),
            types: argument(self.types_key),
            frames: frames.unwrap_or_default(),
        }
    }

    /// The frame that called the one at `row`: by Python's own ids, else by time (split traces lack parents).
    fn caller(&self, row: usize) -> Option<usize> {
        let regions = &self.trace.regions;
        let parent = regions.parent[row];
        let by_id =
            if parent == 0 { None } else { self.frames.get(self.trace, regions.process[row], parent) };
        by_id.filter(|&caller| caller != row).or_else(|| {
            self.forest.chain(row).skip(1).find(|&outer| Some(regions.category[outer]) == self.frame_category)
        })
    }

    fn frames_at(&self, frame: usize) -> ToldByFrames {
        let mut found = ToldByFrames::default();
        let (mut best, mut in_chain) = (0, 0);
        let mut wrapper = StrId::EMPTY;
        let mut next = Some(frame);
        // Ids of a damaged trace may form a cycle.
        let mut left = MOST_FRAMES;
        while let Some(row) = next {
            let name = self.trace.regions.name[row];
            let role = self.roles.known(name);
            if role == Role::Module && found.module.is_empty() {
                found.module = name;
            } else if !matches!(role, Role::Noise | Role::Module) {
                if in_chain < self.rules.chain_length.min(LONGEST_CHAIN) {
                    found.chain[in_chain] = name;
                    in_chain += 1;
                }
                if found.leaf.is_empty() {
                    found.leaf = name;
                }
                if let Role::Source { priority, model } = role {
                    if found.library.is_empty() {
                        found.library = name;
                    }
                    if priority > best {
                        (best, found.location) = (priority, name);
                    }
                    if model && found.model.is_empty() {
                        found.model = name;
                    }
                } else if wrapper.is_empty() {
                    wrapper = name;
                }
            }
            left -= 1;
            next = if left == 0 { None } else { self.caller(row) };
        }
        if found.location.is_empty() {
            (found.location, found.library) = (wrapper, wrapper);
        }
        found
    }

    /// The site for a recorded one, with texts in `sites`.
    pub fn site(&mut self, told: &RecordedSite, sites: &mut Sites) -> Site {
        if let Some(known) = self.known.get(told) {
            return *known;
        }
        let (trace, frames) = (self.trace, &told.frames);
        let launch = self.carried.carry(trace, told.launch, &mut sites.strings);
        let module = self.carried.carry(trace, frames.module, &mut sites.strings);
        let mut show = |name: StrId| self.show(name, sites);
        let chain = frames.chain.map(&mut show);
        let [leaf, library_frame, location, model_frame] =
            [frames.leaf, frames.library, frames.location, frames.model].map(show);
        let chain: Vec<&str> = (chain.iter().rev().filter(|name| !name.is_empty()))
            .map(|&id| file_and_function(sites.strings.get(id)))
            .collect();
        let chain = chain.join(" > ");
        let chain = sites.strings.intern(&chain);
        let cpu_op = self.carried.carry(trace, told.op, &mut sites.strings);
        let [input_dims, input_types] = [told.dims, told.types].map(|value| {
            self.compact.carry_as(trace, value, &mut sites.strings, |text, to| to.intern(&one_line(text)))
        });
        let site = Site {
            launch,
            cpu_op,
            input_dims,
            input_types,
            module,
            leaf,
            library_frame,
            location,
            model_frame,
            chain,
            source: Source::Eager,
            confidence_pct: 100,
        };
        self.known.insert(*told, site);
        site
    }

    fn show(&mut self, name: StrId, sites: &mut Sites) -> StrId {
        let rules = self.rules;
        self.shown.carry_as(self.trace, name, &mut sites.strings, |text, to| to.intern(&rules.shown(text)))
    }
}

/// Launches that one thread handles at a time.
const LAUNCHES_AT_ONCE: usize = 1 << 13;

/// Deeper than any real stack.
const MOST_FRAMES: usize = 20_000;

/// JSON of a pretty-printed trace on one line, written as Python does: `[[1, 2], []]`.
pub(crate) fn one_line(json: &str) -> String {
    let mut line = String::with_capacity(json.len());
    let (mut quoted, mut escaped) = (false, false);
    for c in json.chars() {
        if quoted {
            line.push(c);
            (quoted, escaped) = (c != '"' || escaped, c == '\\' && !escaped);
        } else if !c.is_whitespace() {
            line.push(c);
            if c == ',' {
                line.push(' ');
            }
            quoted = c == '"';
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_tell_the_same_however_many_are_looked_at_at_once() {
        let mut trace = Trace::default();
        let source = trace.add_source(trace::Source::named("run", "torch"));
        let process = trace.add_process(trace::Process::new(source, 1));
        let thread = trace.add_thread(trace::Thread { process, tid: 1, ..Default::default() });
        let mut region = |name: &str, category: &str, start: i64, end: i64| {
            let [name, category] = [name, category].map(|text| trace.strings.intern(text));
            trace.regions.push(trace::Region {
                name,
                category,
                start,
                end,
                process,
                thread,
                ..Default::default()
            });
        };
        for i in 0..40 {
            let at = 100 * i;
            region(&format!("vllm/model.py({}): forward", i % 3), "python_function", at, at + 90);
            region(["aten::mm", "aten::add"][i as usize % 2], "cpu_op", at + 10, at + 80);
            region("hipLaunchKernel", "cuda_runtime", at + 20, at + 30);
            region("hipLaunchKernel", "cuda_runtime", at + 40, at + 50);
        }
        trace.finish();
        let launch = trace.strings.find("hipLaunchKernel").unwrap();
        let launches: Vec<u32> = (0..trace.regions.len() as u32)
            .filter(|&row| trace.regions.name[row as usize] == launch)
            .collect();
        let locator = Locator::new(&trace, FrameRules::built_in());
        let whole = locator.told_by(&launches);
        assert_eq!((launches.len(), whole.told.len()), (80, 6));
        for at_once in [1, 2, 7] {
            let parts = locator.told_in_chunks(&launches, at_once);
            assert!(parts.told == whole.told && parts.of_launch == whole.of_launch, "{at_once} at once");
        }
        for (&row, &place) in launches.iter().zip(&whole.of_launch) {
            assert!(locator.told(row as usize, &mut None) == whole.told[place as usize]);
        }
    }

    #[test]
    fn a_chain_has_room_for_what_the_rules_keep() {
        assert!(FrameRules::built_in().chain_length <= LONGEST_CHAIN);
    }

    #[test]
    fn json_is_put_on_one_line_and_strings_are_left_alone() {
        assert_eq!(one_line("[[1,2],\n   []]"), "[[1, 2], []]");
        assert_eq!(one_line(r#"["a,b \" c", "d"]"#), r#"["a,b \" c", "d"]"#);
    }
}

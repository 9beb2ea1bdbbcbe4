//! From a launch to its op, module and Python frames, by ids first and enclosing regions second.

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
    /// What the frames around a place say, by innermost frame.
    known: Map<u32, FrameSite>,
    op_category: Option<StrId>,
    frame_category: Option<StrId>,
    dims_key: Option<StrId>,
    types_key: Option<StrId>,
}

/// The part of a site that Python frames tell.
#[derive(Clone, Copy, Default)]
struct FrameSite {
    module: StrId,
    leaf: StrId,
    library: StrId,
    location: StrId,
    model: StrId,
    chain: StrId,
}

impl<'a> Locator<'a> {
    pub fn new(trace: &'a Trace, rules: &'a FrameRules) -> Self {
        let category = |name| trace.strings.find(name);
        let rows = |wanted: Option<StrId>| -> Vec<u32> {
            let Some(wanted) = wanted else { return Vec::new() };
            let categories = trace.regions.category.par_iter().enumerate().with_min_len(ROWS_AT_ONCE);
            categories.filter(|(_, c)| **c == wanted).map(|(row, _)| row as u32).collect()
        };
        let (op_category, frame_category) = (category("cpu_op"), category("python_function"));
        let ids = |category: Option<StrId>| IdIndex::of(trace, &rows(category));
        let (forest, (ops, frames)) = rayon::join(
            || Forest::of(&trace.regions, &trace.strings),
            || rayon::join(|| ids(op_category), || ids(frame_category)),
        );
        Self {
            trace,
            forest,
            rules,
            ops,
            frames,
            roles: Roles::new(rules, &trace.strings),
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
        let regions = &self.trace.regions;
        let by_id = self.op_of(regions.process[launch], regions.external[launch]);
        let op = by_id.or_else(|| {
            self.forest.chain(launch).find(|&row| Some(regions.category[row]) == self.op_category)
        });
        let launch_name = self.carried.carry(self.trace, regions.name[launch], &mut sites.strings);
        Site { launch: launch_name, ..self.at(launch, op, sites) }
    }

    /// The site of work whose launch is not in the trace but whose op is, by the id the two share.
    pub fn by_external(&mut self, process: ProcessId, external: OptI64, sites: &mut Sites) -> Option<Site> {
        let op = self.op_of(process, external)?;
        Some(self.at(op, Some(op), sites))
    }

    fn op_of(&self, process: ProcessId, external: OptI64) -> Option<usize> {
        external.get().and_then(|id| self.ops.get(self.trace, process, id))
    }

    fn at(&mut self, row: usize, op: Option<usize>, sites: &mut Sites) -> Site {
        let regions = &self.trace.regions;
        let is_frame = |row: usize| Some(regions.category[row]) == self.frame_category;
        let frame = match self.frame_category {
            Some(_) => self.forest.chain(row).find(|&row| is_frame(row)),
            None => None,
        };
        let frames = frame.map(|frame| self.frames_at(frame, sites)).unwrap_or_default();
        let cpu_op = op
            .map_or(StrId::EMPTY, |op| self.carried.carry(self.trace, regions.name[op], &mut sites.strings));
        Site {
            launch: StrId::EMPTY,
            cpu_op,
            input_dims: self.argument(op, self.dims_key, sites),
            input_types: self.argument(op, self.types_key, sites),
            module: frames.module,
            leaf: frames.leaf,
            library_frame: frames.library,
            location: frames.location,
            model_frame: frames.model,
            chain: frames.chain,
            source: Source::Eager,
            confidence_pct: 100,
        }
    }

    fn argument(&mut self, op: Option<usize>, key: Option<StrId>, sites: &mut Sites) -> StrId {
        let (Some(op), Some(key)) = (op, key) else { return StrId::EMPTY };
        let Some(value) = self.trace.args.value(RowRef::region(op), key) else { return StrId::EMPTY };
        self.compact.carry_as(self.trace, value, &mut sites.strings, |text, to| to.intern(&one_line(text)))
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

    fn frames_at(&mut self, frame: usize, sites: &mut Sites) -> FrameSite {
        if let Some(known) = self.known.get(&(frame as u32)) {
            return *known;
        }
        let mut found = FrameSite::default();
        let (mut best, mut chain) = (0, Vec::new());
        let mut wrapper = StrId::EMPTY;
        let mut next = Some(frame);
        // Ids of a damaged trace may form a ring.
        let mut left = MOST_FRAMES;
        while let Some(row) = next {
            let name = self.trace.regions.name[row];
            let role = self.roles.of(name);
            if role == Role::Module && found.module.is_empty() {
                found.module = self.carried.carry(self.trace, name, &mut sites.strings);
            } else if !matches!(role, Role::Noise | Role::Module) {
                let shown = self.show(name, sites);
                if chain.len() < self.rules.chain_length {
                    chain.push(shown);
                }
                if found.leaf.is_empty() {
                    found.leaf = shown;
                }
                if let Role::Source { priority, model } = role {
                    if found.library.is_empty() {
                        found.library = shown;
                    }
                    if priority > best {
                        (best, found.location) = (priority, shown);
                    }
                    if model && found.model.is_empty() {
                        found.model = shown;
                    }
                } else if wrapper.is_empty() {
                    wrapper = shown;
                }
            }
            left -= 1;
            next = if left == 0 { None } else { self.caller(row) };
        }
        if found.location.is_empty() {
            (found.location, found.library) = (wrapper, wrapper);
        }
        let chain: Vec<&str> =
            chain.iter().rev().map(|&id| file_and_function(sites.strings.get(id))).collect();
        let chain = chain.join(" > ");
        found.chain = sites.strings.intern(&chain);
        self.known.insert(frame as u32, found);
        found
    }

    fn show(&mut self, name: StrId, sites: &mut Sites) -> StrId {
        let rules = self.rules;
        self.shown.carry_as(self.trace, name, &mut sites.strings, |text, to| to.intern(&rules.shown(text)))
    }
}

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
    fn json_is_put_on_one_line_and_strings_are_left_alone() {
        assert_eq!(one_line("[[1,2],\n   []]"), "[[1, 2], []]");
        assert_eq!(one_line(r#"["a,b \" c", "d"]"#), r#"["a,b \" c", "d"]"#);
    }
}

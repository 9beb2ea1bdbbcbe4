//! The ops of a torch trace and their models: which GPU work belongs to which op, and how much of it is
//! modelled. This needs no counters, but sees only the minimum that a kernel must do.

use std::collections::{BTreeMap, HashSet};

use trace::{Map, RowRef, StrId, Table, Trace};

use super::op_model::{Model, Unmodelled, model};
use super::place::Work;
use model::attribution::{Attribution, Error, GpuRows, IdIndex, Site, Source, attribute};

/// One op with inputs of one shape.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Op {
    pub name: String,
    pub model: Model,
    pub calls: i64,
    /// GPU time of all calls.
    pub total_ns: i64,
    /// Kernel with the most of that time.
    pub kernel: String,
    pub work: Work,
}

/// GPU time of one coverage class.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoveredTime {
    /// How much.
    pub total_ns: i64,
    /// Names with the most time.
    pub examples: Vec<String>,
}

/// How much of the GPU time is modelled, and why the rest is not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelCoverage {
    /// Its op has a model.
    pub modelled: CoveredTime,
    /// The table has no model for the op.
    pub no_model: CoveredTime,
    /// The model needs shapes, types or values that are not recorded.
    pub not_recorded: CoveredTime,
    /// Replayed from a graph, and no capture has its op and shapes.
    pub replayed: CoveredTime,
    /// Not linked to an op.
    pub no_op: CoveredTime,
}

impl ModelCoverage {
    /// The sum of all classes.
    pub fn total_ns(&self) -> i64 {
        let parts = [&self.modelled, &self.no_model, &self.not_recorded, &self.replayed, &self.no_op];
        parts.iter().map(|part| part.total_ns).sum()
    }
}

/// The ops of a trace that can be modelled, most time first.
#[derive(Clone, Debug, Default)]
pub(super) struct Modelled {
    pub ops: Vec<Op>,
    pub coverage: ModelCoverage,
    /// The op of each kernel, as an index into `ops`.
    pub of_kernel: Vec<Option<usize>>,
    /// Why a kernel has no op.
    pub without: Vec<Without>,
}

/// Why a kernel has no model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Without {
    /// The table has no model for its op.
    NoModel,
    /// Shapes, types or values of its op are not recorded.
    NotRecorded,
    /// Replayed from a graph, and no capture has its op.
    Replayed,
    /// Not linked to an op.
    #[default]
    NoOp,
}

/// Models the ops of the wanted kernels; a capture provides the ops and shapes of replayed graphs.
pub(super) fn modelled(
    trace: &Trace,
    mapping: Option<&Trace>,
    wanted: impl Fn(usize) -> bool,
) -> Result<Modelled, Error> {
    let has_shapes = |trace: &Trace| !trace.args.is_empty() && trace.strings.find("Input Dims").is_some();
    if !has_shapes(trace) && !mapping.is_some_and(has_shapes) {
        return Ok(Modelled::default());
    }
    let attribution = match (attribute(trace, mapping), mapping) {
        (Ok(attribution), _) => attribution,
        (Err(error), Some(_)) => return Err(error),
        (Err(_), None) => return Ok(Modelled::default()),
    };
    Ok(modelled_by(trace, &attribution, wanted))
}

/// [`modelled`] for a run that is already attributed.
pub(super) fn modelled_by(
    trace: &Trace,
    attribution: &Attribution,
    wanted: impl Fn(usize) -> bool,
) -> Modelled {
    let mut judge = Judge::new(trace, attribution);
    let mut owners = judge.owners();
    owners
        .iter_mut()
        .enumerate()
        .filter(|(row, _)| !wanted(*row))
        .for_each(|(_, owner)| *owner = Owner::Unwanted);
    gather(trace, &judge, &owners)
}

/// The owner of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Owner {
    /// The model with this number, of the call at this row of `regions`.
    Model(usize, usize),
    /// The op at this row, which has no model.
    Without(Unmodelled, usize),
    /// The model with this number, for an op of a replayed graph.
    Replay(usize),
    /// The captured op with this name (a text of the attribution), which has no model.
    ReplayWithout(Unmodelled, StrId),
    Replayed,
    NoOp,
    Unwanted,
}

/// Models by op; each distinct combination of inputs is modelled once.
struct Judge<'a> {
    trace: &'a Trace,
    attribution: &'a Attribution,
    ops: IdIndex,
    category: Option<StrId>,
    keys: [Option<StrId>; 3],
    judged: Map<[StrId; 4], Result<usize, Unmodelled>>,
    /// Models of captured ops, whose texts belong to the attribution.
    judged_captured: Map<[StrId; 3], Result<usize, Unmodelled>>,
    models: Vec<(String, Model)>,
}

impl<'a> Judge<'a> {
    fn new(trace: &'a Trace, attribution: &'a Attribution) -> Self {
        let category = trace.strings.find("cpu_op");
        Self {
            trace,
            attribution,
            ops: IdIndex::of(trace, |row| Some(trace.regions.category[row]) == category),
            category,
            keys: ["Input Dims", "Input type", "Concrete Inputs"].map(|key| trace.strings.find(key)),
            judged: Map::default(),
            judged_captured: Map::default(),
            models: Vec::new(),
        }
    }

    /// The owner of each kernel: the innermost op that has a model and whose inner ops have none.
    fn owners(&mut self) -> Vec<Owner> {
        let (trace, attribution) = (self.trace, self.attribution);
        let rows = GpuRows::of(trace);
        let mut owners = Vec::with_capacity(trace.kernels.len());
        // Ops around a modelled op: their models would count its work again.
        let mut around: HashSet<usize> = HashSet::new();
        for kernel in 0..trace.kernels.len() {
            let site = *attribution.site(RowRef::new(Table::Kernels, kernel));
            let owner = match site.source {
                Source::Eager => match self.op_of(kernel, &rows) {
                    Some(op) => match self.judge(op) {
                        Ok(model) => {
                            around.extend(self.ops_around(op));
                            Owner::Model(model, op)
                        }
                        Err(why) => Owner::Without(why, op),
                    },
                    None => Owner::NoOp,
                },
                Source::None => Owner::NoOp,
                Source::CaptureJoin | Source::MappingTrace if !site.cpu_op.is_empty() => {
                    match self.judge_captured(&site) {
                        Ok(model) => Owner::Replay(model),
                        Err(why) => Owner::ReplayWithout(why, site.cpu_op),
                    }
                }
                Source::GraphLaunch | Source::CaptureJoin | Source::MappingTrace => Owner::Replayed,
            };
            owners.push(owner);
        }
        for owner in &mut owners {
            let Owner::Without(_, op) = *owner else { continue };
            for outer in self.ops_around(op) {
                if let Ok(model) = self.judge(outer) {
                    if !around.contains(&outer) {
                        *owner = Owner::Model(model, outer);
                    }
                    break;
                }
            }
        }
        owners
    }

    /// The innermost op that launched a kernel: by id, otherwise by enclosing region.
    fn op_of(&self, kernel: usize, rows: &GpuRows) -> Option<usize> {
        let (trace, regions) = (self.trace, &self.trace.regions);
        let by_id = |process, id: trace::OptI64| id.get().and_then(|id| self.ops.get(trace, process, id));
        match rows.of_kernel(kernel).map(|place| rows.launches[place] as usize) {
            Some(launch) => by_id(regions.process[launch], regions.external[launch]).or_else(|| {
                self.attribution
                    .forest
                    .chain(launch)
                    .find(|&row| Some(regions.category[row]) == self.category)
            }),
            None => by_id(trace.kernels.process[kernel], trace.kernels.external[kernel]),
        }
    }

    /// The ops that enclose `op`, innermost first.
    fn ops_around(&self, op: usize) -> Vec<usize> {
        let regions = &self.trace.regions;
        let outer = self.attribution.forest.chain(op).filter(|&row| row != op);
        outer.filter(|&row| Some(regions.category[row]) == self.category).collect()
    }

    /// The model for the call at a row of `regions`.
    fn judge(&mut self, op: usize) -> Result<usize, Unmodelled> {
        let trace = self.trace;
        let owner = RowRef::new(Table::Regions, op);
        let argument =
            |key: Option<StrId>| key.and_then(|key| trace.args.value(owner, key)).unwrap_or(StrId::EMPTY);
        let [dims, types, values] = self.keys.map(argument);
        let name = trace.regions.name[op];
        let models = &mut self.models;
        *self.judged.entry([name, dims, types, values]).or_insert_with(|| {
            let text = |id| trace.strings.get(id);
            let found = model(text(name), text(dims), text(types), text(values))?;
            Ok(number_of(models, text(name), found))
        })
    }

    /// The model for a captured op.
    fn judge_captured(&mut self, site: &Site) -> Result<usize, Unmodelled> {
        let (attribution, models) = (self.attribution, &mut self.models);
        let key = [site.cpu_op, site.input_dims, site.input_types];
        *self.judged_captured.entry(key).or_insert_with(|| {
            let [name, dims, types] = key.map(|id| attribution.text(id));
            Ok(number_of(models, name, model(name, dims, types, "")?))
        })
    }
}

/// The index of a model. Inputs that differ only in irrelevant ways share one.
fn number_of(models: &mut Vec<(String, Model)>, name: &str, found: Model) -> usize {
    let known = models.iter().position(|(op, model)| op == name && *model == found);
    known.unwrap_or_else(|| {
        models.push((name.to_string(), found));
        models.len() - 1
    })
}

/// What was counted for one model.
#[derive(Default)]
struct Tally {
    calls: HashSet<usize>,
    /// Replayed kernels by name. An op may launch several, so it ran as often as its most frequent kernel.
    replayed: Map<StrId, usize>,
    total_ns: i64,
    kernels: Map<StrId, i64>,
}

impl Tally {
    fn calls(&self) -> usize {
        self.calls.len() + self.replayed.values().copied().max().unwrap_or(0)
    }

    fn add(&mut self, kernel: StrId, time: i64) {
        self.total_ns += time;
        *self.kernels.entry(kernel).or_default() += time;
    }
}

fn gather(trace: &Trace, judge: &Judge, owners: &[Owner]) -> Modelled {
    let mut tallies: Vec<Tally> = Vec::new();
    tallies.resize_with(judge.models.len(), Tally::default);
    let mut coverage = ModelCoverage::default();
    let mut examples: [BTreeMap<&str, i64>; 4] = Default::default();
    for (kernel, owner) in owners.iter().enumerate() {
        let time = trace.kernels.end[kernel] - trace.kernels.start[kernel];
        let name = trace.kernels.name[kernel];
        let text = |name: StrId| trace.strings.get(name);
        let (why, example) = match *owner {
            Owner::Model(model, call) => {
                tallies[model].calls.insert(call);
                tallies[model].add(name, time);
                coverage.modelled.total_ns += time;
                continue;
            }
            Owner::Replay(model) => {
                *tallies[model].replayed.entry(name).or_default() += 1;
                tallies[model].add(name, time);
                coverage.modelled.total_ns += time;
                continue;
            }
            Owner::Without(why, op) => (Some(why), text(trace.regions.name[op])),
            Owner::ReplayWithout(why, op) => (Some(why), judge.attribution.text(op)),
            Owner::Replayed | Owner::NoOp => (None, text(name)),
            Owner::Unwanted => continue,
        };
        let (part, at) = match why {
            Some(Unmodelled::NoRule) => (&mut coverage.no_model, 0),
            Some(Unmodelled::NotRecorded) => (&mut coverage.not_recorded, 1),
            None if *owner == Owner::Replayed => (&mut coverage.replayed, 2),
            None => (&mut coverage.no_op, 3),
        };
        part.total_ns += time;
        *examples[at].entry(example).or_default() += time;
    }
    let [no_model, not_recorded, replayed, no_op] = examples.map(most);
    coverage.no_model.examples = no_model;
    coverage.not_recorded.examples = not_recorded;
    coverage.replayed.examples = replayed;
    coverage.no_op.examples = no_op;

    let mut order: Vec<usize> = (0..tallies.len()).filter(|&at| tallies[at].calls() > 0).collect();
    let key = |at: usize| (&judge.models[at].0, &judge.models[at].1.shapes);
    order.sort_by(|&a, &b| tallies[b].total_ns.cmp(&tallies[a].total_ns).then_with(|| key(a).cmp(&key(b))));
    let mut place = vec![None; tallies.len()];
    let mut ops = Vec::new();
    for at in order {
        place[at] = Some(ops.len());
        let ((name, model), tally) = (&judge.models[at], &tallies[at]);
        let by_time = |&(&name, &time): &(&StrId, &i64)| (time, std::cmp::Reverse(name));
        let kernel = tally.kernels.iter().max_by_key(by_time).map(|(&name, _)| name);
        ops.push(Op {
            name: name.clone(),
            model: model.clone(),
            calls: tally.calls() as i64,
            total_ns: tally.total_ns,
            kernel: kernel.map_or(String::new(), |name| trace.strings.get(name).to_owned()),
            work: model.work(tally.calls() as f64),
        });
    }
    let of = |owner: &Owner| match owner {
        Owner::Model(model, _) | Owner::Replay(model) => place[*model],
        _ => None,
    };
    let without = |owner: &Owner| match owner {
        Owner::Without(Unmodelled::NoRule, _) | Owner::ReplayWithout(Unmodelled::NoRule, _) => {
            Without::NoModel
        }
        Owner::Without(..) | Owner::ReplayWithout(..) => Without::NotRecorded,
        Owner::Replayed => Without::Replayed,
        _ => Without::NoOp,
    };
    Modelled {
        ops,
        coverage,
        of_kernel: owners.iter().map(of).collect(),
        without: owners.iter().map(without).collect(),
    }
}

/// Most example names of a class that is not modelled.
const EXAMPLES: usize = 3;

fn most(names: BTreeMap<&str, i64>) -> Vec<String> {
    let mut names: Vec<(&str, i64)> = names.into_iter().collect();
    names.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    names.into_iter().take(EXAMPLES).map(|(name, _)| model::names::display_name(name)).collect()
}

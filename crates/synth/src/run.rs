//! Runs a scenario from beginning to end, block by block.

mod across;
mod setup;

use std::ops::Range;

use setup::{compile_with, layout, pauses, slowdowns};
use trace::Trace;

use crate::Error;
use crate::clock::Clock;
use crate::emit::Emitter;
use crate::engine::{Engine, Slowdown};
use crate::identity::{Dialect, RankIdentity};
use crate::lose::{Loss, Lost, Survey};
use crate::program::{GraphMode, Program};
use crate::ranks::{Faults, GroupKind, Parallelism, Resolved};
use crate::record::Record;
use crate::scenario::Scenario;
use crate::truth::{Injected, Tally, Truth};

/// How a scenario is run.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Determines everything random.
    pub seed: u64,
    /// Kernels whose name contains the pattern take this many times as long.
    pub scale: Vec<(String, f64)>,
    /// At least this many kernels per rank, ending with a whole step.
    pub kernels: Option<u64>,
    /// Number of steps.
    pub steps: Option<u64>,
    /// Number of ranks.
    pub ranks: Option<u32>,
    /// Python frames, only in the torch dialect.
    pub stacks: bool,
    /// How graphs run.
    pub graphs: GraphMode,
    /// Whose vocabulary to use.
    pub dialect: Dialect,
    /// Kernels that run but that the profiler loses.
    pub lose: Vec<Loss>,
    /// Sizes of process groups, if not the scenario's.
    pub parallel: Parallelism,
    /// What is wrong with the ranks.
    pub faults: Faults,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            scale: Vec::new(),
            kernels: None,
            steps: None,
            ranks: None,
            stacks: true,
            graphs: GraphMode::On,
            dialect: Dialect::Torch,
            lose: Vec::new(),
            parallel: Parallelism::default(),
            faults: Faults::default(),
        }
    }
}

/// The trace of one rank.
#[derive(Clone, Debug)]
pub struct Run {
    /// The rank.
    pub rank: u32,
    /// Its trace, finished.
    pub trace: Trace,
}

/// A simulated run.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// One per rank.
    pub runs: Vec<Run>,
    /// The truth about it.
    pub truth: Truth,
}

/// Simulates a scenario in memory.
pub fn simulate(scenario: &Scenario, options: &Options) -> Result<Simulation, Error> {
    let prepared = Prepared::new(scenario, options)?;
    let mut emitters = prepared.emitters(0..prepared.ranks, options.dialect, options.stacks);
    let truth = prepared.drive(|block| {
        for (emitter, records) in emitters.iter_mut().zip(block.records) {
            emitter.emit(records);
        }
        Ok(true)
    })?;
    let runs = emitters
        .into_iter()
        .enumerate()
        .map(|(rank, mut emitter)| {
            emitter.sample(None);
            let mut trace = emitter.trace;
            trace.finish();
            Run { rank: rank as u32, trace }
        })
        .collect();
    Ok(Simulation { runs, truth })
}

/// A stretch of a run: the log of every rank.
pub(crate) struct Block<'a> {
    pub records: &'a [Vec<Record>],
    /// True time before which no rank's main thread will act again.
    pub reached: i64,
}

/// A scenario with its options, ready to run.
pub(crate) struct Prepared<'a> {
    scenario: &'a Scenario,
    pub options: Options,
    pub program: Program,
    pub ranks: u32,
    pub steps: u64,
    scale: Vec<f64>,
    faults: Resolved,
    /// Records per block.
    pub block: usize,
}

/// A run longer than this is not run again to find out what a truth costs.
const GAIN_LIMIT_KERNELS: u64 = 200_000;

impl<'a> Prepared<'a> {
    pub(crate) fn new(scenario: &'a Scenario, options: &Options) -> Result<Self, Error> {
        let ranks = options.ranks.unwrap_or(scenario.ranks.count);
        if ranks == 0 {
            return Err(Error::Options("a run needs at least one rank".into()));
        }
        let layout = layout(scenario, options, ranks)?;
        let faults = Resolved::of(&options.faults, &layout, options.seed)?;
        let program = compile_with(scenario, options.graphs, None, &layout, &faults);
        let scale = scales(&program, &options.scale)?;
        let steps = match (options.graphs, options.kernels, options.steps) {
            (GraphMode::Capture, _, _) => 1,
            (_, Some(kernels), _) => steps_for(&program, kernels)?,
            (_, None, Some(steps)) => steps,
            (_, None, None) => scenario.steps,
        };
        if steps == 0 {
            return Err(Error::Options("a run needs at least one step".into()));
        }
        Ok(Self { scenario, options: options.clone(), program, ranks, steps, scale, faults, block: 150_000 })
    }

    fn place(&self, rank: u32) -> RankIdentity {
        let scenario = self.scenario.name.clone();
        let machine = &self.scenario.machine;
        let sampled = machine.clock_mhz > 0.0 || self.faults.lowers_clocks();
        let full = if machine.clock_mhz > 0.0 { machine.clock_mhz } else { machine.peak_clock_mhz };
        let layout = &self.program.layout;
        let experts = layout.members(GroupKind::Expert, layout.index(GroupKind::Expert, rank));
        RankIdentity {
            scenario,
            seed: self.options.seed,
            rank,
            ranks: self.ranks,
            clock_mhz: if sampled { full * self.faults.clock_share(rank) } else { 0.0 },
            grid_factor: self.faults.grid_factor(rank),
            load: self.faults.load(rank),
            expert_loads: experts.into_iter().map(|rank| self.faults.load(rank)).collect(),
        }
    }

    pub(crate) fn host_and_pid(&self, rank: u32) -> (String, i64) {
        let place = self.place(rank);
        (place.host(&self.program), place.pid(&self.program))
    }

    /// One for each of these ranks.
    pub(crate) fn emitters(&self, ranks: Range<u32>, dialect: Dialect, stacks: bool) -> Vec<Emitter<'_>> {
        ranks
            .map(|rank| {
                let clock = self.clock(rank);
                Emitter::new(&self.program, self.place(rank), clock, dialect, stacks)
            })
            .collect()
    }

    /// The clock that a rank's records show.
    fn clock(&self, rank: u32) -> Clock {
        Clock::of(&self.scenario.ranks, rank).off_by(self.faults.clock(rank))
    }

    fn engine<'p>(&self, program: &'p Program, without: Option<&str>) -> Engine<'p> {
        self.engine_with(program, without, self.faults.clone())
    }

    fn engine_with<'p>(&self, program: &'p Program, without: Option<&str>, faults: Resolved) -> Engine<'p> {
        let mut slow = slowdowns(program, &faults);
        for spec in &self.scenario.ranks.slow {
            let id = spec.truth.as_ref().map(|t| t.get_ref().as_str());
            if id.is_some() && id == without {
                continue;
            }
            let mark = id.and_then(|id| self.scenario.truths.iter().position(|t| t.id == id));
            let kernel = spec.kernel.as_ref().map(|k| k.get_ref().as_str());
            slow.push(Slowdown {
                rank: spec.rank,
                kernel: kernel.and_then(|k| program.kernels.iter().position(|p| p.id == k)).map(|k| k as u32),
                factor: spec.factor,
                mark: mark.map_or(0, |mark| mark as u16 + 1),
                clocked: false,
                cause: None,
            });
        }
        let truths = self.scenario.truths.len();
        let pauses = pauses(program, &faults);
        Engine::new(
            program,
            self.options.seed,
            self.ranks,
            self.scale.clone(),
            slow,
            truths,
            (faults, pauses),
        )
    }

    /// Runs all steps, or until `on_block` says that it is enough; returns the truth about the run.
    pub(crate) fn drive(
        &self,
        mut on_block: impl FnMut(Block<'_>) -> Result<bool, Error>,
    ) -> Result<Truth, Error> {
        let mut engine = self.engine(&self.program, None);
        let clocks: Vec<Clock> = (0..self.ranks).map(|rank| self.clock(rank)).collect();
        let mut tallies: Vec<Tally> = clocks.iter().map(|clock| Tally::new(&self.program, *clock)).collect();
        let mut lost = self.choose_lost(&clocks)?;
        let mut step = self.skip_unrecorded(&mut engine)?;
        let mut more = true;
        while more && step < self.steps {
            while step < self.steps && engine.logged() < self.block {
                step += 1;
                engine.run(step)?;
            }
            let mut records: Vec<Vec<Record>> =
                (0..self.ranks as usize).map(|rank| engine.take_records(rank)).collect();
            for (tally, records) in tallies.iter_mut().zip(&records) {
                tally.add(&self.program, records);
            }
            for (rank, records) in records.iter_mut().enumerate() {
                lost.take_out(rank, records);
            }
            more = on_block(Block { records: &records, reached: engine.reached() })?;
        }
        let span = tallies.iter().map(Tally::true_span).max().unwrap_or(0);
        let injected = self.injected(&engine, &clocks, step, span)?;
        let across = if self.ranks > 1 { Some(self.across(&mut engine, step, &lost)?) } else { None };
        let ranks: Vec<_> = tallies
            .into_iter()
            .enumerate()
            .map(|(rank, tally)| {
                let (waited, last) = engine.meetings_of(rank);
                tally.finish(&self.program, &self.place(rank as u32), waited, last)
            })
            .collect();
        let meetings: u64 = ranks.iter().map(|r| r.last_arrivals).sum();
        let straggler =
            ranks.iter().find(|r| ranks.len() > 1 && 2 * r.last_arrivals > meetings).map(|r| r.rank);
        Ok(Truth {
            schema: 1,
            scenario: self.scenario.name.clone(),
            seed: self.options.seed,
            steps: step,
            span_ns: ranks.iter().map(|r| r.span_ns).max().unwrap_or(0),
            straggler,
            injected,
            lost: lost.truth,
            across_ranks: across,
            expected: self.scenario.expected.clone(),
            memory: Vec::new(),
            ranks,
        })
    }

    fn compile_without(&self, truth: &str) -> Program {
        compile_with(self.scenario, self.options.graphs, Some(truth), &self.program.layout, &self.faults)
    }

    /// Runs all steps again, block by block, when the truth about the run is already known.
    pub(crate) fn repeat(
        &self,
        steps: u64,
        mut on_block: impl FnMut(Block<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let clocks: Vec<Clock> = (0..self.ranks).map(|rank| self.clock(rank)).collect();
        let mut lost = self.choose_lost(&clocks)?;
        let mut engine = self.engine(&self.program, None);
        let mut step = self.skip_unrecorded(&mut engine)?;
        while step < steps {
            while step < steps && engine.logged() < self.block {
                step += 1;
                engine.run(step)?;
            }
            let mut records: Vec<Vec<Record>> =
                (0..self.ranks as usize).map(|rank| engine.take_records(rank)).collect();
            for (rank, records) in records.iter_mut().enumerate() {
                lost.take_out(rank, records);
            }
            on_block(Block { records: &records, reached: engine.reached() })?;
        }
        Ok(())
    }

    /// Kernels that each rank runs in all steps, as far as they are known before.
    pub(crate) fn kernels_per_rank(&self) -> u64 {
        let round = self.program.order.len() as u64;
        let of = |steps: u64| (0..steps).map(|step| self.program.step(step).kernels).sum::<u64>();
        (self.steps / round).saturating_mul(of(round)).saturating_add(of(self.steps % round))
    }

    /// Which kernels the profiler loses. A separate run shows what can be lost.
    fn choose_lost(&self, clocks: &[Clock]) -> Result<Lost, Error> {
        if self.options.lose.is_empty() {
            return Ok(Lost::default());
        }
        let mut engine = self.engine(&self.program, None);
        let mut survey = Survey::new(clocks);
        for step in self.skip_unrecorded(&mut engine)? + 1..=self.steps {
            engine.run(step)?;
            for rank in 0..self.ranks as usize {
                survey.add(rank, &engine.take_records(rank));
            }
        }
        survey.choose(&self.options.lose, &self.program, self.options.seed)
    }

    /// Runs the steps before the recording began and discards their records; returns their number.
    fn skip_unrecorded(&self, engine: &mut Engine<'_>) -> Result<u64, Error> {
        let steps = self.scenario.recording.unrecorded_steps.min(self.steps.saturating_sub(1));
        if steps > 0 {
            engine.run(steps)?;
            (0..self.ranks as usize).for_each(|rank| drop(engine.take_records(rank)));
        }
        Ok(steps)
    }

    fn injected(
        &self,
        engine: &Engine<'_>,
        clocks: &[Clock],
        steps: u64,
        span: i64,
    ) -> Result<Vec<Injected>, Error> {
        let mut injected = Vec::new();
        for (number, truth) in self.scenario.truths.iter().enumerate() {
            let happened = (0..self.ranks as usize).any(|rank| engine.marked(rank)[number].count > 0);
            if !happened {
                continue;
            }
            let small = engine.kernels * u64::from(self.ranks) <= GAIN_LIMIT_KERNELS;
            let gain_ns = if small { Some(span - self.span_without(&truth.id, steps)?) } else { None };
            for rank in 0..self.ranks {
                let marked = engine.marked(rank as usize)[number];
                if marked.count == 0 {
                    continue;
                }
                let clock = clocks[rank as usize];
                injected.push(Injected {
                    id: truth.id.clone(),
                    rule: truth.rule.clone(),
                    text: truth.text.clone(),
                    name: truth.name.clone(),
                    rank,
                    count: marked.count,
                    start_ns: clock.show(marked.first),
                    end_ns: clock.show(marked.last),
                    magnitude_ns: marked.total_ns,
                    gain_ns,
                });
            }
        }
        Ok(injected)
    }

    /// How long the same run takes without one of its faults.
    fn span_without(&self, truth: &str, steps: u64) -> Result<i64, Error> {
        let program = self.compile_without(truth);
        let mut engine = self.engine(&program, Some(truth));
        let clock = Clock::of(&self.scenario.ranks, u32::MAX);
        let mut tallies: Vec<Tally> = (0..self.ranks).map(|_| Tally::new(&program, clock)).collect();
        let unrecorded = self.skip_unrecorded(&mut engine)?;
        for step in unrecorded + 1..=steps {
            engine.run(step)?;
            for (rank, tally) in tallies.iter_mut().enumerate() {
                tally.add(&program, &engine.take_records(rank));
            }
        }
        Ok(tallies.iter().map(Tally::true_span).max().unwrap_or(0))
    }
}

/// A factor for each kernel; every pattern must match one.
fn scales(program: &Program, scale: &[(String, f64)]) -> Result<Vec<f64>, Error> {
    let mut factors = vec![1.0; program.kernels.len()];
    for (pattern, factor) in scale {
        let wrong = |why: &str| Error::Scale { pattern: format!("{pattern}={factor}"), why: why.into() };
        if !factor.is_finite() || *factor < 0.0 {
            return Err(wrong("the factor must be a number of at least 0"));
        }
        let mut matched = false;
        for (kernel, slot) in program.kernels.iter().zip(&mut factors) {
            if kernel.name.contains(pattern) || kernel.id.contains(pattern) {
                *slot *= factor;
                matched = true;
            }
        }
        if !matched {
            let known: Vec<&str> = program.kernels.iter().map(|k| k.id.as_str()).collect();
            return Err(wrong(&format!("no such kernel; choose one of {}", known.join(", "))));
        }
    }
    Ok(factors)
}

/// How many steps run at least `kernels` kernels.
fn steps_for(program: &Program, kernels: u64) -> Result<u64, Error> {
    let per_round: u64 = (0..program.order.len() as u64).map(|s| program.step(s).kernels).sum();
    if per_round == 0 {
        return Err(Error::Options("this scenario launches no kernel".into()));
    }
    let rounds = kernels / per_round;
    let mut steps = rounds * program.order.len() as u64;
    let mut reached = rounds * per_round;
    while reached < kernels {
        reached += program.step(steps).kernels;
        steps += 1;
    }
    Ok(steps.max(1))
}

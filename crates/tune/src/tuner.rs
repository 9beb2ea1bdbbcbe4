//! The loop of `autotune`: ask a strategy, measure, repeat if noise requires it, and rank.

mod outcome;
mod run;
mod scale;

use std::time::Duration;

use crate::search::{Choice, Features, Model, Phase, Samples, Settings, View, model, strategy};
use crate::space::{Candidates, Space};
use stats::noise::Noise;

pub use outcome::{Outcome, Progress, Trial};
pub use run::{Limit, Run, Status, Target};
pub use scale::Scale;
pub(crate) use scale::mean;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Configurations to try.
    pub trials: usize,
    /// Time to spend on them.
    pub time: Option<Duration>,
}

/// How to search.
#[derive(Clone, Debug)]
pub struct TunerOptions {
    /// The strategy.
    pub strategy: Choice,
    /// Seed of all random choices.
    pub seed: u64,
    /// Share of the space for the seed phase.
    pub seed_fraction: f64,
    /// Candidates predicted to be slower than the best by more than this factor are not tried.
    pub prune_factor: f64,
    /// Maximum runs of one configuration.
    pub repeats: usize,
    /// When to stop.
    pub budget: Budget,
    /// Time limit of a run.
    pub timeout: Duration,
    /// Whether larger values are better.
    pub maximise: bool,
}

impl Default for TunerOptions {
    fn default() -> Self {
        Self {
            strategy: Choice::Regression,
            seed: 0,
            seed_fraction: 0.2,
            prune_factor: 1.75,
            repeats: 3,
            budget: Budget { trials: 80, time: None },
            timeout: Duration::from_secs(60),
            maximise: false,
        }
    }
}

/// A run may take this many times as long as the longest run of the best.
const STOP_FACTOR: f64 = 5.0;
/// Shorter limits would stop programs because of the machine's hiccups.
const STOP_LEAST: f64 = 2.0;
/// At most this share of the budget goes into the seed phase.
const SEED_SHARE: f64 = 0.25;
/// Fewer seeds are too few for a model.
const FEWEST_SEEDS: usize = 10;
/// Standard errors within which a configuration runs again.
const CONTENDS: f64 = 3.0;
/// Share of the budget for separating the best from its closest rivals.
const PLAY_OFF_SHARE: f64 = 0.12;
/// Standard errors that separate two configurations.
const APART: f64 = 2.0;
/// A difference that is not worth more runs.
const INDIFFERENT: f64 = 0.01;
/// Spread assumed before any repeat.
const ASSUMED_NOISE: f64 = 0.03;

/// The search over one space.
pub struct Tuner<'a> {
    space: &'a Space,
    candidates: &'a Candidates,
    /// Features for the models.
    pub features: Features,
    options: TunerOptions,
    trials: Vec<Trial>,
    /// Trials used from the budget: one per configuration, and one per further set of repeats.
    used: usize,
    spent: f64,
}

impl<'a> Tuner<'a> {
    /// Prepares a search.
    pub fn new(space: &'a Space, candidates: &'a Candidates, options: TunerOptions) -> Self {
        let features = Features::of(space, candidates);
        Self { space, candidates, features, options, trials: Vec::new(), used: 0, spent: 0.0 }
    }

    /// Trials that the budget allows.
    fn most_trials(&self) -> usize {
        self.options.budget.trials.min(self.candidates.len())
    }

    /// Trials of the seed phase: the share of the space, capped by the budget.
    fn seeds(&self) -> usize {
        let most = self.most_trials();
        let share = (self.options.seed_fraction * self.candidates.len() as f64) as usize;
        let cap = ((most as f64 * SEED_SHARE) as usize).max(FEWEST_SEEDS);
        share.max(FEWEST_SEEDS).min(cap).min(most)
    }

    /// Searches until the budget is spent; calls `watch` at the start and after every trial.
    pub fn search(mut self, target: &mut dyn Target, watch: &mut dyn FnMut(&Progress)) -> Outcome {
        let seeds = self.seeds();
        let settings = Settings { seed: self.options.seed, seeds, prune_factor: self.options.prune_factor };
        let mut strategy = strategy(self.options.strategy, settings, &self.features);
        let default =
            self.space.has_defaults().then(|| self.candidates.position(&self.space.defaults())).flatten();
        let mut tried = vec![false; self.candidates.len()];
        let reserve = (self.options.budget.trials as f64 * PLAY_OFF_SHARE) as usize;
        self.tell(watch);
        while self.used < self.options.budget.trials && !self.time_is_up() {
            if self.used + reserve >= self.options.budget.trials
                && let Some(place) = self.rival()
            {
                self.again(place, target);
                self.tell(watch);
                continue;
            }
            let scale = self.scale();
            let (samples, failed) = (self.samples(scale), self.failed());
            let view = View {
                features: &self.features,
                tried: &tried,
                samples: &samples,
                failed: &failed,
                default,
                logarithmic: scale.logarithmic,
            };
            match strategy.next(&view) {
                Some((candidate, phase)) => {
                    tried[candidate] = true;
                    let ahead = target.lookahead().min(self.options.budget.trials - self.used - 1);
                    if ahead > 0 {
                        let soon = strategy.soon(&self.features, &tried, ahead).into_iter();
                        let next = std::iter::once(candidate).chain(soon);
                        target.prepare(&next.map(|c| self.candidates.get(c)).collect::<Vec<_>>());
                    }
                    self.trial(candidate, phase, target);
                }
                // Nothing is left to try; the rest of the budget may still separate the best.
                None => match self.rival() {
                    Some(place) => self.again(place, target),
                    None => break,
                },
            }
            self.tell(watch);
        }
        let scale = self.scale();
        let noise = self.noise(scale);
        let samples = self.samples(scale);
        let mut random = stats::random::Random::new(self.options.seed ^ 0x5eed);
        let kinds = [
            model::Regressor::Ridge,
            model::Regressor::Forest,
            model::Regressor::Smooth,
            model::Regressor::Steep,
        ];
        let model = Model::fit(&self.features, &samples, &kinds, &[], &mut random);
        let quality = strategy.quality().cloned().or_else(|| model.as_ref()?.quality.clone());
        let mut ranking = self.ranking(scale);
        let by_simplicity = self.prefer_simple(&mut ranking, noise, scale);
        Outcome {
            ranking,
            by_simplicity,
            exhausted: tried.iter().all(|tried| *tried),
            trials: self.trials,
            noise,
            scale,
            quality,
            model,
            spent: self.spent,
            seeds,
            used: self.used,
        }
    }

    fn time_is_up(&self) -> bool {
        self.options.budget.time.is_some_and(|time| self.spent >= time.as_secs_f64())
    }

    fn tell(&self, watch: &mut dyn FnMut(&Progress)) {
        let scale = self.scale();
        let best = self.best(scale).map(|best| &self.trials[best]);
        let best = best.map(|best| (self.candidates.get(best.candidate), scale.centre(&best.values)));
        let (used, of) = (self.used, self.most_trials().max(self.used));
        let time = self.options.budget.time.map(|time| time.as_secs_f64());
        watch(&Progress { used, of, spent: self.spent, time, best });
    }

    /// Tries a configuration; repeats it while it may be the best and the noise leaves that open.
    fn trial(&mut self, candidate: usize, phase: Phase, target: &mut dyn Target) {
        self.used += 1;
        let place = self.trials.len();
        self.trials.push(Trial {
            candidate,
            phase,
            values: Vec::new(),
            status: Status::Ok,
            detail: String::new(),
            seconds: 0.0,
        });
        self.run_once(place, target);
        while self.trials[place].values.len() < self.options.repeats
            && self.contends(place)
            && !self.time_is_up()
        {
            if !self.run_once(place, target) {
                break;
            }
        }
    }

    /// Whether a trial may still be the best.
    fn contends(&self, place: usize) -> bool {
        let scale = self.scale();
        let Some(best) = self.best(scale) else { return false };
        let noise = self.noise(scale).or_assumed(ASSUMED_NOISE);
        let (mine, its) = (&self.trials[place].values, &self.trials[best].values);
        if mine.is_empty() {
            return false;
        }
        let behind = mean(mine, scale) - mean(its, scale);
        let error = noise * (1.0 / mine.len() as f64 + 1.0 / its.len() as f64).sqrt();
        place == best || behind <= CONTENDS * error
    }

    /// The trial to repeat: the best or its most likely rival, whichever had fewer runs. `None` if the best
    /// is clear, or ahead of all others by enough.
    fn rival(&self) -> Option<usize> {
        let scale = self.scale();
        let noise = self.noise(scale).or_assumed(ASSUMED_NOISE);
        let best = self.best(scale)?;
        let (runs, lead) = (self.trials[best].values.len() as f64, mean(&self.trials[best].values, scale));
        let nearness = |place: usize| {
            let trial = &self.trials[place];
            let error = noise * (1.0 / trial.values.len() as f64 + 1.0 / runs).sqrt();
            (mean(&trial.values, scale) - lead + INDIFFERENT) / error
        };
        let others = (0..self.trials.len())
            .filter(|&place| place != best && self.trials[place].status == Status::Ok)
            .map(|place| (nearness(place), place));
        let (near, rival) = others.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let fewer =
            if self.trials[rival].values.len() < self.trials[best].values.len() { rival } else { best };
        (near < APART).then_some(fewer)
    }

    /// Runs another set of repeats.
    fn again(&mut self, place: usize, target: &mut dyn Target) {
        self.used += 1;
        for _ in 0..self.options.repeats {
            if self.time_is_up() || !self.run_once(place, target) {
                return;
            }
        }
    }

    /// Runs once; returns whether it gave a value.
    fn run_once(&mut self, place: usize, target: &mut dyn Target) -> bool {
        let limit = self.limit();
        let number = self.trials[place].values.len();
        let run = target.run(self.candidates.get(self.trials[place].candidate), number, limit);
        self.spent += run.spent;
        let trial = &mut self.trials[place];
        trial.seconds = trial.seconds.max(run.seconds);
        match run.value.filter(|value| run.status == Status::Ok && value.is_finite()) {
            Some(value) => trial.values.push(value),
            None => {
                // A configuration that sometimes fails is useless, whatever its other runs gave.
                trial.status = match run.status {
                    _ if number > 0 => Status::Unstable,
                    Status::Ok => Status::NoValue,
                    failed => failed,
                };
                trial.detail = match number {
                    0 => run.detail,
                    _ => format!("run {} of it {}", number + 1, run.detail),
                };
            }
        }
        trial.status == Status::Ok
    }

    fn limit(&self) -> Limit {
        let user = Limit { time: self.options.timeout, by_best: false };
        let Some(best) = self.best(self.scale()).filter(|_| !self.options.maximise) else { return user };
        let seconds = (self.trials[best].seconds * STOP_FACTOR).max(STOP_LEAST);
        let time = Duration::from_secs_f64(seconds);
        if time < user.time { Limit { time, by_best: true } } else { user }
    }

    fn scale(&self) -> Scale {
        let positive = self.trials.iter().flat_map(|trial| &trial.values).all(|value| *value > 0.0);
        Scale { maximise: self.options.maximise, logarithmic: positive }
    }

    fn samples(&self, scale: Scale) -> Samples {
        let mut samples = Samples::default();
        for trial in self.trials.iter().filter(|trial| trial.status == Status::Ok) {
            samples.candidates.push(trial.candidate);
            samples.values.push(mean(&trial.values, scale));
            samples.weights.push(trial.values.len() as f64);
        }
        samples
    }

    fn failed(&self) -> Vec<usize> {
        let failed = self.trials.iter().filter(|trial| trial.status != Status::Ok);
        failed.map(|trial| trial.candidate).collect()
    }

    fn noise(&self, scale: Scale) -> Noise {
        let ok = self.trials.iter().filter(|trial| trial.status == Status::Ok);
        Noise::pooled(ok.map(|trial| trial.values.iter().map(|value| scale.to(*value)).collect::<Vec<_>>()))
    }

    fn best(&self, scale: Scale) -> Option<usize> {
        let ok = (0..self.trials.len()).filter(|&place| {
            self.trials[place].status == Status::Ok && !self.trials[place].values.is_empty()
        });
        ok.min_by(|&a, &b| {
            mean(&self.trials[a].values, scale).total_cmp(&mean(&self.trials[b].values, scale))
        })
    }

    /// Trials with values, best first by their mean.
    fn ranking(&self, scale: Scale) -> Vec<usize> {
        let mut ranking: Vec<usize> =
            (0..self.trials.len()).filter(|&place| self.trials[place].status == Status::Ok).collect();
        ranking.sort_by(|&a, &b| {
            mean(&self.trials[a].values, scale).total_cmp(&mean(&self.trials[b].values, scale))
        });
        ranking
    }
}

/// The probability that an equally good configuration is behind by chance.
const LUCK: f64 = 0.05;

impl Tuner<'_> {
    /// Moves the simplest of the trials that are statistically equal to the best to the front; returns
    /// whether that is another one. The simplest changes the fewest defaults.
    fn prefer_simple(&self, ranking: &mut [usize], noise: Noise, scale: Scale) -> bool {
        let Some(&best) = ranking.first().filter(|_| self.space.has_defaults()) else { return false };
        let defaults = self.space.defaults();
        let changed = |place: usize| {
            let levels = self.candidates.get(self.trials[place].candidate);
            levels.iter().zip(&defaults).filter(|(level, default)| level != default).count()
        };
        let is_equal = |place: usize| {
            let (mine, its) = (&self.trials[place].values, &self.trials[best].values);
            let behind = mean(mine, scale) - mean(its, scale);
            let luck = noise.chance_of_luck(behind, its.len(), mine.len());
            behind == 0.0 || (behind <= INDIFFERENT && luck.is_some_and(|luck| luck > LUCK))
        };
        let equals = (0..ranking.len()).take_while(|&i| is_equal(ranking[i]));
        let Some(simplest) = equals.min_by_key(|&i| changed(ranking[i])) else { return false };
        ranking[..=simplest].rotate_right(1);
        simplest > 0
    }
}

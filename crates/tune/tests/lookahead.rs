//! What a search predicts about itself: seeds exactly, and asking changes nothing.

use rocm_perf_tune::search::{Choice, Phase};
use rocm_perf_tune::space::Space;
use rocm_perf_tune::tuner::{Budget, Limit, Outcome, Run, Status, Target, Tuner, TunerOptions};

/// A surface with a cliff; records what it was told.
struct Watched {
    lookahead: usize,
    next: Vec<Vec<u16>>,
    /// Whether each first run was the predicted one.
    foretold: Vec<bool>,
}

impl Target for Watched {
    fn run(&mut self, levels: &[u16], _: usize, _: Limit) -> Run {
        let (a, b) = (f64::from(levels[0]), f64::from(levels[1]));
        let value = (a - 5.0).powi(2) + (b - 7.0).powi(2) + a * b / 4.0 + 20.0;
        let fits = levels[0] + levels[1] < 18;
        let status = if fits { Status::Ok } else { Status::RunFailed };
        Run { status, value: fits.then_some(value), seconds: 0.1, spent: 0.1, detail: String::new() }
    }

    fn lookahead(&self) -> usize {
        self.lookahead
    }

    fn prepare(&mut self, next: &[&[u16]]) {
        if let Some(told) = self.next.get(1) {
            self.foretold.push(told == next[0]);
        }
        self.next = next.iter().map(|levels| levels.to_vec()).collect();
        assert!(next.len() <= self.lookahead + 1);
        let mut different = self.next.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), self.next.len(), "nothing is told twice");
    }
}

fn searched(strategy: Choice, lookahead: usize) -> (Outcome, Vec<bool>) {
    let space =
        Space::parse(r#"{"params": {"A": {"range": [0, 11]}, "B": {"range": [0, 11]}}}"#).expect("a space");
    let candidates = space.candidates(0).expect("candidates");
    let options =
        TunerOptions { strategy, budget: Budget { trials: 40, time: None }, ..TunerOptions::default() };
    let mut target = Watched { lookahead, next: Vec::new(), foretold: Vec::new() };
    let outcome = Tuner::new(&space, &candidates, options).search(&mut target, &mut |_| {});
    (outcome, target.foretold)
}

#[test]
fn seeds_are_foretold_exactly_and_asking_changes_nothing() {
    for strategy in [Choice::Regression, Choice::Bayes, Choice::Random, Choice::Grid] {
        let (alone, none) = searched(strategy, 0);
        let (asked, foretold) = searched(strategy, 5);
        assert!(none.is_empty(), "who wants to know nothing is told nothing");
        let order = |outcome: &Outcome| {
            outcome.trials.iter().map(|trial| (trial.candidate, trial.values.clone())).collect::<Vec<_>>()
        };
        assert_eq!(order(&alone), order(&asked), "{strategy:?}");
        let seeds = asked.trials.iter().filter(|trial| trial.phase == Phase::Seed).count();
        // Before the last trial of a budget nothing is predicted: nothing follows it.
        assert!(foretold.len() >= seeds - 2 && seeds >= 10, "{strategy:?}");
        assert!(foretold.iter().take(seeds - 1).all(|right| *right), "{strategy:?} {foretold:?}");
    }
}

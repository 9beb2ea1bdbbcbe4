//! Records in the store how far a run is, for those who watch its trial. The run never waits for that, and
//! never fails because of it.

use std::any::Any;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use report::Remedy;
use store::Progress as Row;

use super::Target;
use crate::observer::Observer;

/// Least time between two updates.
const PAUSE: Duration = Duration::from_secs(1);
/// A run without news is written again after this time, to show that it is alive.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);
/// How long the end of a run waits for its last update to be written.
const LAST_WORD: Duration = Duration::from_secs(2);
/// Longest message, in characters.
const MOST_CHARS: usize = 300;

/// Records the progress of a run in the store, until it is dropped.
pub struct Watch {
    shared: Arc<WatchState>,
}

#[derive(Default)]
struct WatchState {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    done: i64,
    total: Option<i64>,
    message: String,
    is_new: bool,
    ended: bool,
    written: bool,
}

impl WatchState {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    /// Starts recording a run of `command`; `None` if no trial is named.
    pub fn begin(target: Option<&Target>, command: &str) -> Option<Self> {
        let (target, kind) = (target?.clone(), command.to_string());
        let shared = Arc::new(WatchState::default());
        shared.state().message = "started".into();
        shared.state().is_new = true;
        let told = Arc::clone(&shared);
        // If the thread cannot start, the run goes without a watch.
        std::thread::Builder::new().name("watch".into()).spawn(move || tell(&target, &kind, &told)).ok()?;
        Some(Self { shared })
    }

    /// Records how far the run is.
    pub fn say(&self, done: i64, total: Option<i64>, message: &str) {
        let mut state = self.shared.state();
        (state.done, state.total, state.is_new) = (done, total, true);
        state.message = message.chars().take(MOST_CHARS).collect();
        self.shared.changed.notify_all();
    }

    /// Records what the run does; a message such as `pass 2 of 3` also says how far it is.
    pub fn hear(&self, message: &str) {
        let done = self.shared.state().done;
        match place(message) {
            Some((at, of)) => self.say(at, Some(of), message),
            None => {
                let total = self.shared.state().total;
                self.say(if total.is_some() { done } else { done + 1 }, total, message);
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.ended = true;
        self.shared.changed.notify_all();
        let waited = self.shared.changed.wait_timeout_while(state, LAST_WORD, |state| !state.written);
        drop(waited);
    }
}

/// Writes updates at limited intervals, until the end.
fn tell(target: &Target, kind: &str, shared: &WatchState) {
    let mut store = None;
    let mut last: Option<Instant> = None;
    loop {
        let mut state = shared.state();
        while !state.ended {
            let since = last.map_or(SIGN_OF_LIFE, |last| last.elapsed());
            let due = if state.is_new { PAUSE } else { SIGN_OF_LIFE };
            if since >= due {
                break;
            }
            let waited = shared.changed.wait_timeout(state, due - since);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_new = false;
        let row = Row {
            experiment: target.experiment.clone(),
            trial: target.trial.clone(),
            kind: kind.to_string(),
            done: state.done,
            total: state.total,
            message: state.message.clone(),
            ended: state.ended,
            ..Row::default()
        };
        drop(state);
        if store.is_none() {
            store = target.place.open().ok();
        }
        if let Some(open) = &mut store
            && open.set_progress(&row).is_err()
        {
            store = None;
        }
        last = Some(Instant::now());
        if row.ended {
            shared.state().written = true;
            shared.changed.notify_all();
            return;
        }
    }
}

/// The numbers of `2 of 3` in a message.
fn place(message: &str) -> Option<(i64, i64)> {
    let words: Vec<&str> = message.split_whitespace().collect();
    words.windows(3).find_map(|three| {
        let number = |word: &str| word.trim_end_matches([':', ',', ')']).parse::<i64>().ok();
        (three[1] == "of").then(|| Some((number(three[0])?, number(three[2])?)))?
    })
}

/// An observer that also records progress in the store.
pub struct Watched<'a> {
    /// Gets all messages.
    pub observer: &'a dyn Observer,
    /// Gets steps only.
    pub watch: Option<Watch>,
}

impl Watched<'_> {
    fn hear(&self, message: &str) {
        if let Some(watch) = &self.watch {
            watch.hear(message);
        }
    }
}

impl Observer for Watched<'_> {
    fn begin(&self, doing: &'static str, progress: &Arc<ingest::Progress>) -> Box<dyn Any> {
        self.observer.begin(doing, progress)
    }

    fn step(&self, message: &str) {
        self.hear(message);
        self.observer.step(message);
    }

    fn progress(&self, message: &str) {
        self.hear(message);
        self.observer.progress(message);
    }

    fn warn(&self, message: &str) {
        self.observer.warn(message);
    }

    fn detail(&self, message: &str) {
        self.observer.detail(message);
    }

    fn output(&self, bytes: &[u8]) {
        self.observer.output(bytes);
    }

    fn cancelled(&self) -> bool {
        self.observer.cancelled()
    }

    fn remedy(&self, remedy: &Remedy) -> Option<String> {
        self.observer.remedy(remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::StoreLocation;

    #[test]
    fn messages_say_how_far_a_run_is() {
        assert_eq!(place("pass 2 of 3: counters"), Some((2, 3)));
        assert_eq!(place("candidate 4 of 10, measuring"), Some((4, 10)));
        assert_eq!(place("one of many"), None);
    }

    #[test]
    fn watchers_see_the_last_word_of_a_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join("x.db").to_string_lossy().into_owned();
        let target = Target {
            place: StoreLocation { database: Some(database), artifacts: None },
            experiment: "e".into(),
            trial: "t".into(),
            ..Target::default()
        };
        target.check("collect").expect("an experiment");
        let watch = Watch::begin(Some(&target), "collect").expect("a watch");
        watch.hear("pass 1 of 3: counters");
        watch.hear("2 kernels");
        drop(watch);
        let told = target.place.open().expect("a store").progress(Some("e"), 0).expect("progress");
        assert_eq!(told.len(), 1);
        let row = &told[0];
        assert_eq!((row.done, row.total, row.message.as_str(), row.ended), (1, Some(3), "2 kernels", true));
    }

    #[test]
    fn a_store_that_is_away_does_not_hold_up_a_run() {
        let place =
            StoreLocation { database: Some("postgres://perf@%2Fno%2Fsuch/x".into()), artifacts: None };
        let target = Target { place, experiment: "e".into(), trial: "t".into(), ..Target::default() };
        let began = Instant::now();
        let watch = Watch::begin(Some(&target), "collect").expect("a watch");
        watch.say(1, None, "working");
        drop(watch);
        assert!(began.elapsed() < LAST_WORD * 3);
    }
}

//! Prepares the usual answers while the agent reads the first one, so that it does not have to wait for them.

use std::sync::{Arc, Weak};

use app::Observer;

use crate::calls;
use crate::desk::{Desk, Opened, locked};
use crate::sql;

/// Larger traces are read when someone asks: preparing them would slow that down.
const LARGEST: u64 = 1 << 30;

/// What agents ask next, the likeliest first.
const USUAL: [&str; 6] = ["triage", "critical_path", "breakdown", "summary", "ops", "efficiency"];

/// Ends when the trace is closed, or when nobody else uses the desk.
struct WhileOpen {
    desk: Weak<Desk>,
    trace: Arc<Opened>,
}

impl WhileOpen {
    /// The desk, if someone may still ask about this trace. Hold it while working: `cancelled` counts it.
    fn still_wanted(&self) -> Option<Arc<Desk>> {
        let desk = self.desk.upgrade()?;
        (!self.cancelled() && self.trace.check().is_ok()).then_some(desk)
    }
}

impl Observer for WhileOpen {
    fn cancelled(&self) -> bool {
        self.trace.is_closed() || self.desk.strong_count() <= 1
    }
}

/// Prepares answers on a separate thread; nobody waits for it.
pub fn start(desk: &Arc<Desk>, trace: &Arc<Opened>, has_ranks: bool) {
    if trace.stamp.bytes() > LARGEST {
        return;
    }
    let turn = desk.preparing.clone();
    let observer = WhileOpen { desk: Arc::downgrade(desk), trace: trace.clone() };
    let prepare = move || {
        let _one_at_a_time = locked(&turn);
        let ranks = has_ranks.then_some("ranks");
        for name in ranks.into_iter().chain(USUAL) {
            let Some(desk) = observer.still_wanted() else { return };
            calls::usual(&desk, &observer.trace, name, &observer);
        }
        let Some(_desk) = observer.still_wanted() else { return };
        sql::prepare(&observer.trace.sql, observer.trace.path.clone(), &observer);
    };
    // If no thread can be started, each answer is made when it is asked for.
    let _ = std::thread::Builder::new().name("prepare".into()).spawn(prepare);
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use app::synth::{GenerateOptions, Options, OutputFormat, scenario};

    use super::*;
    use crate::roots::Roots;

    #[test]
    fn sql_is_ready_before_someone_asks_though_the_server_alone_has_the_desk() {
        let folder = tempfile::tempdir().unwrap();
        let made = GenerateOptions {
            options: Options { seed: 1, stacks: false, ..Options::default() },
            ..GenerateOptions::new(
                scenario("serving").unwrap(),
                folder.path().join("run"),
                OutputFormat::Torch,
            )
        };
        app::synth(&made).unwrap();
        let place = app::experiment::StoreLocation {
            database: Some(folder.path().join("store.db").display().to_string()),
            artifacts: None,
        };
        let desk = Arc::new(Desk::new(Roots::new(&[folder.path().into()]).unwrap(), place));
        let trace = desk.open(folder.path().join("run"));
        start(&desk, &trace, false);
        let began = Instant::now();
        while locked(&trace.sql).is_none() {
            assert!(began.elapsed() < Duration::from_secs(120), "nothing was made ready");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

//! Gets the usual answers ready while the agent reads the first one, so that it need not wait for them.

use std::sync::{Arc, Weak};

use app::Observer;

use crate::calls;
use crate::desk::{Desk, Opened, locked};
use crate::sql;

/// Larger traces are read when someone asks: reading them several times would be in the way of that.
const LARGEST: u64 = 1 << 30;

/// What agents ask next, the likeliest first.
const USUAL: [&str; 6] = ["triage", "critical_path", "breakdown", "summary", "ops", "efficiency"];

/// Ends when the trace is closed, or when nobody else has the desk.
struct WhileOpen {
    desk: Weak<Desk>,
    trace: Arc<Opened>,
}

impl Observer for WhileOpen {
    fn cancelled(&self) -> bool {
        self.trace.is_closed() || self.desk.strong_count() <= 1
    }
}

/// Begins in a thread of its own; nobody waits for it.
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
            let Some(desk) = observer.desk.upgrade() else { return };
            if observer.cancelled() || observer.trace.check().is_err() {
                return;
            }
            calls::usual(&desk, &observer.trace, name, &observer);
        }
        if !observer.cancelled() {
            sql::prepare(&observer.trace.sql, observer.trace.path.clone(), &observer);
        }
    };
    // Without a thread, each answer is made when it is asked for.
    let _ = std::thread::Builder::new().name("prepare".into()).spawn(prepare);
}

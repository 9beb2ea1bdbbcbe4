//! Counter rows: each belongs to a dispatch. Without kernel tracing, this is a run's only list of dispatches.

use trace::{AgentKind, Counter, Kernel, Map, ProcessId, RowRef};

use super::Set;
use super::columns::Columns;
use super::rows::{Identity, Shape};
use super::split::Rows;

impl Set<'_> {
    pub(super) fn take_counters(&mut self, columns: &Columns, rows: &mut Rows<'_>) {
        if !self.needs.kernels && !self.needs.counters {
            return;
        }
        let mut dispatches = self.dispatches.take().unwrap_or_else(|| self.dispatches_read());
        let identity = Identity::of(columns);
        let shape = Shape::of(columns);
        let (name, id) = (columns.find(&["kernel_name"]), columns.find(&["kernel_id"]));
        let (agent, dispatch) = (columns.find(&["agent_id"]), columns.find(&["dispatch_id"]));
        let (counter, value) = (columns.find(&["counter_name"]), columns.find(&["counter_value"]));
        let (pass, xcc) = (columns.find(&["replay_pass"]), columns.find(&["xcc"]));
        let (engine, instance) = (columns.find(&["shader_engine"]), columns.find(&["instance"]));
        let doubled = rows.doubled();
        let mut fields = Vec::new();
        while rows.next(&mut fields) {
            let (Some(number), Some(value)) = (dispatch.whole(&fields), value.number(&fields)) else {
                self.unusable += 1;
                continue;
            };
            let whose = identity.whose(self, &fields);
            let process = whose.process;
            let row = match dispatches.get(&(process, number)) {
                Some(&row) => row,
                None => {
                    // Old releases have no times here: such dispatches start at zero, and health reports it.
                    let (start, end) = identity.times(&fields, false).unwrap_or((0, 0));
                    let name = self.text(name.text(&fields), doubled);
                    let Self { trace, entities, agents, .. } = self;
                    let facts = || shape.symbol(name, &fields);
                    let kernel = Kernel {
                        name,
                        start,
                        end,
                        process,
                        thread: whose.thread,
                        agent: agents.named(trace, process, agent.text(&fields), AgentKind::Gpu),
                        queue: whose.queue,
                        stream: whose.stream,
                        correlation: whose.correlation,
                        dispatch: Some(number).into(),
                        shape: shape.intern(trace, &fields),
                        symbol: entities.symbol(trace, process, id.whole(&fields), facts),
                        ..Kernel::default()
                    };
                    let row = trace.kernels.len() as u32;
                    trace.kernels.push(kernel);
                    dispatches.insert((process, number), row);
                    row
                }
            };
            if !self.needs.counters {
                continue;
            }
            let name = self.text(counter.text(&fields), false);
            let counter = Counter {
                kernel: RowRef::kernel(row as usize),
                counter: self.entities.counter(&mut self.trace, process, name),
                value,
                pass: pass.optional(&fields),
                xcc: xcc.optional(&fields),
                shader_engine: engine.optional(&fields),
                instance: instance.optional(&fields),
            };
            self.trace.counters.push(counter);
        }
        self.dispatches = Some(dispatches);
    }

    fn dispatches_read(&self) -> Map<(ProcessId, i64), u32> {
        let kernels = &self.trace.kernels;
        let rows = kernels.process.iter().zip(&kernels.dispatch).enumerate();
        rows.filter_map(|(row, (process, dispatch))| Some(((*process, dispatch.get()?), row as u32)))
            .collect()
    }
}

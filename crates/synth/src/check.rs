//! Validates a scenario: every reference resolves, every number is in range.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;

use crate::scenario::{Action, Scenario};

/// What is wrong, and where in the text.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub at: usize,
    pub why: String,
}

fn wrong<T>(at: usize, why: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong { at, why: why.into() })
}

/// Checks everything that the file format itself does not.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Wrong> {
    if scenario.pattern.is_empty() || scenario.steps == 0 {
        return wrong(0, "a run needs at least one `[[step]]` and `steps` of at least 1");
    }
    if scenario.recording.unrecorded_steps >= scenario.steps {
        return wrong(0, "`recording.unrecorded_steps` leaves none of the `steps`");
    }
    if let Some(kernel) = scenario.expected.as_ref().and_then(|expected| expected.kernel.as_ref())
        && !scenario.kernels.contains_key(kernel)
    {
        return wrong(0, format!("`expected.kernel`: no `[kernels.{kernel}]`"));
    }
    numbers(scenario)?;
    let mut walk = Walk { scenario, sequences: Vec::new(), thread: "main", owners: BTreeMap::new() };
    for (name, kernel) in &scenario.kernels {
        walk.truth(kernel.truth.as_ref())?;
        if kernel.outlier_every == Some(0) {
            return wrong(0, format!("`kernels.{name}.outlier_every` must be at least 1"));
        }
    }
    for slow in &scenario.ranks.slow {
        walk.truth(slow.truth.as_ref())?;
        if let Some(kernel) = &slow.kernel {
            walk.kernel(kernel)?;
        }
    }
    for step in &scenario.pattern {
        walk.thread = "main";
        walk.program(&step.program)?;
        for (thread, program) in &step.background {
            walk.thread = thread;
            walk.program(program)?;
        }
    }
    events(scenario)
}

/// Every number that is a time, a rate or a spread.
fn numbers(scenario: &Scenario) -> Result<(), Wrong> {
    let m = &scenario.machine;
    let mut all: Vec<(String, f64, bool)> = [
        ("machine.launch_us", m.launch_us, false),
        ("machine.latency_us", m.latency_us, false),
        ("machine.gap_us", m.gap_us, false),
        ("machine.graph_launch_us", m.graph_launch_us, false),
        ("machine.graph_gap_us", m.graph_gap_us, false),
        ("machine.call_us", m.call_us, false),
        ("machine.pinned_gbps", m.pinned_gbps, true),
        ("machine.pageable_gbps", m.pageable_gbps, true),
        ("machine.device_gbps", m.device_gbps, true),
        ("machine.copy_us", m.copy_us, false),
        ("machine.host_cv", m.host_cv, false),
        ("machine.frame_us", m.frame_us, false),
        ("machine.sample_ms", m.sample_ms, false),
        ("machine.peak_clock_mhz", m.peak_clock_mhz, true),
        ("machine.clock_mhz", m.clock_mhz, false),
        ("machine.gpus", f64::from(m.gpus), true),
        ("machine.ranks_per_node", f64::from(m.ranks_per_node), true),
        ("ranks.count", f64::from(scenario.ranks.count), true),
        ("ranks.tensor", f64::from(scenario.ranks.tensor), true),
        ("ranks.pipeline", f64::from(scenario.ranks.pipeline), true),
        ("ranks.expert", f64::from(scenario.ranks.expert), true),
    ]
    .map(|(key, value, positive)| (key.to_string(), value, positive))
    .to_vec();
    if let Some(links) = &scenario.links {
        all.push(("links.node_gbps".into(), links.node_gbps, true));
        all.push(("links.network_gbps".into(), links.network_gbps, true));
        all.push(("links.latency_us".into(), links.latency_us, false));
        all.push(("links.end_jitter_us".into(), links.end_jitter_us, false));
    }
    for (name, kernel) in &scenario.kernels {
        all.push((format!("kernels.{name}.mean_us"), kernel.mean_us, true));
        all.push((format!("kernels.{name}.cv"), kernel.cv, false));
        for factor in [kernel.first_call_factor, kernel.outlier_factor].into_iter().flatten() {
            all.push((format!("kernels.{name}'s factor"), factor, true));
        }
    }
    all.extend(scenario.ranks.slow.iter().map(|slow| ("ranks.slow.factor".to_string(), slow.factor, true)));
    for (key, value, positive) in all {
        let low = if positive { value > 0.0 } else { value >= 0.0 };
        if !value.is_finite() || !low || value > 1e12 {
            return wrong(0, format!("`{key}` cannot be {value}"));
        }
    }
    let drifts = scenario.ranks.clock_drift_ppm.iter().all(|ppm| ppm.abs() <= 1000.0);
    let offsets = scenario.ranks.clock_offset_us.iter().all(|us| us.abs() <= 1e12);
    if !(drifts && offsets) {
        return wrong(0, "`ranks.clock_drift_ppm` can be at most 1000, `ranks.clock_offset_us` at most 1e12");
    }
    Ok(())
}

struct Walk<'a> {
    scenario: &'a Scenario,
    sequences: Vec<&'a str>,
    thread: &'a str,
    /// Which thread uses a stream: order on a stream must not depend on who comes first.
    owners: BTreeMap<(u32, u32), &'a str>,
}

impl<'a> Walk<'a> {
    fn program(&mut self, program: &'a [Action]) -> Result<(), Wrong> {
        program.iter().try_for_each(|action| self.action(action))
    }

    fn action(&mut self, action: &'a Action) -> Result<(), Wrong> {
        match action {
            Action::Launch(a) => {
                self.kernel(&a.kernel)?;
                self.truth(a.truth.as_ref())?;
                if let Some(dims) = &a.dims
                    && serde_json::from_str::<Vec<serde_json::Value>>(dims).is_err()
                {
                    return wrong(a.kernel.span().start, format!("`dims` is not a JSON list: `{dims}`"));
                }
                self.time("host_us", a.host_us)?;
                self.stream(a.gpu, a.stream)
            }
            Action::Host(a) => self.time("us", a.us).and_then(|()| self.truth(a.truth.as_ref())),
            Action::Api(a) => {
                self.time("us", a.us.unwrap_or(0.0)).and_then(|()| self.truth(a.truth.as_ref()))
            }
            Action::Copy(a) => {
                self.truth(a.truth.as_ref())?;
                self.time("host_us", a.host_us)?;
                if a.gbps.is_some_and(|gbps| !gbps.is_finite() || gbps <= 0.0) {
                    return wrong(0, "`gbps` of a copy must be above 0");
                }
                self.stream(a.gpu, a.stream)
            }
            Action::Fill(a) => self.stream(a.gpu, a.stream),
            Action::Sync(a) => {
                self.truth(a.truth.as_ref())?;
                a.stream.map_or(Ok(()), |stream| self.stream(a.gpu, stream))
            }
            Action::Record(a) | Action::Wait(a) => {
                self.truth(a.truth.as_ref())?;
                self.stream(a.gpu, a.stream)
            }
            Action::Alloc(a) => {
                self.time("us", a.us.unwrap_or(0.0))?;
                self.gpu(a.gpu)?;
                self.truth(a.truth.as_ref())
            }
            Action::Free(a) => {
                self.time("us", a.us.unwrap_or(0.0)).and_then(|()| self.truth(a.truth.as_ref()))
            }
            Action::Collective(a) => {
                self.kernel(&a.kernel)?;
                self.truth(a.truth.as_ref())?;
                self.stream(a.gpu, a.stream)
            }
            Action::Pipeline(a) => {
                self.kernel(&a.kernel)?;
                self.stream(a.gpu, a.stream)?;
                (0..4).try_for_each(|peer| self.stream(a.gpu, a.peers + peer))?;
                if a.micro_batches == 0 {
                    return wrong(a.forward.span().start, "`micro_batches` must be at least 1");
                }
                self.sequence(&a.forward).and_then(|()| self.sequence(&a.backward))
            }
            Action::Repeat(a) => self.sequence(&a.sequence),
            Action::Graph(a) => {
                self.stream(a.gpu, a.stream)?;
                self.sequence(&a.sequence)
            }
            Action::Annotate(a) => self.program(&a.program),
            Action::Post(_) | Action::Take(_) => Ok(()),
        }
    }

    fn time(&self, key: &str, us: f64) -> Result<(), Wrong> {
        if us.is_finite() && (0.0..=1e12).contains(&us) {
            return Ok(());
        }
        wrong(0, format!("`{key}` cannot be {us}"))
    }

    fn kernel(&self, name: &Spanned<String>) -> Result<(), Wrong> {
        if self.scenario.kernels.contains_key(name.get_ref()) {
            return Ok(());
        }
        wrong(name.span().start, format!("`kernel`: no `[kernels.{}]`", name.get_ref()))
    }

    fn truth(&self, id: Option<&Spanned<String>>) -> Result<(), Wrong> {
        match id {
            Some(id) if !self.scenario.truths.iter().any(|t| t.id == *id.get_ref()) => {
                wrong(id.span().start, format!("`truth`: no `[[truth]]` has the id `{}`", id.get_ref()))
            }
            _ => Ok(()),
        }
    }

    fn gpu(&self, gpu: u32) -> Result<(), Wrong> {
        if gpu < self.scenario.machine.gpus {
            return Ok(());
        }
        wrong(0, format!("`gpu = {gpu}`, but `machine.gpus` is {}", self.scenario.machine.gpus))
    }

    fn stream(&mut self, gpu: u32, stream: u32) -> Result<(), Wrong> {
        self.gpu(gpu)?;
        let owner = *self.owners.entry((gpu, stream)).or_insert(self.thread);
        if owner == self.thread {
            return Ok(());
        }
        let other = self.thread;
        wrong(
            0,
            format!("`stream = {stream}` is used by the threads `{owner}` and `{other}`; give each its own"),
        )
    }

    fn sequence(&mut self, name: &'a Spanned<String>) -> Result<(), Wrong> {
        let at = name.span().start;
        let Some(sequence) = self.scenario.sequences.get(name.get_ref()) else {
            return wrong(at, format!("`sequence`: no `[sequences.{}]`", name.get_ref()));
        };
        if self.sequences.contains(&name.get_ref().as_str()) {
            return wrong(at, format!("`sequence`: `{}` runs itself", name.get_ref()));
        }
        self.sequences.push(name.get_ref());
        let result = self.program(&sequence.program);
        self.sequences.pop();
        result
    }
}

/// Events that are awaited must be recorded by the same thread; what is freed must be allocated.
fn events(scenario: &Scenario) -> Result<(), Wrong> {
    let mut threads: BTreeMap<&str, Names> = BTreeMap::new();
    for step in &scenario.pattern {
        threads.entry("main").or_default().collect(scenario, &step.program);
        for (thread, program) in &step.background {
            threads.entry(thread).or_default().collect(scenario, program);
        }
    }
    for names in threads.values() {
        for (event, at) in &names.awaited {
            if !names.recorded.contains(event) {
                return wrong(*at, format!("`event`: nothing records `{event}` on this thread"));
            }
        }
        for (name, at) in &names.freed {
            if !names.allocated.contains(name) {
                return wrong(*at, format!("`name`: nothing allocates `{name}` on this thread"));
            }
        }
    }
    Ok(())
}

#[derive(Default)]
struct Names<'a> {
    recorded: BTreeSet<&'a str>,
    awaited: Vec<(&'a str, usize)>,
    allocated: BTreeSet<&'a str>,
    freed: Vec<(&'a str, usize)>,
}

impl<'a> Names<'a> {
    fn collect(&mut self, scenario: &'a Scenario, program: &'a [Action]) {
        for action in program {
            match action {
                Action::Record(a) => {
                    self.recorded.insert(a.event.get_ref());
                }
                Action::Wait(a) => self.awaited.push((a.event.get_ref(), a.event.span().start)),
                Action::Sync(a) => {
                    self.awaited.extend(a.event.iter().map(|e| (e.get_ref().as_str(), e.span().start)));
                }
                Action::Alloc(a) => {
                    self.allocated.insert(a.name.get_ref());
                }
                Action::Free(a) => self.freed.push((a.name.get_ref(), a.name.span().start)),
                Action::Annotate(a) => self.collect(scenario, &a.program),
                Action::Pipeline(a) => {
                    for name in [&a.forward, &a.backward] {
                        if let Some(sequence) = scenario.sequences.get(name.get_ref()) {
                            self.collect(scenario, &sequence.program);
                        }
                    }
                }
                Action::Repeat(a) | Action::Graph(a) => {
                    if let Some(sequence) = scenario.sequences.get(a.sequence.get_ref()) {
                        self.collect(scenario, &sequence.program);
                    }
                }
                _ => {}
            }
        }
    }
}

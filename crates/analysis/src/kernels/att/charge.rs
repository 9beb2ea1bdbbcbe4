//! Where the cycles of waves went: every wave cycle is charged to the instruction that caused it.
//!
//! A wait is charged to the loads it waits for (in equal parts), a barrier to itself, a stall of a vector or
//! memory instruction to the busy unit, idle time after a taken branch to instruction fetch, other idle time
//! to the late instruction. Charged cycles add up to the cycles of the waves, except start and finish gaps.

use std::collections::BTreeMap;

use trace::{CodeLine, Map, ThreadTrace, TracedWave};

use super::classes::class_of;

/// Instruction category of a taken branch.
const JUMP: u8 = 7;

/// Cycles of one line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineCycles {
    /// How often it was issued.
    pub hits: i64,
    /// Own cycles: issue, stall and the idle time before it.
    pub own: i64,
    /// Cycles it stalled.
    pub stall: i64,
    /// Cycles that waves lost because of this line, wherever they were lost.
    pub charged: f64,
    /// Time from issue to the end of the wait for it, for each wait.
    pub latencies: Vec<i64>,
}

/// Where all cycles of a thread trace went.
#[derive(Clone, Debug, Default)]
pub struct ChargedCycles {
    /// By index into the code.
    pub lines: Vec<LineCycles>,
    /// Cycles by cause.
    pub causes: BTreeMap<&'static str, f64>,
    /// Cycles of all waves.
    pub total: i64,
    /// Cycles of waves by state: empty, idle, executing, waiting, stalled.
    pub states: [i64; 5],
    /// Whether single waves were traced, or only sums.
    pub from_waves: bool,
}

impl ChargedCycles {
    /// Charges every cycle of a trace.
    pub fn of(trace: &ThreadTrace) -> Self {
        let mut charged = Self { lines: vec![LineCycles::default(); trace.code.len()], ..Self::default() };
        if trace.waves.iter().any(|wave| !wave.instructions.is_empty()) {
            charged.from_waves = true;
            let place: Map<i64, usize> =
                trace.code.iter().enumerate().map(|(i, line)| (line.number, i)).collect();
            trace.waves.iter().for_each(|wave| charged.wave(trace, &place, wave));
        } else {
            charged.sums(&trace.code);
        }
        charged
    }

    fn add(&mut self, cause: &'static str, cycles: f64) {
        *self.causes.entry(cause).or_default() += cycles;
    }

    fn wave(&mut self, trace: &ThreadTrace, place: &Map<i64, usize>, wave: &TracedWave) {
        for &(state, cycles) in &wave.timeline {
            if let Some(known) = self.states.get_mut(usize::from(state)) {
                *known += cycles;
            }
        }
        let mut waits: Map<i64, std::collections::VecDeque<&[i64]>> = Map::default();
        for (line, awaited) in &wave.waits {
            waits.entry(*line).or_default().push_back(awaited);
        }
        let mut issued_at: Map<i64, i64> = Map::default();
        let (mut free_at, mut jumped) = (None, false);
        for issued in &wave.instructions {
            let idle = free_at.map_or(0, |free: i64| (issued.time - free).max(0));
            let line = place.get(&issued.line).copied();
            let isa = line.map_or("", |line| trace.code[line].isa.as_str());
            let class = class_of(isa);
            self.total += issued.duration + idle;
            if idle > 0 {
                self.add(if jumped { "instruction fetch" } else { "dependency or arbitration" }, idle as f64);
            }
            if let Some(line) = line {
                let cycles = &mut self.lines[line];
                cycles.hits += 1;
                cycles.own += issued.duration + idle;
                cycles.stall += issued.stall;
                cycles.charged += idle as f64;
            }
            let end = issued.time + issued.duration;
            match class.unit.as_str() {
                "wait" => {
                    let queue = waits.get_mut(&issued.line);
                    // The last entry stands for all remaining iterations of a loop.
                    let awaited =
                        queue.and_then(|q| if q.len() > 1 { q.pop_front() } else { q.front().copied() });
                    self.wait(
                        trace,
                        place,
                        issued.line,
                        issued.duration,
                        awaited.unwrap_or(&[]),
                        &issued_at,
                        end,
                    );
                }
                "barrier" => self.charge(line, "barrier", issued.duration),
                _ => {
                    let busy = match class.unit.as_str() {
                        "memory" => "memory unit busy",
                        "LDS" => "LDS unit busy",
                        "matrix" => "matrix unit busy",
                        "vector" => "vector unit busy",
                        "scalar memory" => "scalar memory unit busy",
                        _ => "other unit busy",
                    };
                    self.add("issue", (issued.duration - issued.stall).max(0) as f64);
                    if let Some(line) = line {
                        self.lines[line].charged += (issued.duration - issued.stall).max(0) as f64;
                    }
                    self.charge(line, busy, issued.stall.min(issued.duration));
                }
            }
            issued_at.insert(issued.line, issued.time);
            (free_at, jumped) = (Some(end), issued.category == JUMP);
        }
    }

    fn charge(&mut self, line: Option<usize>, cause: &'static str, cycles: i64) {
        if cycles > 0 {
            self.add(cause, cycles as f64);
            if let Some(line) = line {
                self.lines[line].charged += cycles as f64;
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn wait(
        &mut self,
        trace: &ThreadTrace,
        place: &Map<i64, usize>,
        own: i64,
        cycles: i64,
        awaited: &[i64],
        issued_at: &Map<i64, i64>,
        end: i64,
    ) {
        let known: Vec<usize> = awaited.iter().filter_map(|line| place.get(line).copied()).collect();
        if known.is_empty() {
            self.charge(place.get(&own).copied(), "wait for something not recorded", cycles);
            return;
        }
        let part = cycles as f64 / known.len() as f64;
        for line in known {
            let code = &trace.code[line];
            let cause = match class_of(&code.isa).unit.as_str() {
                "memory" => "memory latency",
                "LDS" => "LDS latency",
                "scalar memory" => "scalar memory latency",
                _ => "other latency",
            };
            self.add(cause, part);
            self.lines[line].charged += part;
            if let Some(&issued) = issued_at.get(&code.number) {
                self.lines[line].latencies.push(end - issued);
            }
        }
    }

    /// From sums over all waves: the counters of a wait show the unit, not the instruction.
    fn sums(&mut self, code: &[CodeLine]) {
        for (place, line) in code.iter().enumerate() {
            let class = class_of(&line.isa);
            let own = line.latency + line.idle;
            self.total += own;
            self.lines[place] = LineCycles {
                hits: line.hits,
                own,
                stall: line.stall,
                charged: own as f64,
                latencies: Vec::new(),
            };
            if line.idle > 0 {
                self.add("dependency or arbitration", line.idle as f64);
            }
            match class.unit.as_str() {
                "wait" => self.add(awaited(&line.isa), line.latency as f64),
                "barrier" => self.add("barrier", line.latency as f64),
                unit => {
                    let busy = match unit {
                        "memory" => "memory unit busy",
                        "LDS" => "LDS unit busy",
                        "matrix" => "matrix unit busy",
                        "vector" => "vector unit busy",
                        _ => "other unit busy",
                    };
                    self.add("issue", (line.latency - line.stall).max(0) as f64);
                    self.add(busy, line.stall as f64);
                }
            }
        }
        self.causes.retain(|_, cycles| *cycles > 0.0);
    }

    /// The share of all cycles with these causes, in percent.
    pub fn share_pct(&self, causes: &[&str]) -> Option<f64> {
        let cycles: f64 =
            self.causes.iter().filter(|(cause, _)| causes.contains(cause)).map(|(_, c)| c).sum();
        (self.total > 0).then(|| 100.0 * cycles / self.total as f64)
    }
}

/// What a wait instruction waits for, by the counters it names. Counters match as whole words: `kmcnt`
/// (scalar memory only, from gfx12 on) is a suffix of `lgkmcnt` (LDS, scalar memory and messages).
fn awaited(isa: &str) -> &'static str {
    const COUNTERS: [(&str, &str); 9] = [
        ("vmcnt", "memory latency"),
        ("vscnt", "memory latency"),
        ("loadcnt", "memory latency"),
        ("storecnt", "memory latency"),
        ("samplecnt", "memory latency"),
        ("bvhcnt", "memory latency"),
        ("kmcnt", "scalar memory latency"),
        ("dscnt", "LDS latency"),
        ("lgkmcnt", "LDS or scalar memory latency"),
    ];
    let names = |counter: &str| isa.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == counter);
    let named = COUNTERS.iter().find(|(counter, _)| names(counter));
    named.map_or("wait for something not recorded", |(_, cause)| cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_the_lds_was_charged_to_scalar_memory_because_lgkmcnt_ends_in_kmcnt() {
        let cases = [
            ("s_waitcnt lgkmcnt(0)", "LDS or scalar memory latency"),
            ("s_wait_kmcnt 0x0", "scalar memory latency"),
            ("s_waitcnt vmcnt(0) lgkmcnt(0)", "memory latency"),
            ("s_waitcnt_lgkmcnt null, 0x0", "LDS or scalar memory latency"),
            ("s_wait_dscnt 0x1", "LDS latency"),
        ];
        for (isa, cause) in cases {
            assert_eq!(awaited(isa), cause, "{isa}");
        }
    }

    #[test]
    fn the_counter_of_stores_was_unknown() {
        assert_eq!(awaited("s_waitcnt_vscnt null, 0x0"), "memory latency");
        assert_eq!(awaited("s_waitcnt_depctr 0xfffe"), "wait for something not recorded");
    }
}

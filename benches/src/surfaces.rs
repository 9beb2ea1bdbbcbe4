//! Surfaces to tune on, with known optima: three written by hand, and a family drawn at random from seeds.
//!
//! The family is split in two. Variants of the search were compared on the surfaces of [`DEVELOPMENT`]; those
//! of [`HELD_OUT`] are for reporting only. If you change the search, keep it so: a choice made on them needs
//! new seeds.

use std::collections::HashMap;
use std::ops::Range;

use stats::random::Random;
use tune::space::{Candidates, Space};
use tune::tuner::{Limit, Run, Status, Target};

/// Spread of a run.
pub(crate) const NOISE: f64 = 0.03;
/// What counts as found: at most this far from the optimum.
const CLOSE: f64 = 1.02;
/// Seeds of the surfaces that the search was developed on.
pub(crate) const DEVELOPMENT: Range<u64> = 0..40;
/// Seeds of the surfaces that are only used to judge it.
pub(crate) const HELD_OUT: Range<u64> = 1_000..1_040;

/// A space and the time of each of its configurations; `None` if it fails.
pub(crate) struct Surface {
    pub(crate) name: String,
    pub(crate) space: Space,
    pub(crate) candidates: Candidates,
    times: HashMap<Vec<u16>, Option<f64>>,
    optimum: f64,
}

impl Surface {
    fn new(name: &str, space: &str, time: impl Fn(&Space, &[u16]) -> Option<f64>) -> Result<Self, String> {
        let space = Space::parse(space).map_err(|error| error.to_string())?;
        let candidates = space.candidates(0).map_err(|error| error.to_string())?;
        let times: HashMap<_, _> =
            candidates.iter().map(|levels| (levels.to_vec(), time(&space, levels))).collect();
        let optimum = times.values().flatten().copied().fold(f64::INFINITY, f64::min);
        Ok(Self { name: name.into(), space, candidates, times, optimum })
    }

    /// How far a configuration is from the optimum, as a factor; `None` if it fails.
    pub(crate) fn regret(&self, levels: &[u16]) -> Option<f64> {
        self.times.get(levels).copied().flatten().map(|time| time / self.optimum)
    }

    /// Whether a configuration is practically as good as the optimum.
    pub(crate) fn is_close(&self, levels: &[u16]) -> bool {
        self.regret(levels).is_some_and(|regret| regret <= CLOSE)
    }

    /// Something to tune whose runs differ by [`NOISE`].
    pub(crate) fn target(&self, seed: u64) -> Simulated<'_> {
        Simulated { surface: self, random: Random::new(seed * 7919 + 13) }
    }

    /// Neither trivial nor hopeless: about a thousand configurations, of which some fail and few are close.
    fn is_fair(&self) -> bool {
        let all = self.candidates.len();
        let failing = self.times.values().filter(|time| time.is_none()).count();
        let close = self.candidates.iter().filter(|levels| self.is_close(levels)).count();
        (700..=1_400).contains(&all) && (all / 30..=all / 3).contains(&failing) && close <= all / 200
    }
}

/// A surface as something that runs.
pub(crate) struct Simulated<'a> {
    surface: &'a Surface,
    random: Random,
}

impl Target for Simulated<'_> {
    fn run(&mut self, levels: &[u16], _: usize, _: Limit) -> Run {
        let time = self.surface.times.get(levels).copied().flatten();
        let value = time.map(|time| time * (NOISE * self.random.normal()).exp());
        let status = if value.is_some() { Status::Ok } else { Status::RunFailed };
        Run { status, value, seconds: 0.01, spent: 0.01, detail: String::new() }
    }
}

/// A name, a space, and the time of a configuration.
type Written = (&'static str, &'static str, fn(&[f64]) -> Option<f64>);

const WRITTEN: [Written; 3] = [
    (
        "tiled product",
        r#"{"params": {"M": {"range": [16, 256], "pow2": true}, "N": {"range": [16, 256], "pow2": true},
            "K": [16, 32, 64, 128], "warps": [1, 2, 4, 8], "stages": [1, 2, 3]},
            "constraints": ["M * N / (warps * 64) >= 1"]}"#,
        product,
    ),
    (
        "oblique valley",
        r#"{"A": [4, 8, 16, 32, 64, 128], "B": [2, 4, 8, 16, 32, 64], "C": [1, 2, 4, 8, 16, 32], "D": [1, 2, 3, 4, 5]}"#,
        valley,
    ),
    ("rough", r#"{"A": {"range": [1, 10]}, "B": {"range": [1, 10]}, "C": {"range": [1, 10]}}"#, rough),
];

/// The hand-written surfaces.
pub(crate) fn written() -> Result<Vec<Surface>, String> {
    let numbers = |space: &Space, levels: &[u16]| -> Vec<f64> {
        space.settings(levels).iter().filter_map(|(_, value)| value.number()).collect()
    };
    let surfaces = WRITTEN
        .iter()
        .map(|(name, space, time)| Surface::new(name, space, |space, levels| time(&numbers(space, levels))));
    surfaces.collect()
}

/// A tiled matrix product: limited LDS and registers, occupancy in steps, partial rounds of workgroups.
fn product(x: &[f64]) -> Option<f64> {
    let [m, n, k, warps, stages] = *x else { return None };
    let lds = (m + n) * k * 2.0 * stages;
    let sums = m * n / (warps * 64.0);
    if lds > 65536.0 || sums > 256.0 {
        return None;
    }
    let registers = sums + 40.0 + (m + n) * k / (warps * 64.0) / 2.0;
    let spills = if registers > 256.0 { 1.0 + (registers - 256.0) / 64.0 } else { 1.0 };
    let by_registers = (512.0 / (8.0 * (registers / 8.0).ceil())).floor().clamp(1.0, 8.0);
    let waves = (by_registers * 4.0).min((65536.0 / lds).floor() * warps) / 4.0;
    let hidden = 1.0 - (-(waves * (0.6 + 0.4 * stages)) / 1.6).exp();
    let tiles = (4096.0 / m).ceil() * (4096.0 / n).ceil();
    let slots = 304.0 * (waves * 4.0 / warps).floor().max(1.0);
    let rounds = (tiles / slots).ceil() * slots / tiles;
    let memory = 60.0 * (m + n) / (m * n);
    let small = if warps == 8.0 && m * n < 4096.0 { 0.5 } else { 1.0 };
    let compute = 1.0 / ((sums / (sums + 6.0)) * (k / (k + 6.0)) * small);
    Some((compute.max(memory) + 0.3 * compute.min(memory)) / hidden * rounds.sqrt() * spills)
}

/// A valley across all axes, with cliffs and a saw.
fn valley(x: &[f64]) -> Option<f64> {
    let [a, b, c] = [x[0].log2(), x[1].log2(), x[2].log2()];
    let d = x[3];
    if a + b + c > 11.0 {
        return None;
    }
    let (u, v, w) = ((a + b - 7.0) / 3.0, (a - b - 1.0) / 2.0, (c + 0.5 * a - 4.0) / 2.0);
    let mut time = 1.0 + 0.25 * u * u + 0.15 * v * v + 0.3 * w * w + 0.04 * (d - 3.0 - 0.5 * v).powi(2);
    for (steep, by) in [(a + c > 7.0, 1.35), ((a + d) % 2.0 == 0.0, 1.06), (b + d > 7.0, 1.2)] {
        time *= if steep { by } else { 1.0 };
    }
    Some(time)
}

/// A bowl with cliffs, and unpredictable roughness.
fn rough(x: &[f64]) -> Option<f64> {
    let [a, b, c] = *x else { return None };
    if a * b > 56.0 || (c > 8.0 && a > 7.0) {
        return None;
    }
    let luck =
        |p: f64, q: f64, s: f64| ((p * 12.9898 + q * 78.233 + s * 37.719).sin() * 43758.5453).fract().abs();
    let (u, v) = ((a - 6.0) / 4.0 + (b - 4.0) / 5.0, (b - c + 2.0) / 4.0);
    let mut time = 1.0 + 0.4 * u * u + 0.35 * v * v + 0.1 * ((a - c) / 5.0).powi(2);
    for (steep, by) in [(a * c > 30.0, 1.25), (b > 6.0 && c < 4.0, 1.5)] {
        time *= if steep { by } else { 1.0 };
    }
    Some(time * (1.0 + 0.06 * luck(a, b, 1.0) + 0.06 * luck(b, c, 2.0)))
}

/// A parameter of a random surface.
struct Axis {
    /// How the space file describes it.
    text: String,
    /// Where each level lies between 0 and 1: in order for numbers, anywhere for words.
    places: Vec<f64>,
}

impl Axis {
    fn draw(random: &mut Random) -> Self {
        let ordered = |levels: usize| (0..levels).map(|i| i as f64 / (levels - 1) as f64).collect();
        match random.below(8) {
            0..=3 => {
                let (first, levels) = (random.below(5), 4 + random.below(4));
                let text =
                    format!(r#"{{"range": [{}, {}], "pow2": true}}"#, 1 << first, 1 << (first + levels - 1));
                Self { text, places: ordered(levels) }
            }
            4 | 5 => {
                let levels = 4 + random.below(7);
                Self { text: format!(r#"{{"range": [1, {levels}]}}"#), places: ordered(levels) }
            }
            6 => Self { text: r#"{"bool": true}"#.into(), places: vec![0.0, random.unit()] },
            _ => {
                let levels = 3 + random.below(2);
                let words: Vec<String> = (0..levels).map(|i| format!("\"w{i}\"")).collect();
                let text = format!(r#"{{"categorical": [{}]}}"#, words.join(", "));
                Self { text, places: (0..levels).map(|_| random.unit()).collect() }
            }
        }
    }
}

/// A direction across two or three parameters: their coefficients, and the offset at which it is zero.
struct Slope {
    terms: Vec<(usize, f64)>,
    offset: f64,
}

impl Slope {
    fn draw(axes: usize, random: &mut Random) -> Self {
        let mut order: Vec<usize> = (0..axes).collect();
        random.shuffle(&mut order);
        order.truncate(2 + random.below(2));
        let terms: Vec<(usize, f64)> = order
            .into_iter()
            .map(|axis| {
                let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
                (axis, sign * (0.5 + random.unit()))
            })
            .collect();
        // The height at a random place, so that zero lies within the space.
        let offset = terms.iter().map(|(_, by)| by * random.unit()).sum();
        Self { terms, offset }
    }

    fn at(&self, places: &[f64]) -> f64 {
        self.terms.iter().map(|(axis, by)| by * places[*axis]).sum::<f64>() - self.offset
    }
}

/// What makes a random surface: all parts add to the logarithm of the time.
struct Parts {
    /// Valleys by the square of a slope.
    valleys: Vec<(Slope, f64)>,
    /// The greater of two slopes, as of compute and memory.
    roofs: Vec<(Slope, Slope, f64)>,
    /// Steps beyond a slope.
    cliffs: Vec<(Slope, f64)>,
    /// Penalties where two levels add up to a multiple.
    saws: Vec<(usize, usize, usize, f64)>,
    /// Random effects of pairs of levels.
    rough: Vec<(usize, usize, f64, u64)>,
    /// Failures beyond a slope.
    invalid: Vec<(Slope, f64)>,
}

impl Parts {
    fn draw(axes: usize, random: &mut Random) -> Self {
        let pair = |random: &mut Random| {
            let first = random.below(axes);
            (first, (first + 1 + random.below(axes - 1)) % axes)
        };
        let valleys = (0..2 + random.below(3)).map(|_| (Slope::draw(axes, random), 0.3 + random.unit()));
        let valleys = valleys.collect();
        let roofs = (0..random.below(3))
            .map(|_| (Slope::draw(axes, random), Slope::draw(axes, random), 0.1 + 0.4 * random.unit()));
        let roofs = roofs.collect();
        let cliffs =
            (0..1 + random.below(3)).map(|_| (Slope::draw(axes, random), (1.1 + 0.5 * random.unit()).ln()));
        let cliffs = cliffs.collect();
        let saws = (0..random.below(2)).map(|_| {
            let (a, b) = pair(random);
            (a, b, 2 + random.below(2), (1.03 + 0.07 * random.unit()).ln())
        });
        let saws = saws.collect();
        let rough = (0..random.below(3)).map(|_| {
            let (a, b) = pair(random);
            (a, b, 0.06 * random.unit(), random.bits())
        });
        let rough = rough.collect();
        let invalid =
            (0..1 + random.below(2)).map(|_| (Slope::draw(axes, random), 0.3 + 0.7 * random.unit()));
        let invalid = invalid.collect();
        Self { valleys, roofs, cliffs, saws, rough, invalid }
    }

    fn time(&self, levels: &[u16], places: &[f64]) -> Option<f64> {
        if self.invalid.iter().any(|(slope, above)| slope.at(places) > *above) {
            return None;
        }
        let mut log: f64 = self.valleys.iter().map(|(slope, by)| by * slope.at(places).powi(2)).sum();
        log += self.roofs.iter().map(|(a, b, by)| by * a.at(places).max(b.at(places))).sum::<f64>();
        log += self.cliffs.iter().filter(|(slope, _)| slope.at(places) > 0.0).map(|(_, by)| by).sum::<f64>();
        for (a, b, every, by) in &self.saws {
            let sum = usize::from(levels[*a]) + usize::from(levels[*b]);
            log += if sum.is_multiple_of(*every) { *by } else { 0.0 };
        }
        for (a, b, by, seed) in &self.rough {
            let cell = u64::from(levels[*a]) << 32 | u64::from(levels[*b]);
            log += by * Random::new(seed ^ cell).unit();
        }
        Some(log.exp())
    }
}

/// The fair surface of a seed.
pub(crate) fn random(seed: u64) -> Result<Surface, String> {
    for attempt in 0..1_000 {
        let mut random = Random::new(seed * 1_000 + attempt);
        let mut axes = Vec::new();
        let mut size = 1;
        while size < 700 {
            let axis = Axis::draw(&mut random);
            size *= axis.places.len();
            axes.push(axis);
        }
        if !(3..=6).contains(&axes.len()) || size > 1_400 {
            continue;
        }
        let parts = Parts::draw(axes.len(), &mut random);
        let texts: Vec<String> =
            axes.iter().enumerate().map(|(i, axis)| format!("\"P{i}\": {}", axis.text)).collect();
        let space = format!("{{\"params\": {{{}}}}}", texts.join(", "));
        let surface = Surface::new(&format!("random {seed}"), &space, |_, levels| {
            let places: Vec<f64> =
                levels.iter().zip(&axes).map(|(level, axis)| axis.places[usize::from(*level)]).collect();
            parts.time(levels, &places)
        })?;
        if surface.is_fair() {
            return Ok(surface);
        }
    }
    Err(format!("no fair surface for seed {seed}"))
}

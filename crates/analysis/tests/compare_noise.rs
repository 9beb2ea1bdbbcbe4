//! `compare` on generated pairs of runs with known noise: what it flags, and what it leaves alone.

use report::{Report, Value};
use rocm_perf_analysis::timeline::compare::{CompareOptions, compare};
use trace::{Kernel, Process, Region, Source, Trace};

/// A separate generator, so that the test shares nothing with the code under test.
struct Noise(u64);

impl Noise {
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Lognormal with mean 1.
    fn factor(&mut self, cv: f64) -> f64 {
        let sigma = (cv * cv).ln_1p().sqrt();
        (sigma * self.normal() - sigma * sigma / 2.0).exp()
    }
}

#[derive(Clone, Copy)]
struct Setting {
    kernels: usize,
    calls: usize,
    repeats: usize,
    /// Coefficient of variation of calls.
    cv: f64,
    /// Coefficient of variation of runs, shared by all kernels of a run.
    drift: f64,
}

const ISSUE: Setting = Setting { kernels: 12, calls: 200, repeats: 5, cv: 0.05, drift: 0.01 };
const SLOWED: usize = 7;

fn run(setting: Setting, noise: &mut Noise, slowdown: f64) -> Trace {
    let mut trace = Trace::default();
    let source = trace.add_source(Source::named("made", "test"));
    let process = trace.add_process(Process::new(source, 1));
    let run_factor = noise.factor(setting.drift);
    let category = trace.strings.intern("HIP_RUNTIME_API_EXT");
    let call_name = trace.strings.intern("hipLaunchKernel");
    let names: Vec<_> = (0..setting.kernels)
        .map(|k| {
            let letter = char::from(b'a' + (k % 26) as u8);
            trace.strings.intern(&format!("kernel_{}", letter.to_string().repeat(1 + k / 26)))
        })
        .collect();
    let mut clock = 0i64;
    for _ in 0..setting.calls {
        for (k, &name) in names.iter().enumerate() {
            let mean = 20_000.0 * (1.0 + k as f64);
            let slow = if k == SLOWED { slowdown } else { 1.0 };
            let duration = (mean * slow * run_factor * noise.factor(setting.cv)).round() as i64;
            trace.kernels.push(Kernel {
                name,
                start: clock,
                end: clock + duration,
                process,
                ..Kernel::default()
            });
            clock += duration + 1_000;
        }
        let host = (5_000.0 * noise.factor(setting.cv) * noise.factor(0.01)).round() as i64;
        let (start, end) = (clock, clock + host);
        trace.regions.push(Region { name: call_name, category, start, end, process, ..Region::default() });
    }
    trace.finish();
    trace
}

fn runs(setting: Setting, noise: &mut Noise, slowdown: f64) -> Vec<Trace> {
    (0..setting.repeats).map(|_| run(setting, noise, slowdown)).collect()
}

/// The rows of a table that are faster or slower.
fn flagged(report: &Report, table: &str) -> Vec<(String, String)> {
    let table = report.table(table).expect("the table is there");
    let (name, verdict) = (table.column("name").unwrap_or(0), table.column("verdict").expect("a verdict"));
    let text = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        other => panic!("{other:?} is no text"),
    };
    let rows = table.rows.iter().map(|row| (text(&row[name]), text(&row[verdict])));
    rows.filter(|(_, verdict)| ["faster", "slower"].contains(&verdict.as_str())).collect()
}

const TABLES: [&str; 4] = ["kernels", "categories", "regions", "end_to_end"];

/// Of 100 seeds: (only the slowed kernel flagged, any row of any table flagged on an identical pair).
fn hundred_seeds(setting: Setting, slowdown: f64) -> (usize, usize) {
    let slowed = "kernel_h".to_string();
    let options = CompareOptions::default();
    let seeds: Vec<u64> = (0..100).collect();
    let halves: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let work = |seeds: &[u64]| {
            let (mut found, mut false_rows) = (0, 0);
            for &seed in seeds {
                let mut noise = Noise(0x9e37_79b9_97f4_a7c1 ^ (seed + 1).wrapping_mul(0xd129_0b26_88cc_5a93));
                let base = runs(setting, &mut noise, 1.0);
                let same = runs(setting, &mut noise, 1.0);
                let slow = runs(setting, &mut noise, slowdown);
                let kernels = flagged(&compare(&base, &slow, &options), "kernels");
                found += usize::from(kernels == [(slowed.clone(), "slower".to_string())]);
                let report = compare(&base, &same, &options);
                false_rows += usize::from(TABLES.iter().any(|table| !flagged(&report, table).is_empty()));
            }
            (found, false_rows)
        };
        let workers: Vec<_> = seeds.chunks(50).map(|half| scope.spawn(move || work(half))).collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).collect()
    });
    halves.into_iter().fold((0, 0), |sum, half| (sum.0 + half.0, sum.1 + half.1))
}

#[test]
fn five_percent_is_found_in_noise_and_nothing_else() {
    let (found, false_rows) = hundred_seeds(ISSUE, 1.05);
    println!("flagged alone in {found} of 100, false rows in {false_rows} of 100");
    assert!(found >= 95, "{found} of 100");
    assert!(false_rows <= 5, "{false_rows} of 100");
}

fn verdict(report: &Report, table: &str, name: &str) -> String {
    let table = report.table(table).expect("the table is there");
    let (at, verdict) = (table.column("name").expect("a name"), table.column("verdict").expect("a verdict"));
    let row = table.rows.iter().find(|row| row[at] == Value::from(name)).expect("the row");
    match &row[verdict] {
        Value::Text(text) => text.clone(),
        other => panic!("{other:?} is no text"),
    }
}

/// A shared change only counts as drift while it is within the differences between runs.
#[test]
fn a_change_of_everything_is_not_hidden_as_drift() {
    let setting = Setting { kernels: 8, drift: 0.005, ..ISSUE };
    let mut noise = Noise(77);
    let base = runs(setting, &mut noise, 1.0);
    let mut slower = runs(setting, &mut noise, 1.0);
    for trace in &mut slower {
        let kernels = &mut trace.kernels;
        for row in 0..kernels.len() {
            kernels.end[row] += (kernels.end[row] - kernels.start[row]) / 10;
        }
    }
    let report = compare(&base, &slower, &CompareOptions::default());
    assert_eq!(flagged(&report, "kernels").len(), 8, "every kernel is slower");
    assert_eq!(verdict(&report, "end_to_end", "kernels"), "slower");
    assert!(
        report.notes.iter().any(|note| note.contains("the median kernel changed by +")),
        "{:?}",
        report.notes
    );
}

/// Without repeats, a small change may be run noise; a large change of a single kernel is not.
#[test]
fn single_runs_tell_only_what_is_beyond_their_floor() {
    let setting = Setting { repeats: 1, ..ISSUE };
    let mut noise = Noise(5);
    let base = runs(setting, &mut noise, 1.0);
    for (slowdown, expected) in [(1.015, "inconclusive"), (1.10, "slower")] {
        let report = compare(&base, &runs(setting, &mut noise, slowdown), &CompareOptions::default());
        assert_eq!(verdict(&report, "kernels", "kernel_h"), expected, "{slowdown}");
        assert!(report.health.iter().any(|check| check.id == "single_run"), "the caveat is told");
    }
}

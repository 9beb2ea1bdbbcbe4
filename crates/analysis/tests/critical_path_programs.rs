//! `critical-path` against a simulator of random programs, and properties that hold for any trace.

use crate::critical_path_maker;

use critical_path_maker::{Maker, check, of_kernel, path_of, predicted, show, span};
use proptest::prelude::*;
use rocm_perf_analysis::{CriticalPathError, CriticalPathOptions};
use trace::Trace;

const US: i64 = 1_000;

/// A program of one or two threads over three streams, with its own simulator: (trace, ends of all kernels).
#[derive(Clone, Debug)]
enum Step {
    Launch { stream: i64, us: i64 },
    Record { stream: i64, event: i64 },
    Wait { stream: i64, event: i64 },
    Sync { stream: i64 },
    Think { us: i64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1i64..4, 0i64..60).prop_map(|(stream, us)| Step::Launch { stream, us }),
        1 => (1i64..4, 0i64..3).prop_map(|(stream, event)| Step::Record { stream, event }),
        1 => (1i64..4, 0i64..3).prop_map(|(stream, event)| Step::Wait { stream, event }),
        1 => (1i64..4).prop_map(|stream| Step::Sync { stream }),
        1 => (0i64..80).prop_map(|us| Step::Think { us }),
    ];
    prop::collection::vec(step, 1..50)
}

/// Runs a program. Kernel durations are scaled: (kernel number, factor).
fn simulate(steps: &[Step], scale: Option<(usize, f64)>) -> Trace {
    let mut maker = Maker::new();
    let process = maker.process(0);
    let thread = maker.thread(process, 7);
    let mut now = 0;
    let mut tail = [0i64; 4];
    let mut used = [false; 4];
    let mut events = [None; 3];
    let mut launched = 0usize;
    for step in steps {
        match *step {
            Step::Think { us } => now += us * US,
            Step::Launch { stream, us } => {
                let call = maker.call(thread, "hipLaunchKernel", now, now + 3 * US);
                now += 3 * US;
                let s = stream as usize;
                let ready = if used[s] { tail[s] + US } else { tail[s] };
                let start = ready.max(now + 5 * US);
                let factor =
                    scale.filter(|(kernel, _)| *kernel == launched).map_or(1.0, |(_, factor)| factor);
                tail[s] = start + (us as f64 * US as f64 * factor) as i64;
                used[s] = true;
                maker.kernel(process, stream, &format!("k{launched}"), start, tail[s], call);
                launched += 1;
            }
            Step::Record { stream, event } => {
                maker.sync(thread, "hipEventRecord", now, now + US, Some(stream), Some(event));
                now += US;
                events[event as usize] = Some(tail[stream as usize]);
            }
            Step::Wait { stream, event } => {
                maker.sync(thread, "hipStreamWaitEvent", now, now + US, Some(stream), Some(event));
                now += US;
                if let Some(at) = events[event as usize] {
                    tail[stream as usize] = tail[stream as usize].max(at);
                }
            }
            Step::Sync { stream } => {
                let until = (now + 5 * US).max(tail[stream as usize]);
                maker.sync(thread, "hipStreamSynchronize", now, until, Some(stream), None);
                now = until;
            }
        }
    }
    maker.op(thread, "end", now, now + US);
    maker.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// Segments add up; slack is at least zero, and zero on the path; halving other kernels changes nothing.
    #[test]
    fn what_holds_of_any_program(program in steps()) {
        let trace = simulate(&program, None);
        prop_assume!(!trace.kernels.is_empty());
        let found = path_of(&trace, &[]);
        prop_assert_eq!(span(&found), trace.span().map_or(0, |(start, end)| end - start));
        for i in 0..trace.kernels.len() {
            let name = trace.strings.get(trace.kernels.name[i]).to_string();
            if of_kernel(&found, &name, "on_path_ns") == 0 {
                let halved = path_of(&trace, &[&format!("kernel:^{name}$=0.5")]);
                prop_assert_eq!(predicted(&halved, 0), span(&found));
            }
            // A kernel can get longer by its slack, and not a microsecond more.
            let slack = of_kernel(&found, &name, "slack_ns");
            let took = trace.kernels.end[i] - trace.kernels.start[i];
            if took > 0 && slack > 0 {
                let factor = (took + slack) as f64 / took as f64;
                let longer = path_of(&trace, &[&format!("kernel:^{name}$={factor}")]);
                prop_assert!((predicted(&longer, 0) - span(&found)).abs() <= 1);
                let factor = (took + slack + US) as f64 / took as f64;
                let longer = path_of(&trace, &[&format!("kernel:^{name}$={factor}")]);
                prop_assert!((predicted(&longer, 0) - span(&found) - US).abs() <= 1);
            }
        }
    }

    /// A prediction is close to a rerun of the program with that kernel slower or faster.
    #[test]
    fn predictions_equal_running_again(program in steps(), which in 0usize..20, factor in 0.0f64..3.0) {
        let trace = simulate(&program, None);
        prop_assume!(which < trace.kernels.len());
        let question = format!("kernel:^k{which}$={factor}");
        let found = path_of(&trace, &[&question]);
        let again = simulate(&program, Some((which, factor))).span().map_or(0, |(start, end)| end - start);
        // The simulator's gap is a microsecond; it cannot be learnt if no kernel ever queued. Scaled times
        // are rounded to nanoseconds on both sides.
        let error = (predicted(&found, 0) - again).abs();
        prop_assert!(error <= 4 * US + 1, "{} for {again} of {}", predicted(&found, 0), span(&found));
    }

    /// Kernels of one stream with nothing else in the way scale the whole run.
    #[test]
    fn all_kernels_scale_a_serial_run(durations in prop::collection::vec(1i64..500, 1..40), percent in 0i64..400) {
        let mut maker = Maker::new();
        let process = maker.process(0);
        let mut now = 0;
        for &us in &durations {
            maker.kernel(process, 1, "k", now, now + us * 100 * US, 0);
            now += us * 100 * US;
        }
        let trace = maker.finish();
        let found = path_of(&trace, &[&format!("k={}", percent as f64 / 100.0)]);
        prop_assert_eq!(predicted(&found, 0), now / 100 * percent);
    }

    /// Random times with every contradiction: the path still covers the span, the report is complete.
    #[test]
    fn nonsense_is_survived(
        rows in prop::collection::vec((0i64..400, -5i64..100, 0i64..4, 0i64..6, 0u8..8), 1..80),
        infer in any::<bool>(),
    ) {
        let mut maker = Maker::new();
        let process = maker.process(0);
        let other = maker.process(1);
        let threads = [maker.thread(process, 1), maker.thread(other, 2)];
        for (i, &(start, length, stream, event, what)) in rows.iter().enumerate() {
            let (start, end) = (start * US, (start + length) * US);
            let thread = threads[i % 2];
            let owner = [process, other][i % 2];
            match what {
                0 => { maker.call(thread, "hipGraphLaunch", start, end.max(start)); }
                1 => maker.sync(thread, "hipEventRecord", start, end.max(start), Some(stream), Some(event)),
                2 => maker.sync(thread, "hipStreamWaitEvent", start, end.max(start), Some(stream), Some(event)),
                3 => maker.sync(thread, "hipEventSynchronize", start, end.max(start), None, Some(event)),
                4 => maker.sync(thread, "hipDeviceSynchronize", start, end.max(start), None, None),
                5 => maker.copy(owner, stream, "copy", start, end, event),
                _ => {
                    let kernel = maker.kernel(owner, stream, "k", start, end, event + stream);
                    if what == 7 {
                        maker.collective(kernel, event);
                    }
                }
            }
        }
        let trace = maker.finish();
        let options = CriticalPathOptions { infer, ..CriticalPathOptions::default() };
        match show(&trace, &options) {
            Ok(found) => check(&found.report),
            Err(error) => prop_assert!(matches!(error, CriticalPathError::Empty)),
        }
    }
}

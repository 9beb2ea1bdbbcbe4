//! The message of the check `complete`.

use trace::Trace;

use super::{Completeness, Estimate, Evidence, Missing};

/// Findings named in the message; the table has all.
const NAMED: usize = 3;

/// What is missing, how much, and where; or what could not be checked.
pub(super) fn of(complete: &Completeness, trace: &Trace) -> String {
    if complete.missing.is_empty() {
        return nothing_missing(complete);
    }
    let mut largest: Vec<&Missing> = complete.missing.iter().collect();
    largest.sort_by_key(|missing| std::cmp::Reverse(missing.time.map(|time| time.likely)));
    let mut parts: Vec<String> = largest.iter().take(NAMED).map(|missing| one(missing, trace)).collect();
    if largest.len() > NAMED {
        parts.push(format!("{} more", largest.len() - NAMED));
    }
    let time = match complete.missing_time() {
        Some(time) => format!("{} of GPU time is missing, {}", share(complete, time), range(time)),
        None => "the missing GPU time is unknown".into(),
    };
    format!("GPU work was lost: {}; {time}", parts.join("; "))
}

/// `about 3.8 %`, or `up to 60 %` if the bounds are far apart.
fn share(complete: &Completeness, time: Estimate) -> String {
    let of = |ns: i64| 100.0 * ns as f64 / (complete.recorded_ns + ns).max(1) as f64;
    if time.high > 2 * time.likely {
        format!("up to {:.1} %", of(time.high))
    } else {
        format!("about {:.1} %", of(time.likely))
    }
}

fn nothing_missing(complete: &Completeness) -> String {
    let launches = format!("all {} launches have their GPU work", complete.launches);
    match (complete.replays, complete.has_capture) {
        (0, _) => launches,
        (_, true) => format!("{launches}, and graph launches have the kernels of their capture"),
        (_, false) => format!(
            "{launches}; cannot judge whether all launches of a graph lost the same kernels: there is no capture to compare with"
        ),
    }
}

fn one(missing: &Missing, trace: &Trace) -> String {
    let Missing { recording, launches, of_launches, .. } = missing;
    let kernels = || match (missing.kernels, missing.of_kernels) {
        (Some(lost), Some(all)) => format!(" ({lost} of {all})"),
        _ => String::new(),
    };
    match missing.evidence {
        Evidence::LaunchesWithoutWork => {
            format!("{launches} of {of_launches} kernel launches of {recording} have no kernel")
        }
        Evidence::SilentStream => {
            let stream = missing.stream.and_then(|stream| trace.streams.get(stream.get()?));
            let stream = stream.map_or(String::new(), |stream| format!(" {}", stream.id));
            format!("stream{stream} of {recording} is silent for {launches} of {of_launches} kernel launches")
        }
        Evidence::SilentRank => match of_launches {
            0 => format!("{recording} has no kernels, but other ranks do"),
            _ => format!("{recording} has no kernels for {launches} of {of_launches} kernel launches"),
        },
        Evidence::GraphLaunchesWithoutWork => {
            format!("{launches} of {of_launches} graph launches of {recording} have no GPU work")
        }
        Evidence::PartialReplays => {
            format!("{launches} of {of_launches} graph launches of {recording} lack kernels{}", kernels())
        }
        Evidence::FewerThanCaptured => {
            let what = "have fewer kernels than their capture";
            format!("{launches} of {of_launches} graph launches of {recording} {what}{}", kernels())
        }
    }
}

/// `between 1.2 and 1.9 ms`
fn range(time: Estimate) -> String {
    let ms = |ns: i64| ns as f64 / 1e6;
    format!("between {} and {} ms", digits(ms(time.low)), digits(ms(time.high)))
}

fn digits(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 1.0 => format!("{v:.1}"),
        v => format!("{v:.3}"),
    }
}

//! How far the host is ahead: the queue on a stream at each launch.

use crate::work::GpuWork;

/// By index in `work`: how much work launched before it on its stream had not started when it was launched.
///
/// A stream starts its work in launch order, so one pointer passes over the starts.
pub(super) fn lengths(work: &GpuWork, launched_at: impl Fn(usize) -> Option<i64>) -> Vec<u32> {
    let mut lengths = vec![0; work.len()];
    let mut launches: Vec<(i64, u32)> = Vec::new();
    for stream in &work.streams {
        launches.clear();
        let known = |&place: &u32| Some((launched_at(place as usize)?, place));
        launches.extend(stream.work.iter().filter_map(known));
        launches.sort_by_key(|&(at, place)| (at, work.start[place as usize]));
        let starts: Vec<i64> = {
            let mut starts: Vec<i64> =
                launches.iter().map(|&(_, place)| work.start[place as usize]).collect();
            starts.sort_unstable();
            starts
        };
        let (mut started, mut before) = (0, 0);
        for (number, &(at, place)) in launches.iter().enumerate() {
            while started < starts.len() && starts[started] <= at {
                started += 1;
            }
            // The work of one launch, a replayed graph, does not wait for itself.
            if number > 0 && launches[number - 1].0 != at {
                before = number;
            }
            lengths[place as usize] = before.saturating_sub(started) as u32;
        }
    }
    lengths
}

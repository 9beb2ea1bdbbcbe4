//! The region or sample that the user named as one end of the window.

use expr::names::nearest;
use trace::{Ns, StrId, Subset, Trace};

use super::FilterError;

/// Most names to show in an error.
const SHOWN: usize = 5;

/// (start, end) of the only region or sample with this name in the selected processes.
pub(super) fn find(trace: &Trace, name: &str, processes: &Subset) -> Result<(Ns, Ns), FilterError> {
    let mut found = trace.strings.find(name).map(|id| named(trace, id, processes)).unwrap_or_default();
    found.sort_unstable();
    match found[..] {
        [one] => Ok(one),
        [] => Err(FilterError::NoMarker {
            name: name.into(),
            near: nearest(name, &names(trace, processes), SHOWN),
        }),
        _ => Err(FilterError::SeveralMarkers {
            name: name.into(),
            count: found.len(),
            starts: found.iter().take(SHOWN).map(|marker| marker.0).collect(),
        }),
    }
}

fn named(trace: &Trace, name: StrId, processes: &Subset) -> Vec<(Ns, Ns)> {
    let (regions, samples) = (&trace.regions, &trace.samples);
    let mut found = Vec::new();
    let mut on_gpu = Vec::new();
    let gpu_lane = trace.strings.find("gpu_user_annotation");
    for row in 0..regions.len() {
        if regions.name[row] == name && processes.has_known(regions.process[row].get()) {
            let list = if gpu_lane == Some(regions.category[row]) { &mut on_gpu } else { &mut found };
            list.push((regions.start[row], regions.end[row]));
        }
    }
    for row in 0..samples.len() {
        let says = samples.name[row] == name || samples.location[row] == name;
        if says && processes.has_known(samples.process[row].get()) {
            found.push((samples.start[row], samples.end[row]));
        }
    }
    // Torch repeats a host annotation on the lane of each GPU that it reaches.
    if found.is_empty() { on_gpu } else { found }
}

/// The distinct names of all possible markers.
fn names<'t>(trace: &'t Trace, processes: &Subset) -> Vec<&'t str> {
    let mut seen = vec![false; trace.strings.len()];
    let regions = trace.regions.name.iter().zip(&trace.regions.process);
    let samples = trace.samples.name.iter().zip(&trace.samples.process);
    let messages = trace.samples.location.iter().zip(&trace.samples.process);
    for (name, process) in regions.chain(samples).chain(messages) {
        seen[name.0 as usize] |= processes.has_known(process.get()) && !name.is_empty();
    }
    let ids = (0..seen.len()).filter(|&id| seen[id]);
    ids.map(|id| trace.strings.get(StrId(id as u32))).collect()
}

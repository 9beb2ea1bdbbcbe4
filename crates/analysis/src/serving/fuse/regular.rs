//! Whether a sequence occurs as often as the model has layers.

use std::collections::BTreeSet;

use trace::Map;

use super::lanes::Lanes;
use super::matching::Match;
use model::stages::{Stage, layers};

/// Calls of every kind of kernel in every stage.
pub(super) fn calls(lanes: &Lanes) -> Map<(Stage, u32), usize> {
    let mut calls: Map<(Stage, u32), usize> = Map::default();
    for item in lanes.lanes.iter().flatten() {
        *calls.entry((item.stage, item.kind)).or_default() += 1;
    }
    calls
}

/// How close the matches of one stage are to one per layer, 0 to 1: the larger of
///
/// * the largest share of a kernel's calls that are part of the sequence (all rotary embeddings run between a
///   norm and a cache write), and
/// * the share of layers with the usual number of matches, if the lane has repeating blocks.
pub(super) fn regularity(
    lanes: &Lanes,
    calls: &Map<(Stage, u32), usize>,
    stage: Stage,
    matches: &[&Match],
) -> f64 {
    let mut inside: Map<u32, usize> = Map::default();
    for found in matches {
        for &(place, _) in &found.places {
            *inside.entry(lanes.lanes[found.lane][place].kind).or_default() += 1;
        }
    }
    let share = |(kind, &count): (&u32, &usize)| count as f64 / calls[&(stage, *kind)].max(1) as f64;
    let faithful = inside.iter().map(share).fold(0.0, f64::max);
    faithful.max(per_layer(lanes, matches))
}

fn per_layer(lanes: &Lanes, matches: &[&Match]) -> f64 {
    let used: BTreeSet<usize> = matches.iter().map(|found| found.lane).collect();
    used.into_iter().map(|lane| in_lane(lanes, lane, matches)).fold(0.0, f64::max)
}

fn in_lane(lanes: &Lanes, lane: usize, matches: &[&Match]) -> f64 {
    let kinds: Vec<u32> = lanes.lanes[lane].iter().map(|item| item.kind).collect();
    let Some(layers) = layers(&kinds) else { return 0.0 };
    let mut counts = vec![0usize; layers.count];
    for found in matches.iter().filter(|found| found.lane == lane) {
        if let Some(layer) = layers.layer_of(found.places[0].0) {
            counts[layer] += 1;
        }
    }
    let mut sorted = counts.clone();
    sorted.sort_unstable();
    let usual = sorted[sorted.len() / 2];
    if usual == 0 {
        return 0.0;
    }
    counts.iter().filter(|&&count| count == usual).count() as f64 / layers.count as f64
}

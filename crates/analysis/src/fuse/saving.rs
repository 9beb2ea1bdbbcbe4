//! What a fusion can win: launches and the gaps before them, and bytes that need not be read again.
//!
//! ```text
//! related = time of the kernels that are not main work
//! ceiling = gaps + related                     when main work takes the others in
//!         = gaps + related − the quickest      otherwise: one kernel is left, and it does at least that one's work
//! saving  = gaps + Σ time × (bytes no longer moved / bytes moved), at most the ceiling
//! ```
//!
//! A gap counts up to the median gap of the pattern, so that a stall of the host is not taken for the price of
//! a launch. Where the trace does not tell a kernel's bytes, its own time is the bound.

use super::lanes::Item;
use super::matching::Match;
use super::sizes::{Sizes, Tensors};

/// What one match can win.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Saving {
    pub related_ns: i64,
    pub gaps_ns: i64,
    pub ceiling_ns: i64,
    pub saving_ns: i64,
    /// Part of the ceiling that is kernels' own time.
    pub gpu_ns: i64,
    /// Part of the ceiling that is idle time before their launches.
    pub host_ns: i64,
    pub launches: usize,
    /// Absent when the shapes of a kernel are not known.
    pub bytes: Option<u64>,
}

/// One row of a match: its time that no earlier row of the match overlaps, and the idle time before it.
struct MatchedRow {
    time: i64,
    gap: i64,
    main: bool,
}

fn parts(items: &[Item], found: &Match) -> Vec<MatchedRow> {
    let mut parts: Vec<MatchedRow> = Vec::new();
    let mut reached = i64::MIN;
    for &(place, main) in &found.places {
        let item = &items[place];
        let before = if place > 0 { items[place - 1].end.max(reached) } else { reached };
        let gap = if parts.is_empty() { 0 } else { (item.start - before).max(0) };
        let time = (item.end - item.start.max(reached)).max(0);
        reached = reached.max(item.end);
        parts.push(MatchedRow { time, gap, main });
    }
    parts
}

/// The gaps before all rows of a match but its first.
pub(super) fn gaps<'a>(items: &'a [Item], found: &'a Match) -> impl Iterator<Item = i64> + 'a {
    parts(items, found).into_iter().skip(1).map(|part| part.gap)
}

/// What a match can win when no gap counts for more than `longest_gap`.
pub(super) fn saving(items: &[Item], found: &Match, longest_gap: i64, sizes: &mut Sizes<'_>) -> Saving {
    let parts = parts(items, found);
    let mains = parts.iter().filter(|part| part.main).count();
    let small = || parts.iter().filter(|part| !part.main).map(|part| part.time);
    let related_ns: i64 = small().sum();
    let gaps_ns = parts.iter().map(|part| part.gap.min(longest_gap)).sum::<i64>();
    let left = if mains > 0 { 0 } else { small().min().unwrap_or(0) };
    let ceiling_ns = gaps_ns + related_ns - left;
    let (by_bytes, bytes) = not_moved(items, found, &parts, sizes);
    let saving_ns = if mains > 0 { ceiling_ns } else { (gaps_ns + by_bytes).min(ceiling_ns) };
    let launches = parts.len() - mains.max(1).min(parts.len());
    let (gpu_ns, host_ns) = (ceiling_ns - gaps_ns, gaps_ns);
    Saving { related_ns, gaps_ns, ceiling_ns, saving_ns, gpu_ns, host_ns, launches, bytes }
}

/// Time and bytes of what the kernels hand on through memory: written by the one and read by a later one.
fn not_moved(
    items: &[Item],
    found: &Match,
    parts: &[MatchedRow],
    sizes: &mut Sizes<'_>,
) -> (i64, Option<u64>) {
    let tensors: Vec<Option<Tensors>> =
        found.places.iter().map(|&(place, _)| sizes.of(items[place].row).cloned()).collect();
    // What main work takes in is not moved at all.
    let absorbed = parts.iter().any(|part| part.main);
    let saved = if absorbed { vec![u64::MAX; parts.len()] } else { handed_on(&tensors) };
    let (mut time, mut bytes) = (0, Some(0u64));
    for ((part, tensors), saved) in parts.iter().zip(&tensors).zip(saved).filter(|((part, _), _)| !part.main)
    {
        match tensors {
            Some(tensors) if tensors.moved > 0 => {
                let saved = saved.min(tensors.moved);
                time += (part.time as f64 * saved as f64 / tensors.moved as f64).round() as i64;
                bytes = bytes.map(|all| all.saturating_add(saved));
            }
            _ => {
                time += part.time;
                bytes = None;
            }
        }
    }
    (time, bytes)
}

/// Bytes of each kernel that a fused one does not move: the largest of its tensors that a later kernel has
/// too is written here and read there.
fn handed_on(tensors: &[Option<Tensors>]) -> Vec<u64> {
    let mut saved = vec![0u64; tensors.len()];
    for (i, from) in tensors.iter().enumerate() {
        let listed = from.iter().flat_map(|from| &from.listed);
        let reader = |&(elements, written): &(u64, u64)| {
            let of = |to: &Option<Tensors>| to.as_ref()?.listed.iter().find(|(n, _)| *n == elements).copied();
            let later = tensors.iter().enumerate().skip(i + 1);
            later.filter_map(|(j, to)| Some((j, of(to)?))).next().map(|(j, (_, read))| (written, j, read))
        };
        if let Some((written, j, read)) = listed.clone().find_map(reader) {
            saved[i] += written;
            saved[j] += read;
        }
    }
    saved
}

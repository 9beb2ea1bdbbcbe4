//! What a fusion can save: launches and the gaps before them, and bytes that need not be read again.
//!
//! ```text
//! related = time of the kernels that are not main work
//! ceiling = gaps + related                     if main work absorbs the others
//!         = gaps + related − the fastest       otherwise: one kernel remains and takes at least that long
//! saving  = gaps + Σ time × (bytes no longer moved / bytes moved), at most the ceiling
//! ```
//!
//! Each gap is capped at the median gap of the pattern, so a host stall does not count as launch cost. If the
//! trace does not record a kernel's bytes, its own time is the limit.

use super::lanes::Item;
use super::matching::Match;
use super::sizes::{Sizes, Tensors};

/// What one match can save.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Saving {
    pub related_ns: i64,
    pub gaps_ns: i64,
    pub ceiling_ns: i64,
    pub saving_ns: i64,
    /// The part of the ceiling that is kernel time.
    pub gpu_ns: i64,
    /// The part of the ceiling that is idle time before launches.
    pub host_ns: i64,
    pub launches: usize,
    /// Absent if the shapes of a kernel are not known.
    pub bytes: Option<u64>,
}

/// One row of a match: its time not overlapped by earlier rows of the match, and the idle time before it.
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

/// The gaps before all rows of a match except the first.
pub(super) fn gaps<'a>(items: &'a [Item], found: &'a Match) -> impl Iterator<Item = i64> + 'a {
    parts(items, found).into_iter().skip(1).map(|part| part.gap)
}

/// What a match can save if no gap counts for more than `longest_gap`.
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

/// Time and bytes of what the kernels pass on through memory: written by one and read by a later one.
fn not_moved(
    items: &[Item],
    found: &Match,
    parts: &[MatchedRow],
    sizes: &mut Sizes<'_>,
) -> (i64, Option<u64>) {
    let tensors: Vec<Option<Tensors>> =
        found.places.iter().map(|&(place, _)| sizes.of(items[place].row).cloned()).collect();
    // Kernels absorbed by main work move no bytes at all.
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

/// Bytes of each kernel that a fused one does not move: the largest tensor that a later kernel has too is
/// written by the first and read by the second.
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

//! Alignment of two sequences of names: the longest common subsequence, in linear memory.
//!
//! Myers' divide and conquer on the furthest-reaching paths: time grows with length × difference, memory
//! with length. Very different sequences are split at the furthest point reached after a bounded effort,
//! so the answer stays a valid alignment, only perhaps not the longest one.

/// No partner.
pub const NONE: u32 = u32::MAX;

/// Differences tried before the current split is accepted: about 2·10^7 steps on the largest inputs.
const EFFORT: usize = 20_000_000;

/// For each element of `a` its partner in `b`, or `NONE`; partners are equal and in rising order.
pub fn align(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut partner = vec![NONE; a.len()];
    let size = a.len() + b.len() + 3;
    let mut work =
        Work { forward: vec![0; 2 * size + 1], backward: vec![0; 2 * size + 1], middle: size as isize };
    let most = (EFFORT / size).max(64);
    let mut open = vec![(0, a.len(), 0, b.len())];
    while let Some((mut a0, mut a1, mut b0, mut b1)) = open.pop() {
        while a0 < a1 && b0 < b1 && a[a0] == b[b0] {
            partner[a0] = b0 as u32;
            (a0, b0) = (a0 + 1, b0 + 1);
        }
        while a0 < a1 && b0 < b1 && a[a1 - 1] == b[b1 - 1] {
            (a1, b1) = (a1 - 1, b1 - 1);
            partner[a1] = b1 as u32;
        }
        if a0 == a1 || b0 == b1 {
            continue;
        }
        let (x, y) = work.split(&a[a0..a1], &b[b0..b1], most);
        // A split in a corner does not shrink the problem: nothing left there is in common.
        if (x, y) == (0, 0) || (x, y) == (a1 - a0, b1 - b0) {
            continue;
        }
        open.push((a0, a0 + x, b0, b0 + y));
        open.push((a0 + x, a1, b0 + y, b1));
    }
    partner
}

/// How far along `a` each diagonal got, from either end.
struct Work {
    forward: Vec<isize>,
    backward: Vec<isize>,
    middle: isize,
}

/// Marks a diagonal that no path with this many differences reaches.
const NOWHERE: isize = -1;

impl Work {
    /// A point that a shortest edit path goes through. The sequences differ at both ends.
    fn split(&mut self, a: &[u32], b: &[u32], most: usize) -> (usize, usize) {
        let (n, m) = (a.len() as isize, b.len() as isize);
        let (delta, middle) = (n - m, self.middle);
        let odd = delta & 1 != 0;
        let (mut ahead, mut behind) = ((0, 0, 0), (0, 0, 0));
        for d in 0..=(n + m + 1) / 2 {
            for k in diagonals(d, n, m) {
                let x = reach(&mut self.forward, middle, d, k, n, m, |x, y| a[x as usize] == b[y as usize]);
                if x == NOWHERE {
                    continue;
                }
                ahead = ahead.max((2 * x - k, x, x - k));
                let c = delta - k;
                if odd && c.abs() < d && meets(&self.backward, middle, c, n - x) {
                    return (x as usize, (x - k) as usize);
                }
            }
            for k in diagonals(d, n, m) {
                let same = |x: isize, y: isize| a[(n - 1 - x) as usize] == b[(m - 1 - y) as usize];
                let x = reach(&mut self.backward, middle, d, k, n, m, same);
                if x == NOWHERE {
                    continue;
                }
                behind = behind.max((2 * x - k, x, x - k));
                let c = delta - k;
                if !odd && c.abs() <= d && meets(&self.forward, middle, c, n - x) {
                    return ((n - x) as usize, (m - x + k) as usize);
                }
            }
            if d as usize >= most {
                break;
            }
        }
        let ((forward, fx, fy), (backward, bx, by)) = (ahead, behind);
        if forward >= backward { (fx as usize, fy as usize) } else { ((n - bx) as usize, (m - by) as usize) }
    }
}

/// The diagonals that paths of `d` differences may end on, inside the rectangle of `n` by `m`.
fn diagonals(d: isize, n: isize, m: isize) -> impl Iterator<Item = isize> {
    (-d + 2 * (d - m).max(0)..=d - 2 * (d - n).max(0)).step_by(2)
}

/// The furthest point on diagonal `k` with `d` differences, from the neighbours' with one less.
#[inline]
fn reach(
    far: &mut [isize],
    middle: isize,
    d: isize,
    k: isize,
    n: isize,
    m: isize,
    same: impl Fn(isize, isize) -> bool,
) -> isize {
    let at = |k: isize| (k + middle) as usize;
    let mut x = if d == 0 {
        0
    } else {
        let left = if k > -d && k > -m { far[at(k - 1)] } else { NOWHERE };
        let above = if k < d && k < n { far[at(k + 1)] } else { NOWHERE };
        let right = if left != NOWHERE && left < n { left + 1 } else { NOWHERE };
        let down = if above != NOWHERE && above - (k + 1) < m { above } else { NOWHERE };
        right.max(down)
    };
    if x != NOWHERE {
        while x < n && x - k < m && same(x, x - k) {
            x += 1;
        }
    }
    far[at(k)] = x;
    x
}

/// Whether the path from the other end has reached `rest` on its diagonal `c`.
#[inline]
fn meets(far: &[isize], middle: isize, c: isize, rest: isize) -> bool {
    let x = far[(c + middle) as usize];
    x != NOWHERE && x >= rest
}

/// Pairs what the alignment left over: equal names in order of occurrence, as reordered streams need.
pub fn pair_leftovers(a: &[u32], b: &[u32], partner: &mut [u32]) -> usize {
    let mut taken = vec![false; b.len()];
    for &p in partner.iter().filter(|p| **p != NONE) {
        taken[p as usize] = true;
    }
    let mut free: trace::Map<u32, std::collections::VecDeque<u32>> = trace::Map::default();
    for (i, name) in b.iter().enumerate().filter(|(i, _)| !taken[*i]) {
        free.entry(*name).or_default().push_back(i as u32);
    }
    let mut paired = 0;
    for (i, name) in a.iter().enumerate() {
        if partner[i] == NONE
            && let Some(found) = free.get_mut(name).and_then(|places| places.pop_front())
        {
            partner[i] = found;
            paired += 1;
        }
    }
    paired
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn longest(a: &[u32], b: &[u32]) -> usize {
        let mut row = vec![0usize; b.len() + 1];
        for x in a {
            let mut diagonal = 0;
            for (j, y) in b.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if x == y { diagonal + 1 } else { above.max(row[j]) };
                diagonal = above;
            }
        }
        row[b.len()]
    }

    fn check(a: &[u32], b: &[u32]) -> usize {
        let partner = align(a, b);
        let pairs: Vec<_> = partner.iter().enumerate().filter(|(_, p)| **p != NONE).collect();
        assert!(pairs.iter().all(|(i, p)| a[*i] == b[**p as usize]));
        assert!(pairs.windows(2).all(|w| w[0].1 < w[1].1));
        pairs.len()
    }

    #[test]
    fn small_cases() {
        for (a, b, common) in [
            (&[][..], &[1u32, 2][..], 0),
            (&[1, 2, 3], &[1, 2, 3], 3),
            (&[1, 2, 3], &[4, 5], 0),
            (&[1, 2, 3, 4], &[2, 1, 4, 3], 2),
            (&[1, 1, 2], &[1, 2, 1, 1], 2),
        ] {
            assert_eq!(check(a, b), common, "{a:?} {b:?}");
        }
    }

    #[test]
    fn extra_launches_cost_nothing_else() {
        let block = [1, 2, 3, 4, 5];
        let replayed: Vec<u32> = block.iter().copied().cycle().take(1566).collect();
        let mut captured = replayed.clone();
        captured.push(9);
        captured.insert(700, 8);
        assert_eq!(check(&replayed, &captured), 1566);
    }

    #[test]
    fn hopeless_inputs_end_soon_with_a_valid_answer() {
        let a: Vec<u32> = (0..60_000).map(|i| i % 7).collect();
        let b: Vec<u32> = (0..60_000).map(|i| 100 + i % 11).collect();
        assert_eq!(check(&a, &b), 0);
        let c: Vec<u32> = (0..60_000u32).map(|i| i.wrapping_mul(2654435761) >> 29).collect();
        assert!(check(&a, &c) > 20_000);
    }

    fn edited() -> impl Strategy<Value = (Vec<u32>, Vec<u32>)> {
        let base = prop::collection::vec(0u32..6, 0..80);
        let edits = prop::collection::vec((0usize..100, 0u32..8, 0u8..3), 0..14);
        (base, edits).prop_map(|(a, edits)| {
            let mut b = a.clone();
            for (place, name, kind) in edits {
                let at = place % (b.len() + 1);
                match kind {
                    0 => b.insert(at, name),
                    1 if at < b.len() => drop(b.remove(at)),
                    _ if at + 1 < b.len() => b.swap(at, at + 1),
                    _ => {}
                }
            }
            (a, b)
        })
    }

    proptest! {
        #[test]
        fn as_long_as_the_longest((a, b) in edited()) {
            prop_assert_eq!(check(&a, &b), longest(&a, &b));
        }

        #[test]
        fn as_long_as_the_longest_on_anything(
            a in prop::collection::vec(0u32..4, 0..40), b in prop::collection::vec(0u32..4, 0..40)
        ) {
            prop_assert_eq!(check(&a, &b), longest(&a, &b));
        }

        #[test]
        fn leftovers_pair_every_name_that_both_have(
            a in prop::collection::vec(0u32..5, 0..40), b in prop::collection::vec(0u32..5, 0..40)
        ) {
            let mut partner = align(&a, &b);
            pair_leftovers(&a, &b, &mut partner);
            let paired = partner.iter().filter(|p| **p != NONE).count();
            let count = |s: &[u32], n: u32| s.iter().filter(|x| **x == n).count();
            prop_assert_eq!(paired, (0..5).map(|n| count(&a, n).min(count(&b, n))).sum::<usize>());
            let mut places: Vec<_> = partner.iter().filter(|p| **p != NONE).collect();
            places.sort();
            places.dedup();
            prop_assert_eq!(places.len(), paired);
        }
    }
}

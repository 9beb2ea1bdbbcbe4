//! Registers on gfx950 as profilers record them: before a fix in 2026 they mistook its register file for an
//! older kind and recorded half the total, with no accumulation registers.

/// What the recorded register counts of a GPU's kernels show about the profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The counts are right.
    Right,
    /// The counts are half of what the kernels use.
    Halved,
    /// The counts fit either case.
    Unclear,
}

/// Judges by (vector, accumulation) registers. Hardware allocates multiples of 8, so any other total is half
/// of the real one; accumulation registers are only recorded by a fixed profiler.
pub(super) fn judge(counts: impl IntoIterator<Item = (u32, u32)>) -> Verdict {
    let mut halved = false;
    for (vgpr, agpr) in counts {
        if agpr > 0 {
            return Verdict::Right;
        }
        halved |= vgpr % 8 != 0;
    }
    if halved { Verdict::Halved } else { Verdict::Unclear }
}

/// The registers behind a halved count; those beyond the vector limit are accumulation registers.
pub(crate) fn restored(vgpr: u32) -> (u32, u32) {
    let total = vgpr.saturating_mul(2);
    let vector = total.min(256);
    (vector, total - vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_the_hardware_cannot_give_is_half_of_one() {
        assert_eq!(judge([(64, 0), (36, 0)]), Verdict::Halved);
        assert_eq!(judge([(36, 28), (64, 0)]), Verdict::Right);
        assert_eq!(judge([(64, 0), (128, 0)]), Verdict::Unclear);
        assert_eq!(restored(36), (72, 0));
        assert_eq!(restored(200), (256, 144));
    }
}

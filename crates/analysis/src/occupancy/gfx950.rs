//! Registers on gfx950 as profilers record them: those before a fix of 2026 take its register file for an older
//! kind and give half the total, and no accumulation registers.

/// What the recorded register counts of a GPU's kernels tell about the profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The counts are right.
    Right,
    /// The counts are half of what the kernels use.
    Halved,
    /// The counts fit both.
    Unclear,
}

/// Judges by (vector, accumulation) registers: the hardware gives out multiples of 8, so a total that is none is half
/// of one, while accumulation registers are only seen by a profiler that knows the file.
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

/// The registers behind a halved count; where the total exceeds what vector registers can be, the rest are others.
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

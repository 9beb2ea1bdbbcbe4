//! `kernel_details` and `memcpy_details`: keys and values separated by colons.

use trace::{LaunchShape, OptI64};

/// More registers than any GPU has: the profiler on AMD GPUs writes larger values instead of a count.
const MOST_REGISTERS: i64 = 4096;

/// More LDS or shared memory than any workgroup can have.
const MOST_LDS: i64 = 1 << 20;

/// The value after `key:`.
fn value<'a>(details: &'a str, key: &str) -> Option<&'a str> {
    let named = |word: &&'a str| word.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
    details.split_ascii_whitespace().find(named).map(|word| &word[key.len() + 1..])
}

fn number(details: &str, key: &str) -> Option<i64> {
    value(details, key)?.parse().ok()
}

fn three(details: &str, key: &str) -> Option<[u32; 3]> {
    let mut numbers = value(details, key)?.split(',').map(|number| number.parse().ok());
    let three = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(three)
}

/// `regs:32 static_shared:0 dynamic_shared:0 grid:2048,1,1 block:128,1,1 occ_pct:100`, with the grid in workgroups.
pub(super) fn shape(details: &str, is_amd: bool) -> LaunchShape {
    let workgroup = three(details, "block");
    let groups = three(details, "grid");
    let grid = groups.zip(workgroup).and_then(|(groups, items)| {
        Some([
            groups[0].checked_mul(items[0])?,
            groups[1].checked_mul(items[1])?,
            groups[2].checked_mul(items[2])?,
        ])
    });
    let registers = number(details, "regs").filter(|count| (1..=MOST_REGISTERS).contains(count));
    // The profiler on AMD GPUs leaves both unset: the values are whatever was in memory.
    let lds = [number(details, "static_shared"), number(details, "dynamic_shared")];
    let lds = lds.into_iter().flatten().sum::<i64>();
    LaunchShape {
        grid,
        workgroup,
        lds_bytes: (!is_amd && (0..=MOST_LDS).contains(&lds))
            .then_some(lds)
            .map_or(OptI64::NONE, OptI64::some),
        vgpr: registers.filter(|_| !is_amd).map_or(OptI64::NONE, OptI64::some),
        ..LaunchShape::default()
    }
}

/// `kind:Unknown size:655360 dest:2 async:1`: bytes and the GPU they go to.
pub(super) fn copy(details: &str) -> (Option<i64>, Option<i64>) {
    let bytes = number(details, "size").or_else(|| number(details, "num_bytes"));
    (bytes, number(details, "dest"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_become_work_items() {
        let details = "regs:32 static_shared:16 dynamic_shared:8 grid:2048,2,1 block:128,1,1 occ_pct:100";
        let of_nvidia = shape(details, false);
        assert_eq!((of_nvidia.grid, of_nvidia.workgroup), (Some([262_144, 2, 1]), Some([128, 1, 1])));
        assert_eq!((of_nvidia.lds_bytes.get(), of_nvidia.vgpr.get()), (Some(24), Some(32)));
    }

    #[test]
    fn numbers_that_amd_leaves_unset_are_absent() {
        let details =
            "regs:2191500840 static_shared:32462 dynamic_shared:0 grid:1280,1,1 block:256,1,1 occ_pct:0";
        let of_amd = shape(details, true);
        assert_eq!(of_amd.grid, Some([327_680, 1, 1]));
        assert_eq!((of_amd.lds_bytes.get(), of_amd.vgpr.get()), (None, None));
    }

    #[test]
    fn copies_tell_their_bytes() {
        assert_eq!(copy("kind:Unknown size:655360 dest:2 async:1"), (Some(655_360), Some(2)));
        assert_eq!(copy("kind_src:pinned"), (None, None));
    }
}

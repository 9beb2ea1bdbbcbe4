//! `occupancy` of a file with many kernels.

use crate::Bench;
use crate::measure::best_of;

/// A code object of three kernels, as clang wrote it.
const CODE_OBJECT: &[u8] = include_bytes!("../../crates/hw/tests/fixtures/gfx942.co");

impl Bench {
    /// A bundle of 10 MB: some 1,400 code objects with 4,200 kernels, more of them than any library of that size has.
    pub(crate) fn occupancy(&mut self) -> Result<(), String> {
        let path = self.data.join("kernels.hipfb");
        if !path.exists() {
            std::fs::create_dir_all(&self.data).map_err(|e| e.to_string())?;
            std::fs::write(&path, bundle(10_000_000 / CODE_OBJECT.len() + 1)).map_err(|e| e.to_string())?;
        }
        let cost = best_of(5, || self.rocm_perf(&["occupancy", "--format", "json"], &path))?;
        self.add("occupancy of 10 MB of code objects", cost, vec![("wall s", cost.wall, 0.050)]);
        Ok(())
    }
}

/// An offload bundle of `count` code objects.
fn bundle(count: usize) -> Vec<u8> {
    const TARGET: &[u8] = b"hipv4-amdgcn-amd-amdhsa--gfx942";
    let mut bytes = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bytes.extend((count as u64).to_le_bytes());
    let start = (bytes.len() + count * (24 + TARGET.len())).next_multiple_of(4096);
    for at in 0..count {
        for number in [start + at * CODE_OBJECT.len(), CODE_OBJECT.len(), TARGET.len()] {
            bytes.extend((number as u64).to_le_bytes());
        }
        bytes.extend(TARGET);
    }
    bytes.resize(start, 0);
    (0..count).for_each(|_| bytes.extend_from_slice(CODE_OBJECT));
    bytes
}

//! Kinds of records and their operations, by number.

use trace::{Map, StrId};

/// Operations of each kind, numbered in order of appearance.
#[derive(Default)]
pub(super) struct Operations {
    pub(super) kinds: Vec<String>,
    pub(super) names: Vec<Vec<String>>,
    pub(super) numbers: Map<(usize, String), i64>,
    pub(super) known: Map<(StrId, StrId), (i64, i64)>,
}

impl Operations {
    pub(super) fn new() -> Self {
        let kinds: Vec<String> = KINDS.iter().map(|kind| kind.to_string()).collect();
        let names = kinds.iter().map(|_| Vec::new()).collect();
        Self { kinds, names, ..Self::default() }
    }

    pub(super) fn kind(&mut self, name: &str) -> usize {
        self.kinds.iter().position(|kind| kind == name).unwrap_or_else(|| {
            self.kinds.push(name.to_string());
            self.names.push(Vec::new());
            self.kinds.len() - 1
        })
    }

    pub(super) fn operation(&mut self, kind: usize, name: &str) -> i64 {
        if let Some(number) = self.numbers.get(&(kind, name.to_string())) {
            return *number;
        }
        self.names[kind].push(name.to_string());
        let number = self.names[kind].len() as i64 - 1;
        self.numbers.insert((kind, name.to_string()), number);
        number
    }
}

/// Kinds of records by their number in rocprofiler-sdk 1.0; operations are numbered per kind.
pub(super) const KINDS: [&str; 18] = [
    "NONE",
    "HSA_CORE_API",
    "HSA_AMD_EXT_API",
    "HSA_IMAGE_EXT_API",
    "HSA_FINALIZE_EXT_API",
    "HIP_RUNTIME_API",
    "HIP_COMPILER_API",
    "MARKER_CORE_API",
    "MARKER_CONTROL_API",
    "MARKER_NAME_API",
    "MEMORY_COPY",
    "KERNEL_DISPATCH",
    "SCRATCH_MEMORY",
    "MEMORY_ALLOCATION",
    "RCCL_API",
    "HIP_RUNTIME_API_EXT",
    "HIP_COMPILER_API_EXT",
    "MARKER_CORE_RANGE_API",
];
pub(super) const MEMORY_COPY: usize = 10;
pub(super) const KERNEL_DISPATCH: usize = 11;
pub(super) const SCRATCH_MEMORY: usize = 12;
pub(super) const MEMORY_ALLOCATION: usize = 13;

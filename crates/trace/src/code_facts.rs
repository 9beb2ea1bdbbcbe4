//! Results of other tools about the code of kernels: memory accesses by source line, and the code itself.

use crate::health::Health;

/// What one file says about kernels and their code. It has no times.
#[derive(Clone, Debug, Default)]
pub struct CodeFacts {
    /// The file.
    pub path: String,
    /// The tool that wrote it.
    pub format: &'static str,
    /// Accesses to memory, by source line.
    pub accesses: Vec<SourceAccess>,
    /// Kernels whose code is listed.
    pub listings: Vec<CodeListing>,
    /// Bytes of a cache line, as assumed by the tool.
    pub cache_line_bytes: Option<u64>,
    /// Known gaps and problems.
    pub health: Health,
}

/// One instruction of the source that accesses memory, with sums over all waves of one dispatch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceAccess {
    /// The kernel.
    pub kernel: String,
    /// Its dispatch, if the tool knows it.
    pub dispatch: Option<i64>,
    /// `file:line`
    pub source: String,
    /// The column in the line.
    pub column: Option<u64>,
    /// The line's text.
    pub code: String,
    /// `read`, `write` or `read/write`, as the tool names it.
    pub kind: String,
    /// How often waves executed it.
    pub executions: u64,
    /// Bytes that each lane accesses.
    pub bytes: Option<u64>,
    /// The machine instruction.
    pub instruction: String,
    /// Its effect.
    pub effect: AccessEffect,
}

/// What an access costs beyond the minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessEffect {
    /// Global memory.
    CacheLines {
        /// Cache lines needed for the requested bytes.
        needed: u64,
        /// Cache lines that were touched.
        used: u64,
    },
    /// LDS.
    BankConflicts(u64),
}

impl Default for AccessEffect {
    fn default() -> Self {
        AccessEffect::BankConflicts(0)
    }
}

/// The code of one kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CodeListing {
    /// The kernel.
    pub kernel: String,
    /// Its machine instructions in order.
    pub instructions: Vec<String>,
    /// Their source lines: `file:line` and text, which may be empty.
    pub lines: Vec<(String, String)>,
}

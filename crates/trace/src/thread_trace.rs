//! A decoded thread trace: every instruction that a few waves of one dispatch issued. Times are shader clocks.

use crate::health::Health;

/// One thread trace of one dispatch.
#[derive(Clone, Debug, Default)]
pub struct ThreadTrace {
    /// The folder or file it was read from.
    pub path: String,
    /// Agent number in the folder's name.
    pub agent: Option<i64>,
    /// Dispatch number in the folder's name.
    pub dispatch: Option<i64>,
    /// Architecture, according to the decoder.
    pub gfx: String,
    /// Kernels whose code is listed.
    pub kernels: Vec<String>,
    /// The code, in the order of addresses.
    pub code: Vec<CodeLine>,
    /// Waves of the traced compute units; empty if there are only statistics.
    pub waves: Vec<TracedWave>,
    /// Waves that began and ended on a shader engine.
    pub occupancy: Vec<SlotChange>,
    /// Known gaps and problems.
    pub health: Health,
}

/// One instruction of the code, with sums over all waves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CodeLine {
    /// The decoder's number of the line, which waves refer to.
    pub number: i64,
    /// Instruction text.
    pub isa: String,
    /// `file:line`, if debug information has it.
    pub source: String,
    /// Code object.
    pub code_object: i64,
    /// Address in it.
    pub address: i64,
    /// How often it was issued.
    pub hits: i64,
    /// Cycles from the first attempt to issue it until it completed, including stalls.
    pub latency: i64,
    /// Cycles in which it could not issue.
    pub stall: i64,
    /// Cycles between the instruction before and the first attempt to issue it.
    pub idle: i64,
}

/// What a wave issued.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracedWave {
    /// Compute unit.
    pub cu: i64,
    /// SIMD.
    pub simd: i64,
    /// Wave slot.
    pub slot: i64,
    /// First cycle.
    pub begin: i64,
    /// Cycle after the last.
    pub end: i64,
    /// Instructions in the order they were issued.
    pub instructions: Vec<Issued>,
    /// State and how long: 0 empty, 1 idle, 2 executing, 3 waiting, 4 stalled.
    pub timeline: Vec<(u8, i64)>,
    /// Waits in order: the line that waits, and the lines whose results it waits for.
    pub waits: Vec<(i64, Vec<i64>)>,
}

/// One instruction of a wave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Issued {
    /// First attempt to issue it.
    pub time: i64,
    /// The decoder's category: 1 SMEM, 2 SALU, 3 VMEM, 4 FLAT, 5 LDS, 6 VALU, 7 branch taken, 8 not taken, 9 immediate …
    pub category: u8,
    /// Cycles in which it could not issue.
    pub stall: i64,
    /// Cycles until it completed, including the stall.
    pub duration: i64,
    /// Line of the code.
    pub line: i64,
}

/// A wave began or ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotChange {
    /// When.
    pub time: i64,
    /// Shader engine.
    pub engine: i64,
    /// Compute unit.
    pub cu: i64,
    /// SIMD.
    pub simd: i64,
    /// Whether it began.
    pub begins: bool,
}

//! Data types, pipes and memory levels, and what a compute unit does in one clock.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// A data type that an arithmetic unit works on.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(rename_all = "snake_case")]
pub enum DataType {
    /// 64-bit floating point.
    Fp64,
    /// 32-bit floating point.
    Fp32,
    /// Reduced-precision 32-bit floating point of the matrix units (TF32).
    Xf32,
    /// 16-bit floating point.
    Fp16,
    /// 16-bit floating point with the exponent of FP32.
    Bf16,
    /// 8-bit floating point.
    Fp8,
    /// 6-bit floating point with shared scales.
    Fp6,
    /// 4-bit floating point with shared scales.
    Fp4,
    /// 8-bit integers.
    Int8,
    /// 32-bit integers.
    Int32,
    /// 64-bit integers.
    Int64,
}

impl DataType {
    /// Every data type, widest first.
    pub const ALL: [DataType; 11] = [
        DataType::Fp64,
        DataType::Fp32,
        DataType::Xf32,
        DataType::Fp16,
        DataType::Bf16,
        DataType::Fp8,
        DataType::Fp6,
        DataType::Fp4,
        DataType::Int8,
        DataType::Int32,
        DataType::Int64,
    ];

    /// The name as users write it.
    pub fn name(self) -> &'static str {
        match self {
            DataType::Fp64 => "fp64",
            DataType::Fp32 => "fp32",
            DataType::Xf32 => "xf32",
            DataType::Fp16 => "fp16",
            DataType::Bf16 => "bf16",
            DataType::Fp8 => "fp8",
            DataType::Fp6 => "fp6",
            DataType::Fp4 => "fp4",
            DataType::Int8 => "int8",
            DataType::Int32 => "int32",
            DataType::Int64 => "int64",
        }
    }

    /// Reads names such as `bf16`, `float32`, `c10::Half`, `i8`, `torch.float8_e4m3fnuz`.
    pub fn parse(text: &str) -> Option<DataType> {
        let lower = text.rsplit([':', '.']).next().unwrap_or(text).trim().to_ascii_lowercase();
        let found = match lower.as_str() {
            "double" | "float64" | "f64" => DataType::Fp64,
            "float" | "float32" | "f32" => DataType::Fp32,
            "tf32" => DataType::Xf32,
            "half" | "float16" | "f16" => DataType::Fp16,
            "bfloat16" => DataType::Bf16,
            "char" | "signed char" | "unsigned char" | "i8" | "uint8" => DataType::Int8,
            "int" | "i32" | "uint32" => DataType::Int32,
            "long" | "long int" | "i64" | "uint64" => DataType::Int64,
            other if other.starts_with("float8") || other.starts_with("f8") => DataType::Fp8,
            other if other.starts_with("float4") || other.starts_with("f4") || other == "mxfp4" => {
                DataType::Fp4
            }
            other => return DataType::ALL.into_iter().find(|data_type| data_type.name() == other),
        };
        Some(found)
    }

    /// Bits of one element.
    pub fn bits(self) -> u32 {
        match self {
            DataType::Fp64 | DataType::Int64 => 64,
            DataType::Fp32 | DataType::Xf32 | DataType::Int32 => 32,
            DataType::Fp16 | DataType::Bf16 => 16,
            DataType::Fp8 | DataType::Int8 => 8,
            DataType::Fp6 => 6,
            DataType::Fp4 => 4,
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Which arithmetic unit does the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pipe {
    /// The vector units (VALU).
    Vector,
    /// The matrix units (MFMA, WMMA).
    Matrix,
}

/// A level of the memory hierarchy, nearest to the memory first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The GPU's memory.
    Hbm,
    /// The Infinity Cache, between the second-level cache and memory.
    Mall,
    /// The second-level cache.
    L2,
    /// The vector first-level cache.
    L1,
    /// The local data share.
    Lds,
}

impl Level {
    /// Every level, nearest to the memory first.
    pub const ALL: [Level; 5] = [Level::Hbm, Level::Mall, Level::L2, Level::L1, Level::Lds];

    /// The name as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Hbm => "hbm",
            Level::Mall => "mall",
            Level::L2 => "l2",
            Level::L1 => "l1",
            Level::Lds => "lds",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Operations per clock and compute unit, dense.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct FlopRates {
    /// Vector instructions.
    pub vector: BTreeMap<DataType, u32>,
    /// Vector instructions that work on two values per lane, if their rate differs.
    #[serde(default)]
    pub packed: BTreeMap<DataType, u32>,
    /// Matrix instructions.
    #[serde(default)]
    pub matrix: BTreeMap<DataType, u32>,
}

/// Bytes per clock, if known.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ByteRates {
    /// Vector first-level cache, per compute unit.
    pub l1_per_cu: Option<u32>,
    /// Second-level cache, per channel.
    pub l2_per_channel: Option<u32>,
    /// Local data share, per compute unit.
    pub lds_per_cu: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_types_are_read_in_the_words_of_several_tools() {
        let cases = [
            ("c10::BFloat16", DataType::Bf16),
            ("c10::Half", DataType::Fp16),
            ("float", DataType::Fp32),
            ("torch.float8_e4m3fnuz", DataType::Fp8),
            ("FP6", DataType::Fp6),
            ("long int", DataType::Int64),
            ("i8", DataType::Int8),
        ];
        for (text, expected) in cases {
            assert_eq!(DataType::parse(text), Some(expected), "{text}");
        }
        assert_eq!(DataType::parse("string"), None);
        for data_type in DataType::ALL {
            assert_eq!(DataType::parse(data_type.name()), Some(data_type));
        }
    }
}

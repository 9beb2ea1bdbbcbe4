//! Golden outputs: what a program printed or wrote, compared with the expected output, number by number.

use std::path::PathBuf;

use regex::Regex;
use serde_json::{Value as Json, json};

/// An output to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Golden {
    /// The file that the program writes; `None`: its standard output.
    pub output: Option<PathBuf>,
    /// Its layout.
    pub layout: Layout,
    /// The file with the expected output; `None`: the output of the original program.
    pub expected: Option<PathBuf>,
    /// How much numbers may differ.
    pub tolerance: Tolerance,
}

/// The layout of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Words and numbers.
    Text,
    /// Anything; every byte counts.
    Bytes,
    /// An array of integers of this many bytes.
    Whole(usize),
    /// An array of floating-point numbers.
    Float(Float),
}

/// A floating-point type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Float {
    /// IEEE half precision.
    F16,
    /// The upper half of single precision.
    Bf16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

/// How much numbers may differ: at most `absolute + relative * |expected|`. Integers must be equal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance {
    /// `None`: depends on the type.
    pub absolute: Option<f64>,
    /// `None`: depends on the type.
    pub relative: Option<f64>,
    /// Whether a NaN is wrong even if one is expected.
    pub refuse_nan: bool,
}

/// Names of layouts; the tolerances are a few units in the last place of the type.
const LAYOUTS: &[(&str, Layout)] = &[
    ("text", Layout::Text),
    ("bytes", Layout::Bytes),
    ("i8", Layout::Whole(1)),
    ("u8", Layout::Whole(1)),
    ("i16", Layout::Whole(2)),
    ("u16", Layout::Whole(2)),
    ("i32", Layout::Whole(4)),
    ("u32", Layout::Whole(4)),
    ("i64", Layout::Whole(8)),
    ("u64", Layout::Whole(8)),
    ("f16", Layout::Float(Float::F16)),
    ("bf16", Layout::Float(Float::Bf16)),
    ("f32", Layout::Float(Float::F32)),
    ("f64", Layout::Float(Float::F64)),
];

impl Golden {
    /// Reads `OUTPUT[:TYPE][=EXPECTED]`; `-` is what the program prints.
    pub fn parse(text: &str, tolerance: Tolerance) -> Result<Self, String> {
        let (place, expected) = match text.split_once('=') {
            Some((place, expected)) => (place, Some(PathBuf::from(expected))),
            None => (text, None),
        };
        let (output, kind) = place.rsplit_once(':').unwrap_or((place, "text"));
        let layout = LAYOUTS.iter().find(|(name, _)| *name == kind).map(|(_, layout)| *layout);
        let names = || LAYOUTS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let layout = layout.ok_or_else(|| format!("no type `{kind}`; choose one of {}", names()))?;
        if output.is_empty() || expected.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            return Err("no file name given".into());
        }
        let output = (output != "-").then(|| output.into());
        Ok(Self { output, layout, expected, tolerance })
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        match &self.output {
            Some(path) => format!("golden output `{}`", path.display()),
            None => "golden output `-`".into(),
        }
    }

    /// Compares an output with what is expected.
    pub fn compare(&self, expected: &[u8], found: &[u8]) -> Comparison {
        let mut comparison = Comparison::default();
        match self.layout {
            Layout::Text => self.texts(expected, found, &mut comparison),
            Layout::Bytes => self.wholes(expected, found, 1, &mut comparison),
            Layout::Whole(size) => self.wholes(expected, found, size, &mut comparison),
            Layout::Float(kind) => self.floats(expected, found, kind, &mut comparison),
        }
        comparison
    }

    fn texts(&self, expected: &[u8], found: &[u8], comparison: &mut Comparison) {
        let (expected, found) = (String::from_utf8_lossy(expected), String::from_utf8_lossy(found));
        let (expected, found) = (tokens(&expected), tokens(&found));
        comparison.length(expected.len(), found.len(), "words and numbers");
        for (at, (was, is)) in expected.iter().zip(&found).enumerate() {
            let same = match (was.parse::<f64>(), is.parse::<f64>()) {
                // Integers are counts, sizes and ids: they must be equal.
                (Ok(_), Ok(_)) if is_whole(was) && is_whole(is) => was == is,
                (Ok(was), Ok(is)) => comparison.number(was, is, &self.tolerance, 1e-6, 1e-5),
                _ => was == is,
            };
            comparison.note(same, || format!("word {}: `{is}` instead of `{was}`", at + 1));
        }
    }

    fn wholes(&self, expected: &[u8], found: &[u8], size: usize, comparison: &mut Comparison) {
        comparison.length(expected.len(), found.len(), "bytes");
        for (at, (was, is)) in expected.chunks(size).zip(found.chunks(size)).enumerate() {
            comparison.note(was == is, || format!("element {at} differs"));
        }
    }

    fn floats(&self, expected: &[u8], found: &[u8], kind: Float, comparison: &mut Comparison) {
        let (size, absolute, relative) = kind.facts();
        comparison.length(expected.len(), found.len(), "bytes");
        for (at, (was, is)) in expected.chunks_exact(size).zip(found.chunks_exact(size)).enumerate() {
            let (was, is) = (kind.value(was), kind.value(is));
            let same = comparison.number(was, is, &self.tolerance, absolute, relative);
            comparison.note(same, || format!("element {at}: {is:e} instead of {was:e}"));
        }
    }
}

impl Float {
    /// Bytes, and the tolerances of the type.
    fn facts(self) -> (usize, f64, f64) {
        match self {
            Float::F16 => (2, 1e-3, 1e-3),
            Float::Bf16 => (2, 1e-2, 1e-2),
            Float::F32 => (4, 1e-6, 1e-5),
            Float::F64 => (8, 1e-12, 1e-9),
        }
    }

    fn value(self, bytes: &[u8]) -> f64 {
        match (self, bytes) {
            (Float::F16, &[a, b]) => half(u16::from_le_bytes([a, b])),
            (Float::Bf16, &[a, b]) => f32::from_le_bytes([0, 0, a, b]).into(),
            (Float::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).into(),
            (Float::F64, &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => f64::NAN,
        }
    }
}

fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// Numbers, and the words between them without white space.
fn tokens(text: &str) -> Vec<&str> {
    const NUMBER: &str = r"(?i)[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?\b(nan|inf(inity)?)\b";
    let Ok(number) = Regex::new(NUMBER) else { return text.split_whitespace().collect() };
    let (mut tokens, mut end) = (Vec::new(), 0);
    for found in number.find_iter(text) {
        tokens.extend(text[end..found.start()].split_whitespace());
        tokens.push(found.as_str());
        end = found.end();
    }
    tokens.extend(text[end..].split_whitespace());
    tokens
}

fn is_whole(text: &str) -> bool {
    text.trim_start_matches(['+', '-']).bytes().all(|byte| byte.is_ascii_digit())
}

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Values that were compared.
    pub values: usize,
    /// Values that differ by more than is allowed.
    pub wrong: usize,
    /// Numbers with a finite difference.
    pub numbers: usize,
    /// Largest difference.
    pub max_absolute: f64,
    /// Largest relative difference.
    pub max_relative: f64,
    /// Sum of differences.
    sum: f64,
    /// The first wrong value.
    pub first: Option<String>,
}

impl Comparison {
    /// Whether the output is right.
    pub fn is_right(&self) -> bool {
        self.wrong == 0 && self.first.is_none()
    }

    fn length(&mut self, expected: usize, found: usize, of: &str) {
        if expected != found {
            self.first = Some(format!("it has {found} {of} instead of {expected}"));
        }
    }

    fn note(&mut self, right: bool, what: impl Fn() -> String) {
        self.values += 1;
        if !right {
            self.wrong += 1;
            self.first.get_or_insert_with(what);
        }
    }

    fn number(&mut self, was: f64, is: f64, tolerance: &Tolerance, absolute: f64, relative: f64) -> bool {
        if is.is_nan() || was.is_nan() {
            return was.is_nan() && is.is_nan() && !tolerance.refuse_nan;
        }
        if was.is_infinite() || is.is_infinite() {
            return was == is;
        }
        let difference = (was - is).abs();
        self.numbers += 1;
        self.sum += difference;
        self.max_absolute = self.max_absolute.max(difference);
        if was != 0.0 {
            self.max_relative = self.max_relative.max(difference / was.abs());
        }
        let allowed =
            tolerance.absolute.unwrap_or(absolute) + tolerance.relative.unwrap_or(relative) * was.abs();
        difference <= allowed
    }

    /// A description of what is wrong.
    pub fn explain(&self) -> String {
        let first = self.first.clone().unwrap_or_default();
        match self.wrong {
            0 => format!("differs: {first}"),
            wrong => format!(
                "differs in {wrong} of {} values (by up to {:.2e}): {first}",
                self.values, self.max_absolute
            ),
        }
    }

    /// JSON for the audit.
    pub fn to_json(&self) -> Json {
        let mean = (self.numbers > 0).then(|| self.sum / self.numbers as f64);
        json!({
            "values": self.values, "wrong": self.wrong, "max_absolute": self.max_absolute,
            "max_relative": self.max_relative, "mean_absolute": mean, "first": self.first,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(spec: &str, expected: &[u8], found: &[u8]) -> Comparison {
        Golden::parse(spec, Tolerance::default()).unwrap().compare(expected, found)
    }

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn what_is_compared_is_read() {
        let golden = Golden::parse("out.bin:f32=good.bin", Tolerance::default()).unwrap();
        assert_eq!(golden.output.as_deref(), Some(std::path::Path::new("out.bin")));
        assert_eq!((golden.layout, golden.expected.is_some()), (Layout::Float(Float::F32), true));
        assert_eq!(Golden::parse("-", Tolerance::default()).unwrap().output, None);
        assert!(Golden::parse("x:f128", Tolerance::default()).unwrap_err().contains("`f128`"));
        assert!(Golden::parse("x=", Tolerance::default()).is_err());
    }

    #[test]
    fn texts_may_differ_in_the_last_digits_of_their_numbers_alone() {
        let right = |a: &str, b: &str| compared("-", a.as_bytes(), b.as_bytes()).is_right();
        assert!(right("sum = 1.000000 ok\n", "sum =  1.000001 ok"));
        assert!(!right("sum = 1.0 ok", "sum = 1.1 ok"));
        assert!(!right("sum = 1.0 ok", "sum = 1.0 bad"));
        assert!(!right("n=1000000", "n=1000001"), "whole numbers are exact");
        assert!(!right("1.0 2.0", "1.0"));
        assert!(right("nan inf -inf", "nan inf -inf") && !right("inf", "-inf") && !right("nan", "1.0"));
        assert!(!compared("-", b"", b"x").is_right());
    }

    #[test]
    fn arrays_are_judged_by_their_type_with_figures() {
        let expected = floats(&[1.0, 100.0, 0.0, f32::NAN, f32::INFINITY]);
        let close = floats(&[1.000_001, 100.0005, 1e-7, f32::NAN, f32::INFINITY]);
        let comparison = compared("a:f32", &expected, &close);
        assert!(comparison.is_right(), "{comparison:?}");
        assert!((comparison.max_absolute - 5e-4).abs() < 1e-5 && comparison.numbers == 3);
        let far = compared("a:f32", &expected, &floats(&[1.0, 101.0, 0.0, f32::NAN, f32::NEG_INFINITY]));
        assert_eq!((far.wrong, far.values), (2, 5));
        assert!(
            far.explain().starts_with("differs in 2 of 5 values (by up to 1.00e0): element 1"),
            "{}",
            far.explain()
        );
        assert!(!compared("a:bytes", &expected, &close).is_right());
        assert!(!compared("a:i32", &1i32.to_le_bytes(), &2i32.to_le_bytes()).is_right());
        let refuse = Tolerance { refuse_nan: true, ..Tolerance::default() };
        assert!(!Golden::parse("a:f32", refuse).unwrap().compare(&expected, &expected).is_right());
        let exact = Tolerance { absolute: Some(0.0), relative: Some(0.0), ..Tolerance::default() };
        assert_eq!(Golden::parse("a:f32", exact).unwrap().compare(&expected, &close).wrong, 3);
    }

    #[test]
    fn halves_are_read() {
        for (bits, value) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (1, 2f64.powi(-24)),
            (0x3555, 0.333_251_953_125),
        ] {
            assert_eq!(half(bits), value);
        }
        assert!(half(0x7e00).is_nan() && half(0xfc00) == f64::NEG_INFINITY);
        assert!(compared("a:bf16", &[0x80, 0x3f], &[0x81, 0x3f]).is_right());
        assert!(!compared("a:f16", &[0, 0x3c], &[8, 0x3c]).is_right());
    }
}

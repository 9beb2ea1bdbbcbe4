//! Makes HIP and CUDA parse as C++: replaces their keywords by C++ of the same length.
//!
//! The C++ grammar is half as large as the CUDA grammar, and kernels add little to C++: qualifiers of
//! functions and variables, launch bounds, and the brackets of a launch. Every byte stays at its position, so
//! that positions in the tree are positions in the text.

use std::ops::Range;

/// Qualifiers and their replacements: of the same length if they are C++ names, else padded with spaces.
const QUALIFIERS: &[(&str, &str)] = &[
    ("__global__", "__inline__"),
    ("__device__", "__inline__"),
    ("__shared__", "__inline__"),
    ("__host__", "__inline"),
    ("__constant__", "thread_local"),
    ("__noinline__", "thread_local"),
    ("__managed__", "__inline__"),
    ("__forceinline__", "__forceinline"),
    ("__grid_constant__", "const"),
    ("__align__", "alignas"),
];

/// Followed by an argument list, which may have several parts.
const BOUNDS: &str = "__launch_bounds__";
const BOUNDS_MASK: &str = "alignas";

/// A source that the C++ grammar can read.
pub(super) struct Masked {
    /// As long as the original.
    pub text: String,
    /// Words of the original that are longer than their mask, in order.
    pub words: Vec<Range<usize>>,
}

/// Masks a source; strings and comments stay.
pub(super) fn mask(source: &str) -> Masked {
    let mut text = source.as_bytes().to_vec();
    let mut words = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &source.as_bytes()[at..];
        // `1'000` is not a character.
        let separator = rest[0] == b'\'' && at > 0 && text[at - 1].is_ascii_digit();
        if separator {
            at += 1;
        } else if let Some(length) = opaque(rest) {
            at += length;
        } else if rest[0].is_ascii_alphabetic() || rest[0] == b'_' {
            let length = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
            let word = at..at + length;
            let found = QUALIFIERS.iter().find(|(name, _)| name.as_bytes() == &rest[..length]);
            if let Some((name, mask)) = found {
                put(&mut text, &word, mask);
                if mask.len() < name.len() {
                    words.push(word.clone());
                }
            } else if &rest[..length] == BOUNDS.as_bytes()
                && let Some(end) = closing(&source.as_bytes()[word.end..])
            {
                put(&mut text, &word, BOUNDS_MASK);
                words.push(word.clone());
                one_argument(&mut text[word.end..word.end + end]);
            }
            at = word.end;
        } else if rest.starts_with(b"<<<") {
            put(&mut text, &(at..at + 3), "(");
            words.push(at..at + 3);
            at += 3;
        } else if rest.starts_with(b">>>")
            && rest[3..].iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'(')
        {
            put(&mut text, &(at..at + 3), ")");
            words.push(at..at + 3);
            at += 3;
        } else {
            at += 1;
        }
    }
    // Only whole ASCII words were replaced, by ASCII.
    let text = String::from_utf8(text).unwrap_or_else(|_| source.to_string());
    Masked { text, words }
}

/// Writes a mask over a word, and spaces over the rest of it.
fn put(text: &mut [u8], word: &Range<usize>, mask: &str) {
    text[word.clone()].fill(b' ');
    text[word.start..word.start + mask.len()].copy_from_slice(mask.as_bytes());
}

/// Length of the comment, string or character that begins here.
fn opaque(rest: &[u8]) -> Option<usize> {
    let until = |end: &[u8], from: usize| {
        let found = rest[from..].windows(end.len()).position(|window| window == end);
        found.map_or(rest.len(), |place| from + place + end.len())
    };
    match rest {
        [b'/', b'/', ..] => Some(until(b"\n", 2)),
        [b'/', b'*', ..] => Some(until(b"*/", 2)),
        [quote @ (b'"' | b'\''), ..] => {
            let mut at = 1;
            while at < rest.len() && rest[at] != *quote && rest[at] != b'\n' {
                at += if rest[at] == b'\\' { 2 } else { 1 };
            }
            Some((at + 1).min(rest.len()))
        }
        _ => None,
    }
}

/// Distance to the end of the bracket pair that follows; `None` if it is not closed.
fn closing(rest: &[u8]) -> Option<usize> {
    let open = rest.iter().position(|b| !b.is_ascii_whitespace()).filter(|&place| rest[place] == b'(')?;
    let mut depth = 0;
    for (place, byte) in rest.iter().enumerate().skip(open) {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(place + 1);
        }
    }
    None
}

/// `(256, 2)` as one value: `alignas` accepts only one.
fn one_argument(list: &mut [u8]) {
    let mut depth = 0;
    for byte in list {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b',' if depth == 1 => *byte = b'+',
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_of_hip_become_words_of_cpp_at_their_place() {
        let source = "__global__ void __launch_bounds__(256, 2) f() { g<<<a, b>>>(x); } // __global__ '";
        let masked = mask(source);
        let expected = "__inline__ void alignas          (256+ 2) f() { g(  a, b)  (x); } // __global__ '";
        assert_eq!(masked.text, expected);
        let words: Vec<&str> = masked.words.iter().map(|word| &source[word.clone()]).collect();
        assert_eq!(words, ["__launch_bounds__", "<<<", ">>>"]);
        let text = "const char* s = \"__global__ \\\" <<<\"; vector<vector<vector<int>>> v; char c = '\"';";
        assert_eq!(mask(text).text, text);
    }

    proptest! {
        #[test]
        fn masking_never_panics_and_keeps_lengths(
            text in ".{0,60}",
            code in "(__global__|__launch_bounds__|<<<|>>>|[(),'\"/*\\\\\n aé]){0,30}",
        ) {
            for text in [text, code] {
                prop_assert_eq!(mask(&text).text.len(), text.len());
            }
        }
    }
}

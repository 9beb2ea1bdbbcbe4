//! Itanium names in plain C++, and what can be read from one that cannot be demangled.

use std::borrow::Cow;

use cpp_demangle::{DemangleOptions, DemangleWrite, ParseOptions, Symbol};

/// Longer names are kept unchanged: the longest real ones have a few thousand characters.
const LONGEST_NAME: usize = 16 * 1024;
/// A short mangled name can stand for an endless one through substitutions; writing stops here.
const LONGEST_RESULT: usize = 64 * 1024;
/// Template nesting is followed to this depth.
const DEEPEST: u32 = 192;

/// The name without mangling and without a code object's `.kd`; unchanged if it cannot be demangled.
pub fn demangle(name: &str) -> Cow<'_, str> {
    let plain = without_descriptor_suffix(name);
    if !plain.starts_with("_Z") || plain.len() > LONGEST_NAME {
        return Cow::Borrowed(plain);
    }
    let parsed = ParseOptions::default().recursion_limit(DEEPEST);
    let Ok(symbol) = Symbol::new_with_options(plain, &parsed) else { return Cow::Borrowed(plain) };
    let mut written = Bounded(String::new());
    let options = DemangleOptions::default().recursion_limit(DEEPEST);
    match symbol.structured_demangle(&mut written, &options) {
        Ok(()) => Cow::Owned(written.0),
        Err(_) => Cow::Borrowed(plain),
    }
}

/// rocprofv3 names the kernel descriptor: `name.kd`, or `name [clone .kd]` once demangled.
fn without_descriptor_suffix(name: &str) -> &str {
    let name = name.trim();
    let bare = name.strip_suffix(".kd").or_else(|| name.strip_suffix(" [clone .kd]"));
    bare.filter(|bare| !bare.is_empty()).unwrap_or(name)
}

struct Bounded(String);

impl DemangleWrite for Bounded {
    fn write_string(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() > LONGEST_RESULT {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// The identifiers of a mangled name in order, for manglings newer than the demangler.
pub(crate) fn identifiers(mangled: &str) -> Vec<&str> {
    let bytes = mangled.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let digits = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let start = at + digits;
        let length: usize = mangled[at..start].parse().unwrap_or(usize::MAX);
        let text = start.checked_add(length).and_then(|end| mangled.get(start..end));
        match text.filter(|text| !is_number(bytes, at) && is_identifier(text)) {
            Some(text) => {
                found.push(text);
                at = start + length;
            }
            None => at = start,
        }
    }
    found
}

/// Digits after `L` and a type letter are a literal, after `S` or `T` a back reference, after `DF` a width.
fn is_number(bytes: &[u8], at: usize) -> bool {
    let before = |n: usize| at.checked_sub(n).map(|i| bytes[i]);
    match (before(2), before(1)) {
        (_, Some(b'S' | b'T' | b'n')) | (Some(b'D'), Some(b'F')) => true,
        (Some(b'L'), Some(letter)) => letter.is_ascii_lowercase(),
        _ => false,
    }
}

fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_become_plain() {
        assert_eq!(demangle("_Z3addPfS_i"), "add(float*, float*, int)");
        assert_eq!(
            demangle("_ZN4vllm15rms_norm_kernelIfEEvPT_.kd"),
            "void vllm::rms_norm_kernel<float>(float*)"
        );
        assert_eq!(demangle("add(float*) [clone .kd]"), "add(float*)");
    }

    #[test]
    fn what_cannot_be_demangled_keeps_its_text() {
        for name in ["attn_fwd", "_Zbroken", "_ZN", "", ".kd", "Cijk_Alik_Bljk_BBS_MT320x224x64"] {
            assert_eq!(demangle(name), name);
        }
    }

    #[test]
    fn a_bomb_is_kept_as_it_is() {
        // Each level repeats the one before it twice: the plain text would have 2⁶⁰ parts.
        let mut bomb = String::from("_Z1fI1AIiiE");
        for level in 0..60 {
            let back = if level == 0 { "S_".to_string() } else { format!("S{}_", level - 1) };
            bomb.push_str(&format!("1AI{back}{back}E"));
        }
        bomb.push_str("Evv");
        assert!(demangle(&bomb).len() <= LONGEST_RESULT);
        let deep = format!("_Z1f{}i", "P".repeat(10_000));
        assert!(demangle(&deep).len() <= LONGEST_RESULT);
        let long = format!("_Z{}", "1a".repeat(LONGEST_NAME));
        assert_eq!(demangle(&long), long);
    }

    #[test]
    fn identifiers_skip_literals_and_references() {
        let name = "_ZN7ck_tile6kentryILi2ENS_12Rmsnorm2dFwdIDF16bDF16bLi1024ES4_Lb0EEEEvT0_";
        assert_eq!(identifiers(name), ["ck_tile", "kentry", "Rmsnorm2dFwd"]);
        assert!(identifiers("_Z99short").is_empty());
        assert!(identifiers("99999999999999999999999a").is_empty());
    }
}

//! Guards: a proposal may change the chosen kernel's body and nothing else. Checked on bytes, tokens and the tree.

use super::source::{Kernel, Source};

/// What a proposal may change besides the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Nothing.
    Identical,
    /// Hints that do not affect the ABI: launch bounds, restrict, attributes. For built-in rules only.
    Hints,
}

/// Why a proposal is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing has changed.
    #[error("it changes nothing")]
    NoChange,
    /// The kernel is missing, or there are two.
    #[error("afterwards the source does not have kernel `{0}` exactly once")]
    Kernel(String),
    /// The parser does not understand it.
    #[error("the changed kernel is not valid code")]
    Syntax,
    /// Something before or after the kernel differs.
    #[error("it changes code outside the kernel, at line {line}")]
    Outside {
        /// Line in the original, from 1.
        line: usize,
    },
    /// The signature differs.
    #[error("it changes the kernel's signature: `{is}` instead of `{was}`")]
    Signature {
        /// First token that differs, in the original.
        was: String,
        /// The token in the proposal.
        is: String,
    },
    /// A preprocessor line other than `#pragma unroll`.
    #[error("it changes a preprocessor line: `{0}`")]
    Preprocessor(String),
    /// Code may hide in what looks like a comment.
    #[error("a comment ends in a backslash or a trigraph, which can hide code")]
    HiddenCode,
    /// Inline assembly.
    #[error("it adds inline assembly")]
    Assembly,
    /// Fewer barriers, fences or atomics.
    #[error("it removes a call to `{0}`")]
    Synchronisation(String),
}

/// Calls that order threads; a proposal may not reduce the number of any of them.
const ORDERING: &[&str] = &[
    "__syncthreads",
    "__syncwarp",
    "__threadfence",
    "__builtin_amdgcn_s_barrier",
    "__builtin_amdgcn_fence",
    "atomic",
];
/// Tokens of header hints.
const HINTS: &[&str] = &["__restrict__", "__restrict"];
/// Hints with arguments in brackets.
const HINTS_WITH_ARGUMENTS: &[&str] = &["__launch_bounds__", "__attribute__"];

/// Checks that a proposal changes only the kernel's body.
pub fn check(original: &Source, kernel: &Kernel, proposed: &str, header: Header) -> Result<(), Refusal> {
    if original.text == proposed {
        return Err(Refusal::NoChange);
    }
    let after = Source::parse(proposed).ok_or(Refusal::Syntax)?;
    let same: Vec<Kernel> = after.kernels().into_iter().filter(|other| other.name == kernel.name).collect();
    let [changed] = &same[..] else { return Err(Refusal::Kernel(kernel.name.clone())) };
    if changed.damaged {
        return Err(Refusal::Syntax);
    }
    let (old, new) = (original.text.as_bytes(), proposed.as_bytes());
    let edge = match header {
        Header::Identical => kernel.body.start,
        Header::Hints => kernel.definition.start,
    };
    let changed_edge = match header {
        Header::Identical => changed.body.start,
        Header::Hints => changed.definition.start,
    };
    if old[..edge] != new[..changed_edge.min(new.len())] || edge != changed_edge {
        if header == Header::Identical
            && old[..kernel.definition.start] == new[..changed.definition.start.min(new.len())]
        {
            signature(original, kernel, &after, changed, false)?;
        }
        return Err(Refusal::Outside { line: first_difference(old, new) });
    }
    if old[kernel.body.end..] != new[changed.body.end..] {
        let from_end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
        let line = 1 + old[..old.len() - from_end].iter().filter(|byte| **byte == b'\n').count();
        return Err(Refusal::Outside { line });
    }
    signature(original, kernel, &after, changed, header == Header::Hints)?;
    body(original, kernel, &after, changed)
}

fn signature(
    original: &Source,
    kernel: &Kernel,
    after: &Source,
    changed: &Kernel,
    hints: bool,
) -> Result<(), Refusal> {
    let header = |source: &Source, kernel: &Kernel| {
        let tokens = source.tokens(&(kernel.definition.start..kernel.body.start));
        let texts: Vec<String> = tokens.into_iter().map(|token| token.text).collect();
        if hints { without_hints(texts) } else { texts }
    };
    let (was, is) = (header(original, kernel), header(after, changed));
    if was == is {
        return Ok(());
    }
    let at = was.iter().zip(&is).take_while(|(a, b)| a == b).count();
    let token = |tokens: &[String]| tokens.get(at).cloned().unwrap_or_else(|| "nothing".into());
    Err(Refusal::Signature { was: token(&was), is: token(&is) })
}

fn without_hints(tokens: Vec<String>) -> Vec<String> {
    let (mut kept, mut depth, mut in_hint) = (Vec::new(), 0usize, false);
    for token in tokens {
        if in_hint {
            match token.as_str() {
                "(" | "((" => depth += token.len(),
                ")" | "))" => depth = depth.saturating_sub(token.len()),
                _ => {}
            }
            in_hint = depth > 0;
        } else if HINTS_WITH_ARGUMENTS.contains(&token.as_str()) {
            in_hint = true;
        } else if !HINTS.contains(&token.as_str()) {
            kept.push(token);
        }
    }
    kept
}

fn body(original: &Source, kernel: &Kernel, after: &Source, changed: &Kernel) -> Result<(), Refusal> {
    const DIRECTIVES: &[&str] = &[
        "preproc_call",
        "preproc_def",
        "preproc_function_def",
        "preproc_include",
        "preproc_if",
        "preproc_ifdef",
        "preproc_else",
        "preproc_elif",
        "preproc_directive",
    ];
    let directives = |source: &Source, kernel: &Kernel| {
        let mut lines: Vec<String> = source
            .nodes(&kernel.body, DIRECTIVES)
            .into_iter()
            .map(|(_, text)| text.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|text| !is_unroll(text))
            .collect();
        lines.sort();
        lines
    };
    let (was, is) = (directives(original, kernel), directives(after, changed));
    if was != is {
        let other = is.iter().find(|line| !was.contains(line)).or(was.iter().find(|line| !is.contains(line)));
        return Err(Refusal::Preprocessor(other.cloned().unwrap_or_default()));
    }
    let text = &after.text[changed.body.clone()];
    let hidden = |(_, comment): &(String, String)| {
        comment.lines().any(|line| line.trim_end().ends_with('\\')) || comment.contains("??/")
    };
    if text.contains("??/") || after.nodes(&changed.body, &["comment"]).iter().any(hidden) {
        return Err(Refusal::HiddenCode);
    }
    let assembly = |source: &Source, kernel: &Kernel| {
        let tokens = source.tokens(&kernel.body);
        tokens.iter().filter(|token| ["asm", "__asm__", "__asm"].contains(&token.text.as_str())).count()
    };
    if assembly(after, changed) > assembly(original, kernel) {
        return Err(Refusal::Assembly);
    }
    for function in ORDERING {
        let count = |source: &Source, kernel: &Kernel| {
            source.calls(&kernel.body).iter().filter(|call| call.starts_with(function)).count()
        };
        if count(after, changed) < count(original, kernel) {
            return Err(Refusal::Synchronisation(function.to_string()));
        }
    }
    Ok(())
}

/// `#pragma unroll`, with or without its number, and its tokens.
fn is_unroll(text: &str) -> bool {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || "()".contains(c)).filter(|w| !w.is_empty()).collect();
    match words[..] {
        ["#pragma"] => true,
        ["#pragma", "unroll" | "nounroll"] => true,
        ["#pragma", "unroll", n] => n.parse::<u32>().is_ok(),
        _ => false,
    }
}

fn first_difference(old: &[u8], new: &[u8]) -> usize {
    let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    1 + old[..same].iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "#define SCALE 2\n__global__ void a(float* p, int n) {\n  // keep\n  for (int i = 0; i < n; ++i) { p[i] *= SCALE; }\n  __syncthreads();\n}\n__global__ void b(float* p) { p[0] = 1; }\n";

    fn verdict(from: &str, to: &str, header: Header) -> Result<(), Refusal> {
        assert!(TEXT.contains(from), "{from}");
        let source = Source::parse(TEXT).unwrap();
        let kernel = source.kernels().remove(0);
        check(&source, &kernel, &TEXT.replacen(from, to, 1), header)
    }

    #[test]
    fn only_the_body_may_change() {
        let strict = Header::Identical;
        assert_eq!(verdict("  for", "  #pragma unroll 4\n  for", strict), Ok(()));
        assert_eq!(verdict("p[i] *= SCALE;", "p[i] = p[i] + p[i];", strict), Ok(()));
        assert_eq!(verdict("// keep", "// other words, { even braces", strict), Ok(()));
        assert_eq!(verdict("keep", "keep", strict), Err(Refusal::NoChange));
        let signature = |was: &str, is: &str| Err(Refusal::Signature { was: was.into(), is: is.into() });
        assert_eq!(verdict("int n)", "long n)", strict), signature("int", "long"));
        assert_eq!(
            verdict("float* p, int n", "float* __restrict__ p, int n", strict),
            signature("p", "__restrict__")
        );
        assert_eq!(verdict("p[0] = 1", "p[0] = 2", strict), Err(Refusal::Outside { line: 7 }));
        assert_eq!(verdict("SCALE 2", "SCALE 3", strict), Err(Refusal::Outside { line: 1 }));
        assert_eq!(verdict("void a(", "void c(", strict), Err(Refusal::Kernel("a".into())));
    }

    #[test]
    fn tricks_are_refused() {
        let strict = Header::Identical;
        // A comment that swallows the rest of the kernel and of the next one.
        assert_eq!(verdict("// keep", "/* keep", strict), Err(Refusal::Kernel("a".into())));
        assert_eq!(verdict("// keep", "// keep \\", strict), Err(Refusal::HiddenCode));
        assert_eq!(verdict("// keep", "// keep ??/", strict), Err(Refusal::HiddenCode));
        assert!(matches!(verdict("// keep", "#define p q", strict), Err(Refusal::Preprocessor(_))));
        assert!(matches!(verdict("// keep", "#undef SCALE", strict), Err(Refusal::Preprocessor(_))));
        assert!(matches!(verdict("// keep", "#if 0\n#endif", strict), Err(Refusal::Preprocessor(_))));
        assert!(matches!(
            verdict("// keep", "#pragma push_macro(\"p\")", strict),
            Err(Refusal::Preprocessor(_))
        ));
        assert_eq!(verdict("// keep", "asm volatile(\"s_nop 0\");", strict), Err(Refusal::Assembly));
        assert_eq!(
            verdict("  __syncthreads();\n", "", strict),
            Err(Refusal::Synchronisation("__syncthreads".into()))
        );
        assert!(matches!(
            verdict("// keep", "}\n__device__ int f() {", strict),
            Err(Refusal::Outside { .. })
        ));
        assert!(verdict("{ p[i]", "{ { p[i]", strict).is_err());
    }

    #[test]
    fn hints_are_allowed_to_built_in_rules_alone() {
        let hints = Header::Hints;
        assert_eq!(verdict("void a(", "void __launch_bounds__(256) a(", hints), Ok(()));
        assert_eq!(verdict("float* p, int n", "float* __restrict__ p, int n", hints), Ok(()));
        assert!(matches!(verdict("int n)", "long n)", hints), Err(Refusal::Signature { .. })));
        assert!(matches!(
            verdict("float* p, int n", "const float* p, int n", hints),
            Err(Refusal::Signature { .. })
        ));
        assert_eq!(verdict("SCALE 2", "SCALE 3", hints), Err(Refusal::Outside { line: 1 }));
        assert!(verdict("void a(", "void __launch_bounds__(256) a(", Header::Identical).is_err());
    }
}

//! Gates: `idle>+10%`, `kernel:gemm>+5%`: what to check, and how many percent it may grow.

use crate::parse::{TokenKind, tokens};

/// A parsed gate; the caller decides what its words mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate<'t> {
    /// `kernel` in `kernel:gemm`, if there is one.
    pub kind: Option<&'t str>,
    /// `gemm` in `kernel:gemm`, `idle` in `idle`.
    pub name: &'t str,
    /// Byte where the name begins.
    pub name_at: usize,
    /// The allowed increase.
    pub limit_pct: f64,
}

/// Where and why a gate cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct GateSyntaxError {
    /// Byte position in the text.
    pub at: usize,
    /// What is wrong.
    pub why: &'static str,
}

/// Reads `WHAT>+N%` or `KIND:WHAT>+N%`.
pub fn parse(text: &str) -> Result<Gate<'_>, GateSyntaxError> {
    let wrong = |at: usize, why: &'static str| GateSyntaxError { at, why };
    // Kernel names may contain `>`; the limit follows the last one.
    let Some(sign) = text.rfind('>') else { return Err(wrong(text.len(), "no `>` before a limit")) };
    let (what, limit) = (&text[..sign], &text[sign + 1..]);
    let limit_at = sign + 1 + (limit.len() - limit.trim_start().len());
    let limit = limit.trim();
    let number = limit.strip_suffix('%').ok_or_else(|| wrong(text.len(), "no `%` after the limit"))?;
    let no_number = || wrong(limit_at, "no number before `%`");
    let tokens = tokens(number).map_err(|_| no_number())?;
    let (negative, rest) = match tokens.split_first() {
        Some((sign, rest)) if sign.kind == TokenKind::Symbol && sign.text == "-" => (true, rest),
        Some((sign, rest)) if sign.kind == TokenKind::Symbol && sign.text == "+" => (false, rest),
        _ => (false, tokens.as_slice()),
    };
    let [token] = rest else { return Err(no_number()) };
    let TokenKind::Number(limit) = token.kind else { return Err(no_number()) };
    let limit_pct = if negative { -limit } else { limit };
    let what_at = what.len() - what.trim_start().len();
    let what = what.trim();
    let (kind, name) = what.split_once(':').map_or((None, what), |(kind, name)| (Some(kind), name));
    if kind.is_some() && name.is_empty() {
        return Err(wrong(sign, "no name"));
    }
    Ok(Gate { kind, name, name_at: what_at + kind.map_or(0, |kind| kind.len() + 1), limit_pct })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_and_limits_are_taken_apart() {
        let gate = parse("idle>+10%").unwrap();
        assert_eq!((gate.kind, gate.name, gate.limit_pct), (None, "idle", 10.0));
        let gate = parse(" kernel:f<int, g<1>> > -2.5 % ").unwrap();
        assert_eq!((gate.kind, gate.name, gate.limit_pct), (Some("kernel"), "f<int, g<1>>", -2.5));
        assert_eq!(gate.name_at, 8);
    }

    #[test]
    fn mistakes_have_a_place() {
        for (text, at, why) in [
            ("total", 5, "no `>` before a limit"),
            ("total>3", 7, "no `%` after the limit"),
            ("total> x%", 7, "no number before `%`"),
            ("total>nan%", 6, "no number before `%`"),
            ("total>+-3%", 6, "no number before `%`"),
            ("total>1e999%", 6, "no number before `%`"),
            ("kernel:>3%", 7, "no name"),
        ] {
            assert_eq!(parse(text), Err(GateSyntaxError { at, why }), "{text}");
        }
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in ".{0,40}", limit in "[>:%+0-9. é-]{0,12}") {
            let _ = parse(&text);
            let _ = parse(&format!("{text}{limit}"));
        }
    }
}

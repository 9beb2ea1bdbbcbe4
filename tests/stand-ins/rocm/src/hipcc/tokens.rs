//! Tokens of preprocessed C++, as far as a rewriter needs them: literals are never mistaken for code.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word,
    Number,
    Literal,
    Sign(u8),
}

/// A token and where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub start: usize,
    pub end: usize,
}

/// Tokens of the user's own code: system headers and directives are left out.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let (mut at, mut system) = (0, false);
    while at < bytes.len() {
        let line_end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |n| at + n + 1);
        let line = &text[at..line_end];
        if line.starts_with('#') {
            if let Some(flag) = marker_is_system(line) {
                system = flag;
            }
            at = line_end;
        } else if system {
            at = line_end;
        } else {
            at = scan_line(bytes, at, &mut tokens);
        }
    }
    tokens
}

fn memchr(byte: u8, bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|b| *b == byte)
}

/// `# 12 "file" 3 4`: whether what follows is a system header; `None` for another directive.
fn marker_is_system(line: &str) -> Option<bool> {
    let rest = line.strip_prefix("# ")?;
    rest.starts_with(|c: char| c.is_ascii_digit()).then(|| {
        let flags = rest.rsplit('"').next().unwrap_or("");
        flags.split_whitespace().any(|flag| flag == "3")
    })
}

/// Scans one line, or further if a literal continues; returns the position of the next line.
fn scan_line(bytes: &[u8], mut at: usize, tokens: &mut Vec<Token>) -> usize {
    while at < bytes.len() {
        let byte = bytes[at];
        match byte {
            b'\n' => return at + 1,
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c => at += 1,
            b'"' | b'\'' => at = push(tokens, TokenKind::Literal, at, after_quote(bytes, at)),
            b'0'..=b'9' => {
                let part = |b: u8| b.is_ascii_alphanumeric() || b == b'.' || b == b'_' || b == b'\'';
                at = push(tokens, TokenKind::Number, at, after(bytes, at, part));
            }
            b if is_word(b) => {
                let end = after(bytes, at, |b| is_word(b) || b.is_ascii_digit());
                let word = &bytes[at..end];
                let raw = matches!(word, b"R" | b"LR" | b"uR" | b"UR" | b"u8R");
                let prefix = raw || matches!(word, b"L" | b"u" | b"U" | b"u8");
                at = match bytes.get(end) {
                    Some(b'"') if raw => push(tokens, TokenKind::Literal, at, after_raw(bytes, end)),
                    Some(b'"' | b'\'') if prefix => {
                        push(tokens, TokenKind::Literal, at, after_quote(bytes, end))
                    }
                    _ => push(tokens, TokenKind::Word, at, end),
                };
            }
            sign => at = push(tokens, TokenKind::Sign(sign), at, at + 1),
        }
    }
    at
}

fn push(tokens: &mut Vec<Token>, kind: TokenKind, start: usize, end: usize) -> usize {
    tokens.push(Token { kind, start, end });
    end
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn after(bytes: &[u8], at: usize, part: impl Fn(u8) -> bool) -> usize {
    bytes[at..].iter().position(|b| !part(*b)).map_or(bytes.len(), |n| at + n)
}

fn after_quote(bytes: &[u8], at: usize) -> usize {
    let quote = bytes[at];
    let mut i = at + 1;
    while i < bytes.len() && bytes[i] != quote && bytes[i] != b'\n' {
        i += if bytes[i] == b'\\' { 2 } else { 1 };
    }
    (i + 1).min(bytes.len())
}

/// `"delimiter( … )delimiter"`.
fn after_raw(bytes: &[u8], at: usize) -> usize {
    let Some(open) = memchr(b'(', &bytes[at..]).map(|n| at + n) else { return bytes.len() };
    let mut close = vec![b')'];
    close.extend_from_slice(&bytes[at + 1..open]);
    close.push(b'"');
    let found = bytes[open..].windows(close.len()).position(|window| window == close);
    found.map_or(bytes.len(), |n| open + n + close.len())
}

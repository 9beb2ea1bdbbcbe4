//! Splits a text into its statements.

/// A statement and where it starts in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'s> {
    pub offset: usize,
    pub sql: &'s str,
}

/// The statements of a text; parts with only blanks and comments do not count.
pub(crate) fn split(text: &str) -> Vec<Piece<'_>> {
    let bytes = text.as_bytes();
    let mut pieces = Vec::new();
    let (mut start, mut i, mut empty) = (0, 0, true);
    while i < bytes.len() {
        match bytes[i] {
            b';' => {
                if !empty {
                    pieces.push(Piece { offset: start, sql: &text[start..i] });
                }
                (start, empty) = (i + 1, true);
                i += 1;
            }
            quote @ (b'\'' | b'"' | b'`') => {
                empty = false;
                i = past(bytes, i + 1, &[quote]);
            }
            b'[' => {
                empty = false;
                i = past(bytes, i + 1, b"]");
            }
            b'-' if bytes.get(i + 1) == Some(&b'-') => i = past(bytes, i, b"\n"),
            b'/' if bytes.get(i + 1) == Some(&b'*') => i = past(bytes, i + 2, b"*/"),
            byte => {
                empty &= byte.is_ascii_whitespace();
                i += 1;
            }
        }
    }
    if !empty {
        pieces.push(Piece { offset: start, sql: &text[start..] });
    }
    pieces
}

/// The position after the next `end`, or the end of the text. A doubled quote ends one string and begins the
/// next, which has the same effect.
fn past(bytes: &[u8], from: usize, end: &[u8]) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.windows(end.len()).position(|w| w == end).map_or(bytes.len(), |i| from + i + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semicolons_inside_text_do_not_split() {
        let sql = "-- a; comment\nSELECT ';', \"a;b\", [c;d] /* ; */; ;; SELECT 'it''s;' -- end;";
        let pieces: Vec<&str> = split(sql).iter().map(|p| p.sql.trim()).collect();
        assert_eq!(pieces, ["-- a; comment\nSELECT ';', \"a;b\", [c;d] /* ; */", "SELECT 'it''s;' -- end;"]);
        for piece in split(sql) {
            assert_eq!(&sql[piece.offset..piece.offset + piece.sql.len()], piece.sql);
        }
        assert!(split(" -- nothing\n /* at all */ ;").is_empty());
        assert_eq!(split("SELECT 'open").len(), 1);
    }
}

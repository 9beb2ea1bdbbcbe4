//! Lines and fields. rocprofv3 quotes text without escaping quotes inside it, and kernel names contain commas
//! and quotes: the fields before and after the free text are simple, so the text is the rest.

use memchr::memchr;

/// How the lines of a file are split into fields.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Fields per line.
    pub width: usize,
    /// The column with free text.
    pub text: Option<usize>,
    /// Whether quotes inside text are doubled, as Python's writer does.
    pub doubled: bool,
}

impl Layout {
    /// Splits a line into exactly `width` fields without their quotes.
    pub fn split<'a>(&self, line: &'a [u8], fields: &mut Vec<&'a [u8]>) -> bool {
        fields.clear();
        let Some(text) = self.text else {
            return self.leading(line, self.width, fields).is_some_and(|rest| rest.is_none());
        };
        let rest = if text == 0 {
            line
        } else {
            match self.leading(line, text, fields) {
                Some(Some(rest)) => rest,
                _ => return false,
            }
        };
        let behind = self.width - text - 1;
        fields.resize(self.width, &[]);
        let mut end = rest.len();
        for place in (self.width - behind..self.width).rev() {
            // Fields are a few bytes: a plain loop beats a vector search.
            let Some(comma) = rest[..end].iter().rposition(|byte| *byte == b',') else { return false };
            fields[place] = unquoted(&rest[comma + 1..end]);
            end = comma;
        }
        let name = &rest[..end];
        let whole = name.first() != Some(&b'"') || (name.len() > 1 && name.ends_with(b"\""));
        fields[text] = unquoted(name);
        whole
    }

    /// Splits `count` simple fields off the front; returns what follows the last comma, if there is one.
    fn leading<'a>(
        &self,
        line: &'a [u8],
        count: usize,
        fields: &mut Vec<&'a [u8]>,
    ) -> Option<Option<&'a [u8]>> {
        let mut rest = Some(line);
        for _ in 0..count {
            let from = rest?;
            let end = if from.first() == Some(&b'"') {
                self.closing_quote(from)? + 1
            } else {
                from.iter().position(|byte| *byte == b',').unwrap_or(from.len())
            };
            fields.push(unquoted(&from[..end]));
            rest = (end < from.len()).then(|| &from[end + 1..]);
        }
        Some(rest)
    }

    /// The quote before a comma or the end of the line.
    fn closing_quote(&self, from: &[u8]) -> Option<usize> {
        let mut at = 1;
        loop {
            at += memchr(b'"', &from[at..])?;
            match from.get(at + 1) {
                None | Some(b',') => return Some(at),
                Some(b'"') if self.doubled => at += 2,
                Some(_) => at += 1,
            }
        }
    }
}

/// A field without its quotes; rocpd prints an empty agent as four quote characters.
fn unquoted(field: &[u8]) -> &[u8] {
    match field {
        [b'"', b'"', b'"', b'"'] => &[],
        [b'"', inner @ .., b'"'] => inner,
        _ => field,
    }
}

/// Text with doubled quotes made single.
pub(super) fn undoubled(field: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(field.len());
    let mut bytes = field.iter();
    while let Some(&byte) = bytes.next() {
        text.push(byte);
        if byte == b'"' && bytes.as_slice().first() == Some(&b'"') {
            bytes.next();
        }
    }
    text
}

/// A text with line breaks is joined from at most this many lines.
const LINES_OF_A_ROW: usize = 8;

/// The rows of a file, one after another.
pub(super) struct Rows<'a> {
    rest: &'a [u8],
    layout: Layout,
    /// Whether rows begin with a quote.
    quoted: bool,
    /// Lines that could not be split into fields.
    pub damaged: u64,
    /// Whether the last line is cut off.
    pub cut: bool,
}

impl<'a> Rows<'a> {
    /// The rows after the header.
    pub fn new(rest: &'a [u8], layout: Layout) -> Self {
        Self { rest, layout, quoted: rest.first() == Some(&b'"'), damaged: 0, cut: false }
    }

    /// Whether quotes inside text are doubled.
    pub fn doubled(&self) -> bool {
        self.layout.doubled
    }

    /// The next row's fields; false at the end.
    pub fn next(&mut self, fields: &mut Vec<&'a [u8]>) -> bool {
        while !self.rest.is_empty() {
            let end = memchr(b'\n', self.rest);
            let line = trimmed(&self.rest[..end.unwrap_or(self.rest.len())]);
            let after = end.map_or(&[][..], |end| &self.rest[end + 1..]);
            self.cut = end.is_none();
            if line.is_empty() {
                self.rest = after;
            } else if self.layout.split(line, fields) {
                self.rest = after;
                return true;
            } else if let Some(length) = self.several_lines(fields) {
                self.rest = &self.rest[length..];
                return true;
            } else {
                self.rest = after;
                self.damaged += u64::from(!self.cut);
                if self.cut {
                    return false;
                }
            }
        }
        false
    }

    /// Bytes of a row whose text spans several lines; no line of it alone is a row.
    fn several_lines(&self, fields: &mut Vec<&'a [u8]>) -> Option<usize> {
        if self.rest.starts_with(b"\"") != self.quoted {
            return None;
        }
        let mut ends = memchr::memchr_iter(b'\n', self.rest);
        let mut start = ends.next()? + 1;
        for _ in 1..LINES_OF_A_ROW {
            let end = ends.next()?;
            let line = trimmed(&self.rest[start..end]);
            if line.starts_with(b"\"") == self.quoted && self.layout.split(line, fields) {
                return None;
            }
            if self.layout.split(trimmed(&self.rest[..end]), fields) {
                return Some(end + 1);
            }
            start = end + 1;
        }
        None
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(layout: &Layout, line: &str) -> Option<Vec<String>> {
        let mut fields = Vec::new();
        let good = layout.split(line.as_bytes(), &mut fields);
        good.then(|| fields.iter().map(|f| String::from_utf8_lossy(f).into_owned()).collect())
    }

    #[test]
    fn unescaped_names_are_what_is_left() {
        let layout = Layout { width: 4, text: Some(1), doubled: false };
        for name in ["plain", "a<b, c>(int)", r#"x"y", "z"#, r#"f(operator""_s, 3)"#, ""] {
            let line = format!(r#""KERNEL",{:?},12,"C""#, "").replace("\"\"", &format!("\"{name}\""));
            assert_eq!(split(&layout, &line).unwrap(), ["KERNEL", name, "12", "C"], "{line}");
        }
        assert_eq!(split(&layout, r#""KERNEL","name,12"#), None);
        assert_eq!(split(&layout, r#""KERNEL","na"#), None);
    }

    #[test]
    fn simple_fields_may_be_quoted_bare_or_empty() {
        let layout = Layout { width: 4, text: None, doubled: false };
        assert_eq!(split(&layout, r#""""",7,"v_add v0, v1","""#).unwrap(), ["", "7", "v_add v0, v1", ""]);
        assert_eq!(split(&layout, r#"1,7,"v_add v0, v1"#), None);
        assert_eq!(split(&layout, r#""""",7,"v_add v0, v1","#).unwrap(), ["", "7", "v_add v0, v1", ""]);
        assert_eq!(split(&layout, "1,2,3,4").unwrap(), ["1", "2", "3", "4"]);
        assert_eq!(split(&layout, "1,2,3"), None);
        assert_eq!(split(&layout, "1,2,3,4,5"), None);
    }

    #[test]
    fn doubled_quotes_are_kept_together() {
        let layout = Layout { width: 2, text: None, doubled: true };
        assert_eq!(split(&layout, r#""a ""b"", c",2"#).unwrap(), [r#"a ""b"", c"#, "2"]);
        assert_eq!(undoubled(br#"a ""b"", c"#), br#"a "b", c"#);
    }

    #[test]
    fn rows_survive_bad_lines_and_line_ends_in_text() {
        let text = b"\"A\",\"x\",1,2\nrubbish\n\"B\",\"y\nz, \"q\"\",3,4\r\n\n\"C\",\"w\",5,6\n\"D\",\"cu";
        let mut rows = Rows::new(text, Layout { width: 4, text: Some(1), doubled: false });
        let (mut fields, mut seen) = (Vec::new(), Vec::new());
        while rows.next(&mut fields) {
            seen.push(String::from_utf8_lossy(&fields.join(&b'|')).into_owned());
        }
        assert_eq!(seen, ["A|x|1|2", "B|y\nz, \"q\"|3|4", "C|w|5|6"]);
        assert_eq!((rows.damaged, rows.cut), (1, true));
    }
}

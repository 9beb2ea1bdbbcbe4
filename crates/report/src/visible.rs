//! Untrusted text for people: characters that control a terminal, or make a line look like another, are made
//! visible.

use std::borrow::Cow;

/// Characters that are invisible or change the text direction: a name with them can look like another name.
fn is_deceiving(c: char) -> bool {
    matches!(c,
        '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// One line: control characters become spaces, deceiving ones a replacement character.
pub fn one_line(text: &str) -> String {
    let shown = |c: char| match c {
        _ if c.is_control() => ' ',
        _ if is_deceiving(c) => char::REPLACEMENT_CHARACTER,
        _ => c,
    };
    text.chars().map(shown).collect()
}

/// Several lines, unchanged except for control and deceiving characters, which are written as `\u{1b}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    let acts = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_deceiving(c);
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g10_names_cannot_act_on_a_terminal_or_look_like_others() {
        assert_eq!(visible("a\x1b[2Jb\nc"), "a\\u{1b}[2Jb\nc");
        assert_eq!(visible("abc\u{202e}fed\u{200b}"), "abc\\u{202e}fed\\u{200b}");
        assert!(matches!(visible("plain ü\n"), Cow::Borrowed(_)));
        assert_eq!(one_line("a\x1b[31m\tb\u{202e}c\u{feff}"), "a [31m b\u{fffd}c\u{fffd}");
    }
}

//! Secrets in text: command lines, headers, lists of `name=value`, JSON inside a string.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::REDACTED;
use super::table::table;

/// A text without its secrets.
pub fn redact_text(text: &str) -> Cow<'_, str> {
    count_redacted(text).0
}

/// A command line, given as words, without its secrets.
pub fn redact_words(words: &[String]) -> Vec<String> {
    let mut redacted: Vec<String> = Vec::with_capacity(words.len());
    let mut secret_follows = false;
    for (i, word) in words.iter().enumerate() {
        let is_value = std::mem::take(&mut secret_follows) && !word.starts_with('-');
        if is_value && !word.is_empty() {
            redacted.push(REDACTED.into());
            continue;
        }
        if let Some(option) = word.strip_prefix('-').map(|option| option.trim_start_matches('-')) {
            let next = words.get(i + 1).map_or("", String::as_str);
            let plain = option.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
            secret_follows = plain && table().is_secret_name(option) && !table().is_harmless(option, next);
        }
        let (joined, apart) = program_option(&words[..i], word);
        secret_follows |= apart;
        redacted.push(match joined {
            Some(option) => format!("{option}{REDACTED}"),
            None => redact_text(word).into_owned(),
        });
    }
    redacted
}

/// Whether a word is an option of one of the programs before it: the option that its value is attached to,
/// and whether the value is the next word.
fn program_option<'w>(before: &[String], word: &'w str) -> (Option<&'w str>, bool) {
    let mut options = before.iter().flat_map(|program| table().options_of(program));
    let found = options.find(|one| {
        (one.apart && word == one.option)
            || (one.joined && word.len() > one.option.len() && word.starts_with(&one.option))
    });
    match found {
        Some(one) if word == one.option => (None, true),
        Some(one) => (Some(&word[..one.option.len()]), false),
        None => (None, false),
    }
}

/// How often a text is searched: a removed secret may have hidden another.
const MOST_LOOKS: usize = 4;

/// A text without its secrets, and how many there were.
pub fn count_redacted(text: &str) -> (Cow<'_, str>, usize) {
    let (mut redacted, mut count) = (Cow::Borrowed(text), 0);
    for _ in 0..MOST_LOOKS {
        let (again, found) = redacted_once(&redacted);
        if found == 0 {
            break;
        }
        (redacted, count) = (Cow::Owned(again.into_owned()), count + found);
    }
    (redacted, count)
}

fn redacted_once(text: &str) -> (Cow<'_, str>, usize) {
    let mut found = Vec::new();
    named_values(text, &mut found);
    program_values(text, &mut found);
    for shape in &table().shapes {
        found.extend(shape.captures_iter(text).filter_map(|hit| hit.get(1)).map(|hit| hit.range()));
    }
    found.retain(|range| !range.is_empty() && !text[range.clone()].starts_with(REDACTED));
    if found.is_empty() {
        return (Cow::Borrowed(text), 0);
    }
    found.sort_by_key(|range| (range.start, range.end));
    let mut redacted = String::with_capacity(text.len());
    let (mut done, mut count) = (0, 0);
    for range in found {
        if range.start >= done {
            redacted.push_str(&text[done..range.start]);
            redacted.push_str(REDACTED);
            count += 1;
        }
        done = done.max(range.end);
    }
    redacted.push_str(&text[done..]);
    (Cow::Owned(redacted), count)
}

/// Compiles the patterns ahead of time, so that the first redaction need not wait for it.
pub fn prepare() {
    LazyLock::force(&NAMED);
    LazyLock::force(&SCHEME);
    table();
}

/// A name and what separates it from its value: `name=`, `name: `, `"name": `, `--name `, `"--name", `, quotes of JSON in
/// a string with their backslashes.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"(-{0,2})([A-Za-z][\w.-]*)(\\*["'])?(?:([=:])[ \t]*|([ \t]+|[ \t]*,\s*))"#;
    Regex::new(pattern).expect("a fixed expression")
});

/// The scheme of a header's value.
static SCHEME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?i:bearer|basic|digest|token|negotiate|apikey)[ \t]+").expect("a fixed expression")
});

/// Finds values that follow the name of a secret.
fn named_values(text: &str, found: &mut Vec<Range<usize>>) {
    let mut at = 0;
    while let Some(hit) = NAMED.captures_at(text, at) {
        let whole = hit.get(0).map_or(at..text.len(), |hit| hit.range());
        let name = hit.get(2).map_or("", |name| name.as_str());
        let is_option = hit.get(1).is_some_and(|dashes| !dashes.is_empty());
        let assigned = hit.get(4).is_some();
        // The next name may begin inside the separator of this name and value.
        at = hit.get(2).map_or(whole.end, |name| name.end()).max(at + 1);
        if !(assigned || is_option) || !table().is_secret_name(name) {
            continue;
        }
        let is_header = hit.get(4).is_some_and(|sign| sign.as_str() == ":");
        let value = value_at(text, whole.end, is_header);
        let shown = &text[value.clone()];
        let is_other_option = !assigned && shown.starts_with('-');
        if !is_other_option && !table().is_harmless(name, shown) {
            at = value.end.max(at);
            found.push(value);
        }
    }
}

/// The value that starts here: up to its closing quote, or to the end of the word.
fn value_at(text: &str, start: usize, is_header: bool) -> Range<usize> {
    let rest = &text[start..];
    let slashes = rest.len() - rest.trim_start_matches('\\').len();
    let quote = rest[slashes..].chars().next().filter(|c| matches!(c, '"' | '\''));
    if let Some(quote) = quote {
        let closing = format!("{}{quote}", &rest[..slashes]);
        let inside = start + closing.len();
        let end = closing_quote(&text[inside..], &closing).map_or(text.len(), |end| inside + end);
        return inside..end;
    }
    let mut start = start;
    if is_header && let Some(scheme) = SCHEME.find(rest) {
        start += scheme.end();
    }
    let rest = &text[start..];
    if rest.starts_with(REDACTED) {
        return start..start + REDACTED.len();
    }
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | ',' | '&' | '}' | ']' | ')');
    let end = rest.find(ends).unwrap_or(rest.len());
    // Backslashes before a quote belong to the quote.
    let value =
        if rest[end..].starts_with(['"', '\'']) { rest[..end].trim_end_matches('\\') } else { &rest[..end] };
    start..start + value.len()
}

/// Where a quote ends: at the same quote, unless one more backslash precedes it.
fn closing_quote(text: &str, closing: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = text[from..].find(closing) {
        let end = from + found;
        if !text[..end].ends_with('\\') {
            return Some(end);
        }
        from = end + closing.len();
    }
    None
}

/// Values of single programs' options, such as `mysql -pX`.
fn program_values(text: &str, found: &mut Vec<Range<usize>>) {
    let mut words: Vec<Range<usize>> = Vec::new();
    for (at, c) in text.char_indices() {
        match words.last_mut().filter(|word| word.end == at) {
            _ if c.is_whitespace() => {}
            Some(word) => word.end = at + c.len_utf8(),
            None => words.push(at..at + c.len_utf8()),
        }
    }
    for program in &words {
        for one in table().options_of(&text[program.clone()]) {
            for (i, word) in words.iter().enumerate().filter(|(_, word)| word.start > program.start) {
                let shown = &text[word.clone()];
                if one.apart && shown == one.option {
                    found.extend(words.get(i + 1).cloned());
                } else if one.joined && shown.len() > one.option.len() && shown.starts_with(&one.option) {
                    found.push(word.start + one.option.len()..word.end);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_inside_an_address_left_a_password_behind() {
        let once = redact_text("https://user:[secret://user:[inner]@host/path").into_owned();
        assert_eq!(redact_text(&once), once);
        assert!(!once.contains("secret:") && !once.contains("inner"), "{once}");
    }

    #[test]
    fn secrets_go_and_the_rest_stays() {
        let cases = [
            ("serve --api-key abc --port 1", "serve --api-key [redacted] --port 1"),
            ("serve --hf_token=x --max-tokens 10", "serve --hf_token=[redacted] --max-tokens 10"),
            ("curl -H 'Authorization: Bearer abc' u", "curl -H 'Authorization: Bearer [redacted]' u"),
            ("curl -H Authorization: Basic abc= u", "curl -H Authorization: Basic [redacted] u"),
            ("curl -H 'X-Api-Key: abc' u", "curl -H 'X-Api-Key: [redacted]' u"),
            ("mysql -u me -phunter2 db", "mysql -u me -p[redacted] db"),
            ("curl -u me:pw http://h", "curl -u [redacted] http://h"),
            ("x tcp://me:pw@host:1/p", "x tcp://[redacted]@host:1/p"),
            ("HF_TOKEN=abc python a.py", "HF_TOKEN=[redacted] python a.py"),
            ("Server=h;Password=pw;Port=3", "Server=h;Password=[redacted];Port=3"),
            (r#"--config {"api_key": "a b", "n": 1}"#, r#"--config {"api_key": "[redacted]", "n": 1}"#),
            (r#"{\"token\": \"abc\"}"#, r#"{\"token\": \"[redacted]\"}"#),
            (r#"["--api-key", "abc"]"#, r#"["--api-key", "[redacted]"]"#),
            ("http://h/p?token=abc&n=1", "http://h/p?token=[redacted]&n=1"),
            ("--password 'a b' c", "--password '[redacted]' c"),
            ("run sk-123x AKIA1234567890AB", "run [redacted] [redacted]"),
        ];
        for (text, expected) in cases {
            assert_eq!(redact_text(text), expected);
            assert_eq!(redact_text(expected), expected, "nothing is left to do");
        }
    }

    #[test]
    fn words_are_redacted_as_words() {
        let words =
            ["curl", "-H", "Authorization: Bearer a b", "--api-key", "x y", "-u", "me:pw", "--token", "-v"];
        let redacted = redact_words(&words.map(String::from));
        let expected = [
            "curl",
            "-H",
            "Authorization: Bearer [redacted] b",
            "--api-key",
            REDACTED,
            "-u",
            REDACTED,
            "--token",
            "-v",
        ];
        assert_eq!(redacted, expected);
    }
}

//! Values in a shell line: each one stays data, wherever it is in the line.

use super::Piece;
use crate::space::Setting;

/// The quoting at a position in a shell line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    Double,
}

/// The shell call for a line. Values other than plain words are quoted for their position. With nested
/// commands (`$(…)`, backticks, here-documents) the position's quoting is unknown, so the shell gets them as
/// arguments.
pub(super) fn words(line: &[Piece], settings: &[(&str, &Setting)]) -> Vec<String> {
    let has = |sign: &str| line.iter().any(|piece| matches!(piece, Piece::Text(text) if text.contains(sign)));
    let nested = ["$(", "`", "<<"].into_iter().any(has);
    let (mut text, mut arguments) = (String::new(), Vec::new());
    let (mut quote, mut escaped) = (Quote::None, false);
    for piece in line {
        match piece {
            Piece::Text(more) => {
                more.chars().for_each(|c| (quote, escaped) = after(quote, escaped, c));
                text.push_str(more);
            }
            Piece::Parameter(p) => {
                let value = settings[*p].1.to_string();
                escaped = false;
                if is_plain(&value) {
                    text.push_str(&value);
                } else if nested {
                    arguments.push(value);
                    let name = format!("${{{}}}", arguments.len());
                    text.push_str(&match quote {
                        Quote::None => format!("\"{name}\""),
                        Quote::Single => format!("'\"{name}\"'"),
                        Quote::Double => name,
                    });
                } else {
                    text.push_str(&quoted_in(quote, &value));
                }
            }
        }
    }
    let mut words: Vec<String> = ["sh".into(), "-c".into(), text].into();
    if !arguments.is_empty() {
        words.push("sh".into());
        words.extend(arguments);
    }
    words
}

/// The state of a line after one more character.
fn after(quote: Quote, escaped: bool, c: char) -> (Quote, bool) {
    match (quote, c) {
        (Quote::Single, '\'') => (Quote::None, false),
        (Quote::Single, _) => (Quote::Single, false),
        (_, _) if escaped => (quote, false),
        (_, '\\') => (quote, true),
        (Quote::None, '\'') => (Quote::Single, false),
        (Quote::None, '"') => (Quote::Double, false),
        (Quote::Double, '"') => (Quote::None, false),
        _ => (quote, false),
    }
}

fn quoted_in(quote: Quote, value: &str) -> String {
    let inside = value.replace('\'', r"'\''");
    match quote {
        Quote::None => format!("'{inside}'"),
        Quote::Single => inside,
        Quote::Double => {
            let escape = |c: char| if "\\\"$`".contains(c) { format!("\\{c}") } else { c.to_string() };
            value.chars().map(escape).collect()
        }
    }
}

fn is_plain(value: &str) -> bool {
    !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::space::CommandText;
    use crate::template::Template;

    #[test]
    fn g10_a_value_never_becomes_code_wherever_its_place_is_in_quotes() {
        let folder = tempfile::tempdir().unwrap();
        let planted = folder.path().join("planted");
        let attack = format!("touch {}", planted.display());
        let values = [
            "a b".to_string(),
            "it's".to_string(),
            format!("'; {attack}; '"),
            format!("\"; {attack}; \""),
            format!("$({attack})"),
            format!("`{attack}`"),
            format!("\n{attack}\n"),
            format!("\\'; {attack} #"),
            "$HOME \\ \"".to_string(),
        ];
        let lines = [
            "printf %s {X}",
            "printf %s '{X}'",
            "printf %s \"{X}\"",
            "printf %s \"$(printf %s {X})\"",
            "printf %s \"$(printf %s '{X}')\"",
            "printf %s \"$(printf %s \"{X}\")\"",
            "printf %s \"`printf %s '{X}'`\"",
        ];
        for value in &values {
            for line in lines {
                let template = Template::parse("t", &CommandText::Line(line.into()), &["X"], true).unwrap();
                let words = template.words(&[("X", &Setting::Text(value.clone()))]);
                let output = Command::new(&words[0]).args(&words[1..]).output().unwrap();
                assert!(!planted.exists(), "{line} with {value}");
                if !line.contains("$(") && !line.contains('`') {
                    assert_eq!(String::from_utf8_lossy(&output.stdout), *value, "{line}");
                }
            }
        }
    }
}

//! Command templates: split once into words, with `{NAME}` for parameters. No shell by default.

mod shell;

use crate::space::{CommandText, Setting};

/// What is wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// Nothing to run.
    #[error("`{option}` is empty")]
    Empty {
        /// The option it came with.
        option: String,
    },
    /// An unclosed quote.
    #[error("`{option}` has a quote that is never closed: `{text}`")]
    Quote {
        /// The option it came with.
        option: String,
        /// The whole template.
        text: String,
    },
    /// A name that is not a parameter.
    #[error("`{option}` uses `{{{name}}}`, but the space has no such parameter")]
    Unknown {
        /// The option it came with.
        option: String,
        /// The name.
        name: String,
        /// The parameters.
        known: Vec<String>,
    },
    /// An unmatched brace.
    #[error("`{option}` has a single `{brace}` in `{text}`")]
    Brace {
        /// The option it came with.
        option: String,
        /// Which one.
        brace: char,
        /// The word it is in.
        text: String,
    },
}

impl TemplateError {
    /// What to type next.
    pub fn help(&self) -> Option<String> {
        match self {
            TemplateError::Unknown { name, known, .. } => {
                let names: Vec<&str> = known.iter().map(String::as_str).collect();
                Some(match expr::names::nearest(name, &names, 1).first() {
                    Some(near) => format!("did you mean `{{{near}}}`?"),
                    None => format!("choose one of {}; write `{{{{` and `}}}}` for braces", known.join(", ")),
                })
            }
            TemplateError::Brace { .. } => Some("write `{{` and `}}` for literal braces".into()),
            _ => None,
        }
    }
}

/// A command with placeholders for parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    words: Vec<Vec<Piece>>,
    shell: bool,
}

/// Cannot occur in a command.
const MARK: char = '\0';

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Parameter(usize),
}

impl Template {
    /// Splits a command line into words, or keeps it whole for a shell.
    pub fn parse(
        option: &str,
        text: &CommandText,
        names: &[&str],
        shell: bool,
    ) -> Result<Self, TemplateError> {
        let words = match text {
            CommandText::Line(line) if shell => vec![line.clone()],
            CommandText::Line(line) => split(line)
                .ok_or_else(|| TemplateError::Quote { option: option.into(), text: line.clone() })?,
            CommandText::Words(words) => words.clone(),
        };
        if words.iter().all(|word| word.trim().is_empty()) {
            return Err(TemplateError::Empty { option: option.into() });
        }
        let shell = shell && matches!(text, CommandText::Line(_));
        let words = words.iter().map(|word| pieces(option, word, names)).collect::<Result<_, _>>()?;
        Ok(Self { words, shell })
    }

    /// A single word, such as the value of an environment variable.
    pub fn word(option: &str, text: &str, names: &[&str]) -> Result<Self, TemplateError> {
        Ok(Self { words: vec![pieces(option, text, names)?], shell: false })
    }

    /// The words of the command with these settings.
    pub fn words(&self, settings: &[(&str, &Setting)]) -> Vec<String> {
        let fill = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Parameter(p) => settings[*p].1.to_string(),
        };
        match self.words.first().filter(|_| self.shell) {
            Some(line) => shell::words(line, settings),
            None => self.words.iter().map(|word| word.iter().map(fill).collect::<String>()).collect(),
        }
    }

    /// Parameters that it uses.
    pub fn parameters(&self) -> Vec<usize> {
        let pieces = self.words.iter().flatten();
        pieces.filter_map(|piece| if let Piece::Parameter(p) = piece { Some(*p) } else { None }).collect()
    }

    /// The program, if it does not depend on a parameter.
    pub fn program(&self) -> Option<String> {
        self.marked_words().into_iter().next().filter(|word| !word.contains(MARK))
    }

    /// Words without parameters, such as the program and its files; a shell line is split into words.
    pub fn fixed_words(&self) -> Vec<String> {
        self.marked_words().into_iter().filter(|word| !word.contains(MARK)).collect()
    }

    /// Fixed words without the argument of `-o`: it is written, not read.
    pub fn words_read(&self) -> Vec<String> {
        let words = self.marked_words();
        let is_read = |i: &usize| !words[*i].contains(MARK) && (*i == 0 || words[*i - 1] != "-o");
        (0..words.len()).filter(is_read).map(|i| words[i].clone()).collect()
    }

    /// All words, also of a shell line, with a mark for each parameter.
    fn marked_words(&self) -> Vec<String> {
        let mark = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Parameter(_) => MARK.to_string(),
        };
        let words = self.words.iter().map(|word| word.iter().map(mark).collect::<String>());
        if self.shell {
            words.flat_map(|line| split(&line).unwrap_or_default()).collect()
        } else {
            words.collect()
        }
    }
}

/// Splits into words like a shell, with only quotes and backslashes; `None` for an open quote.
pub fn split(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some('"'), '\\') => match characters.next()? {
                escaped @ ('"' | '\\' | '$' | '`') => word.get_or_insert_default().push(escaped),
                other => word.get_or_insert_default().extend(['\\', other]),
            },
            (None, '\\') => word.get_or_insert_default().push(characters.next()?),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

fn pieces(option: &str, word: &str, names: &[&str]) -> Result<Vec<Piece>, TemplateError> {
    let single = |brace| TemplateError::Brace { option: option.into(), brace, text: word.into() };
    let (mut pieces, mut text) = (Vec::new(), String::new());
    let mut rest = word;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let found = &rest[at..];
        if let Some(after) = found.strip_prefix("{{").or_else(|| found.strip_prefix("}}")) {
            text.push_str(&found[..1]);
            rest = after;
            continue;
        }
        let inside = found.strip_prefix('{').ok_or_else(|| single('}'))?;
        let (name, after) = inside.split_once('}').ok_or_else(|| single('{'))?;
        let parameter = names.iter().position(|known| *known == name);
        let parameter = parameter.ok_or_else(|| TemplateError::Unknown {
            option: option.into(),
            name: name.into(),
            known: names.iter().map(|name| name.to_string()).collect(),
        })?;
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        pieces.push(Piece::Parameter(parameter));
        rest = after;
    }
    text.push_str(rest);
    if !text.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["M", "mode"];

    fn words(line: &str, shell: bool) -> Vec<String> {
        let template =
            Template::parse("--cmd-template", &CommandText::Line(line.into()), &NAMES, shell).unwrap();
        template.words(&[("M", &Setting::Int(64)), ("mode", &Setting::Text("a b; rm".into()))])
    }

    #[test]
    fn a_value_never_becomes_two_words() {
        assert_eq!(
            words("./k --m={M} {mode} 'x y' \"q\\\"\" a\\ b", false),
            ["./k", "--m=64", "a b; rm", "x y", "q\"", "a b"]
        );
        assert_eq!(words("./k {{M}} '' {M}{M}", false), ["./k", "{M}", "", "6464"]);
    }

    #[test]
    fn a_shell_is_given_quoted_values() {
        assert_eq!(words("./k {M} {mode} | tail", true), ["sh", "-c", "./k 64 'a b; rm' | tail"]);
    }

    #[test]
    fn mistakes_name_what_is_wrong() {
        let error = |line: &str| {
            let error = Template::parse("--cmd-template", &CommandText::Line(line.into()), &NAMES, false)
                .unwrap_err();
            format!("{error} / {}", error.help().unwrap_or_default())
        };
        insta::assert_snapshot!(
            ["./k {MODE}", "./k {BLOCK}", "./k {M", "./k M}", "./k 'a", "  "].map(error).join("\n")
        );
    }

    #[test]
    fn fixed_words_are_those_without_parameters() {
        let line = CommandText::Line("python k.py --m {M} --n=4".into());
        let template = Template::parse("t", &line, &NAMES, false).unwrap();
        assert_eq!(template.fixed_words(), ["python", "k.py", "--m", "--n=4"]);
        assert_eq!(template.parameters(), [0]);
        assert_eq!(template.program().as_deref(), Some("python"));
        // Also of a shell line with anything in between: the files it names affect results.
        let line = CommandText::Line("./k data.bin --m {M} 'a {mode}' > x{M}".into());
        let template = Template::parse("t", &line, &NAMES, true).unwrap();
        assert_eq!(template.fixed_words(), ["./k", "data.bin", "--m", ">"]);
        let line = CommandText::Line("cc -o k.o -c k.c && cc -o k_{M} k.o main.c".into());
        for shell in [false, true] {
            let template = Template::parse("t", &line, &NAMES, shell).unwrap();
            let read = ["cc", "-o", "-c", "k.c", "&&", "cc", "-o", "k.o", "main.c"];
            assert_eq!(template.words_read(), read);
        }
        let line = CommandText::Line("./k_{M} data.bin".into());
        let template = Template::parse("t", &line, &NAMES, false).unwrap();
        assert_eq!((template.program(), template.fixed_words()), (None, vec!["data.bin".to_string()]));
    }
}

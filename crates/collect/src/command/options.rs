//! rocprofv3's options, and a parser for options that users write for it.

use std::sync::LazyLock;

use super::version::Version;

/// What follows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// Optionally a word such as `yes` or `off`.
    Switch,
    /// One word.
    Value,
    /// Words up to the next option.
    Values,
}

/// An option of rocprofv3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfilerOption {
    /// Long name without dashes.
    pub name: &'static str,
    /// Short name.
    pub letter: Option<char>,
    /// What follows it.
    pub takes: Takes,
    /// First release that has it.
    pub since: Version,
}

/// An option as given: its long name and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Long name without dashes.
    pub name: String,
    /// Its words.
    pub values: Vec<String>,
}

impl Given {
    /// An option without words.
    pub fn switch(name: &str) -> Self {
        Self { name: name.into(), values: Vec::new() }
    }

    /// An option with words.
    pub fn with<S: Into<String>>(name: &str, values: impl IntoIterator<Item = S>) -> Self {
        Self { name: name.into(), values: values.into_iter().map(Into::into).collect() }
    }

    /// As words of a command line.
    pub fn words(&self) -> impl Iterator<Item = String> + '_ {
        // A value that looks like an option is only safe after `=`.
        let attached = self.values.first().filter(|value| value.starts_with('-'));
        let first = match attached {
            Some(value) => format!("--{}={value}", self.name),
            None => format!("--{}", self.name),
        };
        std::iter::once(first).chain(self.values.iter().skip(usize::from(attached.is_some())).cloned())
    }
}

/// What is wrong with the options that a user wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// rocprofv3 has no such option.
    #[error("rocprofv3 has no option `{word}`")]
    Unknown {
        /// As it was written.
        word: String,
        /// The most similar option.
        nearest: Option<String>,
    },
    /// A value is missing.
    #[error("`{word}` needs a value")]
    NoValue {
        /// The option.
        word: String,
    },
    /// A switch was given a word that is neither yes nor no.
    #[error("`{word}` takes yes or no, not `{value}`")]
    NoTruth {
        /// The option.
        word: String,
        /// What was given.
        value: String,
    },
    /// A word that belongs to no option.
    #[error("unexpected word `{word}`")]
    Stray {
        /// The word.
        word: String,
    },
}

/// All options, by name.
pub fn known() -> &'static [ProfilerOption] {
    static TABLE: LazyLock<Vec<ProfilerOption>> = LazyLock::new(|| {
        include_str!("options.tsv").lines().filter(|line| !line.starts_with('#')).filter_map(row).collect()
    });
    &TABLE
}

fn row(line: &'static str) -> Option<ProfilerOption> {
    let mut fields = line.split('\t');
    let (name, letter, kind, since) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let takes = match kind {
        "flag" => Takes::Nothing,
        "switch" => Takes::Switch,
        "value" => Takes::Value,
        _ => Takes::Values,
    };
    let since = if since == "dev" { Version::DEVELOPMENT } else { Version::parse(since)? };
    Some(ProfilerOption { name, letter: letter.chars().next(), takes, since })
}

/// The option with this long name.
pub fn find(name: &str) -> Option<&'static ProfilerOption> {
    known().iter().find(|option| option.name == name)
}

const YES: &[&str] = &["y", "yes", "t", "true", "on", "1"];
const NO: &[&str] = &["n", "no", "f", "false", "off", "0"];

/// Whether a word means no.
pub fn is_no(word: &str) -> bool {
    NO.contains(&word.to_ascii_lowercase().as_str())
}

fn is_truth(word: &str) -> bool {
    is_no(word) || YES.contains(&word.to_ascii_lowercase().as_str())
}

/// Reads the words before `--`.
pub fn parse(words: &[String]) -> Result<Vec<Given>, OptionError> {
    let mut given = Vec::new();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let (option, attached) = named(word)?;
        let mut values: Vec<String> = attached.into_iter().collect();
        let next_is_word = |next: &&String| !next.starts_with('-') || next.parse::<f64>().is_ok();
        match option.takes {
            Takes::Nothing if values.is_empty() => {}
            Takes::Nothing => return Err(OptionError::Stray { word: word.clone() }),
            Takes::Switch => {
                if values.is_empty() {
                    values.extend(rest.next_if(|next| next_is_word(next)).cloned());
                }
                if let Some(value) = values.first().filter(|value| !is_truth(value)) {
                    return Err(OptionError::NoTruth { word: word.clone(), value: value.clone() });
                }
            }
            Takes::Value if values.is_empty() => match rest.next() {
                Some(value) => values.push(value.clone()),
                None => return Err(OptionError::NoValue { word: word.clone() }),
            },
            Takes::Value => {}
            Takes::Values => {
                while let Some(value) = rest.next_if(|next| next_is_word(next)) {
                    values.push(value.clone());
                }
                if values.is_empty() {
                    return Err(OptionError::NoValue { word: word.clone() });
                }
            }
        }
        given.push(Given { name: option.name.into(), values });
    }
    Ok(given)
}

/// The option that a word names, and the value attached to it.
fn named(word: &str) -> Result<(&'static ProfilerOption, Option<String>), OptionError> {
    let unknown = |name: &str| OptionError::Unknown { word: word.into(), nearest: nearest(name) };
    if let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) {
        let (name, value) =
            long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value.to_string())));
        return find(name).map(|option| (option, value)).ok_or_else(|| unknown(name));
    }
    let Some(short) = word.strip_prefix('-').filter(|short| !short.is_empty()) else {
        return Err(OptionError::Stray { word: word.into() });
    };
    let letter = short.chars().next();
    let option = known().iter().find(|option| option.letter == letter).ok_or_else(|| unknown(short))?;
    let attached = letter.map(|letter| &short[letter.len_utf8()..]).unwrap_or_default();
    let attached = attached.strip_prefix('=').unwrap_or(attached);
    Ok((option, (!attached.is_empty()).then(|| attached.to_string())))
}

/// The option with the most similar name, if there is one.
fn nearest(name: &str) -> Option<String> {
    let names = known().iter().map(|option| option.name);
    expr::names::closest(name, names, name.len() / 3).map(|near| format!("--{near}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(String::from).collect()
    }

    #[test]
    fn the_table_is_whole() {
        assert!(known().len() > 90);
        for option in known() {
            assert_eq!(known().iter().filter(|other| other.name == option.name).count(), 1);
        }
        assert_eq!(find("pmc").unwrap().since, Version::new(6, 3));
        assert_eq!(find("stats").unwrap().takes, Takes::Switch);
    }

    #[test]
    fn options_are_read_as_the_launcher_reads_them() {
        let given = parse(&words(
            "--hip-trace --kernel-trace=no --output-format csv json -d ./x --pmc SQ_WAVES -o=name",
        ))
        .unwrap();
        let expected = [
            Given::switch("hip-trace"),
            Given::with("kernel-trace", ["no"]),
            Given::with("output-format", ["csv", "json"]),
            Given::with("output-directory", ["./x"]),
            Given::with("pmc", ["SQ_WAVES"]),
            Given::with("output-file", ["name"]),
        ];
        assert_eq!(given, expected);
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |text: &str| parse(&words(text)).unwrap_err();
        assert_eq!(
            wrong("--kernel-trace ./app"),
            OptionError::NoTruth { word: "--kernel-trace".into(), value: "./app".into() }
        );
        assert_eq!(
            wrong("--perfetto-trace-filename x").to_string(),
            "rocprofv3 has no option `--perfetto-trace-filename`"
        );
        let OptionError::Unknown { nearest, .. } = wrong("--kernel-traces") else { panic!() };
        assert_eq!(nearest.as_deref(), Some("--kernel-trace"));
        assert_eq!(wrong("--pmc"), OptionError::NoValue { word: "--pmc".into() });
        assert_eq!(wrong("./app"), OptionError::Stray { word: "./app".into() });
    }
}

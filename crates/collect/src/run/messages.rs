//! The profiler's error messages, and what they mean.

use std::sync::LazyLock;

use serde::Deserialize;

/// How much a message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Data may be missing.
    Warning,
    /// It explains a failure.
    Error,
    /// The disk is full.
    Full,
}

/// A known message.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownMessage {
    contains: String,
    level: Level,
    means: String,
    #[serde(default)]
    help: Option<String>,
}

#[derive(Default, Deserialize)]
struct File {
    noise: Vec<String>,
    message: Vec<KnownMessage>,
}

fn table() -> &'static File {
    static TABLE: LazyLock<File> =
        LazyLock::new(|| formats::tables::built_in(include_str!("messages.toml")).unwrap_or_default());
    &TABLE
}

fn known() -> &'static [KnownMessage] {
    &table().message
}

/// Whether a line is irrelevant to a user.
pub fn is_noise(line: &str) -> bool {
    table().noise.iter().any(|part| line.contains(part.as_str()))
}

/// A message of a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// How much it matters.
    pub level: Level,
    /// For the user: what it means, and the message itself.
    pub text: String,
    /// What to do.
    pub help: Option<String>,
}

/// Longest part of a line that is shown.
const SHOWN: usize = 300;

/// The meaning of a line, if it is known.
pub fn understand(line: &str) -> Option<Message> {
    let found = known().iter().find(|known| line.contains(&known.contains))?;
    let said: String = bare(line).chars().take(SHOWN).collect();
    let text = if found.means.is_empty() { said } else { format!("{}: `{said}`", found.means) };
    Some(Message { level: found.level, text, help: found.help.clone() })
}

/// A line without the time and place that loggers prepend.
fn bare(line: &str) -> &str {
    let line = line.trim();
    let logged =
        line.starts_with(['E', 'W', 'I', 'F']) && line.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    let text = if logged { line.split_once("] ").map_or(line, |(_, text)| text) } else { line };
    let text = text.strip_prefix("[rocprofv3] ").unwrap_or(text);
    text.strip_prefix("Fatal error: ").unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_understood() {
        assert_eq!(known().len(), 20);
        assert!(is_noise("E20250616 14:24:55.97 1 x.cpp:1] Opened result file: /x/1_results.db"));
        let of = |line: &str| understand(line).map(|message| (message.level, message.text));
        assert_eq!(of("E20250616 14:24:55.97 1 x.cpp:1] Opened result file: /x/1_results.db"), None);
        assert_eq!(
            of("[rocprofv3] Fatal error: No application provided"),
            Some((Level::Error, "it got no application: `No application provided`".into()))
        );
        let line = "W20250616 14:24:55.973751 77 tool.cpp:10] Unable to find all counters for agent 2 (gpu-0, gfx942)";
        let (level, text) = of(line).unwrap();
        assert_eq!(level, Level::Warning);
        assert!(text.ends_with(": `Unable to find all counters for agent 2 (gpu-0, gfx942)`"), "{text}");
        assert_eq!(of("Fatal error: it broke"), Some((Level::Error, "it broke".into())));
        assert_eq!(bare("éa"), "éa");
    }
}

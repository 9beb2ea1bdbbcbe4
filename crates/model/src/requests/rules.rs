//! The table `rules/requests.toml`.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

/// The kind of server that a span comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Encodes images and sound.
    Encode,
    /// Reads prompts.
    Prefill,
    /// Generates tokens.
    Decode,
}

impl Role {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Role::Encode => "encode",
            Role::Prefill => "prefill",
            Role::Decode => "decode",
        }
    }
}

/// Which kind of time a stage counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeClass {
    /// GPU time while the GPU works, host time otherwise.
    Forward,
    /// The KV cache is on its way.
    Transfer,
    /// The request waits for its turn.
    Queue,
    /// The host works.
    Host,
}

/// Which tokens a stage emits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Token {
    /// The first token, at its end.
    First,
    /// One token, at its end.
    Each,
}

/// A stage of a request.
#[derive(Debug)]
pub struct Stage {
    name: Regex,
    /// The server that runs it.
    pub role: Role,
    /// What its time counts as.
    pub part: TimeClass,
    /// Which tokens it emits.
    pub token: Option<Token>,
}

/// A call that moves a KV cache.
pub(super) struct Call {
    name: Regex,
    pub role: Role,
}

/// The whole table.
pub(super) struct Rules {
    pub id_keys: Vec<String>,
    id_in_name: Regex,
    writers: Vec<Writer>,
    pub stages: Vec<Stage>,
    pub calls: Vec<Call>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    id_keys: Vec<String>,
    id_in_name: String,
    writer: Vec<Writer>,
    stage: Vec<StageText>,
    call: Vec<CallText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Writer {
    category: String,
    shortened_ns: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(test), allow(dead_code))]
struct StageText {
    name: String,
    framework: String,
    role: Role,
    part: TimeClass,
    token: Option<Token>,
    examples: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(test), allow(dead_code))]
struct CallText {
    name: String,
    framework: String,
    role: Role,
    examples: Vec<String>,
}

fn read() -> Result<File, String> {
    formats::tables::built_in(include_str!("../../rules/requests.toml"))
}

/// The table, read once.
pub(super) fn rules() -> &'static Rules {
    static RULES: LazyLock<Rules> = LazyLock::new(|| {
        let regex = |text: &str| Regex::new(text).expect("the table is checked by a test");
        let file = read().expect("the table is checked by a test");
        let stage = |stage: &StageText| Stage {
            name: regex(&stage.name),
            role: stage.role,
            part: stage.part,
            token: stage.token,
        };
        Rules {
            id_keys: file.id_keys,
            id_in_name: regex(&file.id_in_name),
            writers: file.writer,
            stages: file.stage.iter().map(stage).collect(),
            calls: file.call.iter().map(|call| Call { name: regex(&call.name), role: call.role }).collect(),
        }
    });
    &RULES
}

impl Rules {
    /// The stage that a name matches.
    pub fn stage_of(&self, name: &str) -> Option<u16> {
        self.stages.iter().position(|stage| stage.name.is_match(name)).map(|stage| stage as u16)
    }

    /// The call that a name matches.
    pub fn call_of(&self, name: &str) -> Option<u16> {
        self.calls.iter().position(|call| call.name.is_match(name)).map(|call| call as u16)
    }

    /// The request id in a name.
    pub fn id_in<'n>(&self, name: &'n str) -> Option<&'n str> {
        self.id_in_name.captures(name)?.name("id").map(|id| id.as_str())
    }

    /// What the writer of a category takes off the end of each span.
    pub fn shortened_ns(&self, category: &str) -> i64 {
        self.writers.iter().find(|writer| writer.category == category).map_or(0, |writer| writer.shortened_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_means_its_examples() {
        let (file, rules) = (read().unwrap(), rules());
        for (place, stage) in file.stage.iter().enumerate() {
            assert!(!stage.examples.is_empty() && !stage.framework.is_empty());
            for example in &stage.examples {
                assert_eq!(rules.stage_of(example), Some(place as u16), "{example}");
            }
        }
        for (place, call) in file.call.iter().enumerate() {
            assert!(!call.examples.is_empty() && !call.framework.is_empty());
            for example in &call.examples {
                assert_eq!(rules.call_of(example), Some(place as u16), "{example}");
            }
        }
    }

    #[test]
    fn ids_are_found_in_names() {
        let rules = rules();
        assert_eq!(rules.id_in("prefill_forward[rid=7f3a]"), Some("7f3a"));
        assert_eq!(rules.id_in("kv_transfer req_id=12"), Some("12"));
        assert_eq!(rules.id_in("kv_transfer request_id: \"cmpl-9-0\""), Some("cmpl-9-0"));
        assert_eq!(rules.id_in("grid=4"), None);
        assert_eq!(rules.stage_of("aten::mm"), None);
        assert_eq!(rules.stage_of("/srt/managers/scheduler.py(12): prefill_forward"), None);
    }
}

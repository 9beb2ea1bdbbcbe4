//! The table of tools: their arguments, as a schema for clients and to check what they send.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use rmcp::model::{Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::refusal::Refusal;

/// All tools, in the order that clients see.
pub static TOOLS: LazyLock<Tools> = LazyLock::new(|| {
    let table: Table = toml::from_str(include_str!("../tables/tools.toml")).unwrap_or_default();
    Tools::of(table)
});

#[derive(Default, Deserialize)]
struct Table {
    groups: BTreeMap<String, Vec<String>>,
    argument: BTreeMap<String, Argument>,
    tool: Vec<ToolRow>,
}

#[derive(Clone, Deserialize)]
struct Argument {
    #[serde(rename = "type")]
    kind: ArgumentKind,
    about: String,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum ArgumentKind {
    Text,
    Texts,
    Number,
    Whole,
    Flag,
}

impl ArgumentKind {
    fn schema(self) -> Json {
        match self {
            ArgumentKind::Text => json!({ "type": "string" }),
            ArgumentKind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            ArgumentKind::Number => json!({ "type": "number" }),
            ArgumentKind::Whole => json!({ "type": "integer", "minimum": 0 }),
            ArgumentKind::Flag => json!({ "type": "boolean" }),
        }
    }

    fn fits(self, value: &Json) -> bool {
        match self {
            ArgumentKind::Text => value.is_string(),
            // A text counts as a list of one: models often leave the brackets out.
            ArgumentKind::Texts => {
                value.is_string() || value.as_array().is_some_and(|list| list.iter().all(Json::is_string))
            }
            ArgumentKind::Number => value.is_number(),
            ArgumentKind::Whole => value.is_u64(),
            ArgumentKind::Flag => value.is_boolean(),
        }
    }

    fn expected(self) -> &'static str {
        match self {
            ArgumentKind::Text => "a text",
            ArgumentKind::Texts => "a list of texts",
            ArgumentKind::Number => "a number",
            ArgumentKind::Whole => "a whole number from 0 on",
            ArgumentKind::Flag => "true or false",
        }
    }
}

#[derive(Deserialize)]
struct ToolRow {
    name: String,
    about: String,
    arguments: Vec<String>,
    #[serde(default)]
    next: Vec<(String, String)>,
    #[serde(default)]
    writes: bool,
}

/// Arguments that choose which part of an answer is shown, not what is computed.
const PRESENTATION: [&str; 2] = ["limit", "table"];

/// One tool.
pub struct ToolInfo {
    /// Its name.
    pub name: String,
    about: String,
    /// (name, what it is, whether it is required)
    arguments: Vec<(String, Argument, bool)>,
    /// (tool, what it adds)
    pub next: Vec<(String, String)>,
    writes: bool,
}

/// All tools.
pub struct Tools(Vec<ToolInfo>);

impl Tools {
    fn of(table: Table) -> Self {
        let tool = |row: ToolRow| {
            let names = row.arguments.iter().flat_map(|name| match table.groups.get(name) {
                Some(group) => group.clone(),
                None => vec![name.clone()],
            });
            let arguments = names.filter_map(|name| {
                let (bare, required) = match name.strip_suffix('!') {
                    Some(bare) => (bare.to_string(), true),
                    None => (name.clone(), false),
                };
                Some((bare.clone(), table.argument.get(&bare)?.clone(), required))
            });
            let arguments = arguments.collect();
            ToolInfo { name: row.name, about: row.about, arguments, next: row.next, writes: row.writes }
        };
        Self(table.tool.into_iter().map(tool).collect())
    }

    /// In order.
    pub fn iter(&self) -> impl Iterator<Item = &ToolInfo> {
        self.0.iter()
    }

    /// The tool with this name.
    pub fn find(&self, name: &str) -> Option<&ToolInfo> {
        self.0.iter().find(|tool| tool.name == name)
    }
}

impl ToolInfo {
    /// As the protocol lists it.
    pub fn listed(&self) -> Tool {
        let mut properties = Map::new();
        for (name, argument, _) in &self.arguments {
            let mut schema = argument.kind.schema();
            schema["description"] = json!(argument.about);
            properties.insert(name.clone(), schema);
        }
        let required: Vec<&String> =
            self.arguments.iter().filter(|argument| argument.2).map(|argument| &argument.0).collect();
        let mut schema = Map::new();
        schema.insert("type".into(), json!("object"));
        schema.insert("properties".into(), Json::Object(properties));
        schema.insert("required".into(), json!(required));
        schema.insert("additionalProperties".into(), json!(false));
        let hints = ToolAnnotations::new().read_only(!self.writes).destructive(false).open_world(false);
        Tool::new(self.name.clone(), self.about.clone(), Arc::new(schema)).with_annotations(hints)
    }

    /// Checks what a client sent.
    pub fn check(&self, given: Map<String, Json>) -> Result<Arguments, Refusal> {
        let mut values = BTreeMap::new();
        for (name, value) in given {
            let Some((_, argument, _)) = self.arguments.iter().find(|known| known.0 == name) else {
                let known: Vec<&str> = self.arguments.iter().map(|known| known.0.as_str()).collect();
                return Err(Refusal::new(format!("`{}` has no argument `{name}`", self.name))
                    .with_help(format!("its arguments are {}", known.join(", "))));
            };
            if value.is_null() {
                continue;
            }
            if !argument.kind.fits(&value) {
                let expected = argument.kind.expected();
                return Err(Refusal::new(format!("`{name}` is {value}, and {expected} is expected"))
                    .with_help(argument.about.clone()));
            }
            values.insert(name, value);
        }
        if let Some((name, argument, _)) =
            self.arguments.iter().find(|known| known.2 && !values.contains_key(&known.0))
        {
            return Err(Refusal::new(format!("`{}` needs the argument `{name}`", self.name))
                .with_help(argument.about.clone()));
        }
        Ok(Arguments(values))
    }
}

/// What a client sent, checked against the table.
#[derive(Clone, Debug, Default)]
pub struct Arguments(BTreeMap<String, Json>);

impl Arguments {
    /// Only a trace.
    pub fn of_trace(id: &str) -> Self {
        Self([("trace".to_string(), json!(id))].into())
    }

    /// A text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// A list of texts; empty if it is absent.
    pub fn texts(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(Json::String(one)) => vec![one.clone()],
            Some(Json::Array(list)) => list.iter().filter_map(|one| Some(one.as_str()?.into())).collect(),
            _ => Vec::new(),
        }
    }

    /// A number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name)?.as_f64()
    }

    /// A whole number.
    pub fn whole(&self, name: &str) -> Option<usize> {
        self.0.get(name)?.as_u64().and_then(|number| usize::try_from(number).ok())
    }

    /// Whether a flag is set.
    pub fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Json::as_bool).unwrap_or(false)
    }

    /// What the answer depends on, as a text that is equal for equal questions.
    pub fn question(&self) -> String {
        let asked = self.0.iter().filter(|(name, _)| !PRESENTATION.contains(&name.as_str()));
        serde_json::to_string(&asked.collect::<BTreeMap<_, _>>()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_and_every_name_in_it_is_known() {
        let table: Table = toml::from_str(include_str!("../tables/tools.toml")).expect("the table reads");
        let named: Vec<&str> = table.tool.iter().map(|tool| tool.name.as_str()).collect();
        for tool in &table.tool {
            for name in &tool.arguments {
                let bare = name.trim_end_matches('!');
                assert!(
                    table.argument.contains_key(bare) || table.groups.contains_key(bare),
                    "{}: {name}",
                    tool.name
                );
            }
            for (next, _) in &tool.next {
                assert!(named.contains(&next.as_str()), "{}: {next}", tool.name);
            }
        }
        for name in table.groups.values().flatten() {
            assert!(table.argument.contains_key(name), "{name}");
        }
    }

    #[test]
    fn what_a_client_sends_is_checked_by_the_table() {
        let tool = TOOLS.find("explain").expect("a tool");
        let check = |given: Json| tool.check(given.as_object().cloned().unwrap_or_default());
        let message = |given: Json| check(given).unwrap_err().to_string();
        assert!(message(json!({})).contains("needs the argument `trace`"));
        assert!(message(json!({ "trace": "t1", "kernal": "x" })).contains("no argument `kernal`"));
        assert!(message(json!({ "trace": 1 })).contains("a text is expected"));
        assert!(message(json!({ "trace": "t1", "limit": -1 })).contains("whole number"));
        let question = |given: Json| check(given).unwrap().question();
        let asked = question(json!({ "rank": 1, "trace": "t1", "limit": 3 }));
        assert_eq!(asked, question(json!({ "trace": "t1", "rank": 1, "table": "rules" })));
        let one = check(json!({ "trace": "t1", "rules": "idle-gpu" })).unwrap();
        assert_eq!(one.texts("rules"), ["idle-gpu"]);
    }
}

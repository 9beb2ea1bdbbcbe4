//! YAML as JSON values: the first document of a file, aliases resolved.

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use serde_json::{Map, Value};

/// Nesting limit: no counter file has more.
const DEEPEST: usize = 64;

/// Limit of values after expanding aliases, so that a small file cannot fill the memory.
const MOST_VALUES: usize = 1_000_000;

/// Why a text is not valid YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct YamlError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub why: String,
}

/// A list or object under construction.
enum Open {
    List(Vec<Value>),
    /// The key that waits for its value; the inner option is `None` for keys that are not text.
    Object(Map<String, Value>, Option<Option<String>>),
}

/// The first document; null if there is none.
pub(super) fn parse(text: &str) -> Result<Value, YamlError> {
    let mut loader = Loader::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event
            .map_err(|error| YamlError { line: error.marker().line(), why: error.info().to_string() })?;
        loader.take(event, &span.start)?;
    }
    Ok(loader.documents.into_iter().next().unwrap_or(Value::Null))
}

#[derive(Default)]
struct Loader {
    open: Vec<(Open, usize)>,
    anchors: HashMap<usize, Value>,
    values: usize,
    documents: Vec<Value>,
}

impl Loader {
    fn take(&mut self, event: Event<'_>, at: &Marker) -> Result<(), YamlError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let text_asked = tag.is_some_and(|tag: std::borrow::Cow<'_, Tag>| tag.suffix == "str");
                let plain = style == ScalarStyle::Plain && !text_asked;
                let value = if plain { scalar(&text) } else { Value::from(text.as_ref()) };
                self.put(value, anchor, at)
            }
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned().unwrap_or(Value::Null);
                self.values += size(&value);
                self.put(value, 0, at)
            }
            Event::SequenceStart(anchor, _) => self.enter(Open::List(Vec::new()), anchor, at),
            Event::MappingStart(anchor, _) => self.enter(Open::Object(Map::new(), None), anchor, at),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some((Open::List(list), anchor)) => self.put(Value::Array(list), anchor, at),
                Some((Open::Object(object, _), anchor)) => self.put(Value::Object(object), anchor, at),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn enter(&mut self, open: Open, anchor: usize, at: &Marker) -> Result<(), YamlError> {
        if self.open.len() >= DEEPEST {
            return Err(error(at, format!("more than {DEEPEST} nested levels")));
        }
        self.open.push((open, anchor));
        Ok(())
    }

    fn put(&mut self, value: Value, anchor: usize, at: &Marker) -> Result<(), YamlError> {
        self.values += 1;
        if self.values > MOST_VALUES {
            return Err(error(at, format!("more than {MOST_VALUES} values")));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        match self.open.last_mut() {
            None => self.documents.push(value),
            Some((Open::List(list), _)) => list.push(value),
            Some((Open::Object(object, waiting), _)) => match waiting.take() {
                None => *waiting = Some(value.as_str().map(str::to_string)),
                Some(None) => {}
                Some(Some(key)) => {
                    if object.contains_key(&key) {
                        return Err(error(at, format!("`{key}` occurs twice")));
                    }
                    object.insert(key, value);
                }
            },
        }
        Ok(())
    }
}

fn error(at: &Marker, why: String) -> YamlError {
    YamlError { line: at.line(), why }
}

/// The number of values in a value.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(list) => list.iter().map(size).sum::<usize>() + 1,
        Value::Object(object) => object.values().map(size).sum::<usize>() + 1,
        _ => 1,
    }
}

/// The value of an unquoted word (core schema); numbers with a fraction stay text, as written.
fn scalar(text: &str) -> Value {
    let whole = match text.as_bytes() {
        [b'0', b'x', ..] => i64::from_str_radix(&text[2..], 16).ok(),
        [b'0', b'o', ..] => i64::from_str_radix(&text[2..], 8).ok(),
        _ => text.parse().ok(),
    };
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::from(true),
        "false" | "False" | "FALSE" => Value::from(false),
        _ => whole.map_or_else(|| Value::from(text), Value::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn yaml_becomes_json() {
        let text = "---\na: &x [1, 0x10, 2.5, ~, 'true', true]\nb: *x\nc: {d: >-\n  two\n  lines}\n3: gone\n";
        let list = json!([1, 16, "2.5", null, "true", true]);
        let found = parse(&text.replace(" >-\n  two\n  lines", " two words")).unwrap();
        assert_eq!(found, json!({ "a": list, "b": list, "c": { "d": "two words" } }));
        assert_eq!(parse("- !!str 5\n- 5\n").unwrap(), json!(["5", 5]));
        assert_eq!(parse("").unwrap(), Value::Null);
    }

    #[test]
    fn mistakes_and_bombs_are_refused() {
        assert_eq!(parse("a: [\n").unwrap_err().line, 2);
        assert!(parse("a: 1\na: 2\n").unwrap_err().why.contains("twice"));
        assert!(parse(&"- ".repeat(10_000)).is_err());
        let mut bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_string();
        for level in 1..20 {
            let alias = format!("*a{}", level - 1);
            bomb += &format!("a{level}: &a{level} [{}]\n", vec![alias; 10].join(", "));
        }
        assert!(parse(&bomb).unwrap_err().why.contains("values"));
    }
}

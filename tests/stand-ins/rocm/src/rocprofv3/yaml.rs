//! The YAML subset that job files use: nested maps and lists by indentation, flow lists, plain scalars.

use serde_json::{Map, Value};

/// Parses a document.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let lines: Vec<Line> = text.lines().enumerate().filter_map(|(n, line)| Line::read(n + 1, line)).collect();
    let mut parser = Parser { lines, at: 0 };
    parser.block(0)
}

struct Line {
    number: usize,
    indent: usize,
    text: String,
}

impl Line {
    fn read(number: usize, line: &str) -> Option<Self> {
        let plain = match line.find(" #") {
            Some(at) => &line[..at],
            None if line.trim_start().starts_with('#') => "",
            None => line,
        };
        let text = plain.trim();
        let keep = !text.is_empty() && text != "---";
        keep.then(|| Self { number, indent: plain.len() - plain.trim_start().len(), text: text.into() })
    }
}

struct Parser {
    lines: Vec<Line>,
    at: usize,
}

impl Parser {
    fn block(&mut self, indent: usize) -> Result<Value, String> {
        let Some(line) = self.lines.get(self.at).filter(|line| line.indent >= indent) else {
            return Ok(Value::Null);
        };
        let indent = line.indent;
        if line.text.starts_with("- ") || line.text == "-" { self.list(indent) } else { self.map(indent) }
    }

    fn list(&mut self, indent: usize) -> Result<Value, String> {
        let mut items = Vec::new();
        while let Some(line) =
            self.lines.get_mut(self.at).filter(|l| l.indent == indent && l.text.starts_with('-'))
        {
            let rest = line.text[1..].trim_start().to_string();
            if rest.is_empty() {
                self.at += 1;
                items.push(self.block(indent + 1)?);
            } else if rest.contains(": ") || rest.ends_with(':') {
                // The item is a map whose first key is on this line.
                line.indent = indent + (line.text.len() - rest.len());
                line.text = rest;
                let indent = line.indent;
                items.push(self.map(indent)?);
            } else {
                self.at += 1;
                items.push(scalar(&rest));
            }
        }
        Ok(Value::Array(items))
    }

    fn map(&mut self, indent: usize) -> Result<Value, String> {
        let mut map = Map::new();
        while let Some(line) =
            self.lines.get(self.at).filter(|line| line.indent == indent && !line.text.starts_with("- "))
        {
            let Some((key, rest)) = line.text.split_once(':') else {
                return Err(format!("line {}: expected `key: value`", line.number));
            };
            let (key, rest) = (key.trim().trim_matches('"').to_string(), rest.trim().to_string());
            self.at += 1;
            let value = if rest.is_empty() {
                // A list may be at the key's own indentation.
                let list =
                    self.lines.get(self.at).is_some_and(|l| l.indent == indent && l.text.starts_with('-'));
                self.block(if list { indent } else { indent + 1 })?
            } else {
                scalar(&rest)
            };
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

fn scalar(text: &str) -> Value {
    if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        return inner.split(',').map(str::trim).filter(|t| !t.is_empty()).map(scalar).collect();
    }
    match text {
        "true" | "True" | "yes" | "on" => Value::Bool(true),
        "false" | "False" | "no" | "off" => Value::Bool(false),
        "null" | "~" => Value::Null,
        _ => match text.parse::<i64>() {
            Ok(number) => number.into(),
            Err(_) => Value::String(text.trim_matches(['"', '\'']).into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_files_are_read() {
        let text = "jobs:\n  - pmc: [\"SQ_WAVES\", GRBM_COUNT]\n    kernel_trace: true\n  - pmc:\n      - A\n      - B\n    minimum_output_data: 3\n";
        let expected = serde_json::json!({"jobs": [
            {"pmc": ["SQ_WAVES", "GRBM_COUNT"], "kernel_trace": true},
            {"pmc": ["A", "B"], "minimum_output_data": 3},
        ]});
        assert_eq!(parse(text).unwrap(), expected);
        assert!(parse("jobs:\n  nonsense\n").is_err());
    }
}

//! Omniprobe: one object per dispatch, one after another.
//!
//! The writer escapes nothing (source text and kernel names contain quotes and backslashes), starts every
//! later dispatch with a comma and may never close the list. So the text is first read unchanged; if that
//! fails, its lines (`"key": "text",`, one per line) are escaped.

use serde_json::Value;
use trace::{AccessEffect, CodeFacts, SourceAccess, Status};

/// Reads all objects that can be read.
pub(super) fn read(text: &str, facts: &mut CodeFacts) -> Result<(), String> {
    let (mut objects, mut lost) = objects(text);
    if lost > 0 {
        let escaped = escape(text);
        let (more, still_lost) = self::objects(&escaped);
        if more.len() > objects.len() {
            (objects, lost) = (more, still_lost);
        }
    }
    if objects.is_empty() {
        return Err("none of its dispatches can be read".into());
    }
    for object in &objects {
        let lines = object.pointer("/metadata/gpu_info/cache_line_size").and_then(Value::as_u64);
        facts.cache_line_bytes = facts.cache_line_bytes.or(lines.filter(|&bytes| bytes > 0));
        match object.get("kernel_analyses").and_then(Value::as_array) {
            Some(analyses) => analyses.iter().for_each(|analysis| dispatch(analysis, facts)),
            None => dispatch(object.get("kernel_analysis").unwrap_or(object), facts),
        }
    }
    if lost > 0 {
        let message = format!("{lost} of {} dispatches could not be read", objects.len() + lost);
        facts.health.report("damaged_rows", Status::Warn, Some(lost as f64), message);
    }
    Ok(())
}

fn dispatch(analysis: &Value, facts: &mut CodeFacts) {
    let text =
        |value: &Value, place: &str| value.pointer(place).and_then(Value::as_str).unwrap_or("").to_string();
    let kernel = text(analysis, "/kernel_info/name");
    // Dispatches are numbered from 1; 0 means that the tool does not know.
    let dispatch = analysis.pointer("/kernel_info/dispatch_id").and_then(Value::as_i64).filter(|&id| id > 0);
    for (section, is_cache) in [("/cache_analysis/accesses", true), ("/bank_conflicts/accesses", false)] {
        let accesses = analysis.pointer(section).and_then(Value::as_array);
        for access in accesses.into_iter().flatten() {
            let number = |place: &str| access.pointer(place).and_then(Value::as_u64);
            let effect = if is_cache {
                let needed = number("/access_info/cache_lines/needed");
                needed
                    .zip(number("/access_info/cache_lines/used"))
                    .map(|(needed, used)| AccessEffect::CacheLines { needed, used })
            } else {
                number("/access_info/total_conflicts").map(AccessEffect::BankConflicts)
            };
            let Some(effect) = effect else { continue };
            let file = text(access, "/source_location/file");
            let source =
                number("/source_location/line").map_or(file.clone(), |line| format!("{file}:{line}"));
            facts.accesses.push(SourceAccess {
                kernel: kernel.clone(),
                dispatch,
                source,
                column: number("/source_location/column"),
                code: text(access, "/code_context"),
                kind: text(access, "/access_info/type"),
                executions: number("/access_info/execution_count").unwrap_or(0),
                bytes: number("/access_info/ir_bytes"),
                instruction: text(access, "/access_info/isa_instruction"),
                effect,
            });
        }
    }
}

/// The objects of a list that may lack its brackets, and how many are not JSON.
fn objects(text: &str) -> (Vec<Value>, usize) {
    let (mut found, mut lost) = (Vec::new(), 0);
    let mut rest = text.trim_start_matches(|c: char| c.is_whitespace() || c == '[' || c == ',');
    while rest.starts_with('{') {
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match stream.next() {
            Some(Ok(object)) => {
                found.push(object);
                rest = &rest[stream.byte_offset()..];
            }
            _ => {
                lost += 1;
                // The next dispatch starts at the beginning of a line.
                let Some(next) = rest[1..].find("\n{") else { break };
                rest = &rest[1 + next..];
            }
        }
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
    }
    (found, lost)
}

/// Escapes the text of every line `"key": "text",`.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 16);
    for line in text.lines() {
        let value = line.find("\": \"").map(|at| at + 4);
        let end = line.trim_end().strip_suffix(',').unwrap_or(line.trim_end());
        match value.filter(|&value| end.len() > value && end.ends_with('"')) {
            Some(value) => {
                escaped.push_str(&line[..value]);
                for letter in line[value..end.len() - 1].chars() {
                    match letter {
                        '"' | '\\' => escaped.extend(['\\', letter]),
                        control if control.is_control() => escaped.push(' '),
                        other => escaped.push(other),
                    }
                }
                escaped.push_str(&line[end.len() - 1..]);
            }
            None => escaped.push_str(line),
        }
        escaped.push('\n');
    }
    escaped
}

//! Parsers of text: expressions, gates, spaces, templates, SQL, and the redactor.

use std::cell::RefCell;

use formats::secrets::{redact_json, redact_text, redact_words};
use ingest::torch::{Parts, read_text};
use ingest::{Format, Input, Progress};
use query::Session;
use trace::Needs;
use tune::space::{CommandText, Expression, Scalar, Setting, Space};
use tune::template::Template;

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// An expression comes to the same twice, and means the same when it was printed and parsed again.
pub fn expression(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    if let Ok(parsed) = expr::parse(text) {
        let printed = parsed.to_string();
        let again = expr::parse(&printed).unwrap_or_else(|error| panic!("{printed}: {error}"));
        assert_eq!(again.to_string(), printed);
    }
    let names = ["A", "B", "mode"];
    let Ok(parsed) = Expression::parse(text, &|name| names.iter().position(|known| *known == name)) else {
        return;
    };
    assert!(parsed.names().iter().all(|name| *name < names.len()));
    let value = |name: usize| match name {
        0 => Scalar::Number(64.0),
        1 => Scalar::Number(-0.5),
        _ => Scalar::Text("small".into()),
    };
    assert_eq!(parsed.evaluate(&value).is_true(), parsed.evaluate(&value).is_true());
}

pub fn gate(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let _ = expr::gate::parse(text);
    let _ = analysis::compare::Gate::parse(text);
}

pub fn what_if(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let _ = text.parse::<analysis::WhatIf>();
}

/// What a space lists fulfils what it says.
pub fn space(bytes: &[u8]) {
    // Large spaces are listed by hundreds of thousands: not what is looked for here.
    let Some(text) = text(bytes).filter(|text| text.len() <= 2_000) else { return };
    let Ok(space) = Space::parse(text) else { return };
    let combinations: f64 = space.parameters.iter().map(|parameter| parameter.values.len() as f64).product();
    if combinations > 10_000.0 {
        return;
    }
    if let Ok(candidates) = space.candidates(1) {
        for levels in candidates.iter() {
            assert_eq!(space.settings(levels).len(), space.parameters.len());
        }
    }
}

/// A value never becomes two words.
pub fn template(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    for shell in [false, true] {
        let Ok(template) = Template::parse("t", &CommandText::Line(text.into()), &["A"], shell) else {
            continue;
        };
        let (short, long) = (Setting::Int(1), Setting::Text("two words; 'and' more".into()));
        assert_eq!(template.words(&[("A", &short)]).len(), template.words(&[("A", &long)]).len());
        let _ = template.fixed_words();
    }
}

const TRACE: &str = r#"{"traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10, "dur": 5, "args": {"correlation": 1, "device": 0, "stream": 7}},
    {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": {"correlation": 1}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 20, "dur": 3, "args": {"device": 0, "stream": 7, "bytes": 64}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 4}]}"#;

fn session() -> Session {
    let input = Input { format: Format::Torch, path: "-".into(), files: Vec::new(), bytes: 1 };
    let parts = Parts { stretch: 1 << 20, block: 1 << 20 };
    let mut trace = read_text(TRACE.as_bytes(), &input, &Needs::everything(), &Progress::default(), parts)
        .expect("a trace");
    trace.finish();
    let mut session = Session::of_trace(trace).expect("a session");
    let mut checks = 0;
    // Some statements never end: they are stopped as `query` stops them.
    session
        .watch(1_000, move || {
            checks += 1;
            checks % 200 == 0
        })
        .expect("SQLite takes a check");
    session
}

/// Statements that would write, attach or load are refused, and none makes a file.
pub fn sql(bytes: &[u8]) {
    thread_local! {
        static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
    }
    let Some(sql) = text(bytes).filter(|sql| sql.len() <= 4096) else { return };
    SESSION.with_borrow_mut(|kept| {
        let session = kept.get_or_insert_with(session);
        if let Ok(mut result) = session.run(sql) {
            let mut rows = result.rows();
            while let Ok(Some(row)) = rows.next() {
                let _ = row.value(0);
            }
        }
        // What a statement made must not help the next one.
        let lower = sql.to_ascii_lowercase();
        if ["create", "temp", "insert", "update", "pragma", "drop", "delete"]
            .iter()
            .any(|word| lower.contains(word))
        {
            *kept = None;
        }
    });
    let made = super::readers::folder().parent().is_some_and(|above| above.join("attached.db").exists());
    assert!(!made);
}

/// Redacting twice changes nothing more, and a secret where we know secrets to be never comes out.
pub fn redactor(bytes: &[u8]) {
    const SECRET: &str = "sk-Zq7vT1pXw9LmB4nR8cYd";
    let Some(text) = text(bytes) else { return };
    let once = redact_text(text).into_owned();
    assert_eq!(redact_text(&once), once);
    let with = format!("{text} --api-key {SECRET}");
    // Inside quotes that were opened before, the words are part of something else.
    if !text.contains(['"', '\'', '\\', '`', '#', '\n', '\r']) && text.is_ascii() {
        assert!(!redact_text(&with).contains(SECRET), "{with}");
    }
    let words: Vec<String> =
        text.split(' ').map(String::from).chain(["--api-key".into(), SECRET.into()]).collect();
    assert!(words[words.len() - 3] == "--" || redact_words(&words).iter().all(|word| !word.contains(SECRET)));
    if let Ok(json) = serde_json::from_str::<serde_json::Value>(text) {
        let (once, _) = redact_json(&json);
        assert_eq!(redact_json(&once).0, once);
        let (out, _) = redact_json(&serde_json::json!({"a": [json, {"api_key": SECRET}]}));
        assert!(!out.to_string().contains(SECRET));
    }
}

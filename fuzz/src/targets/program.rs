//! What comes after the readers: analyses, digests, tuning spaces, SQL. They pull in the whole program.

use std::cell::RefCell;

use analysis::{BreakdownOptions, CriticalPathOptions, OpsOptions, SummaryOptions};
use ingest::torch::{Parts, read_text};
use ingest::{Format, Input, Progress};
use model::Run;
use model::classify::Classifier;
use query::Session;
use ranks::{Digest, digest};
use trace::Needs;
use tune::space::{CommandText, Expression, Scalar, Setting, Space};
use tune::template::Template;

use super::readers::{folder, torch_in_parts, write};
use super::texts::text;

/// Analyses of a hostile trace: times at the limits of the range, calls without work, cycles.
pub fn analyses(bytes: &[u8]) {
    let Ok(mut trace) = torch_in_parts(bytes, 1 << 30) else { return };
    trace.finish();
    let classifier = Classifier::builtin();
    let _ = analysis::summary(&trace, &SummaryOptions::default());
    let _ = analysis::causes::critical_path::compute(&trace, &classifier, &CriticalPathOptions::default())
        .map(|path| analysis::causes::critical_path::present(&trace, &path, true));
    let _ = analysis::serving::requests::compute(&trace);
    let _ = analysis::memory::compute(&trace);
    let Ok(run) = Run::new(&trace, None, &classifier, 0.0) else { return };
    let _ = analysis::breakdown(&trace, &run.classes, &BreakdownOptions::default());
    let _ = analysis::explain::explain(&run, &[], &Default::default());
    let _ = analysis::serving::triage::compute(&run);
    let _ = analysis::overlap_report(&run);
    let _ = analysis::ops::compute(&run, &OpsOptions::default());
}

/// Every event is kept, and the result can be read like the input.
pub fn perfetto_fix(bytes: &[u8]) {
    let input = write("fix.json", bytes);
    let output = folder().join("fixed.json");
    if let Ok(fixed) = convert::perfetto_fix::fix(&input, &output, &Default::default(), &|_| {}) {
        assert!(fixed.events_out >= fixed.events_in);
    }
}

/// What can be decoded is encoded to something that decodes to the same. The input is the fields: we compress
/// them and add the length and checksum, or no input would get past the header.
pub fn digest(bytes: &[u8]) {
    let _ = digest::decode(bytes);
    let packed = zstd::bulk::compress(bytes, 1).expect("zstd compresses anything");
    // Magic and version are those of an empty digest.
    let mut sealed = digest::encode(&Digest::default())[..10].to_vec();
    sealed.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    sealed.extend_from_slice(&rapidhash::v3::rapidhash_v3(&packed).to_le_bytes());
    sealed.extend_from_slice(&packed);
    if let Ok(read) = digest::decode(&sealed) {
        let again = digest::encode(&read);
        let twice = digest::decode(&again).expect("what we wrote can be read");
        assert_eq!(again, digest::encode(&twice));
    }
}

/// Evaluating a condition of a space twice gives the same result.
pub fn expression_of_space(text: &str) {
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

pub fn what_if(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let _ = text.parse::<analysis::WhatIf>();
}

/// What a space lists matches what it declares.
pub fn space(bytes: &[u8]) {
    // Large spaces list hundreds of thousands of candidates, which is not the subject here.
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
        // A shell gets values that are more than a plain word as arguments where lines are nested.
        let short = if shell { Setting::Text("x y".into()) } else { Setting::Int(1) };
        let long = Setting::Text("two words; 'and' more".into());
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
    // Some statements never end: they are stopped as in `query`.
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
        // What one statement created must not help the next one.
        let lower = sql.to_ascii_lowercase();
        if ["create", "temp", "insert", "update", "pragma", "drop", "delete"]
            .iter()
            .any(|word| lower.contains(word))
        {
            *kept = None;
        }
    });
    let made = folder().parent().is_some_and(|above| above.join("attached.db").exists());
    assert!(!made);
}

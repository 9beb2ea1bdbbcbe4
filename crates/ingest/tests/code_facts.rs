//! Omniprobe's and Nexus' files: read whole, damaged the way their writers damage them, and refused as traces
//! by name.

use std::path::PathBuf;

use rocm_perf_ingest::{Error, code, detect};
use trace::{AccessEffect, CodeFacts};

/// One dispatch as Omniprobe prints it: every field on a separate line, nothing escaped.
fn dispatch(id: u32, kernel: &str, code: &str) -> String {
    let access = |info: &str| {
        format!(
            "        {{\n          \"source_location\": {{\n            \"file\": \"k.hip\",\n            \"line\": 12,\n            \"column\": 7\n          }},\n          \"code_context\": \"{code}\",\n          \"access_info\": {{\n            \"type\": \"read\",\n            \"execution_count\": 4,\n            \"ir_bytes\": 8,\n{info}          }}\n        }}"
        )
    };
    let cache = access(
        "            \"isa_bytes\": 16,\n            \"isa_instruction\": \"global_load_dwordx4\",\n            \"cache_lines\": {\n              \"needed\": 32,\n              \"used\": 256\n            }\n",
    );
    let banks = access("            \"total_conflicts\": 96\n");
    format!(
        "{{\n  \"kernel_analysis\": {{\n    \"kernel_info\": {{\n      \"name\": \"{kernel}\",\n      \"dispatch_id\": {id}\n    }},\n    \"cache_analysis\": {{\n      \"accesses\": [\n{cache}\n      ]\n    }},\n    \"bank_conflicts\": {{\n      \"accesses\": [\n{banks}\n      ]\n    }}\n  }},\n  \"metadata\": {{\n    \"version\": \"1.0\",\n    \"gpu_info\": {{\n      \"architecture\": \"gfx942\",\n      \"cache_line_size\": 128\n    }}\n  }}\n}}"
    )
}

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn read(text: &str) -> CodeFacts {
    let (_folder, path) = file(text);
    assert_eq!(code::find(&path), std::slice::from_ref(&path));
    code::read(&path).unwrap()
}

#[test]
fn source_text_that_is_not_escaped_and_a_list_that_is_not_closed_are_read() {
    let code = r#"printf("%d\n", a[i]); // "x""#;
    let text = format!("[\n{},\n{}", dispatch(1, "f", code), dispatch(2, "void g<\"s\">(int)", code));
    let facts = read(&text);
    assert_eq!(facts.accesses.len(), 4);
    let first = &facts.accesses[0];
    assert_eq!((first.kernel.as_str(), first.dispatch, first.code.as_str()), ("f", Some(1), code));
    assert_eq!((first.source.as_str(), first.column, first.executions), ("k.hip:12", Some(7), 4));
    assert_eq!(first.effect, AccessEffect::CacheLines { needed: 32, used: 256 });
    assert_eq!(facts.accesses[1].effect, AccessEffect::BankConflicts(96));
    assert_eq!(facts.accesses[2].kernel, "void g<\"s\">(int)");
    assert_eq!(facts.cache_line_bytes, Some(128));
    assert!(facts.health.checks.is_empty());
}

#[test]
fn what_is_cut_off_is_counted_and_the_rest_is_read() {
    let whole = format!("[\n{},\n{}", dispatch(1, "f", "a[i]"), dispatch(2, "g", "b[i]"));
    let facts = read(&whole[..whole.len() - 200]);
    assert_eq!(facts.accesses.len(), 2);
    assert_eq!(facts.health.checks[0].value, Some(1.0));
    let (_folder, path) = file("[\n{\n  \"kernel_analysis\": {\n");
    assert!(matches!(code::read(&path), Err(Error::Damaged { .. })));
}

#[test]
fn the_other_spelling_has_all_dispatches_in_one_list() {
    let one = dispatch(0, "f", "a[i]");
    let inner = one.split_once("\"kernel_analysis\": ").unwrap().1.split_once(",\n  \"metadata\"").unwrap().0;
    let facts = read(&format!("{{\"kernel_analyses\": [{inner}, {inner}]}}"));
    assert_eq!(facts.accesses.len(), 4);
    assert_eq!(facts.accesses[0].dispatch, None, "0 stands for an unknown dispatch");
}

#[test]
fn listings_have_instructions_and_source_lines() {
    let facts = read(
        r#"{"kernels": {"f(int)": {"assembly": ["s_load_dword s0, s[4:5], 0x0", "s_endpgm"], "files": ["k.hip", "k.hip"],
            "hip": ["int i = x;"], "lines": [3, 4], "signature": "f(int)"}}}"#,
    );
    let listing = &facts.listings[0];
    assert_eq!((listing.kernel.as_str(), listing.instructions.len()), ("f(int)", 2));
    assert_eq!(listing.lines, [("k.hip:3".into(), "int i = x;".into()), ("k.hip:4".into(), String::new())]);
}

#[test]
fn as_traces_they_are_refused_by_name() {
    for (text, tool) in
        [(format!("[\n{}", dispatch(1, "f", "a")), "Omniprobe"), (r#"{"kernels": {}}"#.into(), "Nexus")]
    {
        let (_folder, path) = file(&text);
        let error = detect(&path).unwrap_err().to_string();
        assert!(error.contains(tool), "{error}");
    }
}

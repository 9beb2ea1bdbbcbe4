//! Every dependency comes from the registry and has a licence that we accept.

use std::process::Command;

use serde_json::Value;

/// Licences that may be linked into an MIT program with no other duty than naming them.
const ACCEPTED: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "Zlib",
    "0BSD",
    "Unlicense",
    "Unicode-3.0",
    "CC0-1.0",
];

/// Whether an SPDX expression can be met by accepted licences: every AND part, any OR part.
fn acceptable(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], "");
    expression.split(" AND ").all(|part| part.split(" OR ").any(|licence| ACCEPTED.contains(&licence.trim())))
}

#[test]
fn licences_and_sources_are_accepted() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    assert!(packages.len() > 50, "the whole graph is listed");
    for package in packages {
        let name = &package["name"];
        let licence = package["license"].as_str().unwrap_or("");
        assert!(acceptable(licence), "{name} has the licence `{licence}`");
        if let Some(source) = package["source"].as_str() {
            assert!(source.starts_with("registry+"), "{name} comes from {source}");
        }
    }
}

#[test]
fn expressions_are_understood() {
    assert!(acceptable("MIT OR GPL-3.0"));
    assert!(acceptable("Unlicense/MIT"));
    assert!(acceptable("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(!acceptable("GPL-3.0"));
    assert!(!acceptable("MIT AND GPL-3.0"));
    assert!(!acceptable(""));
}

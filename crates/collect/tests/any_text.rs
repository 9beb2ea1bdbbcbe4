//! Whatever users write in presets, configurations and commands is understood or refused, never a crash.

use collect::command::options;
use collect::launcher::{Launched, Status, quote};
use collect::presets::{self, Document};
use proptest::prelude::*;
use rocm_perf_collect as collect;

/// Text made of pieces that parsers look for.
fn pieces(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece = prop_oneof![3 => proptest::sample::select(words).prop_map(String::from), 1 => "\\PC{0,4}"];
    proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

const TOML: &[&str] =
    &["name", " = ", "\"", "[", "]", "\n", "trace", "counters", "kernel", "[env]", "#", "é", "1.5", ","];
const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"tools\"",
    ":",
    ",",
    "\"name\"",
    "\"cmd\"",
    "\"rocprof\"",
    "\"rocprofv3 --pmc A --\"",
    "\n",
    "3",
    "\"env_vars\"",
    "\"slurm\"",
    "null",
    "é",
];

proptest! {
    #[test]
    fn presets_and_configurations(toml in pieces(TOML), json in pieces(JSON)) {
        for (name, text) in [("t", &toml), ("j", &json)] {
            let document = Document { name, text };
            for mistake in [presets::parse(&document).err(), presets::from_json(&document).err()].into_iter().flatten() {
                prop_assert!(mistake.line.is_none_or(|line| line <= text.matches('\n').count() + 1), "{mistake}");
            }
        }
    }

    #[test]
    fn counter_files(text in pieces(&["pmc", ":", " ", "\r\n", "\n", "SQ_WAVES", "#", "jobs", "- ", "[", "]", "{", "}", "é"])) {
        let folder = tempfile::tempdir().unwrap();
        for ending in ["txt", "json", "yaml"] {
            let path = folder.path().join(format!("c.{ending}"));
            std::fs::write(&path, &text).unwrap();
            if let Ok(found) = presets::counters(&[path.display().to_string()]) {
                prop_assert!(!found.counters.is_empty());
            }
        }
    }

    #[test]
    fn commands(words in proptest::collection::vec(pieces(&["--", "-", "pmc", "=", "srun", "mpirun", "torchrun", "-n", "4", "é"]), 0..8)) {
        // What was read can be written and read again.
        if let Ok(given) = options::parse(&words) {
            let written: Vec<String> = given.iter().flat_map(|option| option.words().collect::<Vec<_>>()).collect();
            let parsed = options::parse(&written);
            prop_assert_eq!(parsed.as_ref(), Ok(&given));
        }
        if let Ok(Some(launched)) = Launched::of(&words) {
            prop_assert!(!launched.application.is_empty());
        }
        let _ = Status::parse(&words.join("\n"));
        for word in &words {
            prop_assert!(!quote(word).is_empty());
        }
    }
}

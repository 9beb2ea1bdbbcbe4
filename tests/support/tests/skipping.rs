//! Skipped tests are counted, and missing data fails if it is required: tested in a separate process.

use std::process::{Command, Output};

/// Runs one of the tests below, which do nothing when run on their own.
fn inner(name: &str, settings: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name]).env("INNER_TEST", "1");
    command.env_remove(rocm_perf_testing::REQUIRE_DATA).env_remove(rocm_perf_testing::SKIPPED_FILE);
    command.envs(settings.iter().copied()).output().unwrap()
}

fn is_inner() -> bool {
    std::env::var_os("INNER_TEST").is_some()
}

#[test]
fn asks_for_data_that_nobody_has() {
    if is_inner() {
        assert_eq!(rocm_perf_testing::data("no/such/trace.json"), None);
    }
}

#[test]
fn asks_for_a_tool_that_nobody_has() {
    if is_inner() {
        assert_eq!(rocm_perf_testing::tool(&["no-such-program", "nor-this-one"]), None);
    }
}

#[test]
fn a_skipped_test_passes_and_leaves_its_name_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("skipped");
    let settings = [(rocm_perf_testing::SKIPPED_FILE, list.to_str().unwrap())];
    for name in ["asks_for_data_that_nobody_has", "asks_for_a_tool_that_nobody_has"] {
        assert!(inner(name, &settings).status.success());
    }
    assert_eq!(
        std::fs::read_to_string(&list).unwrap(),
        "skipping\tasks_for_data_that_nobody_has\tno ../shared/data/no/such/trace.json\n\
         skipping\tasks_for_a_tool_that_nobody_has\tno no-such-program or nor-this-one\n"
    );
}

#[test]
fn missing_data_fails_where_it_must_be_there_but_a_missing_tool_does_not() {
    let settings = [(rocm_perf_testing::REQUIRE_DATA, "1")];
    let output = inner("asks_for_data_that_nobody_has", &settings);
    assert!(!output.status.success());
    let said = [output.stdout, output.stderr].concat();
    assert!(String::from_utf8_lossy(&said).contains("no ../shared/data/no/such/trace.json"), "{said:?}");
    assert!(inner("asks_for_a_tool_that_nobody_has", &settings).status.success());
}

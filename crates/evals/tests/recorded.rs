//! The reference agent on runs that were recorded on a real GPU with a known cause.

use rocm_perf_evals::reference;
use rocm_perf_evals::session::Session;
use serde_json::Value as Json;

const WHY: &str = "Why is the run in `a.json.gz` slower than it has to be?";
const BOUND: &str = "What bounds the run in `a.json.gz`?";

/// What the agent concludes, from a copy with a neutral name.
fn cause(trace: &std::path::Path, question: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::copy(trace, folder.path().join("a.json.gz")).expect("a copy");
    let session = Session::start(folder.path()).expect("a server");
    reference::answer(&session, question).expect("an answer").cause.unwrap_or_default()
}

#[test]
fn recorded_runs_with_a_known_cause_are_answered_right_nine_times_in_ten() {
    let Some(file) = testing::data("pathologies/truth.json") else { return };
    let truth: Json = serde_json::from_slice(&std::fs::read(&file).expect("readable")).expect("JSON");
    let (mut asked, mut wrong) = (0, Vec::new());
    let mut judge = |name: &str, given: String, right: Vec<String>| {
        asked += 1;
        if !right.contains(&given) {
            wrong.push(format!("{name}: `{given}`, not {right:?}"));
        }
    };
    for (name, truth) in truth.as_object().expect("an object") {
        let trace = file.with_file_name(format!("{name}.json.gz"));
        let texts = |key: &str| {
            let list = truth[key].as_array().expect("a list");
            list.iter().map(|one| one.as_str().expect("a name").to_string()).collect::<Vec<_>>()
        };
        judge(name, cause(&trace, BOUND), texts("bound_by"));
        let rules: Vec<String> =
            texts("expect").iter().flat_map(|expected| testing::rules(expected)).collect();
        if !rules.is_empty() {
            judge(name, cause(&trace, WHY), rules);
        }
    }
    println!("{} of {asked} right; wrong: {wrong:#?}", asked - wrong.len());
    assert!(wrong.len() * 10 <= asked, "{} of {asked} wrong: {wrong:#?}", wrong.len());
}

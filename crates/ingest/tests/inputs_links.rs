//! Links in folders: followed inside, skipped if they point outside.

use std::os::unix::fs::symlink;

use rocm_perf_ingest::{Error, find_usable_inputs};

#[test]
fn g7_links_do_not_lead_out_of_an_input_folder() {
    let place = tempfile::tempdir().unwrap();
    let (inside, outside) = (place.path().join("run"), place.path().join("secret"));
    std::fs::create_dir_all(inside.join("ranks")).unwrap();
    std::fs::create_dir(&outside).unwrap();
    let trace = r#"{"traceEvents": [{"ph": "X", "name": "k", "cat": "kernel", "ts": 1, "dur": 1, "pid": 0, "tid": 7}]}"#;
    std::fs::write(inside.join("ranks/a.json"), trace).unwrap();
    std::fs::write(outside.join("b.json"), trace.replace("\"k\"", "\"other\"")).unwrap();
    symlink(&outside, inside.join("folder")).unwrap();
    symlink(outside.join("b.json"), inside.join("b.json")).unwrap();
    symlink("/", inside.join("root")).unwrap();
    symlink("ranks/a.json", inside.join("same.json")).unwrap();
    symlink(inside.join("ranks"), inside.join("ranks_again")).unwrap();
    let (inputs, unusable) = find_usable_inputs(std::slice::from_ref(&inside)).unwrap();
    for input in &inputs {
        assert!(input.path.canonicalize().unwrap().starts_with(inside.canonicalize().unwrap()), "{input:?}");
    }
    assert!(!inputs.is_empty());
    let links = |error: &Error| match error {
        Error::Outside { path, .. } => path.file_name().unwrap().to_string_lossy().into_owned(),
        other => panic!("{other}"),
    };
    assert_eq!(unusable.iter().map(links).collect::<Vec<_>>(), ["b.json", "folder", "root"]);
    // A path given by the user may be a link: the user knows where it points.
    let named = place.path().join("named");
    symlink(&inside, &named).unwrap();
    assert!(!find_usable_inputs(&[named]).unwrap().0.is_empty());
}

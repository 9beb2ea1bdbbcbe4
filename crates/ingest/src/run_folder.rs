//! Folders of `rocm-perf collect`: their `run.json` lists the files of the run. Other files are the same
//! recording in other formats, or single passes of merged ones.

use std::fs;
use std::path::{Component, Path, PathBuf};

use formats::run::{COLLECT, RUN_FILE, TOOL, field};
use serde_json::Value;

/// Larger files of this name are something else.
const LARGEST: u64 = 64 << 20;

/// The traces of a run, if the folder holds one.
pub(crate) fn traces(folder: &Path) -> Option<Vec<PathBuf>> {
    let path = folder.join(RUN_FILE);
    let small = fs::metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= LARGEST);
    let text = small.then(|| fs::read_to_string(&path).ok())??;
    let facts: Value = serde_json::from_str(&text).ok()?;
    if facts[field::TOOL] != TOOL || facts[field::KIND] != COLLECT {
        return None;
    }
    let inside = |name: &&str| Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    let named = facts[field::TRACES].as_array()?.iter().filter_map(Value::as_str).filter(inside);
    let files: Vec<PathBuf> = named.map(|name| folder.join(name)).filter(|path| path.is_file()).collect();
    (!files.is_empty()).then_some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_names_its_traces_and_nothing_outside() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let run = |text: &str| {
            fs::write(root.join("run.json"), text).unwrap();
            traces(root)
        };
        fs::create_dir(root.join("pass_1")).unwrap();
        fs::write(root.join("pass_1/a.db"), "x").unwrap();
        let text =
            r#"{"tool": "rocm-perf", "kind": "collect", "traces": ["pass_1/a.db", "gone.db", "../x.db"]}"#;
        assert_eq!(run(text), Some(vec![root.join("pass_1/a.db")]));
        assert_eq!(run(&text.replace("collect", "other")), None);
        assert_eq!(run(r#"{"tool": "rocm-perf", "kind": "collect", "traces": []}"#), None);
        assert_eq!(run("{"), None);
    }
}

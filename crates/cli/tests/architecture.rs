//! Checks the manifests of the crates against the table "The rooms" in ARCHITECTURE.md, exactly, both ways;
//! how modules use each other; and that figures are passed on as structs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

type Rooms = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows of the table: crate, and what it may use. `all above` means the crates of the rows before.
fn table(text: &str) -> Rooms {
    let section = text.split("\n## The rooms\n").nth(1).expect("a section `The rooms`");
    let section = section.split("\n## ").next().expect("its text");
    let mut rooms = Rooms::new();
    for line in section.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, name, _, may_use, _] = cells[..] else { continue };
        let Some(name) = name.strip_prefix("`crates/").and_then(|name| name.strip_suffix('`')) else {
            continue;
        };
        let used = match may_use {
            "–" => BTreeSet::new(),
            "all above" => rooms.keys().cloned().collect(),
            list => list.split(',').map(|name| name.trim().to_string()).collect(),
        };
        assert!(rooms.insert(name.to_string(), used).is_none(), "crates/{name} has two rows");
    }
    rooms
}

/// The names under `[dependencies]` of a manifest.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let lines = manifest.lines().skip_while(|line| line.trim() != "[dependencies]").skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    let name = |line: &str| line.split(['.', '=', ' ']).next().unwrap_or_default().to_string();
    lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#')).map(name).collect()
}

/// Which crates each crate really uses.
fn manifests() -> Rooms {
    let folders = std::fs::read_dir(root().join("crates")).expect("the crates");
    let manifests = folders.flatten().filter_map(|folder| {
        let text = std::fs::read_to_string(folder.path().join("Cargo.toml")).ok()?;
        Some((folder.file_name().into_string().expect("a name"), dependencies(&text)))
    });
    let mut rooms: Rooms = manifests.collect();
    let names: BTreeSet<String> = rooms.keys().cloned().collect();
    rooms.values_mut().for_each(|used| used.retain(|name| names.contains(name)));
    rooms
}

/// Where the table and the manifests differ.
fn differences(table: &Rooms, manifests: &Rooms) -> Vec<String> {
    let mut found = Vec::new();
    for name in table.keys().filter(|name| !manifests.contains_key(*name)) {
        found.push(format!("the table has a row for crates/{name}, which does not exist"));
    }
    for (name, used) in manifests {
        let Some(allowed) = table.get(name) else {
            found.push(format!("crates/{name} has no row in the table"));
            continue;
        };
        found.extend(used.difference(allowed).map(|other| format!("{name} uses {other}: not in the table")));
        found.extend(
            allowed.difference(used).map(|other| format!("{name} does not use {other}: the table says so")),
        );
    }
    found
}

#[test]
fn crates_use_each_other_as_the_table_says() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let (table, manifests) = (table(&text), manifests());
    assert!(manifests.len() >= 12 && manifests["app"].len() >= 10, "{manifests:?}");
    let differences = differences(&table, &manifests);
    assert!(differences.is_empty(), "ARCHITECTURE.md and the manifests differ:\n{}", differences.join("\n"));
}

#[test]
fn every_kind_of_difference_is_found() {
    let text = "\n## The rooms\n| crate | holds | may use |\n|---|---|---|\n| `crates/a` | x | – |\n\
                | `crates/b` | x | a |\n| `crates/gone` | x | – |\n| `crates/d` | x | all above |\n\n## next\n";
    let rooms = |list: &[(&str, &[&str])]| -> Rooms {
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        list.iter().map(|(name, used)| (name.to_string(), names(used))).collect()
    };
    assert_eq!(table(text)["d"], BTreeSet::from(["a", "b", "gone"].map(String::from)));
    let real = rooms(&[("a", &["b"]), ("b", &[]), ("c", &[]), ("d", &["a", "b", "gone"])]);
    assert_eq!(
        differences(&table(text), &real),
        [
            "the table has a row for crates/gone, which does not exist",
            "a uses b: not in the table",
            "b does not use a: the table says so",
            "crates/c has no row in the table",
        ]
    );
    let manifest = "[package]\nname = \"x\"\n\n[dependencies]\n# Why.\na.workspace = true\nb = { workspace = true }\n\n\
                    [dev-dependencies]\nc.workspace = true\n";
    assert_eq!(dependencies(manifest), BTreeSet::from(["a", "b"].map(String::from)));
}

/// Every Rust file below a folder: its relative path, and its code without in-file tests and comments.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(inner) = open.pop() {
        for entry in std::fs::read_dir(inner).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let is_test = path.file_stem().is_some_and(|name| name == "tests");
            if path.extension().is_none_or(|end| end != "rs") || is_test {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("readable");
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
            let code = code.collect::<Vec<_>>().join("\n");
            found.push((path.strip_prefix(folder).expect("below the folder").to_path_buf(), code));
        }
    }
    found.sort();
    found
}

/// Which modules in a folder of a crate use each other, by the first folder or file of each; without in-file
/// tests. `prefix` is how the crate's code names the folder: `crate::`, `crate::timeline::`.
fn modules(folder: &Path, prefix: &str) -> Rooms {
    let mut uses = Rooms::new();
    for (path, code) in sources(folder) {
        let first = path.iter().next().expect("a name").to_string_lossy();
        let module = first.strip_suffix(".rs").unwrap_or(&first).to_string();
        if ["lib", "main", "mod"].contains(&module.as_str()) {
            continue;
        }
        let used = uses.entry(module).or_default();
        for part in code.split(prefix).skip(1) {
            let end = part.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(part.len());
            used.insert(part[..end].to_string());
        }
    }
    let names: BTreeSet<String> = uses.keys().cloned().collect();
    for (module, used) in &mut uses {
        used.retain(|name| names.contains(name) && name != module);
    }
    uses
}

/// A path from a module back to itself.
fn cycle(uses: &Rooms) -> Option<Vec<String>> {
    fn walk(uses: &Rooms, at: &str, way: &mut Vec<String>, done: &mut BTreeSet<String>) -> bool {
        if let Some(first) = way.iter().position(|name| name == at) {
            way.drain(..first);
            return true;
        }
        if !done.insert(at.to_string()) {
            return false;
        }
        way.push(at.to_string());
        if uses[at].iter().any(|next| walk(uses, next, way, done)) {
            return true;
        }
        way.pop();
        false
    }
    let mut done = BTreeSet::new();
    uses.keys().find_map(|name| {
        let mut way = Vec::new();
        walk(uses, name, &mut way, &mut done).then_some(way)
    })
}

#[test]
fn no_modules_from_readers_to_the_app_use_each_other_in_a_circle() {
    for name in ["model", "analysis", "app", "report", "hw", "convert", "query", "ingest"] {
        let uses = modules(&root().join("crates").join(name).join("src"), "crate::");
        assert!(uses.len() > 3, "{name}: {uses:?}");
        assert_eq!(cycle(&uses), None, "crates/{name}");
    }
    for name in ["timeline", "causes", "kernels", "serving"] {
        let uses = modules(&root().join("crates/analysis/src").join(name), &format!("crate::{name}::"));
        assert!(uses.len() > 2, "{name}: {uses:?}");
        assert_eq!(cycle(&uses), None, "crates/analysis/src/{name}");
    }
    let used = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>();
    let round: Rooms = [("a", used(&["b"])), ("b", used(&["c"])), ("c", used(&["b"])), ("d", used(&["a"]))]
        .into_iter()
        .map(|(name, used)| (name.to_string(), used))
        .collect();
    assert_eq!(cycle(&round), Some(vec!["b".to_string(), "c".to_string()]));
}

/// Where code looks up a report's table or a table's column by name. Methods that create a column are called
/// on `self` or `unit`.
fn read_back(code: &str) -> Vec<&str> {
    let asks = |line: &&str| {
        let table = line.split(".table(").skip(1).any(|argument| !argument.starts_with(')'));
        let column = |before: &str| !["self", "unit"].iter().any(|maker| before.ends_with(maker));
        let parts: Vec<&str> = line.split(".column(").collect();
        table || parts[..parts.len() - 1].iter().any(|before| column(before))
    };
    code.lines().filter(asks).map(str::trim).collect()
}

#[test]
fn figures_are_taken_from_structs_and_not_read_back_from_tables() {
    let mut found = Vec::new();
    for name in ["analysis", "app", "tune"] {
        for (path, code) in sources(&root().join("crates").join(name).join("src")) {
            let path = format!("{name}/{}", path.display());
            found.extend(read_back(&code).iter().map(|line| format!("{path}: {line}")));
        }
    }
    assert!(found.is_empty(), "pass the struct on instead:\n{}", found.join("\n"));
    let asks = [r#"let spans = report.table("timeline")?;"#, "let place = table.column(key)?;"];
    let makes =
        ["tables.push(overlap.table());", r#"self.column("mean").key(),"#, r#"unit.column("duration"),"#];
    assert_eq!(read_back(&[&asks[..], &makes[..]].concat().join("\n")), asks);
}

#[test]
fn every_test_file_is_part_of_a_test_program() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of all crates");
    for folder in std::fs::read_dir(crates).expect("crates").map(|entry| entry.expect("a crate").path()) {
        let Ok(listed) = std::fs::read_to_string(folder.join("tests/all.rs")) else { continue };
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        for file in std::fs::read_dir(folder.join("tests")).expect("tests") {
            let name = file.expect("a file").file_name().to_string_lossy().into_owned();
            let Some(stem) = name.strip_suffix(".rs").filter(|stem| *stem != "all") else { continue };
            let alone = manifest.contains(&format!("\"tests/{name}\""));
            assert!(
                alone || listed.contains(&format!("mod {stem};")),
                "{name} is in no test program of {folder:?}"
            );
        }
    }
}

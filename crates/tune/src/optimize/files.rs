//! Files by a pattern: `*` and `?` within a name, `**` for any folders.

use std::path::{Path, PathBuf};

use regex::Regex;

/// The files below a folder whose path matches, sorted. A pattern that begins with `/` is searched from the
/// root.
pub fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let root = if pattern.starts_with('/') { Path::new("/") } else { folder };
    let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let mut found = Vec::new();
    walk(root, &parts, &mut found);
    found.sort();
    found.dedup();
    found
}

fn walk(folder: &Path, parts: &[&str], found: &mut Vec<PathBuf>) {
    let Some((part, rest)) = parts.split_first() else { return };
    if *part == "**" {
        walk(folder, rest, found);
        entries(folder).iter().filter(|path| path.is_dir()).for_each(|path| walk(path, parts, found));
        return;
    }
    let paths = match part.contains(['*', '?']) {
        false => vec![folder.join(part)],
        true => entries(folder).into_iter().filter(|path| fits(path, part)).collect(),
    };
    for path in paths {
        if !rest.is_empty() {
            walk(&path, rest, found);
        } else if path.is_file() {
            found.push(path);
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).map(|all| all.flatten().map(|one| one.path()).collect()).unwrap_or_default()
}

fn fits(path: &Path, part: &str) -> bool {
    let expression = regex::escape(part).replace(r"\*", ".*").replace(r"\?", ".");
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Regex::new(&format!("^{expression}$")).is_ok_and(|expression| expression.is_match(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_find_files() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.co", "b.co", "c.o", "build/x/k.co", "build/k+1.co"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let names = |pattern: &str| -> Vec<String> {
            let found = matching(folder.path(), pattern).into_iter();
            found.map(|path| path.strip_prefix(folder.path()).unwrap().display().to_string()).collect()
        };
        assert_eq!(names("*.co"), ["a.co", "b.co"]);
        assert_eq!(names("./?.o"), ["c.o"]);
        assert_eq!(names("build/*/k.co"), ["build/x/k.co"]);
        assert_eq!(names("**/k*.co"), ["build/k+1.co", "build/x/k.co"]);
        assert_eq!(names("build/k+1.co"), ["build/k+1.co"]);
        assert!(names("build").is_empty() && names("*.hsaco").is_empty());
    }
}

//! The URI under which SQLite opens a database file.

use std::path::{Path, PathBuf};

/// Files next to a database that belong to it: its write-ahead log and its journal, if they are not empty.
pub fn companions(path: &Path) -> Vec<PathBuf> {
    let beside = |ending: &str| {
        let mut name = path.as_os_str().to_os_string();
        name.push(ending);
        let companion = PathBuf::from(name);
        std::fs::metadata(&companion).is_ok_and(|m| m.len() > 0).then_some(companion)
    };
    ["-wal", "-journal"].into_iter().filter_map(beside).collect()
}

/// `file:` URI of a path; every byte with a special meaning is escaped.
pub fn uri(path: &Path, options: &str) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut uri = String::from("file:");
    for &byte in absolute.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => uri.push(byte as char),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri + "?" + options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_characters_of_a_path_are_escaped() {
        assert_eq!(uri(Path::new("/a b/it's?#%.db"), "mode=ro"), "file:/a%20b/it%27s%3F%23%25.db?mode=ro");
    }
}

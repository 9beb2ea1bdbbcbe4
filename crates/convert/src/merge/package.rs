//! Folder packages of newer rocpd tools: `NAME.rpdb/` with the databases and an `index.yaml` that lists them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use trace::Health;

use super::{Error, Input, Merged, Options, plan_inputs, write};
use crate::rocpd::address::companions;
use crate::rocpd::part::ExcludedRows;
use files::{OutputFile, OutputFolder};

/// Name of the list of files.
const INDEX: &str = "index.yaml";

/// How to create a package.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackageOptions {
    /// Merge options.
    pub options: Options,
    /// Delete the originals once the package is complete; only with `keep_environment`, because what a
    /// redacted copy lacks would be lost.
    pub move_files: bool,
}

/// Creates a package of databases. Without secrets every database is rewritten; with them files are copied
/// unchanged. There is nothing new at `target` until everything is done; then it replaces what was there.
pub fn package(
    inputs: &[Input],
    target: &Path,
    options: &PackageOptions,
    progress: &dyn Fn(u64),
) -> Result<Merged, Error> {
    let failed = |e: std::io::Error| Error::output(target, &e);
    let mut health = Health::default();
    let planned = plan_inputs(inputs, target, &options.options, &mut health)?;
    let kept: Vec<(&Input, _)> =
        inputs.iter().zip(planned).filter(|(_, planned)| !planned.suffixes.is_empty()).collect();
    let names = names_in_package(&kept.iter().map(|(input, _)| input.path.as_path()).collect::<Vec<_>>());
    let output = OutputFolder::create(target).map_err(failed)?;
    let mut all = Merged { health, ..Merged::default() };
    let mut originals = Vec::new();
    for ((input, planned), name) in kept.into_iter().zip(&names) {
        let file = output.partial().join(name);
        // Rewritten even if it is copied: this counts its recordings.
        let one = write(
            &[planned],
            &file,
            &options.options,
            &ExcludedRows::default(),
            Health::default(),
            progress,
        )?;
        if options.options.keep_environment {
            copy_as_it_is(&input.path, &file).map_err(failed)?;
            originals.extend(companions(&input.path));
            originals.push(input.path.clone());
        }
        let bytes = fs::metadata(&file).map_err(failed)?.len();
        all.files.push((target.join(name), bytes));
        all.recordings.extend(one.recordings);
        all.health.checks.extend(one.health.checks);
        all.removed += one.removed;
    }
    let index = index(&names);
    let mut file = OutputFile::create(&output.partial().join(INDEX)).map_err(failed)?;
    file.write_all(index.as_bytes()).and_then(|()| file.commit()).map_err(failed)?;
    all.files.push((target.join(INDEX), index.len() as u64));
    output.commit().map_err(failed)?;
    if options.move_files && options.options.keep_environment {
        for original in originals {
            fs::remove_file(&original).map_err(|e| Error::output(&original, &e))?;
        }
    }
    Ok(all)
}

fn copy_as_it_is(path: &Path, copy: &Path) -> std::io::Result<()> {
    let mut copies = vec![(path.to_path_buf(), copy.to_path_buf())];
    for companion in companions(path) {
        let ending = companion.to_string_lossy().rsplit('-').next().unwrap_or_default().to_string();
        let mut name = copy.as_os_str().to_os_string();
        name.push(format!("-{ending}"));
        copies.push((companion, name.into()));
    }
    for (from, to) in copies {
        fs::copy(from, &to)?;
    }
    Ok(())
}

/// Target path of each file: relative to the deepest common folder, so that folders named after ranks or
/// hosts stay.
fn names_in_package(paths: &[&Path]) -> Vec<PathBuf> {
    let real: Vec<PathBuf> =
        paths.iter().map(|path| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())).collect();
    let folder_of = |path: &PathBuf| path.parent().map(Path::to_path_buf).unwrap_or_default();
    let mut shared = real.first().map(folder_of).unwrap_or_default();
    for path in &real {
        while !path.starts_with(&shared) && shared.pop() {}
    }
    real.iter().map(|path| path.strip_prefix(&shared).unwrap_or(path).to_path_buf()).collect()
}

fn index(names: &[PathBuf]) -> String {
    let mut text = String::from(
        "rocprofiler-sdk:\n  rocpd:\n    rocpd_package_version: \"1.0\"\n    path: \".\"\n    files:\n",
    );
    for name in names {
        // JSON text is valid YAML.
        text.push_str(&format!("      - {}\n", serde_json::Value::from(name.to_string_lossy())));
    }
    text
}

/// Whether a path is a package or its index.
pub fn is_package(path: &Path) -> bool {
    let list = if path.is_dir() { path.join(INDEX) } else { path.to_path_buf() };
    list.extension().is_some_and(|ending| ending == "yaml" || ending == "yml")
        && fs::read_to_string(list)
            .is_ok_and(|text| text.contains("rocprofiler-sdk") && text.contains("rocpd"))
}

/// The databases that a package lists.
pub fn files_of_package(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let list = if path.is_dir() { path.join(INDEX) } else { path.to_path_buf() };
    let text = fs::read_to_string(&list).map_err(|e| Error::input(&list, &e))?;
    let (folder, files) = listed(&text);
    let base = list.parent().unwrap_or(Path::new("")).join(folder);
    if files.is_empty() {
        return Err(Error::input(&list, &"it lists no files"));
    }
    Ok(files.into_iter().map(|file| base.join(file)).collect())
}

/// `path` and `files` of an index: one text, a list in brackets or one of lines.
fn listed(text: &str) -> (String, Vec<String>) {
    let (mut folder, mut files, mut in_files) = (String::from("."), Vec::new(), false);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix("- ") {
            Some(item) if in_files => files.push(unquoted(item)),
            Some(_) => {}
            None => {
                let (key, value) = line.split_once(':').unwrap_or((line, ""));
                let value = value.trim();
                in_files = unquoted(key) == "files";
                if unquoted(key) == "path" && !value.is_empty() {
                    folder = unquoted(value);
                } else if in_files && let Some(inner) = value.strip_prefix('[') {
                    let items = inner.trim_end_matches(']').split(',').map(str::trim);
                    files.extend(items.filter(|item| !item.is_empty()).map(unquoted));
                } else if in_files && !value.is_empty() {
                    files.push(unquoted(value));
                }
            }
        }
    }
    (folder, files)
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    if text.starts_with('"')
        && let Ok(inner) = serde_json::from_str::<String>(text)
    {
        return inner;
    }
    match text.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')) {
        Some(inner) => inner.replace("''", "'"),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_read_as_it_is_written() {
        let names = ["rank0/1_results.db", "it's \"odd\".db", "a b.db"];
        let (folder, files) = listed(&index(&names.map(PathBuf::from)));
        assert_eq!((folder.as_str(), files), (".", names.map(String::from).to_vec()));
    }

    #[test]
    fn other_ways_to_write_an_index() {
        let text = "rocprofiler-sdk:\n  rocpd:\n    path: ../run\n    files: one.db\n";
        assert_eq!(listed(text), ("../run".into(), vec!["one.db".to_string()]));
        let text = "rocprofiler-sdk:\n  rocpd:\n    files: ['a.db', \"b.db\", c.db]\n    path: .\n";
        assert_eq!(listed(text), (".".into(), vec!["a.db".to_string(), "b.db".into(), "c.db".into()]));
    }
}

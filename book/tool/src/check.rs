//! Checks a built book: broken links, requests to other hosts, pages that nothing links to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use mdbook_driver::MDBook;
use mdbook_driver::book::BookItem;

/// What was checked and what is wrong.
pub struct Checked {
    pub pages: usize,
    pub links: usize,
    pub problems: Vec<String>,
}

/// Pages of the source folder that are not chapters.
pub fn pages_without_a_chapter(source: &Path, book: &MDBook) -> Vec<String> {
    let chapters: BTreeSet<PathBuf> = book
        .iter()
        .filter_map(|item| match item {
            BookItem::Chapter(chapter) => chapter.source_path.clone(),
            _ => None,
        })
        .collect();
    let pages = below(source, "md");
    let pages = pages.iter().filter_map(|path| path.strip_prefix(source).ok());
    let missing = pages.filter(|page| *page != Path::new("SUMMARY.md") && !chapters.contains(*page));
    missing.map(|page| format!("{} is missing in SUMMARY.md", page.display())).collect()
}

/// Every link of every built page, and every resource that a browser would load.
pub fn links(built: &Path) -> std::io::Result<Checked> {
    let mut pages = BTreeMap::new();
    for path in below(built, "html") {
        pages.insert(path.clone(), std::fs::read_to_string(&path)?);
    }
    let ids: BTreeMap<&PathBuf, BTreeSet<String>> =
        pages.iter().map(|(path, text)| (path, attributes(text, "id").collect())).collect();
    let (mut links, mut problems) = (0, Vec::new());
    for (path, text) in &pages {
        let name = path.strip_prefix(built).unwrap_or(path).display();
        // The print page repeats all chapters; not-found is served for any address.
        if ["print.html", "404.html", "toc.html"].iter().any(|page| path.ends_with(page)) {
            continue;
        }
        let elsewhere: BTreeSet<String> = attributes(text, "src").filter(|src| src.contains("://")).collect();
        problems.extend(elsewhere.iter().map(|src| format!("{name}: loads {src} from another host")));
        for link in attributes(text, "href") {
            links += 1;
            if let Some(problem) = dead(path, &link, &ids) {
                problems.push(format!("{name}: {problem}"));
            }
        }
    }
    for style in below(built, "css") {
        let text = std::fs::read_to_string(&style)?;
        if text.contains("url(http") || text.contains("url(\"http") || text.contains("@import") {
            problems.push(format!("{} loads from another host", style.display()));
        }
    }
    Ok(Checked { pages: pages.len(), links, problems })
}

/// Why a link is broken, if it is.
fn dead(page: &Path, link: &str, ids: &BTreeMap<&PathBuf, BTreeSet<String>>) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") || link.starts_with("data:") || link.is_empty() {
        return None;
    }
    let link = link.replace("&amp;", "&");
    let (file, fragment) = link.split_once('#').unwrap_or((&link, ""));
    let file = file.split('?').next().unwrap_or(file);
    let target = match file {
        "" => page.to_path_buf(),
        file => plain(&page.parent().unwrap_or(page).join(file)),
    };
    if !target.exists() {
        return Some(format!("`{link}` does not exist"));
    }
    let known = ids.get(&target)?;
    let found = fragment.is_empty() || known.contains(fragment);
    (!found).then(|| format!("`{link}`: there is no such heading"))
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The values of an attribute in a page that mdBook wrote (always in double quotes).
fn attributes<'a>(text: &'a str, name: &str) -> impl Iterator<Item = String> + 'a {
    let start = format!(" {name}=\"");
    let values: Vec<String> = text
        .split(start.as_str())
        .skip(1)
        .filter_map(|rest| rest.split_once('"').map(|(value, _)| value.to_string()))
        .collect();
    values.into_iter()
}

/// Files with an ending, below a folder, sorted.
pub fn below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

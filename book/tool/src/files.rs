//! Links to files of the repository that are not pages: the book carries a copy of them below `files/`.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use mdbook_driver::book::{Book, BookItem};
use mdbook_driver::errors::Result;
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};

/// Files that pages link to, collected while the book is built.
pub struct Linked {
    /// The folder of the pages, and the repository around it.
    source: PathBuf,
    repository: PathBuf,
    found: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Linked {
    /// For pages in `source`, a folder at the top of the repository.
    pub fn new(source: &Path) -> std::io::Result<Self> {
        let repository = source.parent().unwrap_or(source).canonicalize()?;
        Ok(Self { source: source.to_path_buf(), repository, found: Arc::default() })
    }

    /// Points such links to the copies.
    pub fn preprocessor(&self) -> impl Preprocessor + 'static {
        Retarget {
            source: self.source.clone(),
            repository: self.repository.clone(),
            found: Arc::clone(&self.found),
        }
    }

    /// Copies the files into the built book.
    pub fn copy(&self, built: &Path) -> std::io::Result<()> {
        for file in self.found.lock().expect("no other thread panicked").iter() {
            let to = built.join("files").join(file);
            std::fs::create_dir_all(to.parent().unwrap_or(built))?;
            std::fs::copy(self.repository.join(file), to)?;
        }
        Ok(())
    }
}

struct Retarget {
    source: PathBuf,
    repository: PathBuf,
    found: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Preprocessor for Retarget {
    fn name(&self) -> &str {
        "retarget"
    }

    fn run(&self, _: &PreprocessorContext, mut book: Book) -> Result<Book> {
        book.for_each_mut(|item| {
            let BookItem::Chapter(chapter) = item else { return };
            let Some(path) = chapter.path.clone() else { return };
            chapter.content = self.page(&path, &chapter.content);
        });
        Ok(book)
    }
}

impl Retarget {
    /// The text of a page with its links retargeted; fenced blocks stay unchanged.
    fn page(&self, path: &Path, text: &str) -> String {
        let mut fenced = false;
        let mut page = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            fenced ^= line.trim_start().starts_with("```");
            if fenced {
                page.push_str(line);
            } else {
                self.line(path, line, &mut page);
            }
        }
        page
    }

    fn line(&self, path: &Path, line: &str, page: &mut String) {
        let mut rest = line;
        while let Some(at) = rest.find("](") {
            let (before, after) = rest.split_at(at + 2);
            page.push_str(before);
            let Some(end) = after.find(')') else {
                rest = after;
                break;
            };
            let target = &after[..end];
            match self.target(path, target) {
                Some(better) => page.push_str(&better),
                None => page.push_str(target),
            }
            rest = &after[end..];
        }
        page.push_str(rest);
    }

    /// Where a link should point instead, if anywhere.
    fn target(&self, page: &Path, target: &str) -> Option<String> {
        if target.starts_with('#') || target.contains("://") || target.starts_with("mailto:") {
            return None;
        }
        let (file, fragment) = target.split_once('#').map_or((target, None), |(file, to)| (file, Some(to)));
        let folder = self.source.join(page.parent().unwrap_or(Path::new("")));
        // Pages that include a file of the repository's top folder have links from there.
        let place = [folder.join(file), self.repository.join(file)].into_iter().find(|path| path.exists())?;
        let place = place.canonicalize().ok()?;
        let up =
            "../".repeat(page.components().filter(|part| matches!(part, Component::Normal(_))).count() - 1);
        let to = if let Ok(page) = place.strip_prefix(&self.source) {
            page.to_path_buf()
        } else {
            let file = place.strip_prefix(&self.repository).ok()?;
            match self.including(file) {
                Some(page) => page,
                None if place.is_file() => {
                    self.found.lock().expect("no other thread panicked").insert(file.to_path_buf());
                    Path::new("files").join(file)
                }
                None => return None,
            }
        };
        let fragment = fragment.map(|to| format!("#{to}")).unwrap_or_default();
        Some(format!("{up}{}{fragment}", to.display()))
    }

    /// The page that includes a file of the top folder: `BENCHMARKS.md` is `benchmarks.md`.
    fn including(&self, file: &Path) -> Option<PathBuf> {
        let name = PathBuf::from(file.to_str()?.to_lowercase());
        (file.components().count() == 1 && self.source.join(&name).is_file()).then_some(name)
    }
}

//! `rocm-perf-book BOOK_FOLDER [--program FILE] [--refresh]`: builds the book and checks its links and the
//! pages that are generated from tables of the code. With a program, also the reference and the output in the
//! tutorials. `--refresh` writes those pages.

mod catalogue;
mod check;
mod commands;
mod contents;
mod files;
mod reference;
mod tutorials;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mdbook_driver::MDBook;

/// Any error: always a reason to stop.
type Failure = Box<dyn std::error::Error>;

/// What to do.
struct Request {
    root: PathBuf,
    program: Option<PathBuf>,
    refresh: bool,
}

fn request() -> Option<Request> {
    let mut words = std::env::args_os().skip(1);
    let mut request = Request { root: words.next()?.into(), program: None, refresh: false };
    while let Some(word) = words.next() {
        match word.to_str()? {
            "--refresh" => request.refresh = true,
            "--program" => request.program = Some(words.next()?.into()),
            _ => return None,
        }
    }
    Some(request)
}

fn main() -> ExitCode {
    let Some(request) = request() else {
        eprintln!("usage: rocm-perf-book BOOK_FOLDER [--program FILE] [--refresh]");
        return ExitCode::from(2);
    };
    match run(&request) {
        Ok(problems) if problems.is_empty() => ExitCode::SUCCESS,
        Ok(problems) => {
            for problem in &problems {
                eprintln!("{problem}");
            }
            eprintln!("error: {} problems in the book", problems.len());
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("error: cannot build the book: {why}");
            ExitCode::from(2)
        }
    }
}

/// Checks or writes what is generated, builds the book, and returns what is wrong with it.
fn run(request: &Request) -> Result<Vec<String>, Failure> {
    let repository = request.root.join("..").canonicalize()?;
    let docs = repository.join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md"))?;
    let mut pages = catalogue::pages(&repository, &summary)?;
    if let Some(program) = &request.program {
        let contract: toml::Table =
            toml::from_str(&std::fs::read_to_string(repository.join("schemas/tables.toml"))?)?;
        let how = |name: &str| docs.join(format!("{name}.md")).is_file();
        pages.extend(reference::pages(program, &contract, &pages["SUMMARY.md"].clone(), how)?);
        pages.extend(tutorials::pages(program, &repository)?);
    }
    let pages = with_contents(pages, &docs)?;
    let mut problems = settle(&docs, &pages, request.refresh)?;
    if let Some(program) = &request.program {
        let mut texts = check::below(&docs, "md");
        texts.push(repository.join("README.md"));
        problems.extend(commands::unknown(program, &texts, tempfile::tempdir()?.path())?);
    }
    let mut book = MDBook::load(&request.root)?;
    problems.extend(check::pages_without_a_chapter(&docs, &book));
    let linked = files::Linked::new(&docs)?;
    book.with_preprocessor(linked.preprocessor());
    book.build()?;
    let built = book.build_dir_for("html").canonicalize()?;
    linked.copy(&built)?;
    let report = check::links(&built)?;
    problems.extend(report.problems);
    println!("{} pages, {} links checked: {}", report.pages, report.links, built.display());
    Ok(problems)
}

/// The pages, with a table of contents that lists them and all others.
fn with_contents(
    mut pages: BTreeMap<String, String>,
    docs: &Path,
) -> Result<BTreeMap<String, String>, Failure> {
    let summary = contents::complete(&pages["SUMMARY.md"], docs)?;
    pages.insert("SUMMARY.md".into(), summary);
    Ok(pages)
}

/// Writes stale pages, or returns their names.
fn settle(docs: &Path, pages: &BTreeMap<String, String>, refresh: bool) -> Result<Vec<String>, Failure> {
    let mut stale = Vec::new();
    for (name, page) in pages {
        let path = docs.join(name);
        let there = std::fs::read_to_string(&path).unwrap_or_default();
        if there == *page {
            continue;
        }
        if refresh {
            std::fs::create_dir_all(path.parent().unwrap_or(docs))?;
            std::fs::write(&path, page)?;
        } else {
            let line = there.lines().zip(page.lines()).position(|(there, now)| there != now);
            let line = line.unwrap_or(there.lines().count().min(page.lines().count())) + 1;
            stale.push(format!("docs/{name}:{line} is stale: run scripts/book-refresh"));
        }
    }
    Ok(stale)
}

/// Text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|").replace('<', "&lt;")
}

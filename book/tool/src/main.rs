//! `rocm-perf-book BOOK_FOLDER [--refresh]`: builds the book, and checks its links and the pages that are made from tables of the
//! code; `--refresh` writes those pages.

mod catalogue;
mod check;
mod files;

use std::path::PathBuf;
use std::process::ExitCode;

use mdbook_driver::MDBook;

fn main() -> ExitCode {
    let Some(root) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: rocm-perf-book BOOK_FOLDER [--refresh]");
        return ExitCode::from(2);
    };
    match build(root, std::env::args().any(|word| word == "--refresh")) {
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

/// Builds the book below `root` and gives what is wrong with it.
fn build(root: PathBuf, refresh: bool) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let stale = catalogue::pages(&root.join("..").canonicalize()?, refresh)?;
    let mut book = MDBook::load(root)?;
    let source = book.source_dir().canonicalize()?;
    let mut problems = check::pages_without_a_chapter(&source, &book);
    let linked = files::Linked::new(&source)?;
    book.with_preprocessor(linked.preprocessor());
    book.build()?;
    let built = book.build_dir_for("html").canonicalize()?;
    linked.copy(&built)?;
    let report = check::links(&built)?;
    problems.extend(report.problems);
    problems.extend(stale);
    println!("{} pages, {} links checked: {}", report.pages, report.links, built.display());
    Ok(problems)
}

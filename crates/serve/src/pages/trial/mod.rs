//! A trial: its verdict first, then what it ran on, its figures, and what every attached analysis says.
//!
//! | module | what for |
//! |---|---|
//! | `read` | the documents of a trial |
//! | `summary` | verdict, figures, health and profile |
//! | `findings` | possible gains |
//! | `sections` | tables and charts of the analyses, by `views.toml` |
//! | `attached` | files and notes |

mod attached;
mod findings;
mod read;
mod sections;
mod summary;

use axum::extract::{Path, State};
use axum::response::Html;
use maud::html;

use self::read::Read;
use super::layout::{Asking, Tab, frame};
use super::parts::{self, plain, prose};
use crate::error::Problem;
use crate::links;
use crate::state::Dashboard;

pub use self::sections::tuning;

/// The page.
pub async fn page(
    State(state): State<Dashboard>,
    Asking(viewer): Asking,
    Path((name, trial)): Path<(String, String)>,
) -> Result<Html<String>, Problem> {
    let found = state.trial(&name, &trial).await?;
    let read = Read::all(&state, &found.artifacts).await;
    let (shown, missing) = sections::all(&name, &found, &read);
    let findings = findings::list(&read);
    let body = html! {
        p.crumbs { a href="/" { "Experiments" } " / " a href=(links::experiment(&name)) { (plain(&name)) } " / " }
        div.head {
            div {
                h1 { (plain(&trial)) }
                p {
                    @for tag in &found.row.tags { span.tag { (plain(tag)) } }
                    span.muted {
                        @if !found.row.branch.is_empty() { (plain(&found.row.branch)) " · " }
                        @if !found.row.testbed.is_empty() { (plain(&found.row.testbed)) " · " }
                        (parts::at(found.row.created_ns))
                    }
                }
            }
        }
        (summary::verdict(&read))
        (summary::figures(&found))
        @if !read.problems.is_empty() {
            ul.problems {
                @for problem in &read.problems { li { span.chip.bad { "not shown" } " " (prose(problem)) } }
            }
        }
        (summary::health(&read))
        nav.jump aria-label="Sections" {
            a href="#profile" { "Profile" }
            @if findings.is_some() { a href="#findings" { "Findings" } }
            @for (section, _) in &shown { a href={ "#" (section.id) } { (section.title) } }
            a href="#artifacts" { "Artifacts" }
        }
        (summary::profile(&found))
        @if let Some(findings) = findings { (findings) }
        @for (section, markup) in &shown {
            section id=(section.id) {
                h2 { (section.title) }
                @if !section.text.is_empty() { p.sub { (section.text) } }
                (markup)
            }
        }
        (attached::files(&name, &found, &missing))
        (attached::remarks(&found))
    };
    Ok(frame(&format!("{} / {}", plain(&name), plain(&trial)), Tab::Overview, Some(&viewer), body))
}

//! Files and notes of a trial.

use app::experiment::REQUIRED;
use maud::{Markup, html};
use report::{Unit, Value, show};
use store::{Artifact, Trial};

use crate::links;
use crate::pages::parts::{self, plain};
use crate::pages::views::{Section, file_name};

/// Endings of files that the Perfetto UI reads.
const TRACES: [&str; 5] = [".pftrace", ".perfetto-trace", ".json.gz", ".pt.trace.json", ".trace.json"];

/// The files, contract parts that are missing, and analyses that were not attached.
pub fn files(name: &str, trial: &Trial, missing: &[&Section]) -> Markup {
    let has = |wanted: &&str| trial.artifacts.iter().any(|artifact| file_name(&artifact.path) == *wanted);
    let absent: Vec<&str> = REQUIRED.into_iter().filter(|wanted| !has(wanted)).collect();
    html! {
        section #artifacts {
            h2 { "Artifacts" }
            @if !absent.is_empty() {
                p { span.chip.warn { "missing" } " of the contract: " @for name in &absent { code { (name) } " " } }
            }
            @if !missing.is_empty() {
                p.muted {
                    "Not attached: "
                    @for (at, section) in missing.iter().enumerate() {
                        @if at > 0 { ", " }
                        (section.title) " (" code { "rocm-perf " (section.make) } ")"
                    }
                }
            }
            @if trial.artifacts.is_empty() {
                p.missing { "no files are attached" }
            } @else {
                div.scroll tabindex="0" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "file" }
                                th.n scope="col" { "size" }
                                th scope="col" { "checked against" }
                                th scope="col" { "attached" }
                                th scope="col" { span.skip { "actions" } }
                            }
                        }
                        tbody {
                            @for artifact in &trial.artifacts {
                                @let address = links::artifact(name, &trial.row.name, &artifact.path);
                                tr {
                                    td.name { a href=(address) download { (plain(&artifact.path)) } }
                                    td.n { (show(&Value::Int(artifact.bytes), Unit::Bytes)) }
                                    td {
                                        @match &artifact.schema {
                                            Some(schema) => (plain(schema)),
                                            None => span.missing { "any file" },
                                        }
                                    }
                                    td { (parts::at(artifact.attached_ns)) }
                                    td {
                                        @if is_trace(artifact) {
                                            a href=(address) data-perfetto=(plain(&artifact.path)) hidden { "Open in Perfetto" }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn is_trace(artifact: &Artifact) -> bool {
    artifact.schema.is_none() && TRACES.iter().any(|end| artifact.path.ends_with(end))
}

/// Notes and links.
pub fn remarks(trial: &Trial) -> Markup {
    html! {
        @if !trial.notes.is_empty() || !trial.links.is_empty() {
            section {
                h2 { "Notes" }
                @for note in &trial.notes { p { span.muted { (parts::at(note.created_ns)) } " " (plain(&note.text)) } }
                @for link in &trial.links {
                    p {
                        a href=(link.url) rel="noopener noreferrer nofollow" {
                            (plain(if link.text.is_empty() { &link.url } else { &link.text }))
                        }
                    }
                }
            }
        }
    }
}

//! The frame of every page.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::Html;
use maud::{DOCTYPE, Markup, html};

use super::assets;
use crate::access::{Role, Viewer};
use crate::error::Problem;

/// Which tab of the navigation a page belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    Overview,
    Alerts,
    Live,
    Nowhere,
}

const NAVIGATION: [(Tab, &str, &str); 3] =
    [(Tab::Overview, "/", "Experiments"), (Tab::Alerts, "/alerts", "Alerts"), (Tab::Live, "/live", "Live")];

/// A page.
pub fn frame(title: &str, place: Tab, viewer: Option<&Viewer>, body: Markup) -> Html<String> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · rocm-perf" }
                link rel="stylesheet" href=(assets::address("style"));
                link rel="icon" href="data:,";
                script src=(assets::address("page")) defer {}
                @if place == Tab::Live {
                    noscript { meta http-equiv="refresh" content="10"; }
                }
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                header.top {
                    div.wide {
                        a.brand href="/" { i {} "rocm-perf" }
                        nav aria-label="Pages" {
                            @for (there, address, name) in NAVIGATION {
                                a href=(address) aria-current=[(there == place).then_some("page")] { (name) }
                            }
                        }
                        div.who {
                            @if viewer.is_some_and(|viewer| viewer.role == Role::Read) { span { "read only" } }
                            @if let Some(viewer) = viewer.filter(|viewer| viewer.has_session) {
                                form method="post" action="/logout" {
                                    (form_word(viewer))
                                    button.plain { "Log out" }
                                }
                            }
                            button.plain #theme type="button" hidden aria-label="Switch between light and dark" { "◐" }
                        }
                    }
                }
                main.wide #content { (body) }
                footer {
                    div.wide {
                        span { "rocm-perf " (env!("CARGO_PKG_VERSION")) }
                        a href="/api/v1/openapi.json" { "API" }
                        a href="/metrics" { "Metrics" }
                    }
                }
            }
        }
    };
    Html(page.into_string())
}

/// The hidden field that proves that a form came from a page of this server.
pub fn form_word(viewer: &Viewer) -> Markup {
    html! { input type="hidden" name="word" value=(viewer.form_word); }
}

/// Who asks for a page; fails for a request that `guard` let through without a token.
pub struct Asking(pub Viewer);

impl<S: Sync> FromRequestParts<S> for Asking {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let viewer = parts.extensions.get::<Option<Viewer>>().cloned().flatten();
        viewer.map(Asking).ok_or_else(|| Problem::forbidden("this needs a token"))
    }
}

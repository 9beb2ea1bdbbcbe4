//! The dashboard: pages and a JSON API over a store of experiments; and the loopback server of `open`.
//!
//! ```text
//! browser, curl, Grafana ──► access (host, token, site) ──► pages · api ──► data ──► store
//! ```
//!
//! Pages show what was attached and draw no conclusions; what is missing is shown as missing. They work
//! without scripts: sorting, filtering and turning pages are part of the address.
//!
//! | module | what for |
//! |---|---|
//! | `server`, `state` | listening, routes, what all requests share |
//! | `access` | names, tokens, sessions, headers: every request passes it first |
//! | `audit` | the log of writes |
//! | `pool`, `data` | connections to the store, and all queries on it |
//! | `recent` | answers that are cached for a moment |
//! | `documents`, `table` | stored JSON as typed tables, sorted, filtered and paged here |
//! | `upload` | archives of artifacts from other machines |
//! | `api` | JSON, CSV, OpenMetrics, `openapi.json` |
//! | `pages` | HTML |
//! | `perfetto_ui` | hands one trace to the Perfetto UI, for `open` |

mod access;
mod api;
mod audit;
mod data;
mod documents;
mod error;
mod links;
mod pages;
pub mod perfetto_ui;
mod pool;
mod recent;
mod server;
mod state;
mod table;
mod time;
mod upload;

pub use self::access::{Role, Tokens};
pub use self::api::openapi;
pub use self::error::ServeError;
pub use self::server::{router, run};
pub use self::state::{Dashboard, Options};
pub use files::supervisor::is_worker;

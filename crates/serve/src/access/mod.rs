//! Who may do what: every request passes `guard` before anything else sees it.
//!
//! | module | what for |
//! |---|---|
//! | `host` | host names that the server accepts |
//! | `tokens` | who may read, who may write |
//! | `sessions` | browsers that logged in |
//! | `failures` | how often a login may fail |
//! | `headers` | restrictions for browsers |

mod failures;
mod headers;
mod host;
mod sessions;
mod tokens;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use self::failures::Failures;
use self::sessions::{Sessions, hex, random};
use crate::Dashboard;
use crate::error::{Problem, ServeError};
use crate::links;

pub use self::tokens::{Role, Tokens};

/// The cookie of a session.
const COOKIE: &str = "rocm_perf_session";

/// What needs no token: the login, and files that reveal nothing.
const OPEN: [&str; 3] = ["/login", "/assets/", "/healthz"];

/// Tokens, sessions and names.
pub struct Access {
    tokens: Tokens,
    hosts: Vec<String>,
    sessions: Sessions,
    failures: Failures,
    /// Makes the form words.
    secret: String,
}

/// Who sent a request, as `guard` found out.
#[derive(Clone, Debug)]
pub struct Viewer {
    /// What they may do.
    pub role: Role,
    /// Whether they can log out.
    pub has_session: bool,
    /// The secret word that their forms must carry.
    pub form_word: String,
}

impl Viewer {
    /// Fails unless a form carries the word that this server put into it.
    pub fn check_form(&self, word: &str) -> Result<(), Problem> {
        let is_ours = tokens::equal(&tokens::hash(word.as_bytes()), &tokens::hash(self.form_word.as_bytes()));
        if is_ours { Ok(()) } else { Err(Problem::forbidden("the form is too old; load the page again")) }
    }
}

impl Access {
    /// Accepts these tokens, under these names in addition to addresses and `localhost`.
    pub fn new(tokens: Tokens, hosts: Vec<String>) -> Result<Self, ServeError> {
        let secret = random().map_err(|problem| ServeError::Token(problem.message))?;
        Ok(Self { tokens, hosts, sessions: Sessions::default(), failures: Failures::default(), secret })
    }

    /// Begins a session with a token; returns the cookie to set.
    pub fn log_in(&self, peer: IpAddr, token: &str, secure: bool) -> Result<String, Problem> {
        self.may_try(peer)?;
        let Some(role) = self.tokens.role(token) else {
            self.failures.count(peer);
            return Err(unauthorized("the token is not known"));
        };
        let cookie = self.sessions.begin(role)?;
        let secure = if secure { "; Secure" } else { "" };
        let seconds = sessions::LIFETIME.as_secs();
        Ok(format!("{COOKIE}={cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}"))
    }

    /// Ends the session of a request; returns the cookie to set.
    pub fn log_out(&self, headers: &HeaderMap) -> String {
        if let Some(cookie) = cookie(headers) {
            self.sessions.end(cookie);
        }
        format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
    }

    /// Whether a token is needed at all.
    pub fn needs_token(&self) -> bool {
        !self.tokens.is_empty()
    }

    fn may_try(&self, peer: IpAddr) -> Result<(), Problem> {
        match self.failures.wait(peer) {
            None => Ok(()),
            Some(seconds) => {
                let message = format!("too many failed logins from {peer}; wait {seconds} s");
                let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_failures", message);
                Err(Problem { retry_after: Some(seconds), ..problem })
            }
        }
    }

    /// Who sends a request.
    fn viewer(&self, headers: &HeaderMap, peer: IpAddr) -> Result<Viewer, Problem> {
        let session = cookie(headers).and_then(|cookie| Some((self.sessions.role(cookie)?, cookie)));
        let viewer = |role: Role, of: &str| Viewer {
            role,
            has_session: session.is_some(),
            form_word: hex(&tokens::hash(format!("{}{of}", self.secret).as_bytes())),
        };
        if self.tokens.is_empty() {
            return Ok(viewer(Role::Write, "everybody"));
        }
        if let Some((role, cookie)) = session {
            return Ok(viewer(role, cookie));
        }
        let Some(token) = bearer(headers) else { return Err(unauthorized("this server needs a token")) };
        self.may_try(peer)?;
        let Some(role) = self.tokens.role(token) else {
            self.failures.count(peer);
            return Err(unauthorized("the token is not known"));
        };
        Ok(viewer(role, token))
    }
}

fn unauthorized(message: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
        .with_help("send `Authorization: Bearer TOKEN`")
}

fn text<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = text(headers, &header::AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, value)| value)
}

/// The address that a request comes from.
pub fn peer(request: &Request) -> IpAddr {
    let connection = request.extensions().get::<ConnectInfo<SocketAddr>>();
    connection.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |ConnectInfo(address)| address.ip())
}

/// Fails if another site made a browser send the request. Only browsers send these headers.
fn check_site(headers: &HeaderMap, host: &str) -> Result<(), Problem> {
    let site = text(headers, &header::HeaderName::from_static("sec-fetch-site"));
    let foreign = site.is_some_and(|site| !["same-origin", "none"].contains(&site))
        || text(headers, &header::ORIGIN).is_some_and(|origin| !host::is_same_origin(origin, host));
    if foreign { Err(Problem::forbidden("another site must not write here")) } else { Ok(()) }
}

/// Lets a request pass if its host, site and sender are allowed; logs writes.
pub async fn guard(State(state): State<Dashboard>, mut request: Request, next: Next) -> Response {
    let (method, peer) = (request.method().clone(), peer(&request));
    let path = request.uri().path().to_string();
    let is_write = ![Method::GET, Method::HEAD, Method::OPTIONS].contains(&method);
    let mut role = None;
    let response = match judge(&state, &request, peer, is_write) {
        Ok(viewer) => {
            role = viewer.as_ref().map(|viewer| viewer.role);
            request.extensions_mut().insert(viewer);
            next.run(request).await
        }
        Err(problem) if problem.status == StatusCode::UNAUTHORIZED && !is_api(&path) => {
            let asked = request.uri().path_and_query().map_or("/", |asked| asked.as_str());
            Redirect::to(&format!("/login?next={}", links::escaped(asked))).into_response()
        }
        Err(problem) => problem.into_response(),
    };
    if is_write {
        let role = role.map_or("none", Role::name);
        state.audit.write(peer, role, method.as_str(), &path, response.status().as_u16());
    }
    headers::add(response)
}

/// Whether the path is for programs, which do not need a page.
pub fn is_api(path: &str) -> bool {
    path.starts_with("/api/") || path == "/metrics"
}

fn judge(
    state: &Dashboard,
    request: &Request,
    peer: IpAddr,
    is_write: bool,
) -> Result<Option<Viewer>, Problem> {
    let access = &state.access;
    let headers = request.headers();
    let host = text(headers, &header::HOST).or(request.uri().host()).unwrap_or_default();
    if !host::is_allowed(host, &access.hosts) {
        let problem = Problem::forbidden("this server does not answer under that name");
        return Err(problem.with_help("start the server with this name among those it answers to"));
    }
    if is_write {
        check_site(headers, host)?;
    }
    let path = request.uri().path();
    let is_open = OPEN.iter().any(|open| path == *open || (open.ends_with('/') && path.starts_with(open)));
    let viewer = match access.viewer(headers, peer) {
        Ok(viewer) => viewer,
        Err(_) if is_open => return Ok(None),
        Err(problem) => return Err(problem),
    };
    if is_write && !is_open && path != "/logout" && viewer.role < Role::Write {
        return Err(Problem::forbidden("this token may only read"));
    }
    Ok(Some(viewer))
}

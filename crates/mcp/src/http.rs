//! Streamable HTTP on loopback, for clients that show the token.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::refusal::Refusal;
use crate::server::Server;

/// Shorter tokens can be guessed.
const SHORTEST_TOKEN: usize = 16;

/// Path of the protocol's endpoint.
pub const PATH: &str = "/mcp";

/// What a client has to show.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// A token of at least 16 characters.
    pub fn new(text: &str) -> Result<Self, Refusal> {
        let text = text.trim();
        if text.len() < SHORTEST_TOKEN || !text.chars().all(|c| c.is_ascii_graphic()) {
            return Err(Refusal::new(format!(
                "the token needs at least {SHORTEST_TOKEN} printable characters without spaces"
            ))
            .with_help("make one with `openssl rand -hex 32`"));
        }
        Ok(Self(text.into()))
    }

    /// Whether a header contains the token; takes the same time for every wrong one of its length.
    fn is_shown(&self, header: Option<&str>) -> bool {
        let Some(shown) = header.and_then(|header| header.strip_prefix("Bearer ")) else { return false };
        let (own, shown) = (self.0.as_bytes(), shown.trim().as_bytes());
        own.len() == shown.len() && own.iter().zip(shown).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
    }
}

/// Listens on an address of this machine, and returns it.
pub fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Refusal> {
    if !address.ip().is_loopback() {
        return Err(Refusal::new(format!("`{address}` is reachable from other machines"))
            .with_help("listen on 127.0.0.1, and reach it with `ssh -L PORT:127.0.0.1:PORT HOST`"));
    }
    let bound = TcpListener::bind(address).and_then(|listener| {
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound.map_err(|error| Refusal::new(format!("cannot listen on {address}: {error}")))
}

/// Serves until the process ends.
pub async fn serve(server: Server, listener: TcpListener, token: Token) -> Result<(), Refusal> {
    let failed = |error: std::io::Error| Refusal::new(format!("the server stopped: {error}"));
    listener.set_nonblocking(true).map_err(failed)?;
    let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
    // Browsers send the origin of a page, and no page may call this server.
    let config = StreamableHttpServerConfig::default().enforce_origin_validation();
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let router =
        Router::new().nest_service(PATH, service).layer(middleware::from_fn_with_state(token, with_token));
    axum::serve(listener, router).await.map_err(failed)
}

async fn with_token(State(token): State<Token>, request: Request, next: Next) -> Response {
    let header = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if token.is_shown(header) {
        return next.run(request).await;
    }
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
    (StatusCode::UNAUTHORIZED, challenge, "show the server's token: `Authorization: Bearer TOKEN`\n")
        .into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_opens() {
        let token = Token::new("0123456789abcdef\n").unwrap();
        assert!(token.is_shown(Some("Bearer 0123456789abcdef")));
        for wrong in
            [None, Some(""), Some("Bearer "), Some("0123456789abcdef"), Some("Bearer 0123456789abcdeF")]
        {
            assert!(!token.is_shown(wrong), "{wrong:?}");
        }
        assert!(!token.is_shown(Some("Bearer 0123456789abcdef0")));
        assert!(Token::new("short").is_err());
        assert!(Token::new("with a space in it").is_err());
    }
}

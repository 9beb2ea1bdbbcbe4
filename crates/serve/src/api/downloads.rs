//! Artifacts as they were attached.

use std::fs::File;
use std::io::{self, Read};

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;

use crate::error::Problem;
use crate::state::Dashboard;

/// Bytes that are read at a time.
const PART: usize = 256 << 10;

/// Download an artifact
#[utoipa::path(get, path = "/api/v1/experiments/{name}/trials/{trial}/artifacts/{path}", params(("name" = String, Path), ("trial" = String, Path), ("path" = String, Path)), responses((status = 200, content_type = "application/octet-stream"), (status = 404)), security(("token" = [])))]
pub async fn artifact(
    State(state): State<Dashboard>,
    Path((name, trial, path)): Path<(String, String, String)>,
) -> Result<Response, Problem> {
    send(&state, &name, &trial, &path).await
}

/// Sends an artifact, always as a download: whatever it contains, no browser shows it as our page.
pub async fn send(state: &Dashboard, name: &str, trial: &str, path: &str) -> Result<Response, Problem> {
    let (artifact, file) = state.artifact(name, trial, path).await?;
    let gone = |error: io::Error| Problem::internal(format!("cannot read `{}`: {error}", artifact.path));
    let opened = tokio::task::spawn_blocking(move || File::open(file));
    let file = opened.await.map_err(|_| Problem::internal("the request failed"))?.map_err(gone)?;
    let parts = stream::try_unfold(file, |mut file| async move {
        let read = tokio::task::spawn_blocking(move || {
            let mut part = vec![0; PART];
            let length = file.read(&mut part)?;
            part.truncate(length);
            Ok::<_, io::Error>((part, file))
        });
        let (part, file) = read.await.map_err(io::Error::other)??;
        Ok::<_, io::Error>((!part.is_empty()).then(|| (Bytes::from(part), file)))
    });
    let mut response = Body::from_stream(parts).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(artifact.bytes));
    headers.insert(header::CONTENT_DISPOSITION, disposition(&artifact.path));
    Ok(response)
}

/// Saves under the artifact's own name.
pub fn disposition(path: &str) -> HeaderValue {
    let name = path.rsplit('/').next().unwrap_or_default();
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' }).collect();
    let value = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{}", crate::links::escaped(name));
    HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static("attachment"))
}

//! As much HTTP/1.1 as clients need: one request per connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::routes::State;

/// A request.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub method: String,
    pub path: String,
    pub authorization: Option<String>,
    pub body: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Response {
    pub status: u16,
    pub kind: &'static str,
    pub body: String,
}

impl Response {
    /// Plain text.
    pub fn text(status: u16, body: impl Into<String>) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: body.into() }
    }

    /// JSON.
    pub fn json(status: u16, body: serde_json::Value) -> Self {
        Self { status, kind: "application/json", body: body.to_string() }
    }
}

/// Answers the request of a connection; a server that dies does not answer.
pub(crate) fn serve(stream: TcpStream, state: &State) {
    let Ok(request) = read(&stream) else { return };
    if let Some(response) = state.answer(&request)
        && !state.is_dead()
    {
        let _ = write(stream, &response);
    }
}

fn read(stream: &TcpStream) -> io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let mut next = || words.next().unwrap_or_default().to_string();
    let mut request = Request { method: next(), path: next(), ..Request::default() };
    if request.path.is_empty() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let (mut length, mut chunked) = (0, false);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "transfer-encoding" => chunked = value.contains("chunked"),
            "authorization" => request.authorization = Some(value.trim().to_string()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    if chunked {
        read_chunks(&mut reader, &mut body)?;
    }
    request.body = String::from_utf8_lossy(&body).into_owned();
    Ok(request)
}

fn read_chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16).map_err(|_| io::ErrorKind::InvalidData)?;
        let start = body.len();
        body.resize(start + size, 0);
        reader.read_exact(&mut body[start..])?;
        reader.read_line(&mut String::new())?;
        if size == 0 {
            return Ok(());
        }
    }
}

fn write(mut stream: TcpStream, response: &Response) -> io::Result<()> {
    let Response { status, kind, body } = response;
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} Status\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )?;
    stream.flush()
}

//! Sits between a client on stdin and stdout and the worker that answers it. If the worker crashes, its open
//! calls get an error, a new worker gets the client's greeting, and the session continues.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use files::supervisor::{self, Wait};
use serde_json::{Value, json};

use crate::refusal::Refusal;

/// What a client reads of a call whose worker crashed.
const CRASHED: &str = "the analysis crashed; the server started again, and traces must be opened again";

/// JSON-RPC error code for errors of the server.
const INTERNAL_ERROR: i64 = -32603;

enum Event {
    Client(String),
    ClientClosed,
    Worker(String),
    WorkerClosed,
}

/// Relays until the client closes its side.
pub fn run() -> Result<(), Refusal> {
    let (sender, events) = channel();
    let from_client = sender.clone();
    std::thread::spawn(move || {
        pass_lines(io::stdin().lock(), &from_client, Event::Client, Event::ClientClosed);
    });
    let mut session = Session::default();
    let mut wait = Wait::default();
    loop {
        let began = Instant::now();
        let mut worker = Worker::start(&sender).map_err(failed)?;
        session.greet(&mut worker);
        let is_over = session.relay(&mut worker, &events).map_err(failed)?;
        let status = worker.child.wait().map_err(failed)?;
        if is_over && status.success() {
            return Ok(());
        }
        if is_over || !session.is_answered {
            return Err(Refusal::new(format!("the server {}", files::process::status_in_words(status))));
        }
        session.answer_lost_calls().map_err(failed)?;
        wait.after_crash("the server", status, began.elapsed());
    }
}

fn failed(error: io::Error) -> Refusal {
    Refusal::new(format!("the server stopped: {error}"))
}

/// Passes on the lines of a stream, then its end.
fn pass_lines(from: impl BufRead, to: &Sender<Event>, line: fn(String) -> Event, end: Event) {
    for text in from.lines().map_while(Result::ok) {
        if to.send(line(text)).is_err() {
            return;
        }
    }
    let _ = to.send(end);
}

struct Worker {
    child: Child,
    /// `None` once the client has closed its side.
    input: Option<ChildStdin>,
}

impl Worker {
    fn start(events: &Sender<Event>) -> io::Result<Self> {
        let mut child = supervisor::start(&[], Stdio::piped)?;
        let input = child.stdin.take();
        if let Some(output) = child.stdout.take() {
            let events = events.clone();
            std::thread::spawn(move || {
                pass_lines(BufReader::new(output), &events, Event::Worker, Event::WorkerClosed);
            });
        }
        Ok(Self { child, input })
    }

    /// A worker that no longer reads has crashed, which its output shows.
    fn tell(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = writeln!(input, "{line}").and_then(|()| input.flush());
        }
    }
}

/// What a new worker needs, and what the client still waits for.
#[derive(Default)]
struct Session {
    /// The client's `initialize` and its `notifications/initialized`.
    greeting: Vec<String>,
    /// The id of a greeting that was repeated; the client must not see the answer.
    repeated: Option<Value>,
    /// Requests without an answer: id and method.
    open: Vec<(Value, String)>,
    is_answered: bool,
}

impl Session {
    /// Repeats the client's greeting to a new worker.
    fn greet(&mut self, worker: &mut Worker) {
        self.greeting.iter().for_each(|line| worker.tell(line));
        self.repeated = self.greeting.first().and_then(|line| parsed(line).remove(0).get("id").cloned());
    }

    /// Relays until the worker ends; returns whether the client closed its side before.
    fn relay(&mut self, worker: &mut Worker, events: &Receiver<Event>) -> io::Result<bool> {
        for event in events {
            match event {
                Event::Client(line) => {
                    self.note(&line);
                    worker.tell(&line);
                }
                Event::ClientClosed => worker.input = None,
                Event::Worker(line) => {
                    if self.is_for_client(&line) {
                        print(&line)?;
                    }
                }
                Event::WorkerClosed => break,
            }
        }
        Ok(worker.input.is_none())
    }

    /// Records what the client asks.
    fn note(&mut self, line: &str) {
        for message in parsed(line) {
            let method = message["method"].as_str().unwrap_or_default().to_string();
            match (method.as_str(), message.get("id")) {
                ("", _) => {}
                ("notifications/cancelled", _) => {
                    let given_up = &message["params"]["requestId"];
                    self.open.retain(|(id, _)| id != given_up);
                }
                ("notifications/initialized", _) => self.greeting.push(line.to_string()),
                (_, Some(id)) => {
                    if method == "initialize" {
                        self.greeting = vec![line.to_string()];
                    }
                    self.open.push((id.clone(), method));
                }
                _ => {}
            }
        }
    }

    /// Records what is answered; the answer to a repeated greeting is not passed on.
    fn is_for_client(&mut self, line: &str) -> bool {
        for message in parsed(line) {
            let Some(id) = message.get("id").filter(|_| message.get("method").is_none()) else { continue };
            if self.repeated.as_ref() == Some(id) {
                self.repeated = None;
                return false;
            }
            self.open.retain(|(open, _)| open != id);
            self.is_answered = true;
        }
        true
    }

    /// Answers the open calls of the crashed worker.
    fn answer_lost_calls(&mut self) -> io::Result<()> {
        for (id, method) in self.open.drain(..) {
            let answer = match method.as_str() {
                "tools/call" => {
                    let content = json!([{ "type": "text", "text": CRASHED }]);
                    json!({ "jsonrpc": "2.0", "id": id, "result": { "content": content, "isError": true } })
                }
                _ => {
                    let error = json!({ "code": INTERNAL_ERROR, "message": CRASHED });
                    json!({ "jsonrpc": "2.0", "id": id, "error": error })
                }
            };
            print(&answer.to_string())?;
        }
        Ok(())
    }
}

fn print(line: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

/// The messages of a line: one, or a batch; if it is not JSON, one without fields.
fn parsed(line: &str) -> Vec<Value> {
    match serde_json::from_str(line) {
        Ok(Value::Array(batch)) if !batch.is_empty() => batch,
        Ok(message) => vec![message],
        Err(_) => vec![Value::Null],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_open_until_they_are_answered_or_cancelled() {
        let mut session = Session::default();
        session.note(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#);
        session.note(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        session.note(
            r#"[{"jsonrpc":"2.0","id":"a","method":"tools/call"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#,
        );
        assert_eq!(session.greeting.len(), 2);
        assert_eq!(session.open.len(), 3);
        assert!(session.is_for_client(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#) && session.is_answered);
        session.note(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
        assert_eq!(session.open, [(json!("a"), "tools/call".to_string())]);
    }

    #[test]
    fn the_answer_to_a_repeated_greeting_is_kept_from_the_client_once() {
        let mut session = Session { repeated: Some(json!(1)), ..Session::default() };
        assert!(session.is_for_client(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#));
        assert!(!session.is_for_client(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
        assert!(session.is_for_client(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
    }

    #[test]
    fn lines_that_are_not_json_are_nobodys_request() {
        let mut session = Session::default();
        for line in ["", "{", "[]", "3", "null", r#""text""#] {
            session.note(line);
            assert!(session.is_for_client(line) && session.open.is_empty(), "{line}");
        }
    }
}

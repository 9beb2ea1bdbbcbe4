//! Agents against the server: the reference agent on some questions, and a stand-in for a model.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use rocm_perf_evals::{Agent, Endpoint, run};
use serde_json::{Value as Json, json};

#[test]
fn the_reference_agent_answers_questions_of_each_kind() {
    for only in ["why-idle-gpu", "what_if-clean", "trust-eager", "compare-clean", "late_rank"] {
        let scored = run(&Agent::Reference, 4711, only, &mut |_| ()).expect("runs and a server");
        assert!(!scored.is_empty(), "{only}");
        for one in scored {
            assert_eq!(one.wrong, None, "{}: {:?}", one.id, one.answer);
        }
    }
}

#[test]
fn no_question_can_be_answered_without_looking() {
    let stand_in =
        StandIn::start(|_| json!({ "content": "{\"cause\": null, \"place\": null, \"number\": null}" }));
    let scored = run(&stand_in.agent(), 5, "-clean", &mut |_| ()).expect("runs and a server");
    assert!(scored.len() >= 5 && scored.iter().all(|one| one.wrong.is_some()));
}

/// An endpoint that answers each request as `turn` says, from the messages so far.
struct StandIn {
    url: String,
    requests: Arc<Mutex<Vec<Json>>>,
}

impl StandIn {
    fn start(turn: impl Fn(&[Json]) -> Json + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/v1", listener.local_addr().expect("its port"));
        let requests: Arc<Mutex<Vec<Json>>> = Arc::default();
        let kept = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let body = body_of(&stream);
                let message = turn(body["messages"].as_array().expect("messages"));
                kept.lock().expect("one thread").push(body);
                answer(&stream, &json!({ "choices": [{ "message": message }] }));
            }
        });
        Self { url, requests }
    }

    fn agent(&self) -> Agent {
        Agent::Model(Endpoint { url: self.url.clone(), model: "stand-in".into(), key: None })
    }
}

/// The JSON of one request.
fn body_of(stream: &TcpStream) -> Json {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    reader.read_line(&mut line).expect("a request");
    assert!(line.starts_with("POST /v1/chat/completions "), "{line}");
    while line != "\r\n" {
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
        line.clear();
        reader.read_line(&mut line).expect("a header");
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    serde_json::from_slice(&body).expect("JSON")
}

fn answer(mut stream: &TcpStream, body: &Json) {
    let body = body.to_string();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length";
    let _ = write!(stream, "{head}: {}\r\n\r\n{body}", body.len());
}

fn call(id: &str, name: &str, arguments: &str) -> Json {
    let function = json!({ "name": name, "arguments": arguments });
    json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": id, "type": "function", "function": function }] })
}

/// What a model would do: open, ask, make a mistake, read the error, answer.
fn model(messages: &[Json]) -> Json {
    let results: Vec<&str> = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .filter_map(|message| message["content"].as_str())
        .collect();
    match results[..] {
        [] => call("1", "open_trace", r#"{"path": "a"}"#),
        [_] => call("2", "explain", r#"{"trace": "#),
        [_, broken] => {
            assert!(broken.contains("not JSON"), "{broken}");
            call("3", "explain", r#"{"trace": "t1"}"#)
        }
        [.., explained] => {
            let explained: Json = serde_json::from_str(explained).expect("an answer");
            let finding = &explained["findings"][0];
            let answer =
                json!({ "cause": finding["rule"], "place": finding["evidence"]["name"], "number": null });
            json!({ "role": "assistant", "content": format!("The cause is clear:\n```json\n{answer}\n```") })
        }
    }
}

#[test]
fn tool_calls_of_a_model_become_calls_of_the_server_and_mistakes_come_back_to_it() {
    let stand_in = StandIn::start(model);
    let scored = run(&stand_in.agent(), 11, "why-first-call", &mut |_| ()).expect("runs and a server");
    let [one] = &scored[..] else { panic!("one question") };
    assert_eq!(one.wrong, None, "{:?}", one.answer);
    let requests = stand_in.requests.lock().expect("one thread");
    let tools = requests[0]["tools"].as_array().expect("tools");
    assert!(tools.iter().any(|tool| tool["function"]["name"] == "explain"));
    assert!(tools.iter().all(|tool| tool["function"]["parameters"]["type"] == "object"));
    let told = requests[0]["messages"].to_string();
    assert!(!told.contains("first-call"), "the question gives nothing away");
}

#[test]
fn an_endpoint_that_does_not_answer_ends_the_scoring() {
    let agent = Agent::Model(Endpoint { url: "http://127.0.0.1:9/v1".into(), model: "x".into(), key: None });
    let error = run(&agent, 1, "why-idle-gpu", &mut |_| ()).err().expect("an error");
    assert!(error.to_string().contains("did not respond"), "{error}");
}

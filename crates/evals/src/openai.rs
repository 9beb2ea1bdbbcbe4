//! Any model behind an OpenAI-compatible endpoint: its tool calls become calls of the MCP server.

use std::time::Duration;

use collect::tls;
use serde_json::{Value as Json, json};

use crate::Error;
use crate::score::Conclusion;
use crate::session::Session;

/// Longest answer that is read.
const LONGEST: u64 = 4 << 20;
/// Turns before an agent has to have an answer.
const MOST_TURNS: usize = 16;
/// Longest wait for one turn.
const PATIENCE: Duration = Duration::from_secs(300);

const SYSTEM: &str = "You are a performance engineer for AMD GPUs. Answer the question from the tools alone; open the trace \
first. When you know the answer, reply with one JSON object and nothing else: {\"cause\": TEXT or null, \"place\": TEXT or \
null, \"number\": NUMBER or null}. Fill in the fields that the question asks for, in the unit that it asks for.";

/// Where the model is and how it is asked.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// `https://host/v1`, or the whole address of chat completions.
    pub url: String,
    /// The model's name.
    pub model: String,
    /// Key, where the endpoint wants one.
    pub key: Option<String>,
}

/// Lets the model call tools until it answers.
pub fn answer(endpoint: &Endpoint, session: &Session, question: &str) -> Result<Conclusion, Error> {
    let tools: Vec<Json> = session
        .tools()?
        .into_iter()
        .map(|tool| {
            let function = json!({ "name": tool.name, "description": tool.about, "parameters": tool.schema });
            json!({ "type": "function", "function": function })
        })
        .collect();
    let mut messages =
        vec![json!({ "role": "system", "content": SYSTEM }), json!({ "role": "user", "content": question })];
    for _ in 0..MOST_TURNS {
        let body = json!({ "model": endpoint.model, "temperature": 0, "messages": messages, "tools": tools });
        let message = endpoint.send(&body)?["choices"][0]["message"].clone();
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        if calls.is_empty() {
            return Ok(conclusion(message["content"].as_str().unwrap_or_default()));
        }
        messages.push(message);
        for call in calls {
            let result = run(session, &call)?;
            messages.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": result }));
        }
    }
    Ok(Conclusion::default())
}

/// One call of the model; what is wrong with it goes back to the model.
fn run(session: &Session, call: &Json) -> Result<String, Error> {
    let name = call["function"]["name"].as_str().unwrap_or_default();
    let arguments = call["function"]["arguments"].as_str().unwrap_or("{}");
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
    match serde_json::from_str::<Json>(arguments) {
        Ok(Json::Object(arguments)) => {
            Ok(session.call(name, arguments)?.unwrap_or_else(|error| format!("error: {error}")))
        }
        Ok(_) => Ok("error: the arguments are not a JSON object".into()),
        Err(error) => Ok(format!("error: the arguments are not JSON: {error}")),
    }
}

/// The last JSON object of a text; models like to explain before it, or to put it into a code block.
fn conclusion(text: &str) -> Conclusion {
    let starts = text.char_indices().filter(|(_, c)| *c == '{').map(|(at, _)| at);
    let mut objects = starts.filter_map(|at| {
        let mut stream = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Json>();
        stream.next()?.ok().filter(Json::is_object)
    });
    objects.next_back().map(|object| Conclusion::of(&object)).unwrap_or_default()
}

impl Endpoint {
    fn send(&self, body: &Json) -> Result<Json, Error> {
        let wrong = |why: String| Error::Endpoint(format!("`{}` {why}", self.url));
        let url = match self.url.trim_end_matches('/') {
            whole if whole.ends_with("/chat/completions") => whole.to_string(),
            base => format!("{base}/chat/completions"),
        };
        // An address without encryption may lead to nowhere else, so that a key is never sent in the open by surprise.
        let secure = url.starts_with("https://");
        let tls = if secure { tls::config(None).map_err(&wrong)? } else { Default::default() };
        let config = ureq::Agent::config_builder()
            .tls_config(tls)
            .https_only(secure)
            .max_redirects(if secure { 3 } else { 0 })
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .build();
        let mut request = config.new_agent().post(url).header("Content-Type", "application/json");
        if let Some(key) = &self.key {
            request = request.header("Authorization", format!("Bearer {key}"));
        }
        let mut response =
            request.send(body.to_string()).map_err(|error| wrong(format!("did not respond: {error}")))?;
        let status = response.status();
        let text = response.body_mut().with_config().limit(LONGEST).read_to_string();
        let text = text.map_err(|error| wrong(format!("broke off its response: {error}")))?;
        if !status.is_success() {
            return Err(wrong(format!(
                "responded with {status}: {}",
                text.chars().take(200).collect::<String>()
            )));
        }
        serde_json::from_str(&text).map_err(|_| wrong("did not respond with JSON".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conclusion_is_found_among_words() {
        let found =
            conclusion("I looked at {the trace}.\n```json\n{\"cause\": \"idle-gpu\", \"number\": 4.5}\n```");
        assert_eq!(found.cause.as_deref(), Some("idle-gpu"));
        assert_eq!(found.number, Some(4.5));
        assert_eq!(conclusion("I do not know"), Conclusion::default());
    }
}

//! Any model behind an OpenAI-compatible endpoint: its tool calls become calls of the MCP server.

use std::time::Duration;

use collect::chat::Chat;
use serde_json::{Value as Json, json};

use crate::Error;
use crate::score::Conclusion;
use crate::session::Session;

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
    /// Key, if the endpoint needs one.
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
    let key = endpoint.key.as_deref();
    let chat = Chat { url: &endpoint.url, key, timeout: PATIENCE, certificates: None };
    for _ in 0..MOST_TURNS {
        let body = json!({ "model": endpoint.model, "temperature": 0, "messages": messages, "tools": tools });
        let message = chat.message(&body).map_err(Error::Endpoint)?;
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

/// Runs one call of the model; errors go back to the model.
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

//! Evals: do agents draw the right conclusions from traces?
//!
//! ```text
//! questions.toml ─► lab (simulates runs from a seed, hides their truth) ─► agent ◄─ MCP ─► server
//!                                        └─► truth ────────────────────────► score: cause, place, number
//! ```
//!
//! The agent sees the question and the tools, and nothing else. Runs are simulated anew for each scoring.

mod lab;
pub mod openai;
mod questions;
pub mod reference;
mod score;
pub mod session;
mod truth;

use serde_json::{Value as Json, json};

pub use openai::Endpoint;
pub use score::Conclusion;

use self::lab::Lab;
use self::questions::Questions;
use self::session::Session;

/// Why scoring stops, or a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The table of questions is wrong.
    #[error("evals/questions.toml: {0}")]
    Questions(String),
    /// A run could not be made.
    #[error("cannot make a run: {0}")]
    Run(#[from] app::Failure),
    /// A file could not be written or moved.
    #[error("cannot make a run: {0}")]
    File(#[from] std::io::Error),
    /// Talking to the server failed.
    #[error("MCP: {0}")]
    Protocol(String),
    /// A tool refused.
    #[error("{0}")]
    Tool(String),
    /// Asking the model failed.
    #[error("{0}")]
    Endpoint(String),
}

/// Who answers.
pub enum Agent {
    /// The reference script.
    Reference,
    /// A model.
    Model(Endpoint),
}

impl Agent {
    fn answer(&self, session: &Session, question: &str) -> Result<Conclusion, Error> {
        match self {
            Agent::Reference => reference::answer(session, question),
            Agent::Model(endpoint) => openai::answer(endpoint, session, question),
        }
    }
}

/// The result of one question.
pub struct Scored {
    /// The question's id.
    pub id: String,
    /// What is asked.
    pub kind: String,
    /// What the agent read.
    pub question: String,
    /// What it concluded.
    pub answer: Conclusion,
    /// Why that is wrong; `None` if it is right.
    pub wrong: Option<String>,
}

impl Scored {
    /// The result as JSON.
    pub fn json(&self) -> Json {
        json!({
            "id": self.id,
            "kind": self.kind,
            "question": self.question,
            "cause": self.answer.cause,
            "place": self.answer.place,
            "number": self.answer.number,
            "right": self.wrong.is_none(),
            "wrong": self.wrong,
        })
    }
}

/// Asks every question whose id contains `only`; `each` gets each result.
pub fn run(
    agent: &Agent,
    seed: u64,
    only: &str,
    each: &mut dyn FnMut(&Scored),
) -> Result<Vec<Scored>, Error> {
    let questions = Questions::load()?;
    let mut all = Vec::new();
    for (number, question) in questions.iter().enumerate().filter(|(_, one)| one.id.contains(only)) {
        // Far apart, so that questions do not share runs.
        let lab = Lab::new(question, seed.wrapping_mul(1_000).wrapping_add(2 * number as u64))?;
        let session = Session::start(&lab.root)?;
        let text = questions.text(question, "a", "b");
        let truth = truth::truth(question, &lab);
        let (answer, wrong) = match agent.answer(&session, &text) {
            Ok(answer) => {
                let wrong = score::wrong(&answer, &truth, questions.expected(question), question.tolerance);
                (answer, wrong)
            }
            // Without a model there is nothing to score.
            Err(error @ Error::Endpoint(_)) => return Err(error),
            Err(error) => (Conclusion::default(), Some(format!("no answer: {error}"))),
        };
        let scored =
            Scored { id: question.id.clone(), kind: question.kind.clone(), question: text, answer, wrong };
        each(&scored);
        all.push(scored);
    }
    Ok(all)
}

//! The `rocm-perf-evals` program: scores an agent.

use std::process::ExitCode;

use clap::Parser;
use rocm_perf_evals::{Agent, Endpoint, Error, Scored, run};
use serde_json::json;

/// Score the conclusions that an agent draws from simulated traces through the MCP server
#[derive(Parser)]
#[command(name = "rocm-perf-evals", version)]
struct Arguments {
    /// Who answers: `reference`, or `openai:URL` of an OpenAI-compatible endpoint ($OPENAI_API_KEY is sent if set)
    #[arg(long, default_value = "reference")]
    agent: String,

    /// The model of the endpoint
    #[arg(long, default_value = "default")]
    model: String,

    /// Seed of all runs; another seed makes other runs [default: from the clock]
    #[arg(long)]
    seed: Option<u64>,

    /// Only questions whose id contains this
    #[arg(long, default_value = "")]
    only: String,

    /// Least share of right answers, in percent; below it the exit code is 1
    #[arg(long, default_value_t = 0.0)]
    at_least: f64,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match scored(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn scored(arguments: &Arguments) -> Result<bool, Error> {
    let agent = match arguments.agent.split_once(':') {
        _ if arguments.agent == "reference" => Agent::Reference,
        Some(("openai", url)) => Agent::Model(Endpoint {
            url: url.into(),
            model: arguments.model.clone(),
            key: std::env::var("OPENAI_API_KEY").ok().filter(|key| !key.is_empty()),
        }),
        _ => {
            return Err(Error::Endpoint(format!(
                "`{}` is not an agent: use reference or openai:URL",
                arguments.agent
            )));
        }
    };
    let seed = arguments.seed.unwrap_or_else(from_clock);
    let mut show = |one: &Scored| {
        if !arguments.json {
            match &one.wrong {
                None => println!("right  {}", one.id),
                Some(why) => println!("wrong  {}: {why}", one.id),
            }
        }
    };
    let all = run(&agent, seed, &arguments.only, &mut show)?;
    let right = all.iter().filter(|one| one.wrong.is_none()).count();
    let pct = 100.0 * right as f64 / all.len().max(1) as f64;
    if arguments.json {
        let rows: Vec<_> = all.iter().map(Scored::json).collect();
        let agent = &arguments.agent;
        println!(
            "{}",
            json!({ "agent": agent, "seed": seed, "questions": all.len(), "right": right, "score_pct": pct, "answers": rows })
        );
    } else {
        println!("{right} of {} right ({pct:.1} %), seed {seed}", all.len());
    }
    Ok(pct >= arguments.at_least)
}

/// Seconds since 1970: new runs at each scoring.
fn from_clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(1, |since| since.as_secs() % 1_000_000)
}

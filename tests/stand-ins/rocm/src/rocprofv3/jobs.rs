//! Job files: text, JSON and YAML, each job a run of the application.

use std::path::Path;

use serde_json::{Value, json};

use super::options::{CommandLine, Stop, Values};
use crate::settings::Version;

/// One run of the application.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pass {
    pub values: Values,
    /// `pmc_1`, `pass_2`; `None` for a single run.
    pub folder: Option<String>,
}

/// The runs that a command line asks for; empty for a text file without a counter line.
pub(super) fn passes(line: &CommandLine, version: Version) -> Result<Vec<Pass>, Stop> {
    let Some(input) = line.values.get("input").and_then(Value::as_str) else {
        if line.pmc.len() > 1 {
            let pass = |(n, counters): (usize, &Vec<String>)| {
                let mut values = line.values.clone();
                values.insert("pmc".into(), counters.clone().into());
                Pass { values, folder: Some(format!("pass_{}", n + 1)) }
            };
            return Ok(line.pmc.iter().enumerate().map(pass).collect());
        }
        return Ok(vec![Pass { values: line.values.clone(), folder: None }]);
    };
    let path = Path::new(input);
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    if !["txt", "json", "yaml", "yml"].contains(&extension) {
        return Err(Stop::fatal(format!(
            "Input file should be .txt, .json, .yaml or .yml and not '.{extension}'"
        )));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|_| Stop::fatal(format!("Input file '{input}' does not exist")))?;
    match extension {
        "txt" => Ok(text_passes(&text, line, version)),
        "json" => {
            let parsed = serde_json::from_str(&text);
            job_passes(
                parsed.map_err(|e| Stop::traceback(format!("json.decoder.JSONDecodeError: {e}")))?,
                line,
            )
        }
        _ => job_passes(
            super::yaml::parse(&text).map_err(|e| Stop::traceback(format!("yaml.YAMLError: {e}")))?,
            line,
        ),
    }
}

fn text_passes(text: &str, line: &CommandLine, version: Version) -> Vec<Pass> {
    let mut passes = Vec::new();
    for row in text.lines() {
        let plain = row.split('#').next().unwrap_or("");
        // Until 7.13 a line counts even when its `pmc:` is a comment.
        let counts = if version < Version(7, 13, 0) { row.contains("pmc:") } else { plain.contains("pmc:") };
        if counts {
            let counters = plain.split_once("pmc:").map_or("", |(_, counters)| counters);
            let counters: Vec<&str> = counters.split([' ', '\t']).filter(|c| !c.is_empty()).collect();
            let mut values = line.values.clone();
            values.insert("pmc".into(), json!(counters));
            passes.push(Pass { values, folder: Some(format!("pmc_{}", passes.len() + 1)) });
        }
    }
    passes
}

fn job_passes(document: Value, line: &CommandLine) -> Result<Vec<Pass>, Stop> {
    let Some(jobs) = document.get("jobs").and_then(Value::as_array) else {
        return Err(Stop::traceback("KeyError: 'jobs'"));
    };
    let mut passes = Vec::new();
    for (n, job) in jobs.iter().enumerate() {
        let job = job
            .as_object()
            .ok_or_else(|| Stop::traceback("AttributeError: 'str' object has no attribute 'items'"))?;
        if job.contains_key("pmc") && job.contains_key("pmc_groups") {
            return Err(Stop::fatal("Cannot specify both 'pmc' and 'pmc_groups' in the same job"));
        }
        let mut values = line.values.clone();
        for (key, value) in job {
            if let Some(given) = values.get(key).filter(|given| *given != value) {
                let message = format!("RuntimeError: conflicting value for {key} : {given} vs {value}");
                return Err(Stop::traceback(message));
            }
            values.insert(key.clone(), value.clone());
        }
        let folder = (jobs.len() > 1 || job.contains_key("pmc")).then(|| format!("pass_{}", n + 1));
        passes.push(Pass { values, folder });
    }
    Ok(passes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str, version: Version) -> Vec<Value> {
        let passes = text_passes(text, &CommandLine::default(), version);
        passes.into_iter().map(|pass| pass.values["pmc"].clone()).collect()
    }

    #[test]
    fn every_counter_line_is_a_pass_commented_or_not() {
        let file = "# first\npmc: A B # why\n# pmc: C\npmc : D\n";
        assert_eq!(text(file, Version(7, 0, 0)), [json!(["A", "B"]), json!([])]);
        assert_eq!(text(file, Version(7, 13, 0)), [json!(["A", "B"])]);
        assert!(text("pmc : A\n", Version(7, 0, 0)).is_empty());
    }

    #[test]
    fn jobs_may_not_contradict_the_command_line() {
        let mut line = CommandLine::default();
        line.values.insert("kernel_trace".into(), true.into());
        let jobs = json!({"jobs": [{"pmc": ["A"], "kernel_trace": true}]});
        assert_eq!(job_passes(jobs, &line).unwrap()[0].folder.as_deref(), Some("pass_1"));
        let stop = job_passes(json!({"jobs": [{"kernel_trace": false}]}), &line).unwrap_err();
        assert!(stop.message.contains("conflicting value for kernel_trace : true vs false"));
    }
}

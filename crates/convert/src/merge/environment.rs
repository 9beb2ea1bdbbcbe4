//! What a merged file may keep of a process's environment and command line, which may contain passwords and
//! tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use formats::secrets::{REDACTED, Readers, count_redacted, redact_environment};
use rusqlite::functions::FunctionFlags;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};
use serde_json::{Map, Value as Json};
use trace::RANK_VARIABLES;

/// SQL functions used by the copy.
pub(super) const ENVIRONMENT_FUNCTION: &str = "rocm_perf_environment";
pub(super) const COMMAND_FUNCTION: &str = "rocm_perf_command";

/// Registers the functions with a connection; `removed` counts what they remove.
pub(super) fn register(connection: &Connection, keep: bool, removed: &Arc<AtomicU64>) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let count = Arc::clone(removed);
    connection.create_scalar_function(ENVIRONMENT_FUNCTION, 2, flags, move |context| {
        let rank = context.get::<Option<u32>>(1)?;
        let (shared, gone) = match context.get_raw(0) {
            ValueRef::Null => return Ok(Value::Null),
            ValueRef::Text(text) => shared_environment(&String::from_utf8_lossy(text), rank, keep),
            _ if keep => return context.get::<Value>(0),
            // Other types cannot be redacted.
            _ => ("{}".to_string(), 1),
        };
        count.fetch_add(gone, Ordering::Relaxed);
        Ok(Value::Text(shared))
    })?;
    let count = Arc::clone(removed);
    connection.create_scalar_function(COMMAND_FUNCTION, 1, flags, move |context| {
        let (shared, gone) = match context.get_raw(0) {
            ValueRef::Text(text) if !keep => {
                let text = String::from_utf8_lossy(text);
                let (shared, gone) = count_redacted(&text);
                (shared.into_owned(), gone as u64)
            }
            _ => return context.get::<Value>(0),
        };
        count.fetch_add(gone, Ordering::Relaxed);
        Ok(Value::Text(shared))
    })
}

/// The part of an environment that may be shared, and the number of variables removed. A rank that is only in
/// the file's name is added: the merged file has another name.
fn shared_environment(text: &str, rank: Option<u32>, keep: bool) -> (String, u64) {
    let Ok(Json::Object(all)) = serde_json::from_str::<Json>(text) else {
        let harmless = keep || text.trim().is_empty();
        return if harmless { (text.to_string(), 0) } else { ("{}".to_string(), 1) };
    };
    let rank = rank.filter(|_| rank_of(&all).is_none());
    let mut gone = 0;
    let mut shared = Map::new();
    for (name, value) in all {
        let kept = if keep { Some(value.clone()) } else { shared_value(&name, &value) };
        gone += u64::from(kept.as_ref() != Some(&value));
        shared.extend(kept.map(|value| (name, value)));
    }
    if gone == 0 && rank.is_none() {
        return (text.to_string(), 0);
    }
    if let Some(rank) = rank {
        shared.insert("RANK".into(), Json::String(rank.to_string()));
    }
    (Json::Object(shared).to_string(), gone)
}

/// The shareable value of a variable.
fn shared_value(name: &str, value: &Json) -> Option<Json> {
    let text = match value {
        Json::String(text) => text.clone(),
        Json::Null | Json::Bool(_) | Json::Number(_) => value.to_string(),
        // Other types are not variables.
        Json::Array(_) | Json::Object(_) => return None,
    };
    // If a variable's whole value is secret, its name is useless too.
    let shared = redact_environment(name, &text, Readers::Anyone, RANK_VARIABLES)?;
    if shared == REDACTED && text != REDACTED {
        return None;
    }
    Some(if shared == text { value.clone() } else { Json::String(shared) })
}

/// The rank in an environment.
pub(super) fn rank_of_text(text: &str) -> Option<u32> {
    match serde_json::from_str(text) {
        Ok(Json::Object(variables)) => rank_of(&variables),
        _ => None,
    }
}

fn rank_of(variables: &Map<String, Json>) -> Option<u32> {
    RANK_VARIABLES.iter().find_map(|name| match variables.get(*name)? {
        Json::String(text) => text.trim().parse().ok(),
        Json::Number(number) => number.as_u64()?.try_into().ok(),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_steers_performance_is_shared() {
        let text = r#"{"HIP_VISIBLE_DEVICES":"0,1","HOME":"/home/me","RANK":"3","NCCL_DEBUG":"INFO","VLLM_API_KEY":"k",
            "HSA_NOTE":"hf_abc123","UCX_URL":"tcp://me:pw@host/x","AWS_SECRET_ACCESS_KEY":"s","SLURM_PROCID":12}"#;
        let (shared, gone) = shared_environment(text, None, false);
        assert_eq!(
            shared,
            r#"{"HIP_VISIBLE_DEVICES":"0,1","RANK":"3","NCCL_DEBUG":"INFO","UCX_URL":"tcp://[redacted]@host/x","SLURM_PROCID":12}"#
        );
        assert_eq!(gone, 5);
        assert_eq!(shared_environment(text, None, true), (text.to_string(), 0));
        assert_eq!(shared_environment(&shared, Some(9), false), (shared.clone(), 0), "its own rank stays");
    }

    #[test]
    fn a_rank_that_the_name_told_is_added() {
        assert_eq!(shared_environment("{}", Some(7), false), (r#"{"RANK":"7"}"#.to_string(), 0));
        assert_eq!(rank_of_text(r#"{"RANK":"7"}"#), Some(7));
    }

    #[test]
    fn what_cannot_be_looked_through_goes() {
        assert_eq!(shared_environment("SECRET=1;X=2", None, false), ("{}".to_string(), 1));
        assert_eq!(shared_environment("", None, false), (String::new(), 0));
    }
}

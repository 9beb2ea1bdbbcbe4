//! What of a process's environment and command line may be shared: an environment holds whatever its user had set,
//! passwords and tokens included.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::functions::FunctionFlags;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};
use serde_json::{Map, Value as Json};
use trace::RANK_VARIABLES;

/// Other variables that tell where a process sits in its job.
const PLACES: &[&str] = &[
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "ROLE_RANK",
    "NODE_RANK",
    "PMI_SIZE",
    "PMI_LOCAL_RANK",
    "PMI_LOCAL_SIZE",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "SLURM_JOB_ID",
    "SLURM_JOB_NUM_NODES",
    "SLURM_LOCALID",
    "SLURM_NNODES",
    "SLURM_NODEID",
    "SLURM_NPROCS",
    "SLURM_NTASKS",
    "SLURM_STEP_ID",
    "FLUX_JOB_SIZE",
    "CUDA_VISIBLE_DEVICES",
];

/// Beginnings of variables that steer the runtime, libraries and frameworks, and with them performance.
const STEERING: &[&str] = &[
    "AITER_",
    "AMD_",
    "GPU_",
    "GOMP_",
    "HIP_",
    "HIPBLASLT_",
    "HSA_",
    "KMP_",
    "MIOPEN_",
    "MKL_",
    "MV2_COMM_WORLD_",
    "NCCL_",
    "OMP_",
    "OMPI_COMM_WORLD_",
    "OPENBLAS_",
    "PYTORCH_",
    "RCCL_",
    "ROCBLAS_",
    "ROCM_",
    "ROCPROF",
    "ROCP_",
    "ROCR_",
    "SGLANG_",
    "TENSILE_",
    "TORCH_",
    "TORCHINDUCTOR_",
    "TRITON_",
    "UCX_",
    "VLLM_",
];

/// Parts of names that speak of secrets, whatever else the name says.
const SECRET_NAMES: &[&str] =
    &["KEY", "TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "AUTH", "COOKIE"];

/// Last words of options whose values are secrets; `--max-tokens` is none.
const SECRET_OPTIONS: &[&str] =
    &["key", "apikey", "token", "secret", "password", "passwd", "credential", "credentials", "auth"];

/// Beginnings of values that are secrets under any name.
const SECRET_VALUES: &[&str] =
    &["hf_", "sk-", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "AKIA", "Bearer "];

/// What stands where a secret of a command line stood.
const REMOVED: &str = "[removed]";

/// SQL functions that the copy applies.
pub(super) const ENVIRONMENT_FUNCTION: &str = "rocm_perf_environment";
pub(super) const COMMAND_FUNCTION: &str = "rocm_perf_command";

/// Makes the functions known to a connection; what they remove is counted in `removed`.
pub(super) fn register(connection: &Connection, keep: bool, removed: &Arc<AtomicU64>) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let count = Arc::clone(removed);
    connection.create_scalar_function(ENVIRONMENT_FUNCTION, 2, flags, move |context| {
        let rank = context.get::<Option<u32>>(1)?;
        let (shared, gone) = match context.get_raw(0) {
            ValueRef::Null => return Ok(Value::Null),
            ValueRef::Text(text) => shared_environment(&String::from_utf8_lossy(text), rank, keep),
            _ if keep => return context.get::<Value>(0),
            // Whatever it is, it cannot be looked through.
            _ => ("{}".to_string(), 1),
        };
        count.fetch_add(gone, Ordering::Relaxed);
        Ok(Value::Text(shared))
    })?;
    let count = Arc::clone(removed);
    connection.create_scalar_function(COMMAND_FUNCTION, 1, flags, move |context| {
        let (shared, gone) = match context.get_raw(0) {
            ValueRef::Text(text) if !keep => shared_command(&String::from_utf8_lossy(text)),
            _ => return context.get::<Value>(0),
        };
        count.fetch_add(gone, Ordering::Relaxed);
        Ok(Value::Text(shared))
    })
}

/// The part of an environment that may be shared and how many variables it lost. A rank that only the file's name
/// told is added: the merged file has another name.
fn shared_environment(text: &str, rank: Option<u32>, keep: bool) -> (String, u64) {
    let Ok(Json::Object(all)) = serde_json::from_str::<Json>(text) else {
        let harmless = keep || text.trim().is_empty();
        return if harmless { (text.to_string(), 0) } else { ("{}".to_string(), 1) };
    };
    let rank = rank.filter(|_| rank_of(&all).is_none());
    let before = all.len();
    let mut shared: Map<String, Json> =
        all.into_iter().filter(|(name, value)| keep || may_be_shared(name, value)).collect();
    let gone = (before - shared.len()) as u64;
    if gone == 0 && rank.is_none() {
        return (text.to_string(), 0);
    }
    if let Some(rank) = rank {
        shared.insert("RANK".into(), Json::String(rank.to_string()));
    }
    (Json::Object(shared).to_string(), gone)
}

fn may_be_shared(name: &str, value: &Json) -> bool {
    let known = [RANK_VARIABLES, PLACES].iter().any(|names| names.contains(&name))
        || STEERING.iter().any(|start| name.starts_with(start));
    let upper = name.to_ascii_uppercase();
    let smells = SECRET_NAMES.iter().any(|part| upper.contains(part));
    let plain = match value {
        Json::String(text) => !is_secret(text),
        Json::Array(_) | Json::Object(_) => false,
        Json::Null | Json::Bool(_) | Json::Number(_) => true,
    };
    known && !smells && plain
}

/// The rank that an environment tells.
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

fn is_secret(text: &str) -> bool {
    let with_password = text.split_once("://").is_some_and(|(_, rest)| {
        let host = rest.split('/').next().unwrap_or_default();
        host.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    });
    with_password || SECRET_VALUES.iter().any(|start| text.starts_with(start))
}

/// A command line without the values of options that hold secrets, and how many those were.
fn shared_command(command: &str) -> (String, u64) {
    let mut shared = String::with_capacity(command.len());
    let (mut gone, mut next_is_secret) = (0, false);
    for word in command.split_inclusive(' ') {
        let bare = word.trim_end_matches(' ');
        let (name, value) = bare.split_once('=').map_or((bare, None), |(name, value)| (name, Some(value)));
        let option = is_secret_option(name);
        let secret = !bare.is_empty() && (is_secret(bare) || (next_is_secret && !bare.starts_with('-')));
        if secret {
            shared.push_str(REMOVED);
            gone += 1;
        } else if value.is_some_and(|value| (option || is_secret(value)) && !value.is_empty()) {
            shared.push_str(name);
            shared.push('=');
            shared.push_str(REMOVED);
            gone += 1;
        } else {
            shared.push_str(bare);
        }
        shared.push_str(&word[bare.len()..]);
        if !bare.is_empty() {
            next_is_secret = option && value.is_none() && bare.starts_with('-');
        }
    }
    (shared, gone)
}

fn is_secret_option(name: &str) -> bool {
    let last = name.rsplit(['-', '_', '.']).next().unwrap_or_default().to_ascii_lowercase();
    SECRET_OPTIONS.contains(&last.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_steers_performance_is_shared() {
        let text = r#"{"HIP_VISIBLE_DEVICES":"0,1","HOME":"/home/me","RANK":"3","NCCL_DEBUG":"INFO","VLLM_API_KEY":"k",
            "HSA_NOTE":"hf_abc","UCX_URL":"tcp://me:pw@host/x","AWS_SECRET_ACCESS_KEY":"s","SLURM_PROCID":12}"#;
        let (shared, gone) = shared_environment(text, None, false);
        assert_eq!(
            shared,
            r#"{"HIP_VISIBLE_DEVICES":"0,1","RANK":"3","NCCL_DEBUG":"INFO","SLURM_PROCID":12}"#
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

    #[test]
    fn secrets_of_a_command_line_go_and_the_rest_stays_as_it_was() {
        let (shared, gone) =
            shared_command("python  serve.py --api-key abc --hf_token=x --max-tokens 10 -v sk-123");
        assert_eq!(
            shared,
            "python  serve.py --api-key [removed] --hf_token=[removed] --max-tokens 10 -v [removed]"
        );
        assert_eq!(gone, 3);
        let plain = "python train.py --token --lr=0.1";
        assert_eq!(shared_command(plain), (plain.to_string(), 0));
    }
}

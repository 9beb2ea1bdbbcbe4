//! A secret never survives, in whatever form it is written; ordinary command lines are returned unchanged.

use formats::secrets::{REDACTED, Readers, redact_environment, redact_json, redact_text, redact_words};
use proptest::prelude::*;
use rocm_perf_formats as formats;
use serde_json::{Value, json};

/// Texts around a secret, with `@` in its place.
const SHAPES: &[&str] = &[
    "serve --api-key @",
    "serve --api-key @ --port 8000",
    "serve --api-key=@ --port 8000",
    "serve --api_key '@' --port 8000",
    "serve --hf-token \"@\"",
    "python a.py --password=@",
    "python a.py --db.password @",
    "python a.py --client-secret @",
    "curl -H 'Authorization: Bearer @' http://host",
    "curl -H \"Authorization: Basic @\" http://host",
    "curl -H Authorization: Bearer @ http://host",
    "curl -H 'X-Api-Key: @' http://host",
    "curl -H X-Auth-Token:@ http://host",
    "curl -u me:@ http://host",
    "curl --user me:@ http://host",
    "curl http://host/v1?n=1&access_token=@&m=2",
    "wget https://me:@@host/path",
    "git clone https://oauth2:@@host/path.git dir",
    "mysql -u root -p@ db",
    "/usr/bin/mysqldump -p@ db",
    "sshpass -p @ ssh host",
    "HF_TOKEN=@ python serve.py",
    "env OPENAI_API_KEY=@ AWS_SECRET_ACCESS_KEY=@ python serve.py",
    "--connection Server=host;User=me;Password=@;Port=1",
    "--connection 'Server=host; pwd=x; db_pwd=@'",
    "--config {\"api_key\": \"@\", \"n\": 1}",
    "--config '{\"a\": {\"b\": [{\"token\":\"@\"}]}}'",
    "--config \"{\\\"api_key\\\": \\\"@\\\", \\\"n\\\": 1}\"",
    "[\"serve\", \"--api-key\", \"@\"]",
    "run token: @ now",
];

/// Secrets recognised by their own shape, wherever they are.
const KNOWN_SHAPES: &[&str] =
    &["hf_@", "sk-@", "sk-proj-@", "ghp_@", "github_pat_@", "glpat-@", "AKIAIOSFODNN7EXAMPLE"];

const ORDINARY: &[&str] = &[
    "",
    "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 8 --port 30000",
    "vllm serve /models/meta-llama/Llama-3.1-70B --tokenizer /models/tok --max-num-batched-tokens 8192",
    "python bench.py --tokenizer hf-internal/llama --max-tokens 128 --token-counts 1,2,3 --eos-token </s>",
    "python train.py --token --lr=0.1",
    "./app -p 4 -u 3 --passes 2 --key-dim 64 --num-key-value-heads 8",
    "mpirun -np 8 -x NCCL_DEBUG=INFO ./task-1 --sort-key size",
    "torchrun --nproc-per-node=8 train.py --config configs/sk-learn.yaml model.hidden=4096",
    "sh -c 'echo a; b=c; d=\"e f\"' http://host:8000/v1?x=1&y=2",
    "/opt/rocm/bin/rocprofv3 --kernel-trace -d /tmp/x -- ./a.out --author me ssh://git@host/repo",
    "python hf_transfer.py --backend hf_transformers --auth none --api-key",
];

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(String::from).collect()
}

proptest! {
    #[test]
    fn e10_g2_a_planted_secret_never_survives(
        secret in "[A-Z][0-9][A-Za-z0-9_]{6,40}",
        shape in prop::sample::select(SHAPES),
        known in prop::sample::select(KNOWN_SHAPES),
    ) {
        // In addresses the second `@` is a literal one.
        let text = shape.replace("@@", "@\u{1}").replace('@', &secret).replace('\u{1}', "@");
        let shown = redact_text(&text);
        prop_assert!(!shown.contains(&secret) && shown.contains(REDACTED), "{}", shown);
        prop_assert_eq!(redact_text(&shown), &*shown);

        let nested: Value = json!({"a": [{"command": text, "env": {"HF_TOKEN": secret, "N": 1}}], "text":
            json!({"api_key": secret, "list": [text]}).to_string()});
        let (shown, places) = redact_json(&nested);
        prop_assert!(!shown.to_string().contains(&secret), "{}", shown);
        prop_assert!(places.len() >= 3);

        let value = redact_environment("VLLM_ARGS", &text, Readers::Anyone, &[]).unwrap();
        prop_assert!(!value.contains(&secret), "{}", value);
        let value = redact_environment("VLLM_API_KEY", &secret, Readers::Owner, &[]).unwrap();
        prop_assert_eq!(value, REDACTED);

        let known = known.replace('@', &secret);
        for text in [known.clone(), format!("run {known} -v"), format!("--x={known}"), format!("'{known}'")] {
            prop_assert!(!redact_text(&text).contains(&known), "{}", text);
            prop_assert!(!redact_words(&words(&text)).concat().contains(&known), "{}", text);
        }
    }

    #[test]
    fn e10_a_secret_in_a_word_of_its_own_never_survives(
        secret in "[A-Za-z0-9/+=][ -~]{0,40}[A-Za-z]",
        option in prop::sample::select(&["--api-key", "--hf_token", "-password", "--db.password", "--auth-token"][..]),
    ) {
        prop_assume!(!["none", "auto", "on", "off", "yes", "no", "true", "false", "null", "enabled", "disabled", "inf", "nan",
            "infinity"].contains(&secret.to_lowercase().as_str()));
        let words = ["serve".to_string(), option.to_string(), secret.clone(), "--port".into()];
        prop_assert_eq!(&redact_words(&words)[1..3], &[option.to_string(), REDACTED.to_string()]);
        let words = ["serve".to_string(), format!("{option}={}", secret.replace([' ', '"', '\'', ';', ',', '&', '}', ']', ')', '\\'], "x"))];
        prop_assert_eq!(&redact_words(&words)[1], &format!("{option}={REDACTED}"));
    }

    #[test]
    fn any_text_can_be_looked_through(text in "\\PC{0,200}") {
        let shown = redact_text(&text).into_owned();
        prop_assert_eq!(redact_text(&shown), shown.as_str());
        let _ = redact_json(&json!([text, {"a": text}]));
    }
}

#[test]
fn ordinary_command_lines_are_unchanged() {
    for text in ORDINARY {
        assert_eq!(redact_text(text), *text);
        assert_eq!(redact_words(&words(text)), words(text));
        assert_eq!(redact_json(&json!({ "command": text })), (json!({ "command": text }), vec![]));
    }
}

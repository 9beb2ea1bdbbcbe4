//! Parsers of text: expressions, gates, and the redactor.

use formats::secrets::{redact_json, redact_text, redact_words};

pub fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// Evaluating an expression twice gives the same result, also after it was printed and parsed again.
pub fn expression(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    if let Ok(parsed) = expr::parse(text) {
        let printed = parsed.to_string();
        match expr::parse(&printed) {
            Ok(again) => assert_eq!(again.to_string(), printed),
            // Printed ones have all their brackets, and so may be longer and deeper than allowed.
            Err(error) => assert!(
                matches!(error, expr::SyntaxError::Long | expr::SyntaxError::Deep),
                "{printed}: {error}"
            ),
        }
    }
    #[cfg(feature = "program")]
    super::program::expression_of_space(text);
}

pub fn gate(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let _ = expr::gate::parse(text);
    #[cfg(feature = "program")]
    let _ = analysis::timeline::compare::Gate::parse(text);
}

/// Redacting twice changes nothing more, and a secret in a known position never remains.
pub fn redactor(bytes: &[u8]) {
    const SECRET: &str = "sk-Zq7vT1pXw9LmB4nR8cYd";
    let Some(text) = text(bytes) else { return };
    let once = redact_text(text).into_owned();
    assert_eq!(redact_text(&once), once);
    let with = format!("{text} --api-key {SECRET}");
    // Inside quotes that were opened before, the words belong to something else.
    if !text.contains(['"', '\'', '\\', '`', '#', '\n', '\r']) && text.is_ascii() {
        assert!(!redact_text(&with).contains(SECRET), "{with}");
    }
    let words: Vec<String> =
        text.split(' ').map(String::from).chain(["--api-key".into(), SECRET.into()]).collect();
    assert!(words[words.len() - 3] == "--" || redact_words(&words).iter().all(|word| !word.contains(SECRET)));
    if let Ok(json) = serde_json::from_str::<serde_json::Value>(text) {
        let (once, _) = redact_json(&json);
        assert_eq!(redact_json(&once).0, once);
        let (out, _) = redact_json(&serde_json::json!({"a": [json, {"api_key": SECRET}]}));
        assert!(!out.to_string().contains(SECRET));
    }
}

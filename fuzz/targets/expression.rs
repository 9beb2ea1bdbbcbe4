//! Any text as an expression: it never panics, and comes to the same twice.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tune::space::{Expression, Scalar};

fuzz_target!(|text: &str| {
    let names = ["A", "B", "mode"];
    let Ok(parsed) = Expression::parse(text, &|name| names.iter().position(|known| *known == name)) else {
        return;
    };
    assert!(parsed.names().iter().all(|name| *name < names.len()));
    let value = |name: usize| match name {
        0 => Scalar::Number(64.0),
        1 => Scalar::Number(-0.5),
        _ => Scalar::Text("small".into()),
    };
    assert_eq!(parsed.evaluate(&value).is_true(), parsed.evaluate(&value).is_true());
});

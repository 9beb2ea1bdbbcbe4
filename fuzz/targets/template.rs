//! Any text as a command: it never panics, and a value never becomes two words.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tune::space::{CommandText, Setting};
use tune::template::Template;

fuzz_target!(|text: &str| {
    for shell in [false, true] {
        let Ok(template) = Template::parse("t", &CommandText::Line(text.into()), &["A"], shell) else { continue };
        let (short, long) = (Setting::Int(1), Setting::Text("two words; 'and' more".into()));
        assert_eq!(template.words(&[("A", &short)]).len(), template.words(&[("A", &long)]).len());
        let _ = template.fixed_words();
    }
});

//! Any text as a search space: it never panics, and what it lists fulfils what it says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tune::space::Space;

fuzz_target!(|text: &str| {
    // Large spaces are listed by hundreds of thousands: not what is looked for here.
    if text.len() > 2_000 {
        return;
    }
    let Ok(space) = Space::parse(text) else { return };
    let combinations: f64 = space.parameters.iter().map(|parameter| parameter.values.len() as f64).product();
    if combinations > 10_000.0 {
        return;
    }
    if let Ok(candidates) = space.candidates(1) {
        for levels in candidates.iter() {
            assert_eq!(space.settings(levels).len(), space.parameters.len());
        }
    }
});

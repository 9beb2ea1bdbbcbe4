//! The profiler of a server: when it records, when it stops on its own, and what it has recorded.

use serde_json::Value;

/// The kind of a forward step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Reads a prompt of this many tokens.
    Prefill(usize),
    /// Makes a token.
    Decode,
}

/// The request of an SGLang `/start_profile`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wish {
    pub output_dir: Option<String>,
    pub num_steps: Option<u64>,
    pub start_step: Option<u64>,
    pub by_stage: bool,
    pub merge: bool,
    pub prefix: Option<String>,
    pub id: Option<String>,
}

impl Wish {
    /// From a body; numbers may be text, as SGLang's own client sends them.
    pub fn of(body: &Value) -> Result<Self, String> {
        let text = |key: &str| body.get(key).and_then(Value::as_str).map(String::from);
        let flag = |key: &str| body.get(key).and_then(Value::as_bool).unwrap_or(false);
        let number = |key: &str| match body.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Number(n)) if n.is_u64() => Ok(n.as_u64()),
            Some(Value::String(s)) => s.parse().map(Some).map_err(|_| format!("{key}: {s}")),
            Some(other) => Err(format!("{key}: {other}")),
        };
        Ok(Self {
            output_dir: text("output_dir"),
            num_steps: number("num_steps")?,
            start_step: number("start_step")?,
            by_stage: flag("profile_by_stage"),
            merge: flag("merge_profiles"),
            prefix: text("profile_prefix"),
            id: text("profile_id"),
        })
    }
}

/// The content of one set of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recording {
    /// `-EXTEND`, `-DECODE` or empty.
    pub suffix: &'static str,
    pub steps: Vec<Step>,
}

/// An active profiler.
#[derive(Debug)]
pub(crate) struct Profiler {
    pub wish: Wish,
    /// First step that is recorded.
    from: u64,
    /// Step at whose start it stops on its own.
    until: Option<u64>,
    recorded: Vec<Step>,
    prefill: Vec<Step>,
    decode: Vec<Step>,
    stages_left: u32,
}

impl Profiler {
    /// Started after this many steps.
    pub fn new(wish: Wish, forward_steps: u64) -> Self {
        let from = wish.start_step.map_or(forward_steps + 1, |step| step.max(forward_steps + 1));
        let until = wish.num_steps.filter(|_| !wish.by_stage).map(|steps| from + steps);
        Self { wish, from, until, recorded: vec![], prefill: vec![], decode: vec![], stages_left: 2 }
    }

    /// At the start of a step, which already counts: what to write now, and whether the profile is over.
    pub fn step(&mut self, number: u64, step: Step) -> (Vec<Recording>, bool) {
        if self.wish.by_stage {
            return self.stage_step(step);
        }
        if self.until.is_some_and(|until| number >= until) {
            return (vec![Recording { suffix: "", steps: std::mem::take(&mut self.recorded) }], true);
        }
        if number >= self.from {
            self.recorded.push(step);
        }
        (vec![], false)
    }

    fn stage_step(&mut self, step: Step) -> (Vec<Recording>, bool) {
        let most = self.wish.num_steps.unwrap_or(u64::MAX) as usize;
        let mut done = Vec::new();
        let prefill = matches!(step, Step::Prefill(_));
        let (own, other) = if prefill {
            (&mut self.prefill, &mut self.decode)
        } else {
            (&mut self.decode, &mut self.prefill)
        };
        let (suffix, other_suffix) = if prefill { ("-EXTEND", "-DECODE") } else { ("-DECODE", "-EXTEND") };
        if prefill || other.is_empty() {
            // A decode trace continues while prompts come in between.
        } else {
            done.push(Recording { suffix: other_suffix, steps: std::mem::take(other) });
        }
        if own.len() == most {
            done.push(Recording { suffix, steps: std::mem::take(own) });
        } else {
            own.push(step);
        }
        self.stages_left = self.stages_left.saturating_sub(done.len() as u32);
        (done, self.stages_left == 0)
    }

    /// What is left when it is stopped by a request.
    pub fn stop(self) -> Vec<Recording> {
        let parts = if self.wish.by_stage {
            vec![("-EXTEND", self.prefill), ("-DECODE", self.decode)]
        } else {
            vec![("", self.recorded)]
        };
        let whole = parts.into_iter().filter(|(suffix, steps)| suffix.is_empty() || !steps.is_empty());
        whole.map(|(suffix, steps)| Recording { suffix, steps }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn n_steps_are_n_full_steps() {
        let wish = Wish::of(&json!({"num_steps": "3"})).unwrap();
        let mut profiler = Profiler::new(wish, 10);
        for number in 11..14 {
            assert_eq!(profiler.step(number, Step::Decode), (vec![], false));
        }
        let (done, over) = profiler.step(14, Step::Decode);
        assert!(over && done[0].steps.len() == 3);
    }

    #[test]
    fn stages_are_recorded_apart() {
        let wish = Wish::of(&json!({"num_steps": 2, "profile_by_stage": true})).unwrap();
        let mut profiler = Profiler::new(wish, 0);
        assert_eq!(profiler.step(1, Step::Prefill(9)).0, []);
        let (done, _) = profiler.step(2, Step::Decode);
        assert_eq!(done, [Recording { suffix: "-EXTEND", steps: vec![Step::Prefill(9)] }]);
        assert_eq!(profiler.step(3, Step::Decode), (vec![], false));
        let (done, over) = profiler.step(4, Step::Decode);
        assert!(over && done[0].suffix == "-DECODE" && done[0].steps.len() == 2);
    }
}

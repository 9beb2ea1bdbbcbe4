//! Facts about the GPU of a run, with the user's corrections.

use trace::Trace;

/// Prefix of `ingest` for facts of `sysinfo.csv` in a trace's metadata.
const SYSINFO: &str = "sysinfo.";

/// Facts by name, in the order of the source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Specs {
    facts: Vec<(String, String)>,
}

impl Specs {
    /// The facts of a trace's first source that has any.
    pub fn of(trace: &Trace) -> Self {
        let is_fact = |m: &&trace::Metadata| trace.strings.get(m.key).starts_with(SYSINFO);
        let source = trace.metadata.iter().find(is_fact).map(|m| m.source);
        let of_source = trace.metadata.iter().filter(|m| Some(m.source) == source);
        let facts = of_source.filter_map(|m| {
            let key = trace.strings.get(m.key).strip_prefix(SYSINFO)?;
            Some((key.to_string(), trace.strings.get(m.value).to_string()))
        });
        Self { facts: facts.collect() }
    }

    /// The architectures that the inputs of a trace name.
    pub fn architectures(trace: &Trace) -> Vec<&str> {
        let key = format!("{SYSINFO}gpu_arch");
        let said = trace.metadata.iter().filter(|m| trace.strings.get(m.key) == key);
        let mut names: Vec<&str> = Vec::new();
        for name in said.map(|m| trace.strings.get(m.value)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Corrects or adds some facts.
    pub fn corrected(mut self, corrections: &[(String, f64)]) -> Self {
        for (key, value) in corrections {
            match self.facts.iter_mut().find(|(known, _)| known == key) {
                Some((_, text)) => *text = value.to_string(),
                None => self.facts.push((key.clone(), value.to_string())),
            }
        }
        self
    }

    /// All facts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.facts.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// A fact as text; `None` if it is missing or empty.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.facts.iter().find(|(known, _)| known == key).map(|(_, v)| v.as_str()).filter(|v| !v.is_empty())
    }

    /// A fact as a number.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.text(key)?.parse().ok()
    }

    /// Adds a fact that is not known yet.
    pub fn add(&mut self, key: &str, value: impl ToString) {
        if self.text(key).is_none() {
            self.facts.retain(|(known, _)| known != key);
            self.facts.push((key.to_string(), value.to_string()));
        }
    }
}

//! Requests of serving frameworks: which spans belong to which request, by the table `rules/requests.toml`.

mod rules;

use trace::{ArgNeeds, Map, Needs, ProcessId, RowRef, StrId, Trace};

pub use rules::{Role, Stage, TimeClass, Token};

use rules::{Rules, rules};

/// A span of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSpan {
    /// Index into [`RequestSpans::requests`].
    pub request: usize,
    /// Index into [`stages`]; if several overlap, the lowest decides.
    pub stage: usize,
    /// First nanosecond.
    pub start: i64,
    /// Nanosecond after the last, including what the writer cut off.
    pub end: i64,
    /// The process that wrote it.
    pub process: ProcessId,
}

/// A call that moves a KV cache for an unrecorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferCall {
    /// The server that usually calls it.
    pub role: Role,
    /// First nanosecond.
    pub start: i64,
    /// Nanosecond after the last.
    pub end: i64,
    /// The calling process.
    pub process: ProcessId,
}

/// The requests of a trace.
#[derive(Clone, Debug, Default)]
pub struct RequestSpans {
    /// Their ids, in the order of their first spans.
    pub requests: Vec<String>,
    /// Their spans, by start.
    pub spans: Vec<RequestSpan>,
    /// Transfers of unknown requests, by start.
    pub calls: Vec<TransferCall>,
}

/// The stages of a request, as the table lists them.
pub fn stages() -> &'static [Stage] {
    &rules().stages
}

/// What traces must be read with.
pub fn needs() -> Needs {
    Needs {
        kernels: true,
        memory_copies: true,
        regions: true,
        python_frames: true,
        args: ArgNeeds::Keys(rules().id_keys.clone()),
        ..Needs::nothing()
    }
}

/// What a name means, found once per distinct name.
#[derive(Clone, Copy, Default)]
struct Meaning {
    stage: Option<u16>,
    call: Option<u16>,
}

impl RequestSpans {
    /// The requests of a trace read with [`needs`].
    pub fn of(trace: &Trace) -> Self {
        let rules = rules();
        let meanings = meanings(trace, rules);
        let keys: Vec<StrId> = rules.id_keys.iter().filter_map(|key| trace.strings.find(key)).collect();
        let mut found = Self::default();
        let mut ids = Ids::default();
        let mut seen: Map<(usize, i64, i64, usize), ()> = Map::default();
        for row in 0..trace.regions.len() {
            let name = trace.regions.name[row];
            let meaning = meanings[name.0 as usize];
            let (start, end) = (trace.regions.start[row], trace.regions.end[row]);
            let process = trace.regions.process[row];
            if let Some(call) = meaning.call {
                found.calls.push(TransferCall { role: rules.calls[call as usize].role, start, end, process });
            }
            let Some(stage) = meaning.stage else { continue };
            let texts = ids_of(trace, rules, &keys, row);
            let Some(request) = ids.request(&texts) else { continue };
            let stage = stage as usize;
            let end = end + rules.shortened_ns(trace.strings.get(trace.regions.category[row]));
            // A converter adds the spans of all servers to each server's trace.
            if seen.insert((request, start, end, stage), ()).is_none() {
                found.spans.push(RequestSpan { request, stage, start, end, process });
            }
        }
        found.requests = ids.names;
        found
    }
}

fn meanings(trace: &Trace, rules: &Rules) -> Vec<Meaning> {
    let mut meanings = vec![Meaning::default(); trace.strings.len()];
    let mut judged = vec![false; trace.strings.len()];
    for &name in &trace.regions.name {
        let place = name.0 as usize;
        if !judged[place] {
            judged[place] = true;
            let text = trace.strings.get(name);
            meanings[place] = Meaning { stage: rules.stage_of(text), call: rules.call_of(text) };
        }
    }
    meanings
}

/// The ids of a span, first the one that servers share.
fn ids_of<'t>(trace: &'t Trace, rules: &Rules, keys: &[StrId], row: usize) -> Vec<&'t str> {
    let owner = RowRef::region(row);
    let value = |&key: &StrId| trace.args.value(owner, key).map(|value| trace.strings.get(value));
    let mut ids: Vec<&str> = keys.iter().filter_map(value).map(|text| text.trim_matches('"')).collect();
    ids.retain(|id| !matches!(*id, "" | "null" | "None" | "0x0"));
    ids.extend(rules.id_in(trace.strings.get(trace.regions.name[row])));
    ids
}

/// Request ids: all ids on one span belong to one request.
#[derive(Default)]
struct Ids {
    names: Vec<String>,
    known: Map<String, usize>,
}

impl Ids {
    fn request(&mut self, texts: &[&str]) -> Option<usize> {
        let first = texts.first()?;
        let number = match texts.iter().find_map(|text| self.known.get(*text)) {
            Some(&number) => number,
            None => {
                self.names.push(first.to_string());
                self.names.len() - 1
            }
        };
        for text in texts {
            if !self.known.contains_key(*text) {
                self.known.insert(text.to_string(), number);
            }
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_on_one_span_are_one_request() {
        let mut ids = Ids::default();
        assert_eq!(ids.request(&["0x1", "p1"]), Some(0));
        assert_eq!(ids.request(&["0x2", "p2"]), Some(1));
        assert_eq!(ids.request(&["0x1", "d1"]), Some(0));
        assert_eq!(ids.request(&["d1"]), Some(0));
        assert_eq!(ids.request(&[]), None);
        assert_eq!(ids.names, ["0x1", "0x2"]);
    }
}

//! Finds the sections of a process without reading them. A section with unbalanced brackets ends where the
//! next one begins, so that one flipped byte does not cost the sections after it.

use memchr::{memchr2_iter, memmem};

use crate::json::{Cursor, Damage};

/// The sections of a process and their opening brackets. Inside `strings` the same words open differently.
const KEYS: &[(&str, u8)] = &[
    ("metadata", b'{'),
    ("agents", b'['),
    ("counters", b'['),
    ("strings", b'{'),
    ("code_objects", b'['),
    ("kernel_symbols", b'['),
    ("host_functions", b'['),
    ("summary", b'['),
    ("callback_records", b'{'),
    ("buffer_records", b'{'),
];

/// Lists of records, so that lists inside a record are not mistaken for them after a lost bracket.
const LISTS: &[&str] = &[
    "kernel_dispatch",
    "hip_api",
    "hsa_api",
    "marker_api",
    "rccl_api",
    "memory_copy",
    "memory_allocation",
    "scratch_memory",
    "rocdecode_api",
    "rocjpeg_api",
    "pc_sample_host_trap",
    "pc_sample_stochastic",
    "counter_collection",
];

/// The values of an object by key, with the bytes of each.
#[derive(Debug, Default)]
pub(super) struct Sections<'a> {
    pub parts: Vec<(&'a [u8], &'a [u8])>,
    /// Places with unbalanced brackets.
    pub damaged: u64,
    /// Whether the bytes end inside it.
    pub cut: bool,
}

impl<'a> Sections<'a> {
    /// The bytes of a section; empty if it is missing.
    pub fn get(&self, key: &str) -> &'a [u8] {
        self.parts.iter().find(|(name, _)| *name == key.as_bytes()).map_or(&[], |(_, bytes)| bytes)
    }
}

/// Finds the processes of a result: `{"rocprofiler-sdk-tool": [{…}]}`, or an object instead of the array.
pub(super) fn processes(bytes: &[u8]) -> Vec<Sections<'_>> {
    let mut found = Vec::new();
    let tool = b"\"rocprofiler-sdk-tool\"";
    let Some(at) = memmem::find(bytes, tool) else { return found };
    let mut json = Cursor::at(bytes, at + tool.len());
    if json.expect(b':').is_err() {
        return found;
    }
    let list = json.eat(b'[');
    while json.peek() == Some(b'{') {
        let sections = parts(&mut json, |_, key, opening| {
            KEYS.iter().any(|(known, opens)| known.as_bytes() == key && *opens == opening)
        });
        if !sections.parts.is_empty() {
            found.push(sections);
        }
        if !list || !json.eat(b',') {
            break;
        }
    }
    found
}

/// The named lists of an object of lists.
pub(super) fn lists(object: &[u8]) -> Sections<'_> {
    parts(&mut Cursor::new(object), |closing, key, opening| {
        opening == b'[' && (closing == b']' || LISTS.iter().any(|list| list.as_bytes() == key))
    })
}

/// Splits an object into its values. After damage it continues at the next place that `is_part` accepts,
/// given the closing bracket before a key, the key, and the opening bracket after it.
fn parts<'a>(json: &mut Cursor<'a>, is_part: impl Fn(u8, &[u8], u8) -> bool) -> Sections<'a> {
    let mut sections = Sections::default();
    let Ok(mut keys) = json.object() else { return sections };
    let bytes = json.bytes();
    loop {
        let before = json.pos();
        let good = match keys.next(json) {
            Ok(None) => return sections,
            Ok(Some(key)) => {
                json.skip_whitespace();
                let start = json.pos();
                let whole = json.skip_value().is_ok() && closes(&bytes[start..json.pos()]);
                let end = if whole { json.pos() } else { bytes.len() };
                sections.parts.push((key.raw, &bytes[start..end]));
                if whole { None } else { Some(start) }
            }
            Err(Damage::End) => {
                sections.cut = true;
                json.seek(bytes.len());
                return sections;
            }
            Err(Damage::Unexpected) => Some(before),
        };
        let Some(from) = good else { continue };
        // The last section extends to where the next begins.
        let next = next_part(bytes, from, &is_part);
        let end = next.unwrap_or(bytes.len());
        if let Some((_, part)) = sections.parts.last_mut() {
            let start = part.as_ptr() as usize - bytes.as_ptr() as usize;
            *part = &bytes[start..end];
        }
        json.seek(end);
        if next.is_none() {
            sections.cut = true;
            return sections;
        }
        sections.damaged += 1;
    }
}

/// Whether a value ends with the bracket that matches its first.
fn closes(value: &[u8]) -> bool {
    match (value.first(), value.last()) {
        (Some(b'{'), last) => last == Some(&b'}'),
        (Some(b'['), last) => last == Some(&b']'),
        _ => true,
    }
}

/// The comma before the next `"key": [` or `"key": {` of a section.
fn next_part(bytes: &[u8], from: usize, is_part: &impl Fn(u8, &[u8], u8) -> bool) -> Option<usize> {
    memchr2_iter(b']', b'}', &bytes[from..]).find_map(|at| {
        let mut json = Cursor::at(bytes, from + at + 1);
        json.skip_whitespace();
        let comma = json.pos();
        if !json.eat(b',') || json.peek() != Some(b'"') {
            return None;
        }
        let key = json.string().ok()?;
        json.expect(b':').ok()?;
        let opening = json.peek()?;
        is_part(bytes[from + at], key.raw, opening).then_some(comma)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"{"rocprofiler-sdk-tool": [{"metadata":{"pid":1},"strings":{"counters":{"dimension_ids":[]},
        "buffer_records":[{"kind":"NONE"}]},"buffer_records":{"kernel_dispatch":[{"a":1},{"a":2}],"hip_api":[{"b":1}]}}]}"#;

    #[test]
    fn words_inside_strings_are_no_parts() {
        let found = processes(WHOLE.as_bytes());
        assert_eq!(found.len(), 1);
        let keys: Vec<_> = found[0].parts.iter().map(|(key, _)| String::from_utf8_lossy(key)).collect();
        assert_eq!(keys, ["metadata", "strings", "buffer_records"]);
        assert_eq!((found[0].damaged, found[0].cut), (0, false));
        let lists = lists(found[0].get("buffer_records"));
        assert_eq!(lists.get("hip_api"), br#"[{"b":1}]"#);
        let object = WHOLE.replace("[{\"metadata", "{\"metadata").replace("}]}}]}", "}]}}}");
        assert_eq!(processes(object.as_bytes())[0].parts.len(), 3);
    }

    #[test]
    fn a_lost_bracket_does_not_cost_the_lists_behind_it() {
        for (good, bad) in
            [("{\"a\":1}", " \"a\":1}"), ("{\"a\":1}", "{\"a\":1 "), ("{\"a\":2}]", "{\"a\":2} ")]
        {
            let text = WHOLE.replace(good, bad);
            let found = processes(text.as_bytes());
            let lists = lists(found[0].get("buffer_records"));
            assert!(lists.get("hip_api").starts_with(br#"[{"b":1}]"#), "{bad}: {lists:?}");
            assert!(found[0].damaged + lists.damaged > 0 || found[0].cut || lists.cut, "{bad}");
        }
    }

    #[test]
    fn every_cut_is_told() {
        for cut in 30..WHOLE.len() - 3 {
            let found = processes(&WHOLE.as_bytes()[..cut]);
            assert!(found.iter().all(|sections| sections.cut), "cut at {cut}: {found:?}");
        }
    }
}

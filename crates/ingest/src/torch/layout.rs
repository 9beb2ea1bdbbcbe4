//! How the writer of a file spells its objects: the text between values hardly ever changes from event to
//! event, so it is learned on first sight and then compared as a whole. Equal bytes always mean the same, so
//! learning saves time and never changes the result.

use super::category::Category;
use crate::json::{Cursor, Damage, Keys, equal_bytes};

/// Length of the longest learned text.
const WIDTH: usize = 32;

/// Limit for the texts learned at one position: a file's writer has few, a hostile one as many as it likes.
const MOST_NEXT: usize = 12;

/// Limit for all learned texts.
const MOST_STEPS: usize = 1024;

/// A key of objects of one kind, as a number; [`END`] is the end of the object.
pub(super) type Code = u8;

/// The object ends.
pub(super) const END: Code = u8::MAX;

/// A position in an object: everything read before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At(u16);

/// A position where nothing is known or learned.
const NOWHERE: At = At(0);

/// Where events begin.
pub(super) const EVENT: At = At(1);

/// Where the arguments of events of a category begin.
pub(super) fn arguments_of(category: Category) -> At {
    At(2 + category as u16)
}

const ROOTS: usize = 2 + Category::COUNT;

/// How objects of one kind are read.
pub(super) struct Spelling {
    /// The number of a key.
    pub code: fn(&[u8]) -> Code,
    /// Whether a key has few distinct string values that decide what follows: then they are learned with it.
    pub has_few_values: fn(Code) -> bool,
}

/// What comes next in an object.
pub(super) struct Met<'a> {
    pub code: Code,
    pub key: &'a [u8],
    /// The value, if it was read with the key.
    pub value: &'a [u8],
    /// The value as a category of events.
    pub category: Category,
    /// The number of the text, if it was known.
    pub step: Option<u16>,
}

/// A learned text: a key, with everything around it.
#[derive(Clone, Copy)]
struct Step {
    text: [u8; WIDTH],
    /// A bit for each byte.
    bits: u32,
    len: u8,
    code: Code,
    category: Category,
    /// Where the key and the value are in the text.
    key: (u8, u8),
    value: (u8, u8),
    /// The next known text at the same position.
    other: u16,
}

/// The end of a list of steps.
const NONE: u16 = u16::MAX;

/// The texts of all positions. The position after step `n` is `n` plus the number of roots.
pub(super) struct Layout {
    steps: Vec<Step>,
    /// The first step of each position.
    first: Vec<u16>,
}

impl Default for Layout {
    fn default() -> Self {
        Self { steps: Vec::new(), first: vec![NONE; ROOTS] }
    }
}

impl Layout {
    /// Reads the next key of an object, and its value if that is one of few; the cursor is then before or
    /// after the value, or after the object.
    // A chain of comparisons, not a table: the processor predicts which is equal and reads on meanwhile.
    #[inline(always)]
    pub fn next<'a>(
        &mut self,
        json: &mut Cursor<'a>,
        at: &mut At,
        spelling: &Spelling,
    ) -> Result<Met<'a>, Damage> {
        if let Some(window) = json.bytes().get(json.pos()..).and_then(|rest| rest.first_chunk::<WIDTH>()) {
            let mut known = self.first[usize::from(at.0)];
            while let Some(step) = self.steps.get(usize::from(known)) {
                if equal_bytes(window, &step.text) & step.bits == step.bits {
                    json.seek(json.pos() + usize::from(step.len));
                    *at = At(known + ROOTS as u16);
                    let part = |(from, to): (u8, u8)| {
                        window.get(usize::from(from)..usize::from(to)).unwrap_or_default()
                    };
                    let (key, value) = (part(step.key), part(step.value));
                    return Ok(Met {
                        code: step.code,
                        key,
                        value,
                        category: step.category,
                        step: Some(known),
                    });
                }
                known = step.other;
            }
        }
        self.learn(json, at, spelling)
    }

    /// Reads byte by byte, which defines what a text means.
    #[cold]
    #[inline(never)]
    fn learn<'a>(
        &mut self,
        json: &mut Cursor<'a>,
        at: &mut At,
        spelling: &Spelling,
    ) -> Result<Met<'a>, Damage> {
        let (bytes, start) = (json.bytes(), json.pos());
        let is_first = bytes[..start].last() == Some(&b'{');
        let nothing = &bytes[start..start];
        let mut met = Met { code: END, key: nothing, value: nothing, category: Category::Other, step: None };
        let mut is_whole = true;
        if let Some(key) = Keys::resumed(is_first).next(json)? {
            let is_string = json.peek() == Some(b'"');
            met.key = key.raw;
            met.code = (spelling.code)(key.raw);
            if (spelling.has_few_values)(met.code) {
                met.value = json.scalar()?;
                met.category = Category::of(met.value);
                // Anything else may continue in the next byte.
                is_whole = is_string;
            }
        }
        let text = &bytes[start..json.pos()];
        let from = std::mem::replace(at, NOWHERE);
        // Near the end of the text nothing is compared, so the step may be known already.
        let is_new = bytes.len() - start >= WIDTH && text.len() <= WIDTH;
        if is_whole && is_new && from != NOWHERE && self.steps.len() < MOST_STEPS {
            let part = |part: &[u8]| {
                let from = part.as_ptr() as usize - text.as_ptr() as usize;
                (from as u8, (from + part.len()) as u8)
            };
            let mut step = Step {
                text: [0; WIDTH],
                bits: u32::MAX >> (WIDTH - text.len().max(1)),
                len: text.len() as u8,
                code: met.code,
                category: met.category,
                key: part(met.key),
                value: part(met.value),
                other: NONE,
            };
            step.text[..text.len()].copy_from_slice(text);
            *at = self.add(from, step);
        }
        Ok(met)
    }

    /// Learns a text; returns the position after it.
    fn add(&mut self, at: At, step: Step) -> At {
        let new = self.steps.len() as u16;
        let (mut last, mut next, mut count) = (NONE, self.first[usize::from(at.0)], 0);
        while let Some(known) = self.steps.get(usize::from(next)) {
            (last, next, count) = (next, known.other, count + 1);
        }
        if count == MOST_NEXT {
            return NOWHERE;
        }
        match self.steps.get_mut(usize::from(last)) {
            Some(last) => last.other = new,
            None => self.first[usize::from(at.0)] = new,
        }
        self.steps.push(step);
        self.first.push(NONE);
        At(new + ROOTS as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SPELLING: Spelling = Spelling {
        code: |name| match name {
            b"ph" => 0,
            b"cat" => 1,
            _ => 2,
        },
        has_few_values: |code| code < 2,
    };

    type Read = Result<(Vec<(Code, Vec<u8>, Vec<u8>)>, usize), Damage>;

    /// Reads an object, using what was learned so far.
    fn learned(layout: &mut Layout, text: &[u8], from: usize) -> Read {
        let (mut json, mut at, mut read) = (Cursor::at(text, from), EVENT, Vec::new());
        json.object()?;
        loop {
            let met = layout.next(&mut json, &mut at, &SPELLING)?;
            let value = match met.code {
                END => return Ok((read, json.pos())),
                0 | 1 => met.value,
                _ => json.raw_value()?,
            };
            read.push((met.code, met.key.to_vec(), value.to_vec()));
        }
    }

    /// Reads an object without learning anything.
    fn plain(text: &[u8], from: usize) -> Read {
        let (mut json, mut read) = (Cursor::at(text, from), Vec::new());
        let mut keys = json.object()?;
        while let Some(key) = keys.next(&mut json)? {
            let code = (SPELLING.code)(key.raw);
            let value = if code < 2 { json.scalar()? } else { json.raw_value()? };
            read.push((code, key.raw.to_vec(), value.to_vec()));
        }
        Ok((read, json.pos()))
    }

    fn object() -> impl Strategy<Value = String> {
        let key = prop::sample::select(vec![
            "ph",
            "cat",
            "name",
            "ts",
            "p\\\"h",
            "a key that is longer than what is learned",
        ]);
        let value = prop::sample::select(vec![
            "\"X\"",
            "\"kernel\"",
            "\"ker\"",
            "12",
            "120",
            "1.5",
            "null",
            "[1, 2]",
            "{}",
            "\"\\\"\"",
            "",
        ]);
        let space = prop::sample::select(vec!["", " ", "\n    "]);
        let member = (space.clone(), key, space.clone(), value)
            .prop_map(|(before, key, after, value)| format!("{before}\"{key}\":{after}{value}"));
        let comma = prop::sample::select(vec![",", ",", ",", ", ", "", ",,"]);
        (prop::collection::vec((member, comma), 0..6), space).prop_map(|(members, end)| {
            format!("{{{}{end}}}", members.into_iter().map(|(m, c)| m + c).collect::<String>())
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn what_was_learned_changes_nothing(objects in prop::collection::vec(object(), 1..40), cut in 0usize..60) {
            let mut layout = Layout::default();
            let mut text = objects.concat();
            text.truncate(text.len().saturating_sub(cut));
            let starts = text.match_indices('{').map(|(at, _)| at);
            for at in starts {
                prop_assert_eq!(learned(&mut layout, text.as_bytes(), at), plain(text.as_bytes(), at));
            }
        }
    }

    #[test]
    fn what_is_met_again_is_known_and_hostile_files_teach_little() {
        let mut layout = Layout::default();
        let event = br#"{"ph": "X", "cat": "kernel", "name": 1}                                "#;
        learned(&mut layout, event, 0).unwrap();
        let steps = layout.steps.len();
        assert_eq!(steps, 4, "three keys and the end");
        learned(&mut layout, event, 0).unwrap();
        assert_eq!(layout.steps.len(), steps);
        for i in 0..100_000 {
            let text =
                format!(r#"{{"k{}": 1, "k{i}": 2, "ph": "{i}"}}                                "#, i % 50);
            learned(&mut layout, text.as_bytes(), 0).unwrap();
        }
        assert!(layout.steps.len() <= MOST_STEPS);
    }
}

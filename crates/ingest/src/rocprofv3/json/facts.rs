//! Names: kinds, operations, marker texts and the texts of PC samples.

use trace::{Map, StrId, Strings};

use super::record::{each, number};
use super::sections::lists;
use crate::json::{Cursor, Damage, Text};

/// A name in the file, interned when first used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name<'a> {
    text: Text<'a>,
    id: Option<StrId>,
}

impl<'a> Name<'a> {
    fn of(text: Text<'a>) -> Self {
        Self { text, id: None }
    }

    fn intern(&mut self, strings: &mut Strings) -> StrId {
        *self.id.get_or_insert_with(|| strings.intern(&self.text.text()))
    }
}

/// A kind of record and the names of its operations.
#[derive(Debug)]
struct RecordKind<'a> {
    name: Name<'a>,
    operations: Vec<Name<'a>>,
}

/// The `strings` of a process.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    kinds: Vec<RecordKind<'a>>,
    markers: Map<i64, Name<'a>>,
    instructions: Vec<Name<'a>>,
    comments: Vec<Name<'a>>,
}

impl<'a> Names<'a> {
    /// Reads the `strings` section.
    pub fn read(section: &'a [u8]) -> Self {
        let mut names = Self::default();
        for (key, bytes) in lists(section).parts {
            match key {
                b"buffer_records" => names.read_kinds(bytes),
                b"marker_api" => names.read_markers(bytes),
                b"pc_sample_instructions" => names.instructions = texts(bytes),
                b"pc_sample_comments" => names.comments = texts(bytes),
                _ => {}
            }
        }
        names
    }

    fn read_kinds(&mut self, list: &'a [u8]) {
        let kinds = &mut self.kinds;
        each(list, |json| {
            let (mut name, mut operations) = (Text::of(b""), Vec::new());
            let mut keys = json.object()?;
            while let Some(key) = keys.next(json)? {
                match key.raw {
                    b"kind" => name = json.string()?,
                    b"operations" => operations = texts(json.raw_value()?),
                    _ => json.skip_value()?,
                }
            }
            kinds.push(RecordKind { name: Name::of(name), operations });
            Ok(())
        });
    }

    fn read_markers(&mut self, list: &'a [u8]) {
        let markers = &mut self.markers;
        each(list, |json| {
            let (id, text) = marker(json)?;
            if let Some(id) = id {
                markers.insert(id, Name::of(text));
            }
            Ok(())
        });
    }

    /// The name of a kind: `HIP_RUNTIME_API_EXT`.
    pub fn kind(&mut self, strings: &mut Strings, kind: Option<i64>) -> StrId {
        let kind = kind.and_then(|kind| self.kinds.get_mut(usize::try_from(kind).ok()?));
        kind.map_or(StrId::EMPTY, |kind| kind.name.intern(strings))
    }

    /// The name of an operation; its number if the file does not name it.
    pub fn operation(&mut self, strings: &mut Strings, kind: Option<i64>, operation: Option<i64>) -> StrId {
        let place = |number: Option<i64>| usize::try_from(number?).ok();
        let known = place(kind)
            .and_then(|kind| self.kinds.get_mut(kind))
            .and_then(|kind| kind.operations.get_mut(place(operation)?));
        match known {
            Some(name) => name.intern(strings),
            None => operation.map_or(StrId::EMPTY, |number| strings.intern(&format!("operation {number}"))),
        }
    }

    /// The text of a marker.
    pub fn marker(&mut self, strings: &mut Strings, correlation: Option<i64>) -> Option<StrId> {
        self.markers.get_mut(&correlation?).map(|name| name.intern(strings))
    }

    /// The instruction of a PC sample.
    pub fn instruction(&mut self, strings: &mut Strings, index: Option<i64>) -> Option<StrId> {
        let index = usize::try_from(index?).ok()?;
        self.instructions.get_mut(index).map(|name| name.intern(strings)).filter(|id| !id.is_empty())
    }

    /// The source line of a PC sample.
    pub fn comment(&mut self, strings: &mut Strings, index: Option<i64>) -> Option<StrId> {
        let index = usize::try_from(index?).ok()?;
        self.comments.get_mut(index).map(|name| name.intern(strings)).filter(|id| !id.is_empty())
    }
}

fn marker<'a>(json: &mut Cursor<'a>) -> Result<(Option<i64>, Text<'a>), Damage> {
    let (mut id, mut text) = (None, Text::of(b""));
    let mut keys = json.object()?;
    while let Some(key) = keys.next(json)? {
        match key.raw {
            b"key" => id = number(json)?,
            b"value" => text = json.string()?,
            _ => json.skip_value()?,
        }
    }
    Ok((id, text))
}

fn texts(list: &[u8]) -> Vec<Name<'_>> {
    let mut names = Vec::new();
    each(list, |json| {
        names.push(Name::of(json.string()?));
        Ok(())
    });
    names
}

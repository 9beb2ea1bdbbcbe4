//! The values of a snapshot's pickle: small handles, folded into columns as soon as a dictionary or list is complete.
//!
//! No tree of the file is ever built. A dictionary is open while its entries arrive. When it goes into
//! another value its keys decide what it is (a frame, an event, a block, a segment), it becomes a row, and
//! only the row's number stays. A list of frames becomes the number of a distinct stack. The memo takes four
//! bytes per entry.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use trace::{Frame, Map, Strings};

use super::pickle::Fault;
use super::rows::{self, Key, Rows};
use super::value::{Packed, Value};

/// Limit for values waiting on the stack; a pickler writes batches of 1,000.
const MOST_WAITING: usize = 1 << 20;
/// How far a memo number may be ahead of the last; picklers number consecutively.
const MEMO_GAP: usize = 1 << 16;

/// A dictionary or list that is still being filled.
#[derive(Debug, Default)]
struct Open {
    is_list: bool,
    /// Entries of a dictionary whose keys are known.
    entries: Vec<(Key, Value)>,
    /// Values of a list that are rows.
    items: Vec<Value>,
    memo: Option<u32>,
}

/// The stack, the memo and everything already folded.
#[derive(Debug)]
pub(super) struct Values {
    pub strings: Strings,
    pub rows: Rows,
    pub frames: Vec<Frame>,
    pub stack_frames: Vec<u32>,
    pub stack_ends: Vec<u32>,
    pub lists: Vec<Vec<Value>>,
    stack: Vec<Value>,
    marks: Vec<u32>,
    memo: Vec<Packed>,
    numbers: Vec<i64>,
    open: Vec<Open>,
    unused: Vec<u32>,
    frame_numbers: Map<Frame, u32>,
    stack_index: HashTable<u32>,
    scratch: Vec<u32>,
}

fn malformed(why: &str) -> Fault {
    Fault::Malformed(why.into())
}

impl Values {
    /// Nothing read yet.
    pub fn new() -> Self {
        let mut strings = Strings::default();
        // The keys come first, so that a text's number identifies its key.
        for (number, name) in (1..).zip(rows::KEYS) {
            let id = strings.intern(name);
            debug_assert_eq!(id.0, number);
        }
        Self {
            strings,
            rows: Rows::default(),
            frames: Vec::new(),
            stack_frames: Vec::new(),
            stack_ends: Vec::new(),
            lists: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: Vec::new(),
            numbers: Vec::new(),
            open: Vec::new(),
            unused: Vec::new(),
            frame_numbers: Map::default(),
            stack_index: HashTable::new(),
            scratch: Vec::new(),
        }
    }

    #[inline]
    pub fn push(&mut self, value: Value) -> Result<(), Fault> {
        if self.stack.len() >= MOST_WAITING {
            return Err(malformed("too many values are pending"));
        }
        self.stack.push(value);
        Ok(())
    }

    pub fn text(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let (id, _) = self.strings.intern_bytes(bytes);
        self.push(Value::Text(id))
    }

    pub fn mark(&mut self) -> Result<(), Fault> {
        if self.marks.len() >= MOST_WAITING {
            return Err(malformed("too many values are pending"));
        }
        self.marks.push(self.stack.len() as u32);
        Ok(())
    }

    #[inline]
    pub fn get(&mut self, number: usize) -> Result<(), Fault> {
        let Some(packed) = self.memo.get(number) else {
            return Err(Fault::Malformed(format!("it refers to value {number}, which does not exist")));
        };
        let value = packed.value(&self.numbers);
        self.push(value)
    }

    #[inline]
    pub fn memoize(&mut self) -> Result<(), Fault> {
        let number = self.memo.len();
        self.put(number)
    }

    #[inline]
    pub fn put(&mut self, number: usize) -> Result<(), Fault> {
        let Some(&value) = self.stack.last() else { return Err(malformed("there is no value to remember")) };
        if number > self.memo.len() + MEMO_GAP {
            return Err(Fault::Malformed(format!("memo number {number} is out of order")));
        }
        if number >= self.memo.len() {
            self.memo.resize(number + 1, Packed::default());
        }
        if let Value::Open(open) = value {
            self.open[open as usize].memo = Some(number as u32);
        }
        self.memo[number] = Packed::of(value, &mut self.numbers);
        Ok(())
    }

    pub fn open_dict(&mut self) -> Result<(), Fault> {
        self.open_container(false)
    }

    pub fn open_list(&mut self) -> Result<(), Fault> {
        self.open_container(true)
    }

    fn open_container(&mut self, is_list: bool) -> Result<(), Fault> {
        let number = self.unused.pop().unwrap_or_else(|| {
            self.open.push(Open::default());
            self.open.len() as u32 - 1
        });
        self.open[number as usize].is_list = is_list;
        self.push(Value::Open(number))
    }

    fn last_mark(&mut self) -> Result<usize, Fault> {
        let mark = self.marks.pop().ok_or_else(|| malformed("there is no mark"))? as usize;
        // Pops below a mark leave it above the stack.
        if mark > self.stack.len() { Err(malformed("values below a mark are gone")) } else { Ok(mark) }
    }

    fn container_below(&self, place: usize, is_list: bool) -> Result<u32, Fault> {
        let below = place.checked_sub(1).and_then(|below| self.stack.get(below));
        match below {
            Some(&Value::Open(open)) if self.open[open as usize].is_list == is_list => Ok(open),
            _ => Err(malformed(if is_list {
                "there is no list to add to"
            } else {
                "there is no dictionary to add to"
            })),
        }
    }

    #[inline]
    pub fn set_items(&mut self) -> Result<(), Fault> {
        let mark = self.last_mark()?;
        let dict = self.container_below(mark, false)?;
        if !(self.stack.len() - mark).is_multiple_of(2) {
            return Err(malformed("a key has no value"));
        }
        self.set_from(mark, dict);
        Ok(())
    }

    pub fn set_item(&mut self) -> Result<(), Fault> {
        let place = self.stack.len().checked_sub(2).ok_or_else(|| malformed("a key has no value"))?;
        let dict = self.container_below(place, false)?;
        self.set_from(place, dict);
        Ok(())
    }

    /// Moves pairs from the stack into a dictionary.
    fn set_from(&mut self, place: usize, dict: u32) {
        for at in (place..self.stack.len().saturating_sub(1)).step_by(2) {
            let (key, value) = (self.stack[at], self.stack[at + 1]);
            self.settled(key);
            let value = self.settled(value);
            let Some(key) = Key::of(key) else { continue };
            let entries = &mut self.open[dict as usize].entries;
            match entries.iter_mut().find(|(known, _)| *known == key) {
                Some(entry) => entry.1 = value,
                None => entries.push((key, value)),
            }
        }
        self.release_from(place);
    }

    pub fn append(&mut self) -> Result<(), Fault> {
        let place = self.stack.len().checked_sub(1).ok_or_else(|| malformed("there is no value to add"))?;
        let list = self.container_below(place, true)?;
        self.append_from(place, list);
        Ok(())
    }

    pub fn append_items(&mut self) -> Result<(), Fault> {
        let mark = self.last_mark()?;
        let list = self.container_below(mark, true)?;
        self.append_from(mark, list);
        Ok(())
    }

    fn append_from(&mut self, place: usize, list: u32) {
        for at in place..self.stack.len() {
            let value = self.stack[at];
            let value = self.settled(value);
            if !matches!(value, Value::Opaque | Value::Int(_) | Value::Text(_)) {
                self.open[list as usize].items.push(value);
            }
        }
        self.release_from(place);
    }

    pub fn list_of_items(&mut self) -> Result<(), Fault> {
        let mark = self.last_mark()?;
        self.open_list()?;
        let Some(Value::Open(list)) = self.stack.pop() else { return Err(malformed("there is no list")) };
        self.append_from(mark, list);
        self.push(Value::Open(list))
    }

    pub fn dict_of_items(&mut self) -> Result<(), Fault> {
        let mark = self.last_mark()?;
        self.open_dict()?;
        let Some(Value::Open(dict)) = self.stack.pop() else {
            return Err(malformed("there is no dictionary"));
        };
        self.set_from(mark, dict);
        self.push(Value::Open(dict))
    }

    pub fn tuple(&mut self, count: usize) -> Result<(), Fault> {
        let place = self.stack.len().checked_sub(count).ok_or_else(|| malformed("a tuple lacks values"))?;
        self.settle_from(place);
        self.push(Value::Opaque)
    }

    pub fn tuple_of_items(&mut self) -> Result<(), Fault> {
        let mark = self.last_mark()?;
        self.settle_from(mark);
        self.push(Value::Opaque)
    }

    pub fn drop_items(&mut self) -> Result<(), Fault> {
        let mark = self.last_mark()?;
        self.settle_from(mark);
        Ok(())
    }

    pub fn pop(&mut self) -> Result<(), Fault> {
        let place = self.stack.len().checked_sub(1).ok_or_else(|| malformed("there is no value to drop"))?;
        self.settle_from(place);
        Ok(())
    }

    pub fn duplicate(&mut self) -> Result<(), Fault> {
        let top = self.stack.last().copied().ok_or_else(|| malformed("there is no value to repeat"))?;
        self.push(if let Value::Open(_) = top { Value::Opaque } else { top })
    }

    /// The two texts on top, as module and name.
    pub fn name_on_top(&self) -> Option<String> {
        let [.., Value::Text(module), Value::Text(name)] = self.stack[..] else { return None };
        Some(format!("the Python name `{}.{}`", self.strings.get(module), self.strings.get(name)))
    }

    fn settle_from(&mut self, place: usize) {
        for at in place..self.stack.len() {
            self.settled(self.stack[at]);
        }
        self.release_from(place);
    }

    fn release_from(&mut self, place: usize) {
        self.stack.truncate(place);
        while self.marks.last().is_some_and(|mark| *mark as usize > place) {
            self.marks.pop();
        }
    }

    /// Folds a value when it goes into another: containers become rows or lists.
    #[inline]
    fn settled(&mut self, value: Value) -> Value {
        let Value::Open(number) = value else { return value };
        let mut open = std::mem::take(&mut self.open[number as usize]);
        let folded = if open.is_list { self.list(&mut open.items) } else { self.dict(&open.entries) };
        if let Some(memo) = open.memo.take() {
            self.memo[memo as usize] = Packed::of(folded, &mut self.numbers);
        }
        open.entries.clear();
        open.items.clear();
        self.open[number as usize] = open;
        self.unused.push(number);
        folded
    }

    fn dict(&mut self, entries: &[(Key, Value)]) -> Value {
        if let Some(frame) = rows::frame(entries) {
            let Self { frames, frame_numbers, .. } = self;
            let number = *frame_numbers.entry(frame).or_insert_with(|| {
                frames.push(frame);
                frames.len() as u32 - 1
            });
            return Value::Frame(number);
        }
        let Self { rows, lists, strings, .. } = self;
        rows.add(entries, lists, strings)
    }

    fn list(&mut self, items: &mut Vec<Value>) -> Value {
        let Some(first) = items.first() else { return Value::EmptyList };
        if let Value::Frame(_) = first {
            return self.frames(items);
        }
        self.lists.push(std::mem::take(items));
        Value::List(self.lists.len() as u32 - 1)
    }

    /// The number of a distinct stack.
    fn frames(&mut self, items: &[Value]) -> Value {
        let Self { stack_frames, stack_ends, stack_index, scratch, .. } = self;
        scratch.clear();
        scratch.extend(items.iter().filter_map(|item| match item {
            Value::Frame(number) => Some(*number),
            _ => None,
        }));
        let slice = |stack: u32| {
            let start = if stack == 0 { 0 } else { stack_ends[stack as usize - 1] };
            &stack_frames[start as usize..stack_ends[stack as usize] as usize]
        };
        let entry = stack_index.entry(
            hash(scratch),
            |&stack| slice(stack) == scratch.as_slice(),
            |&stack| hash(slice(stack)),
        );
        match entry {
            Entry::Occupied(known) => Value::Stack(*known.get()),
            Entry::Vacant(free) => {
                let number = stack_ends.len() as u32;
                free.insert(number);
                stack_frames.extend_from_slice(scratch);
                stack_ends.push(stack_frames.len() as u32);
                Value::Stack(number)
            }
        }
    }

    /// In a truncated file, merges lists into the list before them: a single value has no mark.
    fn append_last(&mut self, mark: usize) {
        let mut place = mark;
        while matches!(self.stack.get(place), Some(Value::Text(_))) {
            place += 2;
        }
        for at in (place..self.stack.len()).rev() {
            if let Ok(list) = self.container_below(at, true) {
                self.append_from(at, list);
            }
        }
    }

    /// The end of the pickle, or of its bytes: folds what is left.
    pub fn finish(&mut self) {
        // A truncated file leaves entries above marks; they belong to the container below.
        while let Some(mark) = self.marks.pop() {
            let mark = (mark as usize).min(self.stack.len());
            match mark.checked_sub(1).map(|below| self.stack[below]) {
                Some(Value::Open(open)) if self.open[open as usize].is_list => self.append_from(mark, open),
                // An incomplete row is dropped; containers of rows are read as far as they go.
                Some(Value::Open(open)) if self.stack[mark..].iter().any(|&key| rows::holds_rows(key)) => {
                    self.append_last(mark);
                    self.set_from(mark, open);
                }
                _ => self.settle_from(mark),
            }
        }
        self.settle_from(0);
        self.memo = Vec::new();
        self.numbers = Vec::new();
    }
}

fn hash(frames: &[u32]) -> u64 {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = frames.iter().fold(frames.len() as u64, |hash, &frame| {
        (hash.rotate_left(23) ^ u64::from(frame)).wrapping_mul(MULTIPLIER)
    });
    mixed ^ mixed >> 32
}

//! Columns of a trace as Arrow arrays. Times and numbers are the trace's own memory; texts are views into the trace's
//! strings, so that no text is copied either.

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, StringViewArray};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use trace::{OptI64, StrId, Trace};

/// Strings of up to this many bytes are part of their view.
const INLINE: usize = 12;
/// Views store offsets in 31 bits.
const MOST_BYTES: usize = i32::MAX as usize;

/// Columns of one table, in order.
pub struct Columns<'t> {
    trace: &'t Arc<Trace>,
    texts: Texts,
    columns: Vec<(&'static str, ArrayRef)>,
}

/// Keeps a trace alive while its memory is in use.
struct Owner(#[allow(dead_code)] Arc<Trace>);

/// Every string of a trace as a view, and the memory that the views refer to.
struct Texts {
    views: Vec<u128>,
    buffers: Arc<[Buffer]>,
}

impl<'t> Columns<'t> {
    /// No columns yet.
    pub fn of(trace: &'t Arc<Trace>) -> Self {
        Self { trace, texts: Texts::of(trace), columns: Vec::new() }
    }

    /// Whole numbers that every row has: the trace's own memory.
    pub fn whole(mut self, name: &'static str, values: &'t [i64]) -> Self {
        let buffer = borrowed(self.trace, values.as_ptr().cast(), std::mem::size_of_val(values));
        let array = Int64Array::new(ScalarBuffer::new(buffer, 0, values.len()), None);
        self.columns.push((name, Arc::new(array)));
        self
    }

    /// Measured values: the trace's own memory; NaN stays NaN.
    pub fn real(mut self, name: &'static str, values: &'t [f64]) -> Self {
        let buffer = borrowed(self.trace, values.as_ptr().cast(), std::mem::size_of_val(values));
        let array = Float64Array::new(ScalarBuffer::new(buffer, 0, values.len()), None);
        self.columns.push((name, Arc::new(array)));
        self
    }

    /// Whole numbers that some rows have.
    pub fn optional(self, name: &'static str, values: &[OptI64]) -> Self {
        self.number(name, values.iter().map(|value| value.get()))
    }

    /// Whole numbers, computed for each row.
    pub fn number(mut self, name: &'static str, values: impl Iterator<Item = Option<i64>>) -> Self {
        self.columns.push((name, Arc::new(values.collect::<Int64Array>())));
        self
    }

    /// Names; the empty one stands for null.
    pub fn text(self, name: &'static str, values: &[StrId]) -> Self {
        let values = values.iter().copied();
        self.text_of(name, values)
    }

    /// Names, looked up for each row.
    pub fn text_of(mut self, name: &'static str, values: impl Iterator<Item = StrId>) -> Self {
        let values = values.map(|id| (self.texts.views[id.0 as usize], !id.is_empty()));
        let (views, known): (Vec<u128>, Vec<bool>) = values.unzip();
        let nulls = known.contains(&false).then(|| NullBuffer::from(known));
        // SAFETY: each view was made from a string of the trace, and refers to the buffer that holds it.
        let array = unsafe {
            StringViewArray::new_unchecked(ScalarBuffer::from(views), Arc::clone(&self.texts.buffers), nulls)
        };
        self.columns.push((name, Arc::new(array)));
        self
    }

    /// Words that are not the trace's own.
    pub fn word(mut self, name: &'static str, values: impl Iterator<Item = &'t str>) -> Self {
        let values = values.map(|word| (!word.is_empty()).then_some(word));
        self.columns.push((name, Arc::new(values.collect::<StringViewArray>())));
        self
    }

    /// All columns.
    pub fn finish(self) -> Vec<(&'static str, ArrayRef)> {
        self.columns
    }
}

impl Texts {
    fn of(trace: &Arc<Trace>) -> Self {
        let text = trace.strings.text();
        let mut views = Vec::with_capacity(trace.strings.len());
        let mut buffers = Vec::new();
        // A buffer begins with a string and ends before the first string that is out of reach from there.
        let (mut start, mut end) = (0, 0);
        for string in trace.strings.iter() {
            if end + string.len() - start > MOST_BYTES {
                buffers.push(borrowed(trace, text[start..].as_ptr(), end - start));
                start = end;
            }
            views.push(view(string, buffers.len(), end - start));
            end += string.len();
        }
        buffers.push(borrowed(trace, text[start..].as_ptr(), end - start));
        Self { views, buffers: buffers.into() }
    }
}

/// A string as an Arrow view: its length and text, or its length, prefix and position.
fn view(string: &str, buffer: usize, offset: usize) -> u128 {
    let bytes = string.as_bytes();
    let mut view = [0; 16];
    view[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    if bytes.len() <= INLINE {
        view[4..4 + bytes.len()].copy_from_slice(bytes);
    } else {
        view[4..8].copy_from_slice(&bytes[..4]);
        view[8..12].copy_from_slice(&(buffer as u32).to_le_bytes());
        view[12..].copy_from_slice(&(offset as u32).to_le_bytes());
    }
    u128::from_le_bytes(view)
}

/// Memory of a trace, which lives as long as the buffer.
fn borrowed(trace: &Arc<Trace>, start: *const u8, bytes: usize) -> Buffer {
    let start = NonNull::new(start.cast_mut()).unwrap_or(NonNull::<u64>::dangling().cast());
    let owner = Arc::new(Owner(Arc::clone(trace)));
    // SAFETY: the memory is a column or text of the trace, which stays unchanged while the owner holds it.
    unsafe { Buffer::from_custom_allocation(start, bytes, owner) }
}

//! Columns of all workers put together in the order of the file, names and lanes made global on the way.

use trace::{Map, ShapeId, Shapes, StrId, Strings};

use super::lanes::{Lane, LaneNames};
use super::rows::{Rows, TABLES};
use super::texts::Texts;
use super::worker::{Piece, Worker};

/// Takes one column out of every worker's tables.
macro_rules! take {
    ($from:expr, $table:ident.$column:ident) => {
        $from.rows.iter_mut().map(|rows| std::mem::take(&mut rows.$table.$column)).collect::<Vec<_>>()
    };
}
pub(super) use take;

/// What the workers read, less the columns that were taken already.
pub(super) struct Gather<'p> {
    pub rows: Vec<Rows>,
    pieces: &'p [Piece],
    base_ns: i64,
    texts: Texts,
    values: Texts,
    lanes: Lanes,
    shapes: Vec<(Shapes, Vec<Option<ShapeId>>)>,
    /// Times that do not fit behind the base time.
    pub overflows: u64,
}

impl<'p> Gather<'p> {
    pub fn new(workers: Vec<Worker>, pieces: &'p [Piece], base_ns: i64) -> Self {
        let mut gather = Self {
            rows: Vec::new(),
            pieces,
            base_ns,
            texts: Texts::default(),
            values: Texts::default(),
            lanes: Lanes::default(),
            shapes: Vec::new(),
            overflows: 0,
        };
        for worker in workers {
            gather.rows.push(worker.rows);
            gather.texts.add(worker.names);
            gather.values.add(worker.values);
            gather.lanes.add(&worker.lanes);
            let unknown = vec![None; worker.shapes.len()];
            gather.shapes.push((worker.shapes, unknown));
        }
        gather
    }

    /// Values that stay as they are.
    pub fn plain<T: Copy>(&self, table: usize, columns: Vec<Vec<T>>) -> Vec<T> {
        collect(columns, self.pieces, table, |_, value| value)
    }

    /// Names as strings of the trace.
    pub fn texts(&mut self, table: usize, columns: Vec<Vec<u32>>, strings: &mut Strings) -> Vec<StrId> {
        collect(columns, self.pieces, table, |worker, id| self.texts.get(worker, id, strings))
    }

    /// Names as text of their own.
    pub fn words(&self, table: usize, columns: Vec<Vec<u32>>) -> Vec<String> {
        collect(columns, self.pieces, table, |worker, id| self.texts.plain(worker, id))
    }

    /// Values of arguments as strings of the trace.
    pub fn values(&mut self, table: usize, columns: Vec<Vec<u32>>, strings: &mut Strings) -> Vec<StrId> {
        collect(columns, self.pieces, table, |worker, id| self.values.raw(worker, id, strings))
    }

    /// Times behind the base time.
    pub fn times(&mut self, table: usize, columns: Vec<Vec<i64>>) -> Vec<i64> {
        collect(columns, self.pieces, table, |_, at| {
            at.checked_add(self.base_ns).unwrap_or_else(|| {
                self.overflows += 1;
                at.saturating_add(self.base_ns)
            })
        })
    }

    /// Lanes by their number in the file.
    pub fn lanes(&mut self, table: usize, columns: Vec<Vec<u32>>) -> Vec<u32> {
        collect(columns, self.pieces, table, |worker, lane| self.lanes.get(worker, lane))
    }

    /// Launch shapes of the trace.
    pub fn shapes(&mut self, table: usize, columns: Vec<Vec<ShapeId>>, all: &mut Shapes) -> Vec<ShapeId> {
        collect(columns, self.pieces, table, |worker, shape| {
            let (own, known) = &mut self.shapes[worker];
            *known[shape.0 as usize].get_or_insert_with(|| all.intern(*own.get(shape)))
        })
    }

    /// Rows that refer to rows of other tables: `refers` tells which, by place.
    pub fn rows(&self, table: usize, columns: Vec<Vec<u32>>, refers: impl Fn(usize) -> usize) -> Vec<u32> {
        let mut out = Vec::new();
        let mut shift = [0i64; TABLES];
        for piece in self.pieces {
            for (table, shift) in shift.iter_mut().enumerate() {
                *shift -= i64::from(piece.from[table]);
            }
            for row in &columns[piece.worker][piece.from[table] as usize..piece.to[table] as usize] {
                out.push((i64::from(*row) + shift[refers(out.len())]) as u32);
            }
            for (table, shift) in shift.iter_mut().enumerate() {
                *shift += i64::from(piece.to[table]);
            }
        }
        out
    }

    /// All lanes that rows use, and one that shows who the host was.
    pub fn all_lanes(&mut self) -> Vec<Lane> {
        let witness = self.pieces.iter().find_map(|piece| Some((piece.worker, piece.witness?)));
        if let Some((worker, lane)) = witness {
            self.lanes.number(worker, lane as usize);
        }
        std::mem::take(&mut self.lanes.lanes)
    }

    /// Distinct strings that are not UTF-8.
    pub fn lossy(&self) -> u64 {
        self.texts.lossy() + self.values.lossy()
    }
}

/// One column in the order of the file; the workers' columns go as soon as it is there.
fn collect<T: Copy, U>(
    columns: Vec<Vec<T>>,
    pieces: &[Piece],
    table: usize,
    mut map: impl FnMut(usize, T) -> U,
) -> Vec<U> {
    let total = pieces.iter().map(|piece| (piece.to[table] - piece.from[table]) as usize).sum();
    let mut out = Vec::with_capacity(total);
    for piece in pieces {
        let part = &columns[piece.worker][piece.from[table] as usize..piece.to[table] as usize];
        out.extend(part.iter().map(|value| map(piece.worker, *value)));
    }
    out
}

/// Lanes of the file, numbered as rows use them.
#[derive(Default)]
struct Lanes {
    keys: Vec<Vec<Vec<u8>>>,
    known: Vec<Vec<Option<u32>>>,
    numbers: Map<Vec<u8>, u32>,
    lanes: Vec<Lane>,
}

impl Lanes {
    fn add(&mut self, names: &LaneNames) {
        let keys: Vec<_> = names.keys().map(<[u8]>::to_vec).collect();
        self.known.push(vec![None; keys.len()]);
        self.keys.push(keys);
    }

    #[inline]
    fn get(&mut self, worker: usize, local: u32) -> u32 {
        let number = match self.known[worker][local as usize] {
            Some(number) => number,
            None => self.number(worker, local as usize),
        };
        self.lanes[number as usize].rows += 1;
        number
    }

    #[cold]
    fn number(&mut self, worker: usize, local: usize) -> u32 {
        let key = &self.keys[worker][local];
        let number = *self.numbers.entry_ref(&key[..]).or_insert_with(|| {
            self.lanes.push(Lane::of(key));
            self.lanes.len() as u32 - 1
        });
        self.known[worker][local] = Some(number);
        number
    }
}

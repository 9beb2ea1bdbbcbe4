//! Columns of all workers joined in file order, with names and lanes made global.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
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

/// What the workers read, without the columns already taken.
pub(super) struct Gather<'p> {
    pub rows: Vec<Rows>,
    pieces: &'p [Piece],
    base_ns: i64,
    texts: Texts,
    values: Texts,
    lanes: Lanes,
    shapes: Vec<(Shapes, Vec<ShapeId>)>,
    /// Times that overflow when the base time is added.
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
            let unknown = vec![ShapeId::default(); worker.shapes.len()];
            gather.shapes.push((worker.shapes, unknown));
        }
        gather
    }

    /// Values that are copied unchanged.
    pub fn plain<T: Copy + Send + Sync + 'static>(&self, table: usize, columns: Vec<Vec<T>>) -> Vec<T> {
        collect(columns, self.pieces, table, |_, _, value| value)
    }

    /// Names as strings of the trace.
    pub fn texts(&mut self, table: usize, columns: Vec<Vec<u32>>, strings: &mut Strings) -> Vec<StrId> {
        let texts = &self.texts;
        for (worker, id, _) in uses(&columns, self.pieces, table, |worker| texts.count(worker)) {
            self.texts.get(worker, id, strings);
        }
        let (pieces, known) = (self.pieces, &self.texts);
        collect(columns, self.pieces, table, |piece, _, id| known.known(pieces[piece].worker, id))
    }

    /// Names as separate strings.
    pub fn words(&self, table: usize, columns: Vec<Vec<u32>>) -> Vec<String> {
        collect(columns, self.pieces, table, |piece, _, id| self.texts.plain(self.pieces[piece].worker, id))
    }

    /// Values of arguments as strings of the trace.
    pub fn values(&mut self, table: usize, columns: Vec<Vec<u32>>, strings: &mut Strings) -> Vec<StrId> {
        let values = &self.values;
        for (worker, id, _) in uses(&columns, self.pieces, table, |worker| values.count(worker)) {
            self.values.raw(worker, id, strings);
        }
        let (pieces, known) = (self.pieces, &self.values);
        collect(columns, self.pieces, table, |piece, _, id| known.known(pieces[piece].worker, id))
    }

    /// Times with the base time added.
    pub fn times(&mut self, table: usize, columns: Vec<Vec<i64>>) -> Vec<i64> {
        let (base_ns, overflows) = (self.base_ns, AtomicU64::new(0));
        let times = collect(columns, self.pieces, table, |_, _, at| {
            at.checked_add(base_ns).unwrap_or_else(|| {
                overflows.fetch_add(1, Ordering::Relaxed);
                at.saturating_add(base_ns)
            })
        });
        self.overflows += overflows.into_inner();
        times
    }

    /// Lanes by their number in the file.
    pub fn lanes(&mut self, table: usize, columns: Vec<Vec<u32>>) -> Vec<u32> {
        let lanes = &self.lanes;
        for (worker, lane, rows) in uses(&columns, self.pieces, table, |worker| lanes.known[worker].len()) {
            let number = self.lanes.number(worker, lane as usize);
            self.lanes.lanes[number as usize].rows += rows;
        }
        let (pieces, known) = (self.pieces, &self.lanes.known);
        collect(columns, self.pieces, table, |piece, _, lane| known[pieces[piece].worker][lane as usize])
    }

    /// Launch shapes of the trace.
    pub fn shapes(&mut self, table: usize, columns: Vec<Vec<ShapeId>>, all: &mut Shapes) -> Vec<ShapeId> {
        let columns: Vec<Vec<u32>> =
            columns.into_par_iter().map(|column| column.into_iter().map(|shape| shape.0).collect()).collect();
        let shapes = &self.shapes;
        for (worker, shape, _) in uses(&columns, self.pieces, table, |worker| shapes[worker].1.len()) {
            let (own, known) = &mut self.shapes[worker];
            known[shape as usize] = all.intern(*own.get(ShapeId(shape)));
        }
        let (pieces, known) = (self.pieces, &self.shapes);
        collect(columns, self.pieces, table, |piece, _, shape| known[pieces[piece].worker].1[shape as usize])
    }

    /// Rows that refer to rows of other tables: `refers` gives the table, by index.
    pub fn rows(
        &self,
        table: usize,
        columns: Vec<Vec<u32>>,
        refers: impl Fn(usize) -> usize + Sync,
    ) -> Vec<u32> {
        // How far the rows of each piece shift, by table.
        let mut before = [0i64; TABLES];
        let mut shifts: Vec<[i64; TABLES]> = Vec::with_capacity(self.pieces.len());
        for piece in self.pieces {
            let mut shift = before;
            for table in 0..TABLES {
                shift[table] -= i64::from(piece.from[table]);
                before[table] += i64::from(piece.to[table]) - i64::from(piece.from[table]);
            }
            shifts.push(shift);
        }
        collect(columns, self.pieces, table, |number, place, row| {
            (i64::from(row) + shifts[number][refers(place)]) as u32
        })
    }

    /// All lanes that rows use, and one that identifies the host.
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

/// One column in file order; the workers' columns are freed as soon as it is complete. `map` gets the number
/// of the piece, the index in the column and the value.
fn collect<T: Copy + Send + Sync + 'static, U: Send>(
    columns: Vec<Vec<T>>,
    pieces: &[Piece],
    table: usize,
    map: impl Fn(usize, usize, T) -> U + Sync,
) -> Vec<U> {
    let total = pieces.iter().map(|piece| rows_of(piece, table).len()).sum();
    let mut out: Vec<U> = Vec::with_capacity(total);
    let mut room = &mut out.spare_capacity_mut()[..total];
    /// Number of the piece, index in the column, values, and room for the results.
    type ColumnPiece<'a, T, U> = (usize, usize, &'a [T], &'a mut [MaybeUninit<U>]);
    let mut parts: Vec<ColumnPiece<T, U>> = Vec::new();
    let mut place = 0;
    for (number, piece) in pieces.iter().enumerate() {
        for part in columns[piece.worker][rows_of(piece, table)].chunks(ROWS_AT_ONCE) {
            let (here, rest) = std::mem::take(&mut room).split_at_mut(part.len());
            parts.push((number, place, part, here));
            place += part.len();
            room = rest;
        }
    }
    parts.into_par_iter().for_each(|(piece, first, part, here)| {
        for (at, (&value, slot)) in part.iter().zip(here).enumerate() {
            slot.write(map(piece, first + at, value));
        }
    });
    // SAFETY: the parts are as long as the room, and every slot was written.
    unsafe { out.set_len(total) };
    // Freeing large columns takes a while: do it in the background.
    rayon::spawn(move || drop(columns));
    out
}

/// Rows that one thread handles at a time.
pub(super) const ROWS_AT_ONCE: usize = 1 << 16;

fn rows_of(piece: &Piece, table: usize) -> std::ops::Range<usize> {
    piece.from[table] as usize..piece.to[table] as usize
}

/// Which numbers each worker's column uses, in file order, and in how many rows: (worker, number, rows). A
/// number may occur several times. `distinct` gives the count of numbers of a worker.
fn uses(
    columns: &[Vec<u32>],
    pieces: &[Piece],
    table: usize,
    distinct: impl Fn(usize) -> usize,
) -> Vec<(usize, u32, u64)> {
    let parts: Vec<(usize, usize, &[u32])> = (pieces.iter())
        .flat_map(|piece| {
            let rows = &columns[piece.worker][rows_of(piece, table)];
            let count = distinct(piece.worker);
            // A list of uses must be short compared with the rows.
            rows.chunks(ROWS_AT_ONCE.max(count)).map(move |part| (piece.worker, count, part))
        })
        .collect();
    let found: Vec<Vec<(usize, u32, u64)>> = parts
        .into_par_iter()
        .map(|(worker, count, part)| {
            let mut rows = vec![0u32; count];
            let mut order = Vec::new();
            for &number in part {
                if rows[number as usize] == 0 {
                    order.push(number);
                }
                rows[number as usize] += 1;
            }
            order.into_iter().map(|number| (worker, number, u64::from(rows[number as usize]))).collect()
        })
        .collect();
    found.concat()
}

/// Lanes of the file, numbered as rows use them.
#[derive(Default)]
struct Lanes {
    keys: Vec<Vec<Vec<u8>>>,
    /// The numbers of each worker's lanes, once requested.
    known: Vec<Vec<u32>>,
    numbers: Map<Vec<u8>, u32>,
    lanes: Vec<Lane>,
}

impl Lanes {
    fn add(&mut self, names: &LaneNames) {
        let keys: Vec<_> = names.keys().map(<[u8]>::to_vec).collect();
        self.known.push(vec![0; keys.len()]);
        self.keys.push(keys);
    }

    fn number(&mut self, worker: usize, local: usize) -> u32 {
        let key = &self.keys[worker][local];
        let number = *self.numbers.entry_ref(&key[..]).or_insert_with(|| {
            self.lanes.push(Lane::of(key));
            self.lanes.len() as u32 - 1
        });
        self.known[worker][local] = number;
        number
    }
}

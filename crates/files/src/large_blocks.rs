//! Large blocks of memory, which are emptied before they are freed, on several threads if possible.
//!
//! The system unmaps one block at a time, whatever thread calls it, in time proportional to the number of
//! pages. Emptying a block takes as long, but blocks can be emptied in parallel, and an empty block is
//! unmapped at once.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::memory::System;

/// Minimum bytes of a large block.
const LARGE: usize = 4 << 20;

/// Blocks of at least this size are mapped separately, and unmapped when freed; smaller ones may be reused.
/// It is the highest threshold that the system's allocator (glibc) accepts.
const MAPPED: usize = if cfg!(target_env = "gnu") { 32 << 20 } else { usize::MAX };

/// Bytes that one thread empties at a time.
const PIECE: usize = 8 << 20;

thread_local! {
    /// The blocks that this thread has freed, while it collects them.
    static GATHERED: Cell<Option<*mut Freed>> = const { Cell::new(None) };
}

/// Header of a block that was freed but not yet returned.
struct Freed {
    next: *mut Freed,
    layout: Layout,
}

/// Frees a block.
///
/// # Safety
/// As for [`GlobalAlloc::dealloc`] of [`System`].
#[inline]
pub(crate) unsafe fn free(block: *mut u8, layout: Layout) {
    if layout.size() >= LARGE {
        // SAFETY: as the caller promises.
        unsafe { free_large(block, layout) }
    } else {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }
}

#[cold]
unsafe fn free_large(block: *mut u8, layout: Layout) {
    let gathered = GATHERED.try_with(|first| {
        let next = first.get()?;
        let freed = block.cast::<Freed>();
        // SAFETY: the block is no longer used, and has room for this.
        unsafe { freed.write_unaligned(Freed { next, layout }) };
        first.set(Some(freed));
        Some(())
    });
    if gathered.ok().flatten().is_some() {
        return;
    }
    if layout.size() >= MAPPED {
        empty(pages_of(block as usize, layout));
    }
    // SAFETY: as the caller promises.
    unsafe { System.dealloc(block, layout) }
}

/// Addresses of the pages that are entirely inside a block.
fn pages_of(block: usize, layout: Layout) -> Range<usize> {
    // SAFETY: a plain system call.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as usize;
    block.next_multiple_of(page)..(block + layout.size()) / page * page
}

/// Returns unused pages to the system.
fn empty(pages: Range<usize>) {
    // SAFETY: these pages are no longer used. If the call fails, they are freed with their block.
    unsafe { libc::madvise(pages.start as *mut libc::c_void, pages.len(), libc::MADV_DONTNEED) };
}

/// The large blocks of a dropped value. Dropping this frees them.
pub struct LargeBlocks(Vec<(usize, Layout)>);

impl LargeBlocks {
    /// Drops a value, but keeps its large blocks.
    pub fn of<T>(value: T) -> Self {
        GATHERED.set(Some(ptr::null_mut()));
        drop(value);
        let mut next = GATHERED.take().unwrap_or(ptr::null_mut());
        let mut blocks = Vec::new();
        while !next.is_null() {
            // SAFETY: only `free_large` builds this list, from blocks that nothing else owns.
            let freed = unsafe { next.read_unaligned() };
            blocks.push((next as usize, freed.layout));
            next = freed.next;
        }
        Self(blocks)
    }

    /// Splits the blocks into parts that take about equally long to empty.
    pub fn pieces(&self) -> Vec<Piece<'_>> {
        let cut = |&(block, layout): &(usize, Layout)| {
            let Range { start, end } = pages_of(block, layout);
            let of = &self.0;
            (start..end).step_by(PIECE).map(move |from| Piece { pages: from..end.min(from + PIECE), _of: of })
        };
        self.0.iter().flat_map(cut).collect()
    }
}

impl Drop for LargeBlocks {
    fn drop(&mut self) {
        for &(block, layout) in &self.0 {
            // SAFETY: the block was freed with this layout, and it was kept until now.
            unsafe { System.dealloc(block as *mut u8, layout) }
        }
    }
}

/// Whether this program ends after its answer.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Declares that this program ends after its answer, and will not reuse freed memory.
pub fn end_after_answer() {
    ENDS.store(true, Ordering::Relaxed);
}

/// Whether this program ends after its answer.
pub fn ends_after_answer() -> bool {
    ENDS.load(Ordering::Relaxed)
}

/// Undoes [`end_after_answer`].
pub(crate) fn stay_after_answer() {
    ENDS.store(false, Ordering::Relaxed);
}

/// Returns free memory that the allocator caches to the system, if this program is about to end.
pub fn give_back_free() {
    #[cfg(target_env = "gnu")]
    if ends_after_answer() {
        // SAFETY: releases only unused memory.
        unsafe { libc::malloc_trim(0) };
    }
}

/// A part of a large block.
pub struct Piece<'a> {
    pages: Range<usize>,
    _of: &'a [(usize, Layout)],
}

impl Piece<'_> {
    /// Returns its pages to the system.
    pub fn empty(&self) {
        empty(self.pages.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frees through this module, as the program's allocator does.
    struct Block(*mut u8, Layout);

    impl Block {
        fn of(bytes: usize) -> Self {
            let layout = Layout::from_size_align(bytes, 8).unwrap();
            // SAFETY: the layout has a size; the block is written before it is read.
            let block = unsafe { System.alloc(layout) };
            unsafe { block.write_bytes(7, bytes) };
            Self(block, layout)
        }
    }

    impl Drop for Block {
        fn drop(&mut self) {
            // SAFETY: allocated with this layout.
            unsafe { free(self.0, self.1) }
        }
    }

    #[test]
    fn the_large_blocks_of_a_value_are_kept_until_they_are_emptied_piece_by_piece() {
        let value: Vec<Block> = [LARGE, 3 * PIECE + 5, LARGE - 1].map(Block::of).into();
        let blocks = LargeBlocks::of(value);
        let mut sizes: Vec<usize> = blocks.0.iter().map(|(_, layout)| layout.size()).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [LARGE, 3 * PIECE + 5]);
        let pieces = blocks.pieces();
        let emptied: usize = pieces.iter().map(|piece| piece.pages.len()).sum();
        assert!((LARGE + 3 * PIECE - (256 << 10)..=LARGE + 3 * PIECE + 5).contains(&emptied), "{emptied}");
        pieces.iter().for_each(Piece::empty);
        let (block, layout) = *blocks.0.iter().max_by_key(|(_, layout)| layout.size()).unwrap();
        // SAFETY: the block is still there.
        let left = unsafe { std::slice::from_raw_parts(block as *const u8, layout.size()) };
        assert!(pages_of(block, layout).all(|at| left[at - block] == 0), "the system took all whole pages");
    }

    #[test]
    fn blocks_freed_later_are_not_gathered() {
        let blocks = LargeBlocks::of(Block::of(LARGE));
        assert_eq!(blocks.0.len(), 1);
        drop(blocks);
        assert!(GATHERED.get().is_none());
        drop(Block::of(LARGE));
    }
}

//! Pages of a database by number, from the mapped file or its companion.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;
use rayon::prelude::*;

use super::OpenError;
use super::overlay::{Overlay, valid_page_size};
use crate::bytes;

/// How text is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
}

/// A mapped database file.
pub(super) struct Pager {
    file: Option<Mmap>,
    overlay: Option<Overlay>,
    page_size: usize,
    /// Bytes of a page that hold data.
    pub usable: usize,
    /// Pages of the database, according to its header.
    pub pages: u32,
    pub encoding: Encoding,
}

/// Bytes of a mapped file that one thread releases at a time.
const PIECE: usize = 16 << 20;

impl Drop for Pager {
    /// Releases the pages on all threads first: unmapping takes as long, but on one thread, and others that need
    /// memory wait for it.
    fn drop(&mut self) {
        let Some(file) = self.file.as_ref().filter(|file| file.len() > PIECE) else { return };
        let release = |at: usize| bytes::release(file, at * PIECE, file.len().min((at + 1) * PIECE));
        (0..file.len().div_ceil(PIECE)).into_par_iter().for_each(release);
    }
}

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

impl Pager {
    /// Maps a file and reads its header.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let file = File::open(path).map_err(OpenError::Io)?;
        let length = file.metadata().map_err(OpenError::Io)?.len();
        let overlay = Overlay::beside(path);
        let file = if length > 0 {
            // SAFETY: the file is only read; a writer may shorten it, the usual risk of a mapped file.
            Some(unsafe { Mmap::map(&file) }.map_err(OpenError::Io)?)
        } else {
            None
        };
        let header = match (overlay.as_ref().and_then(|o| o.page(1)), &file) {
            (Some(page), _) => page,
            (None, Some(file)) => file,
            (None, None) => return Err(OpenError::Empty),
        };
        if !header.starts_with(MAGIC) {
            return Err(OpenError::NotSqlite);
        }
        let header: [u8; 100] = header
            .get(..100)
            .and_then(|h| h.try_into().ok())
            .ok_or_else(|| OpenError::Damaged("it ends inside its header".into()))?;
        let page_size = match u16::from_be_bytes([header[16], header[17]]) {
            1 => 65536,
            size => usize::from(size),
        };
        if !valid_page_size(page_size) || page_size < usize::from(header[20]) + 480 {
            return Err(OpenError::Damaged(format!("its header gives a page size of {page_size}")));
        }
        if overlay.as_ref().is_some_and(|o| o.page_size != page_size) {
            return Err(OpenError::Damaged("its write-ahead log has a different page size".into()));
        }
        let word =
            |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let in_file = u32::try_from(length / page_size as u64).unwrap_or(u32::MAX);
        // The header's count is valid only if the last writer updated it.
        let by_header = if word(24) == word(92) { word(28) } else { 0 };
        let pages =
            overlay.as_ref().and_then(|o| o.pages).unwrap_or(if by_header > 0 { by_header } else { in_file });
        let encoding = match word(56) {
            2 => Encoding::Utf16Le,
            3 => Encoding::Utf16Be,
            _ => Encoding::Utf8,
        };
        let usable = page_size - usize::from(header[20]);
        Ok(Self { file, overlay, page_size, usable, pages, encoding })
    }

    /// A page, unless the file ends before it.
    #[inline]
    pub fn page(&self, number: u32) -> Option<&[u8]> {
        if let Some(overlay) = &self.overlay {
            if number > self.pages {
                return None;
            }
            if let Some(page) = overlay.page(number) {
                return Some(page);
            }
        }
        let at = (number.checked_sub(1)? as usize).checked_mul(self.page_size)?;
        self.file.as_ref()?.get(at..at.checked_add(self.page_size)?)
    }

    /// The highest possible page number.
    pub fn limit(&self) -> u32 {
        let in_file = self.file.as_ref().map_or(0, |f| f.len() / self.page_size);
        self.pages.max(u32::try_from(in_file).unwrap_or(u32::MAX))
    }

    pub fn missing_pages(&self) -> u64 {
        if self.overlay.is_some() {
            return 0;
        }
        let in_file = self.file.as_ref().map_or(0, |f| f.len() / self.page_size) as u64;
        u64::from(self.pages).saturating_sub(in_file)
    }

    pub fn companion(&self) -> Option<&'static str> {
        self.overlay.as_ref().map(|o| o.name)
    }

    pub fn bytes(&self) -> u64 {
        u64::from(self.pages) * self.page_size as u64
    }

    pub fn page_size(&self) -> usize {
        self.page_size
    }
}

//! Reads a file that may be compressed, and writes one that appears only when it is complete.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::Error;
use files::OutputFile;

/// Bytes read or written at once.
const BLOCK: usize = 256 * 1024;
/// Magic bytes of gzip files.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// A compromise of speed and size: level 6 is a tenth smaller and takes twice as long.
const LEVEL: u32 = 3;

/// Opens a file; compression is detected from content, not from the name.
pub(super) fn open<'a>(path: &Path, advance: &'a dyn Fn(u64)) -> Result<Box<dyn Read + 'a>, Error> {
    let unreadable = |why: String| Error::Unreadable { path: path.into(), why };
    let failed = |e: io::Error| unreadable(e.to_string().to_lowercase());
    let mut file = File::open(path).map_err(failed)?;
    let facts = file.metadata().map_err(failed)?;
    if facts.is_dir() {
        return Err(unreadable("it is a folder".into()));
    }
    let mut magic = Vec::new();
    (&mut file).take(4).read_to_end(&mut magic).map_err(failed)?;
    if magic.is_empty() {
        return Err(unreadable("it is empty (0 bytes)".into()));
    }
    let threads = rayon::current_num_threads();
    if magic.starts_with(GZIP) && facts.is_file() && inflate::pays(facts.len(), threads) {
        // SAFETY: the map is only read. A file that shrinks meanwhile ends the program, as with any mapped reader.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(failed)?;
        return Ok(Box::new(Inflated {
            reader: inflate::Parallel::new(Arc::new(map), threads),
            told: 0,
            advance,
        }));
    }
    let raw = CountingReader { reader: io::Cursor::new(magic.clone()).chain(file), advance };
    let raw = BufReader::with_capacity(BLOCK, raw);
    Ok(match magic[..] {
        _ if magic.starts_with(GZIP) => Box::new(inflate::Sequential::new(raw)),
        [0x28, 0xb5, 0x2f, 0xfd] => Box::new(zstd::stream::read::Decoder::with_buffer(raw).map_err(failed)?),
        _ => Box::new(raw),
    })
}

/// A gzip file, inflated by several threads.
struct Inflated<'a> {
    reader: inflate::Parallel,
    told: usize,
    advance: &'a dyn Fn(u64),
}

impl Read for Inflated<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(into)?;
        let place = self.reader.position();
        (self.advance)(place.saturating_sub(self.told) as u64);
        self.told = self.told.max(place);
        Ok(count)
    }
}

struct CountingReader<'a, R> {
    reader: R,
    advance: &'a dyn Fn(u64),
}

impl<R: Read> Read for CountingReader<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(into)?;
        (self.advance)(count as u64);
        Ok(count)
    }
}

/// A file that appears under its name once it is finished.
pub(super) enum Sink {
    /// Plain JSON.
    Plain(BufWriter<OutputFile>),
    /// Compressed JSON.
    Gzip(Box<GzEncoder<BufWriter<OutputFile>>>),
}

impl Sink {
    /// Opens it; compressed if the name ends in `.gz`.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = BufWriter::with_capacity(BLOCK, OutputFile::create(path)?);
        Ok(if path.extension().is_some_and(|e| e == "gz") {
            Self::Gzip(Box::new(GzEncoder::new(file, Compression::new(LEVEL))))
        } else {
            Self::Plain(file)
        })
    }

    /// Makes it durable and renames it.
    pub fn finish(self) -> io::Result<()> {
        let file = match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder.finish()?,
        };
        file.into_inner().map_err(|e| e.into_error())?.commit()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Gzip(encoder) => encoder.flush(),
        }
    }
}

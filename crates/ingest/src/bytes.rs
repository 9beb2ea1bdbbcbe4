//! The bytes behind an input: a mapped file, or a stream out of gzip, zstd or standard input.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Error, Progress};

/// Compressed bytes that are read at a time.
const READ_AHEAD: usize = 256 * 1024;

/// An opened input.
pub(crate) enum Opened<'p> {
    /// An uncompressed file, mapped.
    Mapped(memmap2::Mmap),
    /// Anything that must be read from front to back.
    Stream(Stream<'p>),
}

/// Opens a file, or standard input for `-`. Compression is detected from content, not from the name.
pub(crate) fn open<'p>(path: &Path, progress: &'p Progress) -> Result<Opened<'p>, Error> {
    let unreadable = |e: io::Error| Error::Unreadable { path: path.into(), why: reason(&e) };
    if path == Path::new("-") {
        return Ok(Opened::Stream(Stream::new(path, io::stdin(), progress)?));
    }
    let mut file = File::open(path).map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    if !meta.is_file() {
        return Ok(Opened::Stream(Stream::new(path, file, progress)?));
    }
    let mut magic = Vec::new();
    (&mut file).take(4).read_to_end(&mut magic).map_err(unreadable)?;
    if magic.is_empty() {
        return Err(Error::Empty { path: path.into() });
    }
    // SAFETY: the map is only read. A file that shrinks meanwhile ends the program, as in any mapped reader.
    let map = || unsafe { memmap2::Mmap::map(&file) }.map_err(unreadable);
    match Compression::of(&magic) {
        Compression::None => Ok(Opened::Mapped(map()?)),
        Compression::Gzip if inflate::pays(meta.len(), rayon::current_num_threads()) => {
            Ok(Opened::Stream(Stream::of_gzip(map()?, progress)))
        }
        Compression::Zstd => {
            let map = map()?;
            if inflate::has_many_frames(&map) {
                return Ok(Opened::Stream(Stream::of_frames(map, progress)));
            }
            Ok(Opened::Stream(Stream::new(path, io::Cursor::new(magic).chain(file), progress)?))
        }
        _ => Ok(Opened::Stream(Stream::new(path, io::Cursor::new(magic).chain(file), progress)?)),
    }
}

/// Releases the memory of a part of a mapped file that was read: mapped pages count as memory in use. Reading
/// the part again gets the same bytes from the file.
pub(crate) fn release(map: &memmap2::Mmap, from: usize, until: usize) {
    // SAFETY: the map is read-only and backed by a file, so released pages are read again on access. A system
    // without support for this does no harm.
    #[cfg(unix)]
    let _ = unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, from, until - from) };
    #[cfg(not(unix))]
    let _ = (map, from, until);
}

/// Opens a file as a stream, even if it could be mapped: mapped pages count as memory in use.
pub(crate) fn open_stream<'p>(path: &Path, progress: &'p Progress) -> Result<Stream<'p>, Error> {
    if path == Path::new("-") {
        return Stream::new(path, io::stdin(), progress);
    }
    let file = File::open(path).map_err(|e| Error::Unreadable { path: path.into(), why: reason(&e) })?;
    Stream::new(path, file, progress)
}

/// All bytes of an input at once, for formats that need that.
pub(crate) struct InputBytes {
    data: Data,
    /// Why the stream ended early, if it did.
    pub damage: Option<String>,
}

enum Data {
    Mapped(memmap2::Mmap),
    Owned(Vec<u8>),
}

impl InputBytes {
    /// Bytes that were mapped, which the reader reports as progress; streams report themselves.
    pub fn mapped_len(&self) -> usize {
        match &self.data {
            Data::Mapped(map) => map.len(),
            Data::Owned(_) => 0,
        }
    }
}

impl Deref for InputBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.data {
            Data::Mapped(map) => map,
            Data::Owned(bytes) => bytes,
        }
    }
}

/// Reads a file (or standard input for `-`) whole, uncompressed.
pub(crate) fn read_whole(path: &Path, progress: &Progress) -> Result<InputBytes, Error> {
    match open(path, progress)? {
        Opened::Mapped(map) => Ok(InputBytes { data: Data::Mapped(map), damage: None }),
        Opened::Stream(mut stream) => {
            let mut bytes = Vec::new();
            while stream.fill(&mut bytes, READ_AHEAD * 16) {}
            Ok(InputBytes { data: Data::Owned(bytes), damage: stream.damage })
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    fn of(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            _ => Compression::None,
        }
    }
}

/// Uncompressed bytes, front to back. A damaged end gives what came before it.
pub(crate) struct Stream<'p> {
    reader: Box<dyn Read + Send + 'p>,
    /// Why it ended early, if it did.
    pub damage: Option<String>,
}

impl<'p> Stream<'p> {
    fn new(path: &Path, raw: impl Read + Send + 'p, progress: &'p Progress) -> Result<Self, Error> {
        let unreadable = |e: io::Error| Error::Unreadable { path: PathBuf::from(path), why: reason(&e) };
        let mut raw = CountingReader { reader: raw, progress };
        let mut magic = Vec::new();
        (&mut raw).take(4).read_to_end(&mut magic).map_err(unreadable)?;
        if magic.is_empty() {
            return Err(Error::Empty { path: path.into() });
        }
        let compression = Compression::of(&magic);
        let raw = BufReader::with_capacity(READ_AHEAD, io::Cursor::new(magic).chain(raw));
        let reader: Box<dyn Read + Send + 'p> = match compression {
            Compression::None => Box::new(raw),
            Compression::Gzip => Box::new(inflate::Sequential::new(raw)),
            Compression::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(raw).map_err(unreadable)?),
        };
        Ok(Self { reader, damage: None })
    }

    fn of_gzip(map: memmap2::Mmap, progress: &'p Progress) -> Self {
        let reader = inflate::Parallel::new(Arc::new(map), rayon::current_num_threads());
        Self::of_place(reader, inflate::Parallel::position, progress)
    }

    fn of_frames(map: memmap2::Mmap, progress: &'p Progress) -> Self {
        let reader = inflate::Frames::new(Arc::new(map), rayon::current_num_threads());
        Self::of_place(reader, inflate::Frames::position, progress)
    }

    fn of_place<R: Read + Send + 'p>(reader: R, place: fn(&R) -> usize, progress: &'p Progress) -> Self {
        Self { reader: Box::new(CountedPlace { reader, place, counted: 0, progress }), damage: None }
    }

    /// Adds up to `more` bytes; false when there are no more.
    pub fn fill(&mut self, bytes: &mut Vec<u8>, more: usize) -> bool {
        let start = bytes.len();
        bytes.resize(start + more, 0);
        let (count, open) = self.fill_slice(&mut bytes[start..]);
        bytes.truncate(start + count);
        open
    }

    /// Fills a slice with the bytes available; returns how many, and whether there may be more.
    pub fn fill_slice(&mut self, slice: &mut [u8]) -> (usize, bool) {
        let mut filled = 0;
        while filled < slice.len() && self.damage.is_none() {
            match self.reader.read(&mut slice[filled..]) {
                Ok(0) => return (filled, false),
                Ok(count) => filled += count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => self.damage = Some(reason(&e)),
            }
        }
        (filled, self.damage.is_none())
    }
}

fn reason(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::NotFound => "no such file".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::UnexpectedEof => "the compressed data is cut off".into(),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => "the compressed data is damaged".into(),
        _ => e.to_string().to_lowercase(),
    }
}

struct CountingReader<'p, R> {
    reader: R,
    progress: &'p Progress,
}

impl<R: Read> Read for CountingReader<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buf)?;
        self.progress.advance(count as u64);
        Ok(count)
    }
}

/// Reports progress through a file, from a reader that knows its position.
struct CountedPlace<'p, R> {
    reader: R,
    place: fn(&R) -> usize,
    counted: usize,
    progress: &'p Progress,
}

impl<R: Read> Read for CountedPlace<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buf);
        let place = (self.place)(&self.reader);
        self.progress.advance(place.saturating_sub(self.counted) as u64);
        self.counted = place;
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn whole(content: &[u8]) -> Result<(Vec<u8>, Option<String>), Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, content).unwrap();
        let whole = read_whole(&path, &Progress::default())?;
        Ok((whole.to_vec(), whole.damage))
    }

    #[test]
    fn every_container_gives_the_same_bytes() {
        let text: Vec<u8> = (0..300_000u32).flat_map(|i| (i * 7919).to_le_bytes()).collect();
        let members = [gzip(&text[..1000]), gzip(&text[1000..])].concat();
        let zst = zstd::stream::encode_all(&text[..], 1).unwrap();
        for content in [text.clone(), gzip(&text), members, zst] {
            let (bytes, damage) = whole(&content).unwrap();
            assert!(bytes == text && damage.is_none());
        }
    }

    #[test]
    fn a_cut_stream_gives_what_came_before() {
        let text: Vec<u8> = (0..300_000u32).flat_map(|i| i.wrapping_mul(2654435761).to_le_bytes()).collect();
        let zst = zstd::stream::encode_all(&text[..], 1).unwrap();
        for packed in [gzip(&text), zst] {
            let (bytes, damage) = whole(&packed[..packed.len() / 2]).unwrap();
            assert!(damage.is_some());
            assert!(bytes.len() > text.len() / 4 && text.starts_with(&bytes));
        }
    }

    /// Bytes that do not compress, so that a small file is large enough for several threads.
    fn noise(bytes: usize) -> Vec<u8> {
        (0..bytes as u32 / 4).flat_map(|i| (i ^ i >> 7).wrapping_mul(2654435761).to_le_bytes()).collect()
    }

    fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
    }

    #[test]
    fn bytes_before_a_flipped_bit_were_lost_and_how_many_depended_on_the_block() {
        let text = noise(6 << 20);
        let mut packed = gzip(&text);
        assert!(inflate::pays(packed.len() as u64, 4));
        let at = packed.len() / 2;
        packed[at..at + 8].fill(0xff);
        let one = with_threads(1, || whole(&packed).unwrap());
        assert!(one.1.is_some() && one.0.len() > text.len() / 3);
        for threads in [3, 4, 7] {
            assert!(with_threads(threads, || whole(&packed).unwrap()) == one, "{threads} threads");
        }
    }

    #[test]
    fn progress_reaches_the_end_of_files_that_several_threads_read() {
        let text = noise(6 << 20);
        let frames: Vec<u8> =
            text.chunks(1 << 20).flat_map(|piece| zstd::bulk::compress(piece, 1).unwrap()).collect();
        for packed in [gzip(&text), frames] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            std::fs::write(&path, &packed).unwrap();
            let progress = Progress::default();
            let read = with_threads(4, || read_whole(&path, &progress).map(|whole| whole.to_vec()).unwrap());
            assert!(read == text);
            assert_eq!(progress.get().0, packed.len() as u64);
        }
    }

    #[test]
    fn empty_and_absent_files_are_errors() {
        assert!(matches!(whole(b""), Err(Error::Empty { .. })));
        let absent = read_whole(Path::new("no/such/file"), &Progress::default());
        assert!(matches!(absent, Err(Error::Unreadable { .. })));
    }
}

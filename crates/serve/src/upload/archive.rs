//! A tar archive from elsewhere, unpacked into an empty folder: plain files only, below that folder, and no
//! more than a trial can have.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::Problem;

const BLOCK: usize = 512;
/// Longest name that an extended header may hold.
const MOST_NAME: u64 = 8 << 10;

/// How much is accepted.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes that are sent.
    pub body: u64,
    /// Bytes of all files.
    pub unpacked: u64,
    /// Files.
    pub files: usize,
    /// Folders within each other.
    pub depth: usize,
    /// How many times larger than what was sent the files may be, beyond the first [`SMALL`] bytes.
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body: 2 << 30, unpacked: 4 << 30, files: 2_000, depth: 16, ratio: 100 }
    }
}

/// Below this, the ratio does not matter.
const SMALL: u64 = 16 << 20;

/// Bytes as they come in, counted.
pub struct CountingReader<R> {
    reader: R,
    /// Bytes so far.
    pub bytes: u64,
    most: u64,
}

impl<R> CountingReader<R> {
    /// Counts what is read.
    pub fn new(reader: R, most: u64) -> Self {
        Self { reader, bytes: 0, most }
    }
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.bytes += read as u64;
        if self.bytes > self.most {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "more than is accepted"));
        }
        Ok(read)
    }
}

/// Unpacks an archive, plain or gzip, into an empty folder; returns the number of its files.
pub fn unpack(body: impl Read, folder: &Path, limits: Limits) -> Result<usize, Problem> {
    let mut body = CountingReader::new(body, limits.body);
    let mut first = [0; 2];
    let read = fill(&mut body, &mut first).map_err(broken)?;
    let whole = io::Cursor::new(first[..read].to_vec()).chain(&mut body);
    if first == [0x1f, 0x8b] {
        Unpacker::new(Input::Gzip(Box::new(MultiGzDecoder::new(whole))), folder, limits).run()
    } else {
        Unpacker::new(Input::Plain(whole), folder, limits).run()
    }
}

type Sent<'a, R> = io::Chain<io::Cursor<Vec<u8>>, &'a mut CountingReader<R>>;

/// The archive, and how many bytes were received for what was read from it.
enum Input<'a, R: Read> {
    Plain(Sent<'a, R>),
    Gzip(Box<MultiGzDecoder<Sent<'a, R>>>),
}

impl<R: Read> Input<'_, R> {
    fn sent(&self) -> u64 {
        let chain = match self {
            Input::Plain(chain) => chain,
            Input::Gzip(decoder) => decoder.get_ref(),
        };
        chain.get_ref().1.bytes
    }
}

impl<R: Read> Read for Input<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Input::Plain(reader) => reader.read(buffer),
            Input::Gzip(reader) => reader.read(buffer),
        }
    }
}

struct Unpacker<'a, R: Read> {
    input: Input<'a, R>,
    folder: &'a Path,
    limits: Limits,
    files: usize,
    bytes: u64,
}

/// What a header says about its entry.
struct Header {
    name: String,
    size: u64,
    kind: u8,
}

impl<'a, R: Read> Unpacker<'a, R> {
    fn new(input: Input<'a, R>, folder: &'a Path, limits: Limits) -> Self {
        Self { input, folder, limits, files: 0, bytes: 0 }
    }

    fn run(mut self) -> Result<usize, Problem> {
        let (mut long_name, mut long_size) = (None, None);
        while let Some(header) = self.header()? {
            let name = long_name.take().unwrap_or(header.name);
            match header.kind {
                b'0' | 0 => self.file(&name, long_size.take().unwrap_or(header.size))?,
                b'5' => self.skip(header.size)?,
                b'L' => long_name = Some(text(self.small(header.size)?)?),
                b'x' => (long_name, long_size) = records(&text(self.small(header.size)?)?),
                // Facts about the whole archive, not needed here.
                b'g' => self.skip(header.size)?,
                b'1' | b'2' => {
                    return Err(refused(&format!("`{}` is a link", shown(&name))));
                }
                _ => return Err(refused(&format!("`{}` is not a plain file", shown(&name)))),
            }
        }
        Ok(self.files)
    }

    /// The next header; `None` at the end.
    fn header(&mut self) -> Result<Option<Header>, Problem> {
        let mut block = [0; BLOCK];
        match fill(&mut self.input, &mut block).map_err(broken)? {
            0 => return Ok(None),
            BLOCK => {}
            _ => return Err(refused("it ends within a header")),
        }
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let said = octal(&block[148..156]).ok_or_else(|| refused("a header is damaged"))?;
        let sum =
            |range: std::ops::Range<usize>| block[range].iter().map(|byte| u64::from(*byte)).sum::<u64>();
        if sum(0..148) + sum(156..BLOCK) + 8 * u64::from(b' ') != said {
            return Err(refused("it is not a tar archive, or a header is damaged"));
        }
        let size = octal(&block[124..136]).ok_or_else(|| refused("a header has no size"))?;
        let mut name = text(until_zero(&block[..100]).to_vec())?;
        let prefix = until_zero(&block[345..500]);
        if &block[257..262] == b"ustar" && block[262] == 0 && !prefix.is_empty() {
            name = format!("{}/{name}", text(prefix.to_vec())?);
        }
        Ok(Some(Header { name, size, kind: block[156] }))
    }

    /// Writes a file.
    fn file(&mut self, name: &str, size: u64) -> Result<(), Problem> {
        let name = name.trim_start_matches("./");
        check(name, self.limits.depth)?;
        self.files += 1;
        if self.files > self.limits.files {
            return Err(Problem::too_large(format!("it has more than {} files", self.limits.files)));
        }
        // Checked by the declared size first, so that nothing of a bomb is written.
        self.fits(size)?;
        let path = self.folder.join(name);
        let cannot = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
                refused(&format!("`{}` is in it twice", shown(name)))
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Problem::new(
                axum::http::StatusCode::INSUFFICIENT_STORAGE,
                "disk_full",
                "the server's disk is full",
            ),
            _ => Problem::internal(format!("cannot write what was sent: {error}")),
        };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(cannot)?;
        }
        let mut file = File::options().write(true).create_new(true).open(&path).map_err(cannot)?;
        let mut buffer = vec![0; 64 << 10];
        let mut left = size;
        while left > 0 {
            let part = buffer.len().min(left.min(usize::MAX as u64) as usize);
            let read = self.input.read(&mut buffer[..part]).map_err(broken)?;
            if read == 0 {
                return Err(refused(&format!("it ends within `{}`", shown(name))));
            }
            self.bytes += read as u64;
            self.fits(0)?;
            file.write_all(&buffer[..read]).map_err(cannot)?;
            left -= read as u64;
        }
        self.skip_padding(size)
    }

    /// Fails if the files are more than is accepted.
    fn fits(&self, more: u64) -> Result<(), Problem> {
        let all = self.bytes.saturating_add(more);
        if all > self.limits.unpacked {
            return Err(Problem::too_large(format!(
                "its files have more than {} bytes",
                self.limits.unpacked
            )));
        }
        let most = SMALL.saturating_add(self.input.sent().saturating_mul(self.limits.ratio));
        if self.bytes > most {
            return Err(Problem::too_large("it grows too much when it is unpacked"));
        }
        Ok(())
    }

    /// The content of a small entry.
    fn small(&mut self, size: u64) -> Result<Vec<u8>, Problem> {
        if size > MOST_NAME {
            return Err(refused("a name is too long"));
        }
        let mut bytes = vec![0; size as usize];
        if fill(&mut self.input, &mut bytes).map_err(broken)? < bytes.len() {
            return Err(refused("it ends within a name"));
        }
        self.skip_padding(size)?;
        Ok(bytes)
    }

    fn skip(&mut self, size: u64) -> Result<(), Problem> {
        if size > MOST_NAME {
            return Err(refused("a folder has content"));
        }
        io::copy(&mut (&mut self.input).take(size), &mut io::sink()).map_err(broken)?;
        self.skip_padding(size)
    }

    fn skip_padding(&mut self, size: u64) -> Result<(), Problem> {
        let padding = size.next_multiple_of(BLOCK as u64) - size;
        io::copy(&mut (&mut self.input).take(padding), &mut io::sink()).map_err(broken)?;
        Ok(())
    }
}

/// Fails unless a name is a relative path that stays below its folder.
fn check(name: &str, depth: usize) -> Result<(), Problem> {
    let why = match name {
        "" => "it has no name",
        _ if name.len() > 1000 => "its name is too long",
        _ if name.starts_with('/') || name.contains('\\') => {
            "its name must be relative, with `/` between folders"
        }
        _ if name.chars().any(char::is_control) => "its name has control characters",
        _ if name.split('/').any(|part| ["", ".", ".."].contains(&part)) => "its name leaves the folder",
        _ if name.split('/').count() > depth => "it is too deep in folders",
        _ => return Ok(()),
    };
    Err(refused(&format!("`{}`: {why}", shown(name))))
}

/// A name for a message: short, and without control characters.
fn shown(name: &str) -> String {
    report::visible(&name.chars().take(80).collect::<String>()).to_string()
}

fn refused(why: &str) -> Problem {
    Problem::bad_request(format!("the archive is refused: {why}"))
}

fn broken(error: io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::FileTooLarge => Problem::too_large("the archive is larger than is accepted"),
        _ => refused(&format!("it cannot be read: {error}")),
    }
}

fn text(bytes: Vec<u8>) -> Result<String, Problem> {
    let mut text = String::from_utf8(bytes).map_err(|_| refused("a name is not UTF-8"))?;
    text.truncate(text.trim_end_matches('\0').len());
    Ok(text)
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// A number in octal digits, or in the binary form that large sizes have.
fn octal(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        let (head, tail) = field.split_at(field.len() - 8);
        let is_small = head[0] == 0x80 && head[1..].iter().all(|byte| *byte == 0);
        return is_small.then(|| u64::from_be_bytes(tail.try_into().unwrap_or_default()));
    }
    let digits = std::str::from_utf8(until_zero(field)).ok()?.trim();
    u64::from_str_radix(digits, 8).ok()
}

/// Name and size of extended headers: lines of `LENGTH KEY=VALUE`.
fn records(text: &str) -> (Option<String>, Option<u64>) {
    let (mut name, mut size) = (None, None);
    let mut rest = text;
    while let Some((length, _)) = rest.split_once(' ') {
        let Some(line) = length.parse::<usize>().ok().and_then(|length| rest.get(..length)) else { break };
        rest = &rest[line.len()..];
        let record = line[length.len() + 1..].trim_end_matches('\n');
        match record.split_once('=') {
            Some(("path", value)) => name = Some(value.to_string()),
            Some(("size", value)) => size = value.parse().ok(),
            _ => {}
        }
    }
    (name, size)
}

/// Reads until the buffer is full or the input ends; returns how much was read.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

//! Files by the SHA-256 of their content.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use crate::error::StoreError;

/// Files that are being written, in a folder of their own.
const PARTIAL: &str = "partial";
/// Files under their names: all in one folder, so that one sync makes the names of an attach durable.
const NAMED: &str = "sha256";
/// Held shared by attaches, exclusively by a collection.
const LOCK: &str = "lock";

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A folder of files.
pub struct Blobs {
    folder: PathBuf,
}

/// A file whose bytes are durable and that gets its name with `publish`.
pub struct Stored {
    /// Hash of its bytes.
    pub sha256: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// Where it is until then; `None` if a file of that name already existed.
    partial: Option<Partial>,
}

/// A partial file, removed unless it gets its name.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // After `publish`, nothing is left to remove.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// SHA-256 of bytes, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Blobs {
    /// Opens the folder, or makes it.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        for part in [PARTIAL, NAMED].map(|name| folder.join(name)) {
            std::fs::create_dir_all(&part).map_err(StoreError::write(&part))?;
        }
        Ok(Self { folder: folder.to_path_buf() })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the file with this content is.
    pub fn path(&self, sha256: &str) -> PathBuf {
        self.folder.join(NAMED).join(sha256)
    }

    /// Keeps files from being collected until it is dropped.
    pub fn keep(&self) -> Result<File, StoreError> {
        let lock = self.lock()?;
        lock.lock_shared().map_err(StoreError::write(&self.folder.join(LOCK)))?;
        Ok(lock)
    }

    /// Blocks attaches until it is dropped.
    pub fn hold(&self) -> Result<File, StoreError> {
        let lock = self.lock()?;
        lock.lock().map_err(StoreError::write(&self.folder.join(LOCK)))?;
        Ok(lock)
    }

    fn lock(&self) -> Result<File, StoreError> {
        let path = self.folder.join(LOCK);
        let open = File::options().create(true).truncate(false).write(true).open(&path);
        open.map_err(StoreError::write(&path))
    }

    /// Writes and syncs the content; `publish` gives it its name.
    pub fn put(&self, from: &mut dyn Read) -> io::Result<Stored> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let partial = Partial(self.folder.join(PARTIAL).join(format!("{}-{number}", std::process::id())));
        let mut file = File::create(&partial.0)?;
        let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 18]);
        loop {
            let read = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            hash.update(&buffer[..read]);
            file.write_all(&buffer[..read])?;
            bytes += read as u64;
        }
        let sha256 = hex(&hash.finalize());
        // A file of that name was synced before it got the name.
        if std::fs::metadata(self.path(&sha256)).is_ok_and(|there| there.len() == bytes) {
            return Ok(Stored { sha256, bytes, partial: None });
        }
        file.sync_data()?;
        Ok(Stored { sha256, bytes, partial: Some(partial) })
    }

    /// Gives files their names; durable when it returns.
    pub fn publish(&self, stored: &mut [Stored]) -> io::Result<()> {
        for stored in stored.iter_mut() {
            if let Some(partial) = stored.partial.take() {
                std::fs::rename(&partial.0, self.path(&stored.sha256))?;
            }
        }
        // Even if nothing was renamed: another writer's name may not be durable yet.
        File::open(self.folder.join(NAMED))?.sync_all()
    }

    /// Removes files not in `named`, and leftovers of killed writers; returns how many and their bytes.
    pub fn collect(&self, named: &BTreeSet<String>) -> io::Result<(usize, u64)> {
        let (mut files, mut bytes) = (0, 0);
        for folder in [PARTIAL, NAMED] {
            for entry in std::fs::read_dir(self.folder.join(folder))?.flatten() {
                if folder == PARTIAL || !named.contains(&*entry.file_name().to_string_lossy()) {
                    bytes += entry.metadata().map_or(0, |facts| facts.len());
                    std::fs::remove_file(entry.path())?;
                    files += 1;
                }
            }
        }
        Ok((files, bytes))
    }
}

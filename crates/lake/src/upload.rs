//! A file of a lake while it is written: small ones in one request, large ones in parts, so that memory is that of a part.

use std::io;

use object_store::path::Path;
use object_store::{ObjectStoreExt, WriteMultipart};
use tokio::runtime::Handle;

use crate::store::Store;

/// Bytes of a part.
const PART: usize = 8 << 20;

/// Parts on their way at once.
const PARTS: usize = 4;

/// A file that appears once it is finished.
pub(crate) struct Upload {
    store: Store,
    path: Path,
    handle: Handle,
    buffer: Vec<u8>,
    parts: Option<WriteMultipart>,
    crc: flate2::Crc,
    bytes: u64,
}

impl Upload {
    pub fn new(store: &Store, path: Path, handle: &Handle) -> Self {
        let (store, handle) = (store.clone(), handle.clone());
        Self { store, path, handle, buffer: Vec::new(), parts: None, crc: flate2::Crc::new(), bytes: 0 }
    }

    /// Makes the file appear; returns its size and checksum.
    pub fn finish(mut self) -> io::Result<(u64, u32)> {
        let rest = std::mem::take(&mut self.buffer);
        match self.parts.take() {
            None => {
                self.handle.block_on(self.store.objects.put(&self.path, rest.into()))?;
            }
            Some(mut parts) => {
                // Parts are spawned on the runtime.
                let _inside = self.handle.enter();
                parts.write(&rest);
                self.handle.block_on(parts.finish())?;
            }
        }
        Ok((self.bytes, self.crc.sum()))
    }
}

impl io::Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.crc.update(bytes);
        self.bytes += bytes.len() as u64;
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PART {
            let _inside = self.handle.enter();
            if self.parts.is_none() {
                let begun = self.handle.block_on(self.store.objects.put_multipart(&self.path))?;
                self.parts = Some(WriteMultipart::new_with_chunk_size(begun, PART));
            }
            if let Some(parts) = &mut self.parts {
                self.handle.block_on(parts.wait_for_capacity(PARTS))?;
                parts.write(&self.buffer);
                self.buffer.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

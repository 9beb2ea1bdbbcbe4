//! A lake on disk or in an object store: its version, its ranks, and which of them are whole.
//!
//! ```text
//! lake.json                                     marks a lake, and its version
//! tables/TABLE/run=R/node=N/rank=K/part.parquet rows
//! digests/run=R/node=N/rank=K.0.digest          input of the analysis across ranks
//! pending/run=R/node=N/rank=K.json              a rank that is being written
//! manifests/run=R/node=N/rank=K.json            a complete rank
//! ```

use std::collections::BTreeSet;
use std::fmt;

use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutMode, PutOptions, PutPayload};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

use crate::address::LAKE_FILE;
use crate::manifest::Manifest;
use crate::store::{self, Store};
use crate::upload::Upload;
use crate::{Address, Error, VERSION};

const FORMAT: &str = "rocm-perf lake";
const MANIFESTS: &str = "manifests";
const PENDING: &str = "pending";
const DIGESTS: &str = "digests";
const TABLES: &str = "tables";

/// Small files read at once.
const AT_ONCE: usize = 32;

/// One rank of one run on one node: files are partitioned by this.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct Partition {
    /// The run.
    pub run: String,
    /// The node.
    pub node: String,
    /// The rank.
    pub rank: i64,
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of run {} on node {}", self.rank, self.run, self.node)
    }
}

impl Partition {
    /// A part; characters that a folder name cannot have are replaced.
    pub fn new(run: &str, node: &str, rank: i64) -> Self {
        let clean = |text: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
            let name: String = text.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
            if name.trim_matches('.').is_empty() { "unknown".to_string() } else { name }
        };
        Self { run: clean(run), node: clean(node), rank }
    }

    pub(crate) fn folder(&self) -> String {
        format!("run={}/node={}/rank={}", self.run, self.node, self.rank)
    }

    /// The part that a path below one of the lake's folders names.
    fn of_path(path: &str) -> Option<Self> {
        let mut values = path.split('/').filter_map(|name| name.split_once('='));
        let mut value = |key: &str| values.find(|(name, _)| *name == key).map(|(_, value)| value.to_string());
        let (run, node, rank) = (value("run")?, value("node")?, value("rank")?);
        let rank = rank.split('.').next()?.parse().ok()?;
        Some(Self { run, node, rank })
    }
}

#[derive(Deserialize, Serialize)]
struct LakeFile {
    format: String,
    version: u64,
}

/// A lake.
#[derive(Clone, Debug)]
pub struct Lake {
    address: Address,
    store: Store,
}

impl Lake {
    /// Opens an existing lake.
    pub async fn open(address: &Address) -> Result<Self, Error> {
        let lake = Self { address: address.clone(), store: store::open(address)? };
        match lake.version().await? {
            Some(version) if version > u64::from(VERSION) => {
                Err(Error::Newer { lake: address.to_string(), version })
            }
            Some(_) => Ok(lake),
            None => Err(Error::NoLake { lake: address.to_string() }),
        }
    }

    /// Opens a lake, or creates one if nothing is there yet. Several processes may do so at once.
    pub async fn open_or_begin(address: &Address) -> Result<Self, Error> {
        match Self::open(address).await {
            Err(Error::NoLake { .. }) => {}
            other => return other,
        }
        let lake = Self { address: address.clone(), store: store::open(address)? };
        let mut there = lake.store.objects.list(Some(&lake.store.root));
        if let Some(first) = there.next().await {
            let first = first.map_err(|error| lake.failed("read", error))?;
            // Another node may have created it since.
            if first.location.filename() != Some(LAKE_FILE) && lake.version().await?.is_none() {
                return Err(Error::NotALake { lake: address.to_string() });
            }
        }
        let text = serde_json::json!({ "format": FORMAT, "version": VERSION }).to_string();
        let once = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let path = lake.path(LAKE_FILE);
        match lake.store.objects.put_opts(&path, PutPayload::from(text), once).await {
            Ok(_) | Err(object_store::Error::AlreadyExists { .. }) => {}
            Err(error) => return Err(lake.failed("written", error)),
        }
        Self::open(address).await
    }

    async fn version(&self) -> Result<Option<u64>, Error> {
        let Some(bytes) = self.get(LAKE_FILE).await? else { return Ok(None) };
        let file: LakeFile = self.parse(LAKE_FILE, &bytes)?;
        if file.format != FORMAT {
            return Err(Error::NotALake { lake: self.address.to_string() });
        }
        Ok(Some(file.version))
    }

    /// Where it is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The address of a table's folder, as the engine spells it.
    pub(crate) fn table_url(&self, table: &str) -> String {
        format!("{}{TABLES}/{table}/", self.store.url)
    }

    /// Path of a table's file for a rank, relative to the lake.
    pub(crate) fn table_file(table: &str, part: &Partition) -> String {
        format!("{TABLES}/{table}/{}/part.parquet", part.folder())
    }

    /// Manifests of the complete ranks, sorted.
    pub async fn manifests(&self) -> Result<Vec<Manifest>, Error> {
        let names: Vec<String> = self.list(MANIFESTS).await?.into_iter().map(|(name, _)| name).collect();
        let read = |name: String| async move {
            let Some(bytes) = self.get(&name).await? else { return Ok(None) };
            self.parse::<Manifest>(&name, &bytes).map(Some)
        };
        let all: Vec<Option<Manifest>> =
            futures::stream::iter(names).map(read).buffered(AT_ONCE).try_collect().await?;
        let mut all: Vec<Manifest> = all.into_iter().flatten().collect();
        if let Some(newer) = all.iter().find(|manifest| manifest.version > VERSION) {
            let version = u64::from(newer.version);
            return Err(Error::Newer { lake: self.address.to_string(), version });
        }
        all.sort_by(|a, b| a.part.cmp(&b.part));
        Ok(all)
    }

    /// The manifest of a rank, if it is there.
    pub async fn manifest(&self, part: &Partition) -> Result<Option<Manifest>, Error> {
        let name = Self::manifest_file(part);
        let Some(bytes) = self.get(&name).await? else { return Ok(None) };
        self.parse(&name, &bytes).map(Some)
    }

    /// Which ranks are complete.
    pub async fn whole(&self) -> Result<BTreeSet<Partition>, Error> {
        let names = self.list(MANIFESTS).await?;
        Ok(names.iter().filter_map(|(name, _)| Partition::of_path(name)).collect())
    }

    /// Ranks that somebody began to write and did not finish, or is writing now.
    pub async fn unfinished(&self) -> Result<BTreeSet<Partition>, Error> {
        let announced: BTreeSet<Partition> =
            self.list(PENDING).await?.iter().filter_map(|(name, _)| Partition::of_path(name)).collect();
        if announced.is_empty() {
            return Ok(announced);
        }
        // A complete rank only has its announcement left over.
        let whole = self.whole().await?;
        Ok(announced.difference(&whole).cloned().collect())
    }

    /// Announces that a rank is about to be written; what was there of it no longer counts.
    pub(crate) async fn begin(&self, part: &Partition) -> Result<(), Error> {
        let (announcement, manifest) = (Self::pending_file(part), Self::manifest_file(part));
        let is_new = self.get(&announcement).await?.is_none() && self.get(&manifest).await?.is_none();
        let text = serde_json::json!({ "version": VERSION }).to_string();
        self.put(&announcement, text.into_bytes()).await?;
        if is_new {
            return Ok(());
        }
        self.delete(&manifest).await?;
        // A table without rows has no file, and an earlier one must not stand in for it.
        for table in trace::COLUMNAR_TABLES {
            self.delete(&Self::table_file(table, part)).await?;
        }
        Ok(())
    }

    /// A file of a rank that is being written.
    pub(crate) fn upload(&self, table: &str, part: &Partition, handle: &Handle) -> Upload {
        Upload::new(&self.store, self.path(&Self::table_file(table, part)), handle)
    }

    /// Completes a rank: writes its manifest, then removes the announcement.
    pub(crate) async fn finish(&self, manifest: &Manifest) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(manifest).map_err(|error| self.failed("written", error))?;
        self.put(&Self::manifest_file(&manifest.part), text).await?;
        self.delete(&Self::pending_file(&manifest.part)).await
    }

    /// Stores the digest of one of a rank's GPUs.
    pub(crate) async fn put_digest(
        &self,
        part: &Partition,
        place: usize,
        bytes: Vec<u8>,
    ) -> Result<(), Error> {
        self.put(&Self::digest_file(part, place as u64), bytes).await
    }

    /// The digests of all complete ranks, with their file names.
    pub async fn digests(&self) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let of_rank = |rank: &Manifest| {
            (0..rank.digests).map(|place| Self::digest_file(&rank.part, place)).collect::<Vec<_>>()
        };
        let names: Vec<String> = self.manifests().await?.iter().flat_map(of_rank).collect();
        let read = |name: String| async move {
            let bytes = self.get(&name).await?;
            Ok::<_, Error>((name, bytes.unwrap_or_default()))
        };
        futures::stream::iter(names).map(read).buffered(AT_ONCE).try_collect().await
    }

    /// Every table file with its size, by its path relative to the lake.
    pub(crate) async fn table_files(&self) -> Result<Vec<(String, u64)>, Error> {
        self.list(TABLES).await
    }

    /// The last `most` bytes of a file, or all of it.
    pub(crate) async fn tail(&self, name: &str, most: Option<u64>) -> Result<Option<bytes::Bytes>, Error> {
        let options = match most {
            Some(most) => object_store::GetOptions {
                range: Some(object_store::GetRange::Suffix(most)),
                ..object_store::GetOptions::default()
            },
            None => object_store::GetOptions::default(),
        };
        match self.store.objects.get_opts(&self.path(name), options).await {
            Ok(found) => Ok(Some(found.bytes().await.map_err(|error| self.failed("read", error))?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed("read", error)),
        }
    }

    fn digest_file(part: &Partition, place: u64) -> String {
        format!("{DIGESTS}/{}.{place}.digest", part.folder())
    }

    fn pending_file(part: &Partition) -> String {
        format!("{PENDING}/{}.json", part.folder())
    }

    fn manifest_file(part: &Partition) -> String {
        format!("{MANIFESTS}/{}.json", part.folder())
    }

    fn path(&self, name: &str) -> Path {
        name.split('/').fold(self.store.root.clone(), |path, name| path.join(name))
    }

    async fn list(&self, folder: &str) -> Result<Vec<(String, u64)>, Error> {
        let root = self.path(folder);
        let listed = self.store.objects.list(Some(&root)).map(|found| {
            let found = found.map_err(|error| self.failed("read", error))?;
            let below = found.location.prefix_match(&self.store.root).into_iter().flatten();
            let name: Vec<String> = below.map(|name| name.as_ref().to_string()).collect();
            Ok::<_, Error>((name.join("/"), found.size))
        });
        let mut names: Vec<(String, u64)> = listed.try_collect().await?;
        names.sort_unstable();
        Ok(names)
    }

    async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.tail(name, None).await?.map(|bytes| bytes.to_vec()))
    }

    async fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
        let put = self.store.objects.put(&self.path(name), bytes.into()).await;
        put.map(|_| ()).map_err(|error| self.failed("written", error))
    }

    async fn delete(&self, name: &str) -> Result<(), Error> {
        match self.store.objects.delete(&self.path(name)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed("written", error)),
        }
    }

    fn parse<T: serde::de::DeserializeOwned>(&self, file: &str, bytes: &[u8]) -> Result<T, Error> {
        serde_json::from_slice(bytes).map_err(|error| Error::Damaged {
            lake: self.address.to_string(),
            file: file.to_string(),
            why: error.to_string(),
        })
    }

    pub(crate) fn failed(&self, doing: &'static str, why: impl fmt::Display) -> Error {
        Error::Store { lake: self.address.to_string(), doing, why: why.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_by_their_paths() {
        let part = Partition::new("job 4711/a", "n=1", 12);
        assert_eq!((part.run.as_str(), part.node.as_str()), ("job-4711-a", "n-1"));
        assert_eq!(Partition::of_path(&Lake::manifest_file(&part)), Some(part.clone()));
        assert_eq!(Partition::of_path(&Lake::table_file("kernels", &part)), Some(part));
        assert_eq!(Partition::new("..", "", 0).node, "unknown");
    }
}

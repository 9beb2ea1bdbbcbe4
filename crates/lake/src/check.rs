//! Checks that everything that a lake should hold exists and is readable.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, TryStreamExt};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;

use crate::manifest::{Manifest, TableFile};
use crate::{Address, Error, Lake, Partition};

/// Bytes to read from the end of a file: usually enough for all of its metadata.
const TAIL: u64 = 64 << 10;

/// Files checked at once.
const AT_ONCE: usize = 16;

/// At most this many missing ranks are listed one by one.
const MOST_GAPS: i64 = 1 << 20;

/// What was checked and what is wrong.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The lake.
    pub lake: String,
    /// Ranks in the lake.
    pub ranks: Vec<Manifest>,
    /// How many files were checked.
    pub files: usize,
    /// Whether every byte was read.
    pub every_byte: bool,
    /// What is wrong, in the order of the ranks.
    pub faults: Vec<Fault>,
}

/// Something that is wrong with a lake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rank, if it is about one.
    pub part: Option<Partition>,
    /// The file, if it is about one.
    pub file: Option<String>,
    /// What is wrong.
    pub what: FaultKind,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A rank was not written completely.
    HalfWritten,
    /// A file is missing.
    Missing,
    /// A file's size, bytes or rows differ from what was written.
    Changed {
        /// How it differs.
        how: String,
    },
    /// A file belongs to no rank.
    Foreign,
    /// Ranks of a run are missing between others.
    MissingRanks {
        /// The run.
        run: String,
        /// Which.
        ranks: Vec<i64>,
    },
    /// The same rank of a run is there twice, on two nodes.
    TwoNodes {
        /// The other node.
        other: String,
    },
}

impl FaultKind {
    /// The fault in words.
    pub fn words(&self) -> String {
        match self {
            FaultKind::HalfWritten => "half-written; queries do not see it".into(),
            FaultKind::Missing => "missing".into(),
            FaultKind::Changed { how } => how.clone(),
            FaultKind::Foreign => "of no rank that is there".into(),
            FaultKind::MissingRanks { run, ranks } => {
                let listed: Vec<String> = ranks.iter().take(16).map(i64::to_string).collect();
                let more = if ranks.len() > listed.len() { " …" } else { "" };
                format!("run {run} lacks {} ranks: {}{more}", ranks.len(), listed.join(", "))
            }
            FaultKind::TwoNodes { other } => format!("also there on node {other}"),
        }
    }
}

/// The ranks of a lake and those that are half-written.
pub fn contents(address: &Address) -> Result<(Vec<Manifest>, BTreeSet<Partition>), Error> {
    block_on(address, async {
        let lake = Lake::open(address).await?;
        Ok((lake.manifests().await?, lake.unfinished().await?))
    })
}

/// The digests in a lake, with their file names; a missing one has no bytes.
pub fn digests(address: &Address) -> Result<Vec<(String, Vec<u8>)>, Error> {
    block_on(address, async { Lake::open(address).await?.digests().await })
}

/// Checks that every file of a lake exists and has its rows; with `every_byte`, also that no byte changed.
pub fn check(address: &Address, every_byte: bool) -> Result<Checked, Error> {
    block_on(address, async {
        let lake = Lake::open(address).await?;
        let (ranks, unfinished) = (lake.manifests().await?, lake.unfinished().await?);
        let sizes: BTreeMap<String, u64> = lake.table_files().await?.into_iter().collect();
        let half =
            |part: &Partition| Fault { part: Some(part.clone()), file: None, what: FaultKind::HalfWritten };
        let mut faults: Vec<Fault> = unfinished.iter().map(half).collect();
        let files: Vec<(&Partition, String, &TableFile)> = ranks
            .iter()
            .flat_map(|rank| rank.tables.iter().map(move |(table, file)| (rank, table, file)))
            .map(|(rank, table, file)| (&rank.part, Lake::table_file(table, &rank.part), file))
            .collect();
        let known: BTreeSet<&str> = files.iter().map(|(_, name, _)| name.as_str()).collect();
        for name in sizes.keys().filter(|name| !known.contains(name.as_str())) {
            let of_unfinished = unfinished.iter().any(|part| name.contains(&format!("/{}/", part.folder())));
            if !of_unfinished {
                faults.push(Fault { part: None, file: Some(name.clone()), what: FaultKind::Foreign });
            }
        }
        let (lake, sizes) = (&lake, &sizes);
        let look = |(part, name, file): (&Partition, String, &TableFile)| {
            let (part, file) = (part.clone(), file.clone());
            async move {
                let what = fault_of(lake, &name, sizes.get(&name).copied(), &file, every_byte).await?;
                Ok::<_, Error>(what.map(|what| Fault { part: Some(part), file: Some(name), what }))
            }
        };
        let count = files.len();
        let found: Vec<Option<Fault>> =
            futures::stream::iter(files.into_iter().map(look)).buffered(AT_ONCE).try_collect().await?;
        faults.extend(found.into_iter().flatten());
        faults.extend(gaps(&ranks));
        Ok(Checked { lake: address.to_string(), ranks, files: count, every_byte, faults })
    })
}

async fn fault_of(
    lake: &Lake,
    name: &str,
    size: Option<u64>,
    file: &TableFile,
    every_byte: bool,
) -> Result<Option<FaultKind>, Error> {
    let changed = |how: String| Ok(Some(FaultKind::Changed { how }));
    match size {
        None => return Ok(Some(FaultKind::Missing)),
        Some(size) if size != file.bytes => {
            return changed(format!("{size} bytes instead of {}", file.bytes));
        }
        Some(_) => {}
    }
    let mut wanted = if every_byte { file.bytes } else { TAIL.min(file.bytes) };
    loop {
        let Some(bytes) = lake.tail(name, Some(wanted)).await? else { return Ok(Some(FaultKind::Missing)) };
        if every_byte {
            let mut crc = flate2::Crc::new();
            crc.update(&bytes);
            if crc.sum() != file.crc32 {
                return changed("its bytes have changed".into());
            }
        }
        let mut reader = ParquetMetaDataReader::new();
        match reader.try_parse_sized(&bytes, file.bytes) {
            Ok(()) => {}
            Err(ParquetError::NeedMoreData(more)) if (more as u64) > wanted => {
                wanted = (more as u64).min(file.bytes);
                continue;
            }
            Err(error) => return changed(format!("not readable as Parquet: {error}")),
        }
        return match reader.finish() {
            Ok(facts) if facts.file_metadata().num_rows() == file.rows as i64 => Ok(None),
            Ok(facts) => {
                changed(format!("{} rows instead of {}", facts.file_metadata().num_rows(), file.rows))
            }
            Err(error) => changed(format!("not readable as Parquet: {error}")),
        };
    }
}

/// Ranks that are missing between others, and ranks that are there twice.
fn gaps(ranks: &[Manifest]) -> Vec<Fault> {
    let mut runs: BTreeMap<&str, BTreeMap<i64, &Partition>> = BTreeMap::new();
    let mut faults = Vec::new();
    for rank in ranks {
        let part = &rank.part;
        if let Some(other) = runs.entry(&part.run).or_default().insert(part.rank, part) {
            let what = FaultKind::TwoNodes { other: other.node.clone() };
            faults.push(Fault { part: Some(part.clone()), file: None, what });
        }
    }
    for (run, ranks) in runs {
        let Some((&last, _)) = ranks.last_key_value() else { continue };
        let missing: Vec<i64> = (0..last.min(MOST_GAPS)).filter(|rank| !ranks.contains_key(rank)).collect();
        if !missing.is_empty() {
            let what = FaultKind::MissingRanks { run: run.to_string(), ranks: missing };
            faults.push(Fault { part: None, file: None, what });
        }
    }
    faults
}

fn block_on<T>(address: &Address, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let failed =
        |why: std::io::Error| Error::Store { lake: address.to_string(), doing: "read", why: why.to_string() };
    runtime.map_err(failed)?.block_on(work)
}

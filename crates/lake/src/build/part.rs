//! Reads one unit, splits it into ranks, and writes each rank whole or not at all.

use std::collections::BTreeSet;

use convert::parquet::dataset::{self, Computed, Layout};
use model::nesting::self_times;
use trace::COLUMNAR_TABLES;
use trace::{Needs, ProcessId, Selection, Subset, Trace};

use super::units::Unit;
use super::{Builder, BuiltRank, Outcome, Problem};
use crate::manifest::{Manifest, SourceFile, TableFile};
use crate::tables::{SELF_TIME, WITHOUT};
use crate::{Error, Partition};

/// Rows of a row group: the unit that a query on time can skip.
const GROUP: usize = 1 << 17;

/// Node name if nothing gives one.
const NO_NODE: &str = "unknown";

impl Builder<'_> {
    pub(super) fn unit(&self, unit: &Unit) -> Result<Outcome, Error> {
        if (self.hooks.cancelled)() {
            return Ok(Outcome { stopped: true, ..Outcome::default() });
        }
        if let Some(ranks) = self.kept(unit) {
            return Ok(Outcome { ranks, ..Outcome::default() });
        }
        let trace = match ingest::read(&unit.paths, &Needs::everything(), self.hooks.progress) {
            Ok(trace) => trace,
            Err(error) => {
                let problem = Problem::Unreadable { message: error.to_string() };
                return Ok(Outcome { problems: vec![problem], ..Outcome::default() });
            }
        };
        let mut outcome = Outcome::default();
        let known: BTreeSet<i64> = (0..trace.processes.len())
            .filter_map(|process| trace.rank_of(ProcessId::at(process)).map(i64::from))
            .collect();
        let ranks: Vec<i64> = match known.len() {
            0 => {
                outcome.counted = self.units.rank.is_none() && self.units.all.len() > 1;
                vec![self.units.rank.unwrap_or(unit.place)]
            }
            _ => known.into_iter().collect(),
        };
        for &rank in &ranks {
            let of_rank = (ranks.len() > 1).then(|| only_rank(&trace, rank, ranks[0]));
            self.rank(unit, of_rank.as_ref().unwrap_or(&trace), rank, &ranks, &mut outcome)?;
        }
        Ok(outcome)
    }

    /// All ranks of a unit, if they are in the lake and the files have not changed since.
    fn kept(&self, unit: &Unit) -> Option<Vec<BuiltRank>> {
        let run = Partition::new(&self.units.run, NO_NODE, 0).run;
        let is_its = |manifest: &&Manifest| manifest.part.run == run && manifest.sources == unit.sources;
        let there: Vec<&Manifest> = self.there.iter().filter(is_its).collect();
        let all = there.first()?.ranks_of_source.len();
        let kept = |manifest: &&Manifest| BuiltRank { manifest: (*manifest).clone(), kept: true };
        (there.len() == all).then(|| there.iter().map(kept).collect())
    }

    fn rank(
        &self,
        unit: &Unit,
        trace: &Trace,
        rank: i64,
        ranks: &[i64],
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let host = trace.processes.iter().map(|process| trace.strings.get(process.hostname));
        let host = host.into_iter().find(|host| !host.is_empty());
        let part =
            Partition::new(&self.units.run, host.or(self.units.node.as_deref()).unwrap_or(NO_NODE), rank);
        if let Some(other) = self.taken(&part, unit)? {
            outcome.problems.push(Problem::SameRank { part, path: unit.paths[0].clone(), other });
            return Ok(());
        }
        let manifest = Manifest::of(trace, part, unit.sources.clone(), ranks.to_vec());
        let manifest = self.write(trace, manifest)?;
        outcome.ranks.push(BuiltRank { manifest, kept: false });
        Ok(())
    }

    /// The other input that already has this rank, if any.
    fn taken(&self, part: &Partition, unit: &Unit) -> Result<Option<String>, Error> {
        let mine = &unit.paths[0];
        // A poisoned lock means that another rank's thread failed; its claims still hold.
        let mut claims = self.claims.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let other = claims.entry(part.clone()).or_insert_with(|| mine.clone()).clone();
        drop(claims);
        if other != *mine {
            return Ok(Some(other.display().to_string()));
        }
        let there = self.runtime.block_on(self.lake.manifest(part))?;
        let other = there.filter(|manifest| !is_same_file(&manifest.sources, &unit.sources));
        Ok(other.map(|manifest| manifest.sources.first().map_or(String::new(), |source| source.path.clone())))
    }

    fn write(&self, trace: &Trace, mut manifest: Manifest) -> Result<Manifest, Error> {
        let handle = self.runtime.handle();
        self.runtime.block_on(self.lake.begin(&manifest.part))?;
        let own = self_times(&trace.regions);
        let layout = Layout {
            without: WITHOUT,
            computed: vec![Computed { table: SELF_TIME.0, name: SELF_TIME.1, values: own.into() }],
            group: GROUP,
        };
        for table in COLUMNAR_TABLES {
            let rows = dataset::rows(trace, table);
            if rows == 0 {
                continue;
            }
            let upload = self.lake.upload(table, &manifest.part, handle);
            let written = dataset::write(trace, table, &layout, upload).and_then(|upload| upload.finish());
            let (bytes, crc32) = written.map_err(|error| self.lake.failed("written", error))?;
            manifest.tables.insert(table.to_string(), TableFile { rows: rows as u64, bytes, crc32 });
        }
        let digests = self.hooks.digests.map_or_else(Vec::new, |digests| digests(trace, &manifest));
        manifest.digests = digests.len() as u64;
        self.runtime.block_on(async {
            for (place, bytes) in digests.into_iter().enumerate() {
                self.lake.put_digest(&manifest.part, place, bytes).await?;
            }
            self.lake.finish(&manifest).await
        })?;
        Ok(manifest)
    }
}

/// The rows of one rank; rows of processes without a rank go to the first.
fn only_rank(trace: &Trace, rank: i64, first: i64) -> Trace {
    let of_process = |process: usize| {
        let known = trace.rank_of(ProcessId::at(process)).map(i64::from);
        known.unwrap_or(first) == rank
    };
    let processes = Subset::of(trace.processes.len(), of_process);
    let mut part = trace.clone();
    part.restrict(&Selection { label: format!("rank {rank}"), processes, ..Selection::default() });
    part
}

/// Whether two recordings come from the same path, perhaps at different times.
fn is_same_file(one: &[SourceFile], other: &[SourceFile]) -> bool {
    one.first().map(|source| &source.path) == other.first().map(|source| &source.path)
}

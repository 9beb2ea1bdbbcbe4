//! The results of the passes: checked one by one, merged at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ::files::interrupt::is_interrupted;
use ::files::process::How;
use report::Remedy;
use trace::{Needs, Trace};

use super::application::Ended;
use super::error::CollectError;
use super::files::{self, is_full, remove_secrets};
use super::messages::{Level, Message};
use super::record::Record;
use super::recordings::Recordings;
use super::request::{CollectRequest, Prepared};
use super::{PassRecord, Run, Watched, worst};
use crate::launcher::Status;
use crate::monitor::Recorded;
use crate::passes::{Agreement, Pass, merge};
use crate::profiler::ProfilerKind;

/// Collects what passes leave behind.
pub(crate) struct Gatherer<'a> {
    request: &'a CollectRequest,
    prepared: &'a Prepared,
    folder: &'a Path,
    started: SystemTime,
    /// Passes that ran.
    pub passes: Vec<PassRecord>,
    notes: Vec<String>,
    failure: Option<CollectError>,
    /// Monitor samples of the first pass, whose times the traces have.
    monitor: Option<Recorded>,
    /// Counters that have values, by pass.
    recorded: BTreeMap<usize, BTreeSet<String>>,
    /// Traces of each rank, with their pass.
    traces: BTreeMap<Option<u32>, Vec<PassTrace>>,
}

/// Number of the pass, its files, and their contents.
type PassTrace = (usize, Vec<PathBuf>, Trace);

/// What a pass left behind.
pub(crate) struct Gathered {
    /// Kernels of all ranks.
    pub kernels: usize,
    /// Whether nothing was recorded.
    pub empty: bool,
    /// Files that cannot be read.
    pub unreadable: Vec<String>,
}

impl<'a> Gatherer<'a> {
    /// An empty gatherer.
    pub fn new(
        request: &'a CollectRequest,
        prepared: &'a Prepared,
        folder: &'a Path,
        started: SystemTime,
    ) -> Self {
        Self {
            request,
            prepared,
            folder,
            started,
            passes: Vec::new(),
            notes: prepared.notes.clone(),
            failure: None,
            monitor: None,
            recorded: BTreeMap::new(),
            traces: BTreeMap::new(),
        }
    }

    /// Adds a note for the user.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds what was monitored in the pass that is added next.
    pub fn watched(&mut self, watched: Watched) {
        watched.notes.into_iter().for_each(|note| self.note(note));
        if self.passes.is_empty() {
            self.monitor = watched.monitor.filter(|recorded| !recorded.samples.is_empty());
        }
    }

    /// Records a failure; the first one is the run's.
    pub fn fail(&mut self, failure: CollectError) {
        self.failure.get_or_insert(failure);
    }

    /// Checks a pass that ran here.
    pub fn add(
        &mut self,
        pass: &Pass,
        mut record: PassRecord,
        ended: Ended,
        timeout: Option<Duration>,
    ) -> Option<CollectError> {
        for message in &ended.messages {
            record.messages.push(message.text.clone());
            if message.level == Level::Warning {
                self.note(message.text.clone());
            }
        }
        if let Ok(command) = self.prepared.command(self.folder, pass) {
            command.notes.into_iter().for_each(|note| self.note(note));
        }
        let folder = self.prepared.pass_folder(self.folder, pass);
        record.ranks = Status::all(&folder);
        let gathered = self.read(pass, &folder);
        record.kernels = gathered.kernels;
        let failure = self.judge(pass, &record, &ended, &gathered, &folder, timeout);
        self.passes.push(record);
        failure
    }

    /// Reads the files of a pass, and keeps them for the end.
    pub fn read(&mut self, pass: &Pass, folder: &Path) -> Gathered {
        let several = self.prepared.plan.passes.len() > 1;
        let systems = matches!(self.prepared.profiler.kind, ProfilerKind::RocprofSys(_));
        let needs = match (several, self.traces.is_empty()) {
            (true, true) => Needs::everything(),
            (_, true) if self.monitor.is_some() => Needs::everything(),
            _ if systems => Needs { kernels: true, regions: true, samples: true, ..Needs::nothing() },
            _ => Needs { kernels: true, shapes: several, counters: true, ..Needs::nothing() },
        };
        let found = Recordings::find(folder, self.prepared.profiler.kind, &needs);
        let recorded = found.counters();
        self.recorded.entry(pass.number).or_default().extend(recorded.iter().map(ToString::to_string));
        if found.kernels > 0 && self.prepared.profiler.kind == ProfilerKind::Rocprofv3 {
            let missing: Vec<&str> = pass
                .wanted
                .counters
                .iter()
                .map(String::as_str)
                .filter(|name| !recorded.iter().any(|known| known == name))
                .collect();
            if !missing.is_empty() {
                self.note(format!("pass {} recorded no values of {}", pass.number, missing.join(", ")));
            }
        }
        for text in &found.unreadable {
            self.note(text.clone());
        }
        for rank in found.ranks {
            self.traces.entry(rank.rank).or_default().push((pass.number, rank.files, rank.trace));
        }
        let empty = found.kernels == 0 && !(systems && found.host > 0);
        Gathered { kernels: found.kernels, empty, unreadable: found.unreadable }
    }

    fn judge(
        &self,
        pass: &Pass,
        record: &PassRecord,
        ended: &Ended,
        gathered: &Gathered,
        folder: &Path,
        timeout: Option<Duration>,
    ) -> Option<CollectError> {
        let number = pass.number;
        if is_interrupted() {
            return Some(CollectError::Interrupted { pass: number });
        }
        if ended.process.how == How::Limit {
            let seconds = timeout.map_or(0, |limit| limit.as_secs());
            return Some(CollectError::Timeout { pass: number, seconds });
        }
        let failed = ended.process.code() != 0;
        if (failed || gathered.empty) && disk_is_full(&ended.messages, folder) {
            return Some(CollectError::Full { path: folder.into() });
        }
        let told = ended.messages.iter().find(|message| message.level == Level::Error);
        if failed {
            if let Some(message) = told {
                return Some(CollectError::Profiler {
                    profiler: self.prepared.profiler.kind.name(),
                    pass: number,
                    how: ended.process.status_in_words(),
                    message: message.text.clone(),
                    help: message.help.clone().map(Remedy::from),
                });
            }
            if !record.ranks.is_empty() {
                return failed_ranks(&record.ranks, record.ranks.len());
            }
            let (how, code) = (ended.process.status_in_words(), ended.process.code());
            return Some(CollectError::Application { how, pass: number, code });
        }
        if gathered.empty {
            if let Some(why) = gathered.unreadable.first() {
                return Some(CollectError::Unreadable(why.clone()));
            }
            let said = worst(&ended.messages).map(|message| message.text.clone());
            return Some(match self.request.attach {
                Some(attach) => CollectError::AttachedInVain {
                    pid: attach.pid,
                    seconds: attach.duration.as_secs_f64(),
                    said,
                },
                None => CollectError::NoKernels { pass: number, said },
            });
        }
        None
    }

    /// Merges everything and writes `run.json`.
    pub fn finish(mut self) -> Result<Run, CollectError> {
        let monitor = self.monitor.clone();
        let mut agreements = Vec::new();
        let mut traces: Vec<PathBuf> = Vec::new();
        for (rank, passes) in std::mem::take(&mut self.traces) {
            let (files, agreed) = self.join(rank, passes)?;
            traces.extend(files);
            agreements.extend(agreed);
        }
        self.describe_timing(&agreements);
        // Removed before the files of the run are listed.
        remove_secrets(self.folder);
        if let Some(lost) = self.lost_counters(&agreements) {
            self.fail(lost);
        }
        let status = match &self.failure {
            None => "done",
            Some(CollectError::Interrupted { .. }) => "interrupted",
            Some(_) => "failed",
        };
        let mut files = files::list(self.folder, self.folder);
        // The first record is about to be replaced.
        files.retain(|file| file.path != formats::run::RUN_FILE);
        let names: Vec<String> = traces.iter().map(|path| files::relative(self.folder, path)).collect();
        let record = Record {
            request: self.request,
            prepared: self.prepared,
            started: self.started,
            status,
            passes: &self.passes,
            agreements: &agreements,
            traces: &names,
            monitor: monitor.as_ref(),
            files: &files,
            notes: &self.notes,
            failure: self.failure.as_ref(),
        };
        match (record.write(self.folder), &self.failure) {
            (Err(error), None) => self.failure = Some(error),
            // The first failure explains more.
            (Err(_), Some(_)) | (Ok(()), _) => {}
        }
        Ok(Run {
            folder: self.folder.into(),
            traces,
            passes: self.passes,
            agreements,
            profiler: self.prepared.profiler.clone(),
            arch: self.prepared.arch.clone(),
            notes: self.notes,
            failure: self.failure,
        })
    }

    /// The traces of one rank: its files, or a merged one with the counters of all passes.
    fn join(
        &mut self,
        rank: Option<u32>,
        passes: Vec<(usize, Vec<PathBuf>, Trace)>,
    ) -> Result<(Vec<PathBuf>, Vec<Agreement>), CollectError> {
        let monitor = self.monitor.take();
        if passes.len() < 2 && monitor.is_none() {
            return Ok((passes.into_iter().flat_map(|(_, files, _)| files).collect(), Vec::new()));
        }
        let originals: Vec<PathBuf> = passes.iter().flat_map(|(_, files, _)| files.clone()).collect();
        let Some(mut merged) = merge(passes.into_iter().map(|(pass, _, trace)| (pass, trace)).collect())
        else {
            return Ok((originals, Vec::new()));
        };
        if let Some(recorded) = monitor {
            // Monitor samples are sorted by time already; PC samples would have to be sorted in.
            match merged.trace.samples.is_empty() {
                true => recorded.add_to(&mut merged.trace),
                false => self.note("monitor samples are only in their own files".into()),
            }
        }
        let name = match rank {
            Some(rank) => format!("rank{rank}_merged_results.db"),
            None => "merged_results.db".into(),
        };
        let target = self.folder.join(name);
        match convert::rocpd::write(&merged.trace, &target, &convert::rocpd::Options::default()) {
            Ok(_) => Ok((vec![target], merged.agreements)),
            Err(error) => {
                let full = is_full(self.folder);
                self.note(error.to_string());
                self.fail(match full {
                    true => CollectError::Full { path: self.folder.into() },
                    false => CollectError::Folder { path: target, why: error.why },
                });
                Ok((originals, merged.agreements))
            }
        }
    }

    /// The requested counters, if none of them has values.
    fn lost_counters(&self, agreements: &[Agreement]) -> Option<CollectError> {
        // Other profilers name counters differently in their files.
        if self.prepared.profiler.kind != ProfilerKind::Rocprofv3
            || self.passes.iter().all(|pass| pass.kernels == 0)
        {
            return None;
        }
        // Values of a pass count only for dispatches that the first pass has too.
        let joined = |pass: usize| {
            let of_pass: Vec<_> = agreements.iter().filter(|agreement| agreement.pass == pass).collect();
            of_pass.is_empty() || of_pass.iter().any(|agreement| agreement.matched > agreement.disagreeing)
        };
        // Anchors are for comparing passes; they count only if nothing else is requested.
        let passes = &self.prepared.plan.passes;
        let only_anchors = passes
            .iter()
            .all(|pass| pass.wanted.counters.iter().all(|counter| pass.anchors.contains(counter)));
        let mut counters = Vec::new();
        for pass in passes {
            let there = self.recorded.get(&pass.number).filter(|_| joined(pass.number));
            let is_asked = |counter: &&String| only_anchors || !pass.anchors.contains(counter);
            for counter in pass.wanted.counters.iter().filter(is_asked) {
                if there.is_some_and(|there| there.contains(counter)) {
                    return None;
                }
                counters.push(counter.clone());
            }
        }
        (!counters.is_empty()).then_some(CollectError::NoCounters { counters })
    }

    fn describe_timing(&mut self, agreements: &[Agreement]) {
        for agreement in agreements.iter().filter(|agreement| !agreement.is_whole()) {
            let Agreement { pass, dispatches, matched, extra, disagreeing, .. } = agreement;
            self.note(format!(
                "only {} of {dispatches} dispatches have the counters of pass {pass}: the others do not match the first pass \
                 ({extra} extra, {disagreeing} with different wave counts)",
                matched - disagreeing
            ));
        }
        let counted = self.prepared.plan.passes.first().is_some_and(|pass| !pass.wanted.counters.is_empty());
        if counted {
            self.note(ONE_AT_A_TIME.into());
        }
    }
}

/// Noted for every run with counters.
pub const ONE_AT_A_TIME: &str =
    "kernels ran one at a time while counters were read, so their times differ from a normal run";

/// The ranks that failed, if any.
pub(crate) fn failed_ranks(ranks: &[Status], expected: usize) -> Option<CollectError> {
    let mut failed: Vec<String> = ranks
        .iter()
        .filter(|rank| rank.exit_code != 0)
        .map(|rank| format!("rank {} on {} exited with {}", rank.rank, rank.host, rank.exit_code))
        .collect();
    let silent = (0..expected as u32).filter(|number| !ranks.iter().any(|rank| rank.rank == *number));
    failed.extend(silent.map(|number| format!("rank {number} did not report")));
    (!failed.is_empty()).then_some(CollectError::Ranks { ranks: expected, failed })
}

fn disk_is_full(messages: &[Message], folder: &Path) -> bool {
    messages.iter().any(|message| message.level == Level::Full) || is_full(folder)
}

//! The files of one format: one for each rank, all ranks at once.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use convert::rocpd::four::{self, FourVersion};
use convert::rocprofv3::{csv, json};
use convert::{rocpd, rpd, torch, xplane};
use files::OutputFile;

use super::{GeneratedFile, OutputFormat, failed};
use crate::Error;
use crate::emit::Emitter;
use crate::identity::Dialect;
use crate::inspector::{self, Member};
use crate::program::Program;
use crate::run::{Block, Prepared};

/// One format of a run: torch is written as it comes, the others hold their rows until the end.
pub(super) struct Sink<'a> {
    format: OutputFormat,
    ranks: Range<u32>,
    emitters: Vec<Emitter<'a>>,
    targets: Vec<PathBuf>,
    streams: Vec<torch::FileWriter>,
    seed: u64,
    program: &'a Program,
}

impl<'a> Sink<'a> {
    pub(super) fn open(
        prepared: &'a Prepared<'_>,
        ranks: Range<u32>,
        name: &str,
        format: OutputFormat,
        folder: PathBuf,
        stacks: bool,
    ) -> Result<Self, Error> {
        // JAX's profiler knows ops and Python frames, as torch's does.
        let has_ops = format.is_torch() || format == OutputFormat::Xplane;
        let dialect = if has_ops { Dialect::Torch } else { Dialect::Rocprof };
        let emitters = prepared.emitters(ranks.clone(), dialect, stacks);
        let target = |rank: u32| {
            let (mut host, pid) = prepared.host_and_pid(rank);
            if prepared.program.recording.pid.is_some() {
                // Equal process ids: each container writes to a folder of its own.
                host = format!("{host}/container{rank}");
            }
            match format {
                OutputFormat::Torch => folder.join(format!("{name}.rank{rank}.json")),
                OutputFormat::TorchGz => folder.join(format!("{name}.rank{rank}.json.gz")),
                OutputFormat::Rocpd | OutputFormat::Rocpd40 | OutputFormat::Rocpd41 => {
                    folder.join(host).join(format!("{pid}_results.db"))
                }
                OutputFormat::Rpd => folder.join(host).join(format!("{pid}.rpd")),
                OutputFormat::Rocprofv3Json => folder.join(host).join(format!("{pid}_results.json")),
                // One file for each host, in a folder for each profile.
                OutputFormat::Xplane => {
                    folder.join(format!("plugins/profile/{name}.rank{rank}/{host}.xplane.pb"))
                }
                OutputFormat::Rocprofv3Csv => folder.join(host).join(pid.to_string()),
                OutputFormat::Snapshot => folder.join(format!("{name}.rank{rank}.pickle")),
                OutputFormat::Inspector => folder.join(format!("{host}-pid{pid}.jsonl")),
            }
        };
        let targets: Vec<PathBuf> = ranks.clone().map(target).collect();
        let mut streams = Vec::new();
        if format.is_torch() {
            for (emitter, target) in emitters.iter().zip(&targets) {
                let options = torch::Options {
                    gzip: format == OutputFormat::TorchGz,
                    registers: false,
                    event_index: true,
                    flows: true,
                };
                let mut stream =
                    torch::FileWriter::create(target, options).map_err(|e| failed(target, &e))?;
                stream.begin(&emitter.trace).map_err(|e| failed(target, &e))?;
                streams.push(stream);
            }
        }
        let (seed, program) = (prepared.options.seed, &prepared.program);
        Ok(Self { format, ranks, emitters, targets, streams, seed, program })
    }

    pub(super) fn append(&mut self, block: &Block<'_>) -> Result<(), Error> {
        let records = &block.records[self.ranks.start as usize..self.ranks.end as usize];
        let mut streams = self.streams.iter_mut();
        let ranks: Vec<_> = self
            .emitters
            .iter_mut()
            .zip(&self.targets)
            .zip(records)
            .map(|((emitter, target), records)| (emitter, target, records, streams.next()))
            .collect();
        in_parallel(ranks, |(emitter, target, records, stream)| {
            emitter.emit(records);
            if let Some(stream) = stream {
                emitter.sample(Some(block.reached));
                // Rows of kernels and of ops alternate; writers need them by table.
                emitter.trace.args.sort();
                stream.append(&emitter.trace).map_err(|e| failed(target, &e))?;
                emitter.clear();
            }
            Ok(())
        })
        .into_iter()
        .collect()
    }

    /// Bytes of the first rank's file so far, if it is a stream.
    pub(super) fn written(&self) -> u64 {
        self.streams.first().map_or(0, torch::FileWriter::written)
    }

    pub(super) fn finish(self) -> Result<Vec<GeneratedFile>, Error> {
        let mut streams = self.streams.into_iter();
        let emitters = self.emitters.into_iter().zip(self.targets).zip(self.ranks);
        let ranks: Vec<_> =
            emitters.map(|((emitter, target), rank)| (emitter, target, rank, streams.next())).collect();
        let (format, seed, program) = (self.format, self.seed, self.program);
        let done = in_parallel(ranks, |(mut emitter, target, rank, stream)| {
            emitter.sample(None);
            let mut written: Vec<(PathBuf, u64)> = Vec::new();
            match format {
                OutputFormat::Torch | OutputFormat::TorchGz => {
                    if let Some(mut stream) = stream {
                        emitter.trace.args.sort();
                        stream.append(&emitter.trace).map_err(|e| failed(&target, &e))?;
                        let bytes = stream.finish().map_err(|e| failed(&target, &e))?;
                        written.push((target, bytes));
                    }
                }
                OutputFormat::Rocpd | OutputFormat::Rocpd40 | OutputFormat::Rocpd41 => {
                    emitter.trace.finish();
                    let options = rocpd::Options::default();
                    let done = match format {
                        OutputFormat::Rocpd40 => {
                            four::write(&emitter.trace, &target, FourVersion::V4_0, &options)
                        }
                        OutputFormat::Rocpd41 => {
                            four::write(&emitter.trace, &target, FourVersion::V4_1, &options)
                        }
                        _ => rocpd::write(&emitter.trace, &target, &options),
                    };
                    let done = done.map_err(|e| Error::Write { path: e.path, why: e.why })?;
                    written.push((target, done.bytes));
                }
                OutputFormat::Rpd => {
                    emitter.trace.finish();
                    let bytes = rpd::write(&emitter.trace, &target)
                        .map_err(|e| Error::Write { path: e.path, why: e.why })?;
                    written.push((target, bytes));
                }
                OutputFormat::Rocprofv3Csv => {
                    emitter.trace.finish();
                    let options = csv::Options::default();
                    written =
                        csv::write(&emitter.trace, &target, &options).map_err(|e| failed(&target, &e))?;
                }
                OutputFormat::Xplane => {
                    emitter.trace.finish();
                    let bytes = xplane::write(&emitter.trace, &target).map_err(|e| failed(&target, &e))?;
                    written.push((target, bytes));
                }
                OutputFormat::Rocprofv3Json => {
                    emitter.trace.finish();
                    let bytes = json::write(&emitter.trace, &target).map_err(|e| failed(&target, &e))?;
                    written.push((target, bytes));
                }
                OutputFormat::Inspector => {
                    emitter.trace.finish();
                    let member = Member {
                        rank,
                        layout: &program.layout,
                        ranks_per_node: program.machine.ranks_per_node,
                    };
                    let write = || -> std::io::Result<u64> {
                        let mut file = OutputFile::create(&target)?;
                        let bytes = inspector::write(&emitter.trace, &mut file, seed, &member)?;
                        file.commit()?;
                        Ok(bytes)
                    };
                    let bytes = write().map_err(|e| failed(&target, &e))?;
                    written.push((target, bytes));
                }
                // The allocator's record is not part of the simulated timeline; `generate` writes it.
                OutputFormat::Snapshot => {}
            }
            let file = |(path, bytes)| GeneratedFile {
                path,
                format: Some(format),
                rank: Some(rank),
                role: None,
                bytes,
            };
            Ok(written.into_iter().map(file).collect::<Vec<_>>())
        });
        Ok(done.into_iter().collect::<Result<Vec<_>, Error>>()?.concat())
    }
}

/// Runs `work` on every item on all cores; results keep their order.
fn in_parallel<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
    if cores < 2 {
        return items.into_iter().map(work).collect();
    }
    // Threads take the next item when they are done with one: ranks differ in size.
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let queue = Mutex::new(items.into_iter().enumerate());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((place, item)) = next else { return };
                    *results[place].lock().unwrap_or_else(PoisonError::into_inner) = Some(work(item));
                }
            });
        }
    });
    let inner = |slot: Mutex<Option<R>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().filter_map(inner).collect()
}

//! Generated digests of any number of ranks: a simulated job, repeated with different clocks and noise per
//! rank.

use std::path::PathBuf;

use model::classify::Classifier;
use ranks::digest::{self, Digest};
use rayon::prelude::*;
use report::{Column, Report, Table, Unit, Value};
use stats::random::{Random, mix};
use synth::{Options, Scenario, simulate};

use super::find::ENDING;
use crate::failure::Failure;

/// Ranks per node.
const NODE: u32 = 8;
/// Digests in one folder.
const FOLDER: u32 = 1000;
/// Largest clock offset.
const OFFSET_NS: f64 = 5e6;
/// Relative noise on the sums of kernels.
const NOISE: f64 = 0.01;

/// Which digests to make.
#[derive(Clone, Debug)]
pub struct MadeDigests {
    /// The job that is simulated.
    pub scenario: Scenario,
    /// How to run it; its ranks are repeated.
    pub options: Options,
    /// How many digests.
    pub count: u32,
    /// The folder.
    pub out: PathBuf,
}

/// Simulates a job and writes digests of many copies of it, as one job.
pub fn made_digests(request: &MadeDigests) -> Result<Report, Failure> {
    let simulation =
        simulate(&request.scenario, &request.options).map_err(|error| Failure::input(error.to_string()))?;
    let classifier = Classifier::builtin();
    let base: Vec<Digest> =
        simulation.runs.iter().flat_map(|run| digest::of_trace(&run.trace, &classifier, 0)).collect();
    if base.is_empty() {
        return Err(Failure::input("the simulated job has no GPU work"));
    }
    let folders = request.count.div_ceil(FOLDER);
    for folder in 0..folders {
        let path = request.out.join(format!("{folder:04}"));
        std::fs::create_dir_all(&path).map_err(|error| cannot(&path, &error))?;
    }
    let written: Result<Vec<u64>, Failure> = (0..request.count)
        .into_par_iter()
        .map(|rank| {
            let bytes = digest::encode(&repeated(&base, rank, request));
            let name = format!("{:04}/rank-{rank:06}.{ENDING}", rank / FOLDER);
            let path = request.out.join(name);
            std::fs::write(&path, &bytes).map_err(|error| cannot(&path, &error))?;
            Ok(bytes.len() as u64)
        })
        .collect();
    let columns = vec![
        Column::text("path"),
        Column::text("format"),
        Column::int("rank", Unit::None).key(),
        Column::text("role"),
        Column::int("bytes", Unit::Bytes).key(),
    ];
    let mut table = Table::new("files", "Written", columns);
    table.push(vec![
        Value::Text(request.out.display().to_string()),
        Value::from(ENDING),
        Value::absent("one file for each rank"),
        Value::from("digests"),
        Value::Int(written?.iter().sum::<u64>() as i64),
    ]);
    let note = format!("{} digests are in `{}`", request.count, request.out.display());
    Ok(Report { command: "synth".into(), tables: vec![table], notes: vec![note.into()], ..Report::default() })
}

/// A rank of the simulated job as another rank, with its own block of groups and its own clock.
fn repeated(base: &[Digest], rank: u32, request: &MadeDigests) -> Digest {
    let size = base.len() as u32;
    let (block, mut made) = (rank / size, base[(rank % size) as usize].clone());
    let mut random = Random::new(mix(request.options.seed) ^ u64::from(rank));
    made.identity.rank = Some(rank);
    made.identity.host = format!("node{:05}", rank / NODE);
    made.identity.guid = format!("made-{rank}");
    made.identity.source = format!("rank{rank}.made");
    made.identity.world_size = Some(request.count);
    for group in &mut made.groups {
        if group.size == Some(size) {
            // A group of all ranks of the job.
            (group.size, group.ranks) = (Some(request.count), Vec::new());
        } else {
            group.name = format!("{}.{block}", group.name);
            group.ranks.iter_mut().for_each(|member| *member += block * size);
        }
    }
    let shift = ((random.unit() * 2.0 - 1.0) * OFFSET_NS) as i64;
    made.span = made.span.map(|(from, to)| (from + shift, to + shift));
    for step in &mut made.steps {
        (step.start, step.end) = (step.start + shift, step.end + shift);
    }
    for row in made.collectives.iter_mut().filter(|row| row.start != i64::MIN) {
        row.start += shift;
        if row.operation.is_message() && row.peer < size {
            row.peer += block * size;
        }
    }
    for kernel in &mut made.kernels {
        kernel.total_ns = (kernel.total_ns as f64 * (1.0 + NOISE * random.normal())) as i64;
    }
    made.traffic.iter_mut().for_each(|(to, _)| *to += block * size);
    made
}

fn cannot(path: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::input(format!("cannot write `{}`: {error}", path.display()))
}

//! Submitting a job, waiting for it, and gathering what its ranks wrote.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use files::interrupt::{Guard, is_interrupted};

use super::job::{Job, script};
use crate::launcher::Status;
use crate::profiler::reason;
use crate::run::{
    CollectError, CollectRequest, Events, Gatherer, PassRecord, Prepared, Run, begin, find_beside,
    make_folder,
};

/// First and longest interval between two checks of a job.
const FIRST_LOOK: Duration = Duration::from_millis(200);
const LONGEST_LOOK: Duration = Duration::from_secs(10);

/// Files of a network file system may appear a little after the job has ended.
const LATE_FILES: Duration = Duration::from_secs(5);

/// Submits a job for the request, waits for its end and gathers what its ranks wrote.
pub fn run(request: &CollectRequest, prepared: &Prepared, events: &dyn Events) -> Result<Run, CollectError> {
    let started = SystemTime::now();
    let folder = make_folder(request.folder.as_deref(), started)?;
    let job = script(prepared, &request.preset.slurm, &folder)?;
    find_beside(&folder).iter().for_each(|killed| events.warn(&killed.explain()));
    let _begun = begin(&folder, &request.application, started)?;
    let path = job.write(&folder)?;
    let _guard = Guard::new();
    let id = submit(&path)?;
    events.step(&format!("submitted job {id}: {} ranks, {} passes", job.ranks, prepared.plan.passes.len()));
    let failure = wait(&id, events);
    gather(request, prepared, &folder, &job, started, failure)
}

fn submit(script: &Path) -> Result<String, CollectError> {
    let failed = |message: String| CollectError::Slurm { what: "cannot submit the job".into(), message };
    let output = Command::new("sbatch").arg("--parsable").arg(script).stdin(Stdio::null()).output();
    let output = output.map_err(|error| failed(format!("sbatch: {}", reason(&error))))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
    if !output.status.success() || text.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
        return Err(failed(format!("sbatch exited with {}: {said}", output.status.code().unwrap_or(-1))));
    }
    // `ID;CLUSTER` if there are several clusters.
    Ok(text.split(';').next().unwrap_or_default().to_string())
}

/// Waits until the job is over; returns what went wrong with the job itself.
fn wait(id: &str, events: &dyn Events) -> Option<CollectError> {
    let (mut pause, mut last) = (FIRST_LOOK, String::new());
    let mut cancelled = false;
    loop {
        if is_interrupted() && !cancelled {
            cancelled = true;
            events.warn(&format!("cancelled job {id}"));
            let _ = Command::new("scancel").args(["--signal=INT", "--full", id]).output();
            let _ = Command::new("scancel").arg(id).output();
        }
        let states = states(id);
        if states.is_empty() {
            return cancelled.then_some(CollectError::Interrupted { pass: 1 });
        }
        let shown = states.join(", ");
        if shown != last {
            events.step(&format!("job {id}: {}", shown.to_lowercase()));
            last = shown;
        }
        let until = Instant::now() + pause;
        while Instant::now() < until && (cancelled || !is_interrupted()) {
            std::thread::sleep(Duration::from_millis(50).min(pause));
        }
        pause = (pause * 3 / 2).min(LONGEST_LOOK);
    }
}

/// States of the job's parts that are not over yet.
fn states(id: &str) -> Vec<String> {
    let over = [
        "COMPLETED",
        "FAILED",
        "CANCELLED",
        "TIMEOUT",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "BOOT_FAIL",
    ];
    // A job that SLURM has forgotten is over; squeue then fails.
    let output = Command::new("squeue").args(["-h", "-j", id, "-o", "%T"]).stdin(Stdio::null()).output();
    let Ok(output) = output else { return Vec::new() };
    let mut states: Vec<String> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| line.trim().to_string())
        .filter(|state| !state.is_empty() && !over.contains(&state.as_str()))
        .collect();
    states.sort_unstable();
    states.dedup();
    states
}

/// Gathers what the ranks of a job wrote, however they ended.
pub fn gather(
    request: &CollectRequest,
    prepared: &Prepared,
    folder: &Path,
    job: &Job,
    started: SystemTime,
    failure: Option<CollectError>,
) -> Result<Run, CollectError> {
    let mut gatherer = Gatherer::new(request, prepared, folder, started);
    if !request.preset.monitors.is_empty() {
        gatherer.note(format!("{} is not monitored in jobs", request.preset.monitors.join(", ")));
    }
    job.notes.iter().for_each(|note| gatherer.note(note.clone()));
    if let Some(failure) = failure {
        gatherer.fail(failure);
    }
    let elements = request.preset.slurm.array.as_deref().map(super::job::elements).transpose()?;
    for pass in &prepared.plan.passes {
        let place = prepared.pass_folder(folder, pass);
        let ranks = reported(&place, job.ranks);
        let gathered = gatherer.read(pass, &place);
        let missing = match &elements {
            Some(elements) => elements.iter().filter(|e| !ranks.iter().any(|rank| rank.rank == **e)).count(),
            None => 0,
        };
        let expected = if elements.is_some() { 0 } else { job.ranks };
        let failed = crate::run::failed_ranks(&ranks, expected);
        let exit_code = ranks.iter().map(|rank| rank.exit_code).find(|code| *code != 0).unwrap_or(0);
        gatherer.passes.push(PassRecord {
            number: pass.number,
            folder: if place == folder { String::new() } else { pass.folder() },
            command: vec!["sbatch".into(), folder.join("job.sh").display().to_string()],
            counters: pass.wanted.counters.clone(),
            anchors: pass.anchors.clone(),
            exit_code,
            how: format!(
                "{} of {} ranks succeeded",
                ranks.iter().filter(|r| r.exit_code == 0).count(),
                job.ranks
            ),
            wall: started.elapsed().unwrap_or_default(),
            kernels: gathered.kernels,
            ranks,
            messages: Vec::new(),
        });
        if let Some(failed) = failed {
            gatherer.fail(failed);
        }
        if missing > 0 {
            gatherer.note(format!("{missing} elements of the array did not report"));
        }
        if gathered.empty {
            let said = gathered.unreadable.first().cloned();
            gatherer.fail(CollectError::NoKernels { pass: pass.number, said });
        }
    }
    gatherer.finish()
}

/// Ranks that recorded their end; waits until all have, or no more arrive.
fn reported(folder: &Path, expected: usize) -> Vec<Status> {
    let began = Instant::now();
    loop {
        let ranks = Status::all(folder);
        if ranks.len() >= expected || began.elapsed() > LATE_FILES || is_interrupted() {
            return ranks;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

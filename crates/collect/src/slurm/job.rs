//! The job script.

use std::path::{Path, PathBuf};

use super::options::SlurmOptions;
use crate::launcher::{RankScript, Secrets, quote};
use crate::run::{CollectError, Prepared, write_files};

/// A job to submit.
#[derive(Clone, Debug)]
pub struct Job {
    /// Text of the script.
    pub text: String,
    /// Files of its passes: folder, path and text.
    pub files: Vec<(PathBuf, String)>,
    /// Number of its ranks or elements.
    pub ranks: usize,
    /// What differs from the request, and why.
    pub notes: Vec<String>,
}

/// The script of a job that runs all passes, in the run's folder.
pub fn script(prepared: &Prepared, slurm: &SlurmOptions, run: &Path) -> Result<Job, CollectError> {
    crate::run::check_job_folder(run)?;
    let array = slurm.array.is_some();
    let mut secrets = Secrets::default();
    let elements = slurm.array.as_deref().map(elements).transpose()?;
    let ranks = match &elements {
        Some(elements) => elements.len(),
        None => ranks(slurm),
    };
    let log = if array { "slurm-%A_%a.out" } else { "slurm-%j.out" };
    let mut text = String::from("#!/bin/bash\n# Profiles every rank. Written by rocm-perf collect.\n");
    let mut directives = vec![
        "--job-name=rocm-perf".to_string(),
        format!("--output={}", quote(&run.join(log).display().to_string())),
    ];
    directives.extend(slurm.directives());
    for directive in directives {
        text.push_str(&format!("#SBATCH {directive}\n"));
    }
    text.push_str(
        "\nexport MASTER_ADDR=${MASTER_ADDR:-$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)}\n\
         export MASTER_PORT=${MASTER_PORT:-29500}\nfailed=0\n",
    );
    let mut passes = String::new();
    let mut job = Job { text: String::new(), files: Vec::new(), ranks, notes: Vec::new() };
    let inner = prepared.launched.as_ref().filter(|launched| launched.launcher.name != "srun");
    for pass in &prepared.plan.passes {
        let rank = RankScript::rank_of(inner.map(|launched| launched.launcher), array);
        let (script, ranked) = prepared.rank_script(run, pass, &rank, inner.is_none() && !array)?;
        job.files.extend(ranked.files);
        job.notes.extend(ranked.notes);
        let mut words: Vec<String> = Vec::new();
        if !array {
            words.extend(["srun", "--kill-on-bad-exit=0", "--wait=0"].map(String::from));
            words.extend(slurm.overcommit.then(|| "--overcommit".to_string()));
        }
        words.extend(inner.into_iter().flat_map(|launched| launched.head.clone()));
        words.extend(["sh".into(), script.display().to_string()]);
        words.extend(prepared.application.iter().cloned());
        let words = secrets.words(&words);
        passes.push_str(&format!(
            "\n# Pass {}: all ranks at once; one that fails does not stop the others.\n",
            pass.number
        ));
        passes.push_str(&format!("{} || failed=1\n", words.join(" ")));
    }
    text.push_str(&secrets.reading(run));
    text.push_str(&passes);
    text.push_str("\nexit $failed\n");
    job.files.extend(secrets.file(run));
    job.notes.dedup();
    Ok(Job { text, ..job })
}

fn ranks(slurm: &SlurmOptions) -> usize {
    let per_node = slurm.ntasks_per_node.map(|ranks| ranks * slurm.nodes.unwrap_or(1));
    slurm.ntasks.or(per_node).or(slurm.nodes).unwrap_or(1) as usize
}

/// Numbers of an array's elements: `0-3`, `1,5,9`, `0-9:3`; `%2` limits how many run at a time.
pub(super) fn elements(text: &str) -> Result<Vec<u32>, CollectError> {
    let wrong =
        || CollectError::Usage(format!("`{text}` is not a job array: write `0-3`, `1,5,9` or `0-9:3`"));
    let list = text.split('%').next().unwrap_or_default();
    let mut numbers = Vec::new();
    for part in list.split(',') {
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let (Some(first), Some(last), Some(step)) = (number(first), number(last), number(step)) else {
            return Err(wrong());
        };
        if step == 0 || last < first || last - first > 100_000 {
            return Err(wrong());
        }
        numbers.extend((first..=last).step_by(step as usize));
    }
    if numbers.is_empty() { Err(wrong()) } else { Ok(numbers) }
}

impl Job {
    /// Writes the script and its files.
    pub(super) fn write(&self, run: &Path) -> Result<PathBuf, CollectError> {
        for (path, text) in &self.files {
            let command =
                crate::run::PassCommand { files: vec![(path.clone(), text.clone())], ..Default::default() };
            write_files(path.parent().unwrap_or(run), &command)?;
        }
        let path = run.join("job.sh");
        files::write_private(&path, &self.text).map_err(|error| crate::run::folder_error(&path, &error))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn g2_the_job_script_with_the_plain_command_is_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let job = Job { text: "serve --api-key X\n".into(), files: Vec::new(), ranks: 1, notes: Vec::new() };
        std::fs::write(folder.path().join("job.sh"), "an earlier one").unwrap();
        let path = job.write(folder.path()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_to_string(path).unwrap(), job.text);
    }

    #[test]
    fn arrays_are_counted_as_slurm_counts_them() {
        assert_eq!(elements("0-3").unwrap(), [0, 1, 2, 3]);
        assert_eq!(elements("1,5,9").unwrap(), [1, 5, 9]);
        assert_eq!(elements("0-9:3%2").unwrap(), [0, 3, 6, 9]);
        for wrong in ["", "a", "3-1", "0-9:0", "1,,2"] {
            assert!(elements(wrong).is_err(), "{wrong}");
        }
    }
}

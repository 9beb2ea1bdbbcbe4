//! The files a server writes: which are new, when they are complete, and where they go.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use files::OutputFile;
use serde_json::json;

use super::server::{Facts, Server};
use super::{Error, Options, Site, Stage, complete};
use crate::doctor::{self, Machine};

/// Folders below a trace folder that hold other files: our own results, and graph captures.
const OTHER_FOLDERS: [&str; 5] = ["prefill", "decode", "mapping", "capture_traces", "graph_capture_profile"];
/// How often to check that a silent server is alive.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// Deep enough for a folder per run.
const DEPTH: u32 = 2;

/// The trace folder as it was before a profile.
pub(super) struct Watch {
    folder: PathBuf,
    before: BTreeMap<PathBuf, Look>,
    began: SystemTime,
    site: Site,
}

/// The state of a file at one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    bytes: u64,
    modified: Option<SystemTime>,
}

/// A complete trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewFile {
    pub path: PathBuf,
    pub bytes: u64,
}

/// All complete traces of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WholeTraces {
    pub files: Vec<NewFile>,
}

impl WholeTraces {
    /// Which ranks are missing, if their number is known.
    pub fn missing(&self, ranks: Option<u32>) -> Option<String> {
        let have = self.files.len() as u32;
        let ranks = ranks.filter(|ranks| have < *ranks)?;
        Some(format!("{have} of {ranks} ranks wrote a trace"))
    }
}

impl Watch {
    /// Remembers the existing files.
    pub fn begin(site: &Site) -> Result<Self, Error> {
        let folder = site.watched().to_path_buf();
        if !folder.is_dir() {
            let why = "no such folder on this machine: mount the server's trace folder here";
            return Err(Error::Folder { path: folder, why: why.into() });
        }
        let before = list(&folder, DEPTH);
        Ok(Self { folder, before, began: SystemTime::now(), site: site.clone() })
    }

    /// The folder that is watched.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Waits until the new traces are complete: no longer growing, and readable to the end.
    pub fn wait(&self, server: &Server, options: &Options) -> Result<WholeTraces, Error> {
        let began = Instant::now();
        let (mut last, mut last_news, mut last_beat) = (BTreeMap::new(), began, began);
        let mut whole: BTreeSet<(PathBuf, u64)> = BTreeSet::new();
        let mut broken: BTreeMap<PathBuf, (Look, String)> = BTreeMap::new();
        loop {
            let now = self.new_files();
            if now != last {
                last_news = Instant::now();
            }
            for (path, look) in &now {
                let steady = last.get(path) == Some(look);
                let known = whole.contains(&(path.clone(), look.bytes))
                    || broken.get(path).is_some_and(|(seen, _)| seen == look);
                if !steady || known {
                    continue;
                }
                match complete::check(path) {
                    Ok(()) => {
                        broken.remove(path);
                        whole.insert((path.clone(), look.bytes));
                    }
                    Err(why) => {
                        broken.insert(path.clone(), (*look, why));
                    }
                }
            }
            let all_whole =
                !now.is_empty() && now.iter().all(|(path, look)| whole.contains(&(path.clone(), look.bytes)));
            let enough = server.facts().ranks.is_some_and(|ranks| now.len() as u32 >= ranks);
            if all_whole && (enough || last_news.elapsed() >= options.settle) {
                let files = now.iter().map(|(path, look)| NewFile { path: path.clone(), bytes: look.bytes });
                return Ok(WholeTraces { files: files.collect() });
            }
            if last_beat.elapsed() >= HEARTBEAT.min(options.timeout / 4) {
                last_beat = Instant::now();
                if !all_whole && server.is_gone() {
                    return Err(self.died(server, &broken));
                }
            }
            if began.elapsed() >= options.timeout {
                return Err(self.nothing(&broken, options.timeout));
            }
            last = now;
            std::thread::sleep(options.poll);
        }
    }

    fn new_files(&self) -> BTreeMap<PathBuf, Look> {
        let mut now = list(&self.folder, DEPTH);
        now.retain(|path, look| self.before.get(path) != Some(look));
        now
    }

    fn died(&self, server: &Server, broken: &BTreeMap<PathBuf, (Look, String)>) -> Error {
        let why = match broken.keys().next() {
            Some(path) => format!("the server left `{}` unfinished", path.display()),
            None => "the server has written no trace".into(),
        };
        Error::Died { url: server.facts().url.clone(), path: "/stop_profile".into(), why }
    }

    fn nothing(&self, broken: &BTreeMap<PathBuf, (Look, String)>, timeout: Duration) -> Error {
        let seconds = timeout.as_secs();
        if let Some((path, (_, why))) = broken.iter().next() {
            return Error::Truncated { path: path.clone(), seconds, why: why.clone() };
        }
        Error::NoFiles { folder: self.folder.clone(), seconds, elsewhere: self.elsewhere() }
    }

    /// A trace that appeared meanwhile in the servers' default folder.
    fn elsewhere(&self) -> Option<PathBuf> {
        let named = std::env::var_os("SGLANG_TORCH_PROFILER_DIR").map(PathBuf::from);
        let server_dir = self.site.server_dir.as_ref().map(PathBuf::from);
        let parent = self.folder.parent().map(Path::to_path_buf);
        let places = [server_dir, named, parent, Some(std::env::temp_dir())];
        places.into_iter().flatten().filter(|place| *place != self.folder).find_map(|place| {
            let fresh = |look: &Look| look.modified.is_some_and(|modified| modified >= self.began);
            let files = list(&place, 1).into_iter();
            let mut files = files.filter(|(path, look)| fresh(look) && !path.starts_with(&self.folder));
            files.next().map(|(path, _)| path)
        })
    }
}

/// Trace files below a folder.
fn list(folder: &Path, depth: u32) -> BTreeMap<PathBuf, Look> {
    let mut found = BTreeMap::new();
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() && depth > 0 && !OTHER_FOLDERS.contains(&&*name) {
            found.append(&mut list(&path, depth - 1));
        } else if meta.is_file() && is_trace(&name) {
            found.insert(path, Look { bytes: meta.len(), modified: meta.modified().ok() });
        }
    }
    found
}

/// Whether a name is that of a rank's trace: not of a frontend's without GPU events, nor of a merged one.
fn is_trace(name: &str) -> bool {
    let trace =
        name.ends_with(".trace.json") || name.ends_with(".trace.json.gz") || name.contains(".pt.trace.json");
    trace && !name.contains(".async_llm.") && !name.starts_with("merged-") && !name.starts_with('.')
}

/// The stage in the name of an SGLang trace.
pub(super) fn stage_of(path: &Path) -> Option<Stage> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    let stem = name.split(".trace.json").next()?;
    [("-extend", Stage::Prefill), ("-prefill", Stage::Prefill), ("-decode", Stage::Decode)]
        .into_iter()
        .find_map(|(suffix, stage)| stem.ends_with(suffix).then_some(stage))
}

/// The rank in the name of a trace.
pub(super) fn rank_of(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    ["rank_", "rank-", "rank", "tp-", "tp_", "tp", "worker"].into_iter().find_map(|word| {
        name.match_indices(word).find_map(|(at, _)| {
            let starts_word = !name[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
            let digits: String = name[at + word.len()..].chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok().filter(|_| starts_word)
        })
    })
}

/// Creates a folder for results.
pub(super) fn create(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder)
        .map_err(|e| Error::Folder { path: folder.into(), why: e.to_string().to_lowercase() })
}

/// Writes the doctor's facts about this machine next to the traces; nothing is known about other machines.
pub(super) fn write_doctor(folder: &Path, url: &str) -> Result<(), Error> {
    if !is_local(url) {
        return Ok(());
    }
    let machine = Machine::this(folder);
    let facts = doctor::facts(&machine, &doctor::preflight(&machine));
    let path = folder.join(formats::run::DOCTOR_FILE);
    let text = serde_json::to_string_pretty(&json!({ "tool": formats::run::TOOL, "result": facts }));
    let write = || -> io::Result<()> {
        let mut file = OutputFile::create(&path)?;
        file.write_all(text.unwrap_or_default().as_bytes())?;
        file.commit()
    };
    write().map_err(|e| Error::Folder { path: path.clone(), why: e.to_string().to_lowercase() })
}

/// Whether a server runs on this machine.
fn is_local(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, host)| host);
    ["localhost", "127.", "[::1]"].iter().any(|local| host.starts_with(local))
}

/// Writes the server's own arguments next to its traces.
pub(super) fn write_server_args(folder: &Path, facts: &Facts) -> Result<(), Error> {
    let path = folder.join(formats::run::SERVER_ARGS_FILE);
    let text = serde_json::to_string_pretty(&facts.server_args).unwrap_or_default();
    let write = || -> io::Result<()> {
        let mut file = OutputFile::create(&path)?;
        file.write_all(text.as_bytes())?;
        file.commit()
    };
    write().map_err(|e| Error::Folder { path: path.clone(), why: e.to_string().to_lowercase() })
}

/// Moves a trace to the folder of its stage.
pub(super) fn move_into(file: &Path, output_dir: &Path, stage: Stage) -> io::Result<PathBuf> {
    let folder = match stage {
        Stage::All => output_dir.to_path_buf(),
        stage => output_dir.join(stage.name()),
    };
    fs::create_dir_all(&folder)?;
    let target = folder.join(file.file_name().unwrap_or_default());
    if target == file {
        return Ok(target);
    }
    if fs::rename(file, &target).is_err() {
        // Another file system: copy, then rename, so that nobody finds half a file.
        let mut copy = OutputFile::create(&target)?;
        io::copy(&mut fs::File::open(file)?, &mut copy)?;
        copy.commit()?;
        fs::remove_file(file)?;
    }
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_ranks_stages_and_decoys() {
        let cases = [
            ("run-1763180000-TP-0-EXTEND.trace.json.gz", true, Some(0), Some(Stage::Prefill)),
            ("1763180000-TP-3-DP-1-DECODE.trace.json.gz", true, Some(3), Some(Stage::Decode)),
            ("x-decode-17-TP-0.trace.json.gz", true, Some(0), None),
            ("dp0_pp0_tp1_rank_1.1773709742341309550.pt.trace.json.gz", true, Some(1), None),
            ("host_17.async_llm.1773709742341309550.pt.trace.json.gz", false, None, None),
            ("merged-1763180000.trace.json.gz", false, None, None),
            ("profiler_out_0.txt", false, None, None),
            ("http_1.trace.json", true, None, None),
        ];
        for (name, trace, rank, stage) in cases {
            let path = Path::new(name);
            assert_eq!((is_trace(name), rank_of(path), stage_of(path)), (trace, rank, stage), "{name}");
        }
    }
}

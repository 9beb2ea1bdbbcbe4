//! The artifacts of a triage: what is known about the profile, and writing the files as a set.

use std::io::Write;
use std::path::{Component, Path, PathBuf};

use analysis::serving::triage::{Artifact, StatedFacts};
use analysis::subject::framework_named;
use convert::perfetto_fix;
use files::OutputFile;
use model::KnownProgram;
use model::stages::Stage;
use report::Remedy;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::observer::{Observer, watched};

/// Where the server's arguments are, next to the trace or above its folder.
const SERVER_ARGS: &str = formats::run::SERVER_ARGS_FILE;

/// The name of a file and the server's arguments in it.
pub type ServerArgs = (String, Map<String, Value>);

/// What is known about the profile.
#[derive(Clone, Debug, Default)]
pub struct ProfileFacts {
    /// The requested architecture.
    pub target_arch: Option<String>,

    /// JSON file with fields of profile_metadata.json; options win over it.
    pub metadata: Option<PathBuf>,

    /// Experiment this profile belongs to.
    pub experiment_id: Option<String>,

    /// Trial this profile belongs to.
    pub trial_id: Option<String>,

    /// Name of the model [default: from server_args.json]
    pub model: Option<String>,

    /// Container image with its tag.
    pub base_image: Option<String>,

    /// single-gpu, multi-gpu or full-node, as the fleet calls it.
    pub resource_class: Option<String>,

    /// GPUs of the run: 0,1,2.
    pub gpu_ids: Vec<u32>,

    /// Their clocks in MHz: 0=2100,1=2100.
    pub gpu_clocks: Vec<(u32, u32)>,

    /// Whether the machine passed its checks before the run.
    pub preflight_passed: Option<bool>,

    /// ROCm's version [default: from the trace, if it has it]
    pub rocm_version: Option<String>,

    /// The server's arguments (JSON) [default: server_args.json next to the trace]
    pub server_args: Option<PathBuf>,

    /// The benchmark's configuration: its SHA-256 is recorded.
    pub benchmark_config: Option<PathBuf>,

    /// The output of `doctor` as JSON [default: what was recorded next to the trace].
    pub doctor: Option<PathBuf>,

    /// The trace was made on this machine: take ROCm's version from here if nothing else has it.
    pub this_machine: bool,
}

impl ProfileFacts {
    /// The server's arguments and the name of their file: as given, or next to the traces.
    pub fn server_args(&self, traces: &[PathBuf]) -> Result<Option<ServerArgs>, Failure> {
        let found = match &self.server_args {
            Some(path) => Some((path.clone(), object(path)?)),
            None => beside(traces),
        };
        Ok(found.map(|(path, args)| (file_name(&path), args)))
    }

    /// What is known about the program.
    pub fn program(&self, framework: Option<&'static str>, server_args: Option<&ServerArgs>) -> KnownProgram {
        let args = server_args.map(|(_, args)| args);
        let number = |key: &str| args.and_then(|args| args.get(key)).and_then(Value::as_u64);
        let text = |key: &str| args.and_then(|args| args.get(key)).and_then(Value::as_str).map(String::from);
        KnownProgram {
            framework: framework.or_else(|| framework_named(&text("framework")?)),
            model: self.model.clone().or_else(|| text("model_path")).or_else(|| text("model")),
            ranks: number("tp_size").map(|tp| tp * number("pp_size").unwrap_or(1).max(1)),
        }
    }

    /// All known facts about the profile.
    pub fn told(
        &self,
        folder: &Folder,
        traces: &[PathBuf],
        server_args: Option<ServerArgs>,
        stage: Option<Stage>,
    ) -> Result<StatedFacts, Failure> {
        Ok(StatedFacts {
            flags: self.flags()?,
            file: self.metadata.as_ref().map(|path| object(path)).transpose()?.unwrap_or_default(),
            server_args,
            machine: self.machine(traces)?,
            target_arch: self.target_arch.clone(),
            source_paths: traces.iter().map(|path| relative(path, &folder.path)).collect(),
            stage,
        })
    }

    /// What is known about the machine: from the doctor, from records next to the traces, or from this
    /// machine.
    fn machine(&self, traces: &[PathBuf]) -> Result<Vec<MachineFact>, Failure> {
        let mut facts = match &self.doctor {
            Some(path) => doctor_facts(&object(path)?, path).ok_or_else(|| not_of_doctor(path))?,
            None => recorded_facts(traces).unwrap_or_default(),
        };
        if self.this_machine {
            facts.extend(this_machine());
        }
        Ok(facts)
    }

    fn flags(&self) -> Result<Map<String, Value>, Failure> {
        let text = |value: &Option<String>| value.clone().map(Value::from);
        let hash = self.benchmark_config.as_ref().map(|path| sha256(path)).transpose()?;
        let clocks: Map<String, Value> =
            self.gpu_clocks.iter().map(|(id, mhz)| (id.to_string(), json!(mhz))).collect();
        let fields = [
            ("experiment_id", text(&self.experiment_id)),
            ("trial_id", text(&self.trial_id)),
            ("model_name", text(&self.model)),
            ("base_image", text(&self.base_image)),
            ("resource_class", text(&self.resource_class)),
            ("rocm_version", text(&self.rocm_version)),
            ("gpu_device_ids", (!self.gpu_ids.is_empty()).then(|| json!(self.gpu_ids))),
            ("gpu_clocks_mhz", (!clocks.is_empty()).then_some(Value::Object(clocks))),
            ("preflight_passed", self.preflight_passed.map(Value::from)),
            ("benchmark_config_hash", hash.map(Value::from)),
        ];
        Ok(fields.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))).collect())
    }
}

/// Where the artifacts go.
#[derive(Clone, Debug)]
pub struct Folder {
    /// The folder, created if needed.
    pub path: PathBuf,
    /// Whether a fixed trace goes there too.
    pub perfetto_fix: bool,
}

impl Folder {
    /// Fails if nothing can be written there. Called before reading, which may take long.
    pub fn check(&self) -> Result<(), Failure> {
        let file = OutputFile::create(&self.path.join("profile_summary.md"));
        file.map(drop).map_err(|error| self.unwritable(&error))
    }

    /// Writes all files or none, as far as a file system allows; returns a line that says so.
    pub fn write(
        &self,
        files: &[Artifact],
        traces: &[PathBuf],
        observer: &dyn Observer,
    ) -> Result<String, Failure> {
        let unwritable = |error: std::io::Error| self.unwritable(&error);
        let mut open = Vec::new();
        for artifact in files {
            let mut file = OutputFile::create(&self.path.join(artifact.name)).map_err(unwritable)?;
            file.write_all(artifact.text.as_bytes()).map_err(unwritable)?;
            open.push(file);
        }
        let mut names: Vec<String> = files.iter().map(|artifact| artifact.name.to_string()).collect();
        if self.perfetto_fix {
            names.push(self.fix(traces, observer)?);
        }
        for file in open {
            file.commit().map_err(unwritable)?;
        }
        Ok(format!("wrote {} to `{}`", names.join(", "), self.path.display()))
    }

    fn fix(&self, traces: &[PathBuf], observer: &dyn Observer) -> Result<String, Failure> {
        let [trace] = traces else {
            return Err(Failure::input(format!(
                "a fixed trace can be made of one trace, there are {}",
                traces.len()
            ))
            .with_help("choose one, or fix each by itself"));
        };
        let compressed = trace.extension().is_some_and(|extension| extension == "gz");
        let name = format!("perfetto_fixed_trace.json{}", if compressed { ".gz" } else { "" });
        let bytes = std::fs::metadata(trace).map_or(0, |meta| meta.len());
        watched("fixing", observer, |progress| {
            progress.expect(2 * bytes);
            let options = perfetto_fix::Options::default();
            perfetto_fix::fix(trace, &self.path.join(&name), &options, &|read| progress.advance(read))
        })?;
        Ok(name)
    }

    fn unwritable(&self, error: &std::io::Error) -> Failure {
        let why = error.to_string().to_lowercase();
        Failure::input(format!("cannot write artifacts to `{}`: {why}", self.path.display()))
            .with_help(Remedy::OtherPlace)
    }
}

/// The artifacts of a triage that are in a folder.
pub fn artifact_files(folder: &Path) -> Vec<PathBuf> {
    let names = analysis::serving::triage::SCHEMAS.iter().map(|(name, _)| *name);
    let names = names.chain(["profile_summary.md", "perfetto_fixed_trace.json.gz"]);
    names.map(|name| folder.join(name)).filter(|path| path.is_file()).collect()
}

fn object(path: &Path) -> Result<Map<String, Value>, Failure> {
    let fail = |why: String| Failure::input(format!("cannot read `{}`: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string().to_lowercase()))?;
    match serde_json::from_str(&text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(fail("it holds no JSON object".into())),
        Err(error) => Err(fail(format!("it is not JSON: {error}"))),
    }
}

/// The server's arguments in the folder of the first trace, or in one of the two above it.
fn beside(traces: &[PathBuf]) -> Option<(PathBuf, Map<String, Value>)> {
    let folder = std::path::absolute(traces.first()?).ok()?;
    folder.ancestors().skip(1).take(2).find_map(|folder| {
        let path = folder.join(SERVER_ARGS);
        object(&path).ok().map(|args| (path, args))
    })
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn sha256(path: &Path) -> Result<String, Failure> {
    let fail = |error: std::io::Error| {
        Failure::input(format!("cannot read `{}`: {}", path.display(), error.to_string().to_lowercase()))
    };
    let mut file = std::fs::File::open(path).map_err(fail)?;
    let mut hash = Sha256::new();
    std::io::copy(&mut file, &mut hash).map_err(fail)?;
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("sha256:{hex}"))
}

/// A field of the metadata, its value, and where it comes from.
type MachineFact = (String, Value, String);

/// Fields that the doctor or a run's record has.
const RECORDED: [&str; 5] =
    ["preflight_passed", "gpu_clocks_mhz", "base_image", "rocm_version", "gpu_device_ids"];

/// The facts in the output of `doctor` or in the record of a run; `None` if it is neither.
fn doctor_facts(object: &Map<String, Value>, path: &Path) -> Option<Vec<MachineFact>> {
    // The doctor's are below `result`, those of a run at the top level.
    let fields = match object.get("result") {
        Some(Value::Object(result)) => result,
        _ => object,
    };
    fields.get("preflight_passed")?;
    let fact = |name: &&str| {
        let value = fields.get(*name).filter(|value| !value.is_null())?;
        Some((name.to_string(), value.clone(), format!("`{}`", file_name(path))))
    };
    Some(RECORDED.iter().filter_map(fact).collect())
}

/// The facts from a file next to the first trace, or in one of the folders above it.
fn recorded_facts(traces: &[PathBuf]) -> Option<Vec<MachineFact>> {
    const ABOVE: usize = 4;
    let trace = std::path::absolute(traces.first()?).ok()?;
    trace.ancestors().skip(1).take(ABOVE).find_map(|folder| {
        [formats::run::DOCTOR_FILE, formats::run::RUN_FILE].iter().find_map(|name| {
            let path = folder.join(name);
            doctor_facts(&object(&path).ok()?, &path)
        })
    })
}

fn not_of_doctor(path: &Path) -> Failure {
    Failure::input(format!("`{}` is not the JSON of a doctor's checks", path.display()))
        .with_help(Remedy::DoctorFile)
}

/// Facts about this machine.
fn this_machine() -> Vec<MachineFact> {
    let root = std::env::var_os("ROCM_PATH").map_or_else(|| PathBuf::from("/opt/rocm"), PathBuf::from);
    let path = root.join(".info/version");
    let version = std::fs::read_to_string(&path).ok();
    let fact = version.map(|text| {
        (
            "rocm_version".to_string(),
            Value::from(text.trim()),
            format!("`{}` of this machine", path.display()),
        )
    });
    fact.into_iter().collect()
}

/// A path as seen from a folder, so that a profile can be moved with its traces.
fn relative(path: &Path, from: &Path) -> String {
    let whole = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    let (Ok(path), Ok(from)) = (whole(path), whole(from)) else { return path.display().to_string() };
    let shared = path.components().zip(from.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    let down: PathBuf = up.chain(path.components().skip(shared)).collect();
    down.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_seen_from_the_folder() {
        assert_eq!(relative(Path::new("/no/such/run/t.json"), Path::new("/no/such/out")), "../run/t.json");
        assert_eq!(relative(Path::new("/no/t.json"), Path::new("/no")), "t.json");
    }
}

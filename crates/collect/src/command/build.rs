//! Builds the command of one pass for the installed profiler.

use std::path::{Path, PathBuf};

use super::options::{self, Given};
use super::systems;
use super::version::Version;
use crate::presets::PcSampling;
use crate::profiler::{Profiler, ProfilerKind};
use crate::run::CollectError;

/// What one pass records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// Traces: `kernel` for `--kernel-trace`.
    pub trace: Vec<String>,
    /// Counters.
    pub counters: Vec<String>,
    /// The counters that the profiler needs a definition of.
    pub definitions: Vec<Definition>,
    /// Formats of files.
    pub formats: Vec<String>,
    /// The profiler's own statistics.
    pub statistics: bool,
    /// PC sampling.
    pub pc_sampling: Option<PcSampling>,
    /// More options.
    pub options: Vec<String>,
}

/// A counter that the profiler does not define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its name.
    pub counter: String,
    /// Its formula, in the profiler's syntax.
    pub formula: String,
    /// The GPU that it is defined for.
    pub arch: String,
}

/// Where a pass writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its folder.
    pub folder: PathBuf,
    /// Prefix of its file names, with rocprofv3's placeholders.
    pub name: String,
}

/// A command, with the files it needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Built {
    /// The profiler and its options, including `--`; the application follows.
    pub words: Vec<String>,
    /// Files to write first: name in the pass's folder, and text.
    pub files: Vec<(String, String)>,
    /// What differs from the request, and why.
    pub notes: Vec<String>,
}

/// Profilers without `--pmc` read counters from this file.
const COUNTER_FILE: &str = "counters.txt";
/// Definitions of counters are read from this file.
const DEFINITION_FILE: &str = "definitions.yaml";

/// The first release that accepts counter definitions.
pub(crate) fn definitions_since() -> Version {
    since("extra-counters")
}

/// The command of a pass.
pub fn build(profiler: &Profiler, wanted: &Wanted, output: &Output) -> Result<Built, CollectError> {
    match profiler.kind {
        ProfilerKind::Rocprofv3 => rocprofv3(profiler, wanted, output),
        ProfilerKind::Rocprof => rocprof(profiler, wanted, output),
        ProfilerKind::RocprofSys(mode) => systems::build(profiler, mode, wanted, output),
    }
}

fn rocprofv3(profiler: &Profiler, wanted: &Wanted, output: &Output) -> Result<Built, CollectError> {
    let mut built = Built::default();
    let mut given: Vec<Given> =
        wanted.trace.iter().map(|trace| Given::switch(&format!("{trace}-trace"))).collect();
    if let Some(sampling) = &wanted.pc_sampling {
        given.push(Given::switch("pc-sampling-beta-enabled"));
        given.push(Given::with("pc-sampling-method", [&sampling.method]));
        given.push(Given::with("pc-sampling-unit", [&sampling.unit]));
        given.push(Given::with("pc-sampling-interval", [sampling.interval.to_string()]));
    }
    if !wanted.counters.is_empty() {
        if profiler.version >= since("pmc") {
            given.push(Given::with("pmc", &wanted.counters));
        } else {
            let path = output.folder.join(COUNTER_FILE).display().to_string();
            given.push(Given::with("input", [path]));
            built.files.push((COUNTER_FILE.into(), format!("pmc: {}\n", wanted.counters.join(" "))));
        }
    }
    if !wanted.definitions.is_empty() {
        let path = output.folder.join(DEFINITION_FILE).display().to_string();
        given.push(Given::with("extra-counters", [path]));
        built.files.push((DEFINITION_FILE.into(), definitions(&wanted.definitions)));
    }
    let formats = formats(&wanted.formats, profiler.version, &mut built.notes);
    if wanted.statistics {
        given.push(Given::switch("stats"));
        if !formats.iter().any(|format| format == "csv" || format == "json") {
            built.notes.push("`--stats` has no effect without csv or json".into());
        }
    }
    given.push(Given::with("output-format", formats));
    let more = options::parse(&wanted.options).map_err(|error| CollectError::Usage(error.to_string()))?;
    given.extend(more);
    given.push(Given::with("output-directory", [output.folder.display().to_string()]));
    given.push(Given::with("output-file", [&output.name]));
    too_new(profiler, &mut given, wanted, &mut built.notes)?;
    built.words.push(profiler.path.display().to_string());
    // `-d` and `-o` exist in every release.
    let short = |name: &str| match name {
        "output-directory" => Some("-d"),
        "output-file" => Some("-o"),
        "input" => Some("-i"),
        _ => None,
    };
    for option in &given {
        match short(&option.name) {
            Some(letter) => {
                built.words.extend(std::iter::once(letter.to_string()).chain(option.values.clone()))
            }
            None => built.words.extend(option.words()),
        }
    }
    built.words.push("--".into());
    Ok(built)
}

/// The file of definitions, in the layout of the profiler's own file.
fn definitions(of: &[Definition]) -> String {
    let mut text = "rocprofiler-sdk:\n  counters-schema-version: 1\n  counters:\n".to_string();
    for Definition { counter, formula, arch } in of {
        text += &format!("    - name: {counter}\n      description: '{formula}'\n      properties: []\n");
        text += "      definitions:\n";
        text += &format!("        - architectures: [{arch}]\n          expression: {formula}\n");
    }
    text
}

pub(crate) fn since(option: &str) -> Version {
    options::find(option).map_or(Version::DEVELOPMENT, |option| option.since)
}

/// Formats that the release writes. They always include one that we can read: data is checked, passes are
/// merged.
fn formats(asked: &[String], version: Version, notes: &mut Vec<String>) -> Vec<String> {
    let databases = version >= Version::new(7, 0);
    let mut formats: Vec<String> = Vec::new();
    for format in asked {
        let instead = if format == "rocpd" && !databases { "json" } else { format };
        if instead != format {
            notes.push(format!("wrote json instead of rocpd, which ROCm {version} does not support"));
        }
        if !formats.iter().any(|known| known == instead) {
            formats.push(instead.to_string());
        }
    }
    let readable = ["rocpd", "json", "csv"];
    if !formats.iter().any(|format| readable.contains(&format.as_str())) {
        let added = if databases { "rocpd" } else { "json" };
        if !formats.is_empty() {
            notes.push(format!("also writes {added}, to check what was recorded"));
        }
        formats.push(added.into());
    }
    formats
}

/// Leaves out traces that the release does not support; anything else that is too new is an error.
fn too_new(
    profiler: &Profiler,
    given: &mut Vec<Given>,
    wanted: &Wanted,
    notes: &mut Vec<String>,
) -> Result<(), CollectError> {
    let version = profiler.version;
    let mut missing = None;
    given.retain(|option| {
        let first = since(&option.name);
        if first <= version {
            return true;
        }
        let trace = option.name.strip_suffix("-trace");
        if trace.is_some_and(|trace| wanted.trace.len() > 1 && trace != "kernel") {
            notes.push(format!("left out `--{}`: it needs ROCm {first}", option.name));
            return false;
        }
        missing.get_or_insert((format!("--{}", option.name), first));
        true
    });
    if let Some(sampling) = &wanted.pc_sampling
        && sampling.method == "stochastic"
        && version < Version::new(7, 0)
    {
        missing.get_or_insert(("--pc-sampling-method stochastic".into(), Version::new(7, 0)));
    }
    match missing {
        Some((what, since)) => {
            Err(CollectError::TooOld { program: profiler.path.clone(), version, what, since })
        }
        None => Ok(()),
    }
}

/// The legacy profiler: no separator, other option names, traces that include activity.
fn rocprof(profiler: &Profiler, wanted: &Wanted, output: &Output) -> Result<Built, CollectError> {
    if wanted.pc_sampling.is_some() {
        return Err(CollectError::TooOld {
            program: profiler.path.clone(),
            version: profiler.version,
            what: "PC sampling".into(),
            since: Version::new(6, 4),
        });
    }
    let mut built = Built::default();
    let words = &mut built.words;
    words.push(profiler.path.display().to_string());
    if !wanted.counters.is_empty() {
        words.extend(["-i".into(), output.folder.join(COUNTER_FILE).display().to_string()]);
        built.files.push((COUNTER_FILE.into(), format!("pmc : {}\n", wanted.counters.join(" "))));
    }
    let has = |names: &[&str]| wanted.trace.iter().any(|trace| names.contains(&trace.as_str()));
    let hip = has(&["hip", "hip-runtime", "hip-compiler", "runtime", "memory-copy"]);
    for (on, option) in [
        (hip || has(&["sys"]), "--hip-trace"),
        (has(&["hsa", "hsa-core", "hsa-amd", "sys"]), "--hsa-trace"),
        (has(&["marker", "runtime", "sys"]), "--roctx-trace"),
    ] {
        words.extend(on.then(|| option.to_string()));
    }
    words.extend(["--stats".into(), "--timestamp".into(), "on".into(), "-o".into()]);
    words.push(legacy_file(&output.folder, &output.name).display().to_string());
    let known =
        ["hip", "hip-runtime", "hip-compiler", "runtime", "memory-copy", "hsa", "hsa-core", "hsa-amd"];
    let foreign: Vec<&str> = wanted
        .trace
        .iter()
        .map(String::as_str)
        .filter(|trace| !known.contains(trace) && !["marker", "sys", "kernel"].contains(trace))
        .collect();
    if !foreign.is_empty() {
        built.notes.push(format!("the legacy rocprof cannot record {}", foreign.join(", ")));
    }
    built.notes.push("the legacy rocprof writes csv and Chrome JSON only".into());
    Ok(built)
}

/// The legacy profiler needs a full file name, without placeholders.
fn legacy_file(folder: &Path, name: &str) -> PathBuf {
    let name: String = name.split('_').filter(|part| !part.contains('%')).collect::<Vec<_>>().join("_");
    folder.join(if name.is_empty() { "results.csv".to_string() } else { format!("{name}.csv") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profiler(kind: ProfilerKind, version: &str) -> Profiler {
        let version = Version::parse(version).unwrap();
        Profiler { kind, path: "rocprofv3".into(), version, ..Profiler::assumed() }
    }

    fn wanted() -> Wanted {
        let owned = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
        Wanted {
            trace: owned(&["hip", "kernel", "memory-allocation"]),
            counters: owned(&["SQ_WAVES", "GRBM_GUI_ACTIVE"]),
            formats: owned(&["rocpd", "pftrace"]),
            ..Wanted::default()
        }
    }

    fn command(profiler: &Profiler, wanted: &Wanted) -> (String, Built) {
        let output = Output { folder: "run".into(), name: "%hostname%_%pid%".into() };
        let built = build(profiler, wanted, &output).unwrap();
        (built.words.join(" "), built)
    }

    #[test]
    fn each_release_gets_the_words_it_knows() {
        let (words, built) = command(&profiler(ProfilerKind::Rocprofv3, "7.2"), &wanted());
        assert_eq!(
            words,
            "rocprofv3 --hip-trace --kernel-trace --memory-allocation-trace --pmc SQ_WAVES GRBM_GUI_ACTIVE \
             --output-format rocpd pftrace -d run -o %hostname%_%pid% --"
        );
        assert!(built.notes.is_empty() && built.files.is_empty());
        let (words, built) = command(&profiler(ProfilerKind::Rocprofv3, "6.4"), &wanted());
        assert!(words.contains("--output-format json pftrace -d"), "{words}");
        assert_eq!(built.notes.len(), 1);
        let (words, built) = command(&profiler(ProfilerKind::Rocprofv3, "6.2"), &wanted());
        assert_eq!(
            words,
            "rocprofv3 --hip-trace --kernel-trace -i run/counters.txt --output-format json pftrace -d run \
             -o %hostname%_%pid% --"
        );
        assert_eq!(built.files[0].1, "pmc: SQ_WAVES GRBM_GUI_ACTIVE\n");
        assert_eq!(built.notes.len(), 2, "{:?}", built.notes);
    }

    #[test]
    fn counters_that_the_profiler_lacks_are_defined_for_it() {
        let definition = Definition {
            counter: "SQ_LEVEL_WAVES_ACCUM".into(),
            formula: "accumulate(SQ_LEVEL_WAVES,HIGH_RES)".into(),
            arch: "gfx942".into(),
        };
        let wanted = Wanted { definitions: vec![definition], ..wanted() };
        let (words, built) = command(&profiler(ProfilerKind::Rocprofv3, "6.4"), &wanted);
        assert!(words.contains(" --extra-counters run/definitions.yaml "), "{words}");
        let expected = "rocprofiler-sdk:
  counters-schema-version: 1
  counters:
    - name: SQ_LEVEL_WAVES_ACCUM
      description: 'accumulate(SQ_LEVEL_WAVES,HIGH_RES)'
      properties: []
      definitions:
        - architectures: [gfx942]
          expression: accumulate(SQ_LEVEL_WAVES,HIGH_RES)
";
        assert_eq!(built.files[0].1, expected);
        let output = Output { folder: "run".into(), name: "x".into() };
        assert!(build(&profiler(ProfilerKind::Rocprofv3, "6.3"), &wanted, &output).is_err());
    }

    #[test]
    fn what_cannot_be_checked_is_written_in_a_second_format() {
        let only = Wanted { formats: vec!["pftrace".into()], ..wanted() };
        let (words, built) = command(&profiler(ProfilerKind::Rocprofv3, "7.0"), &only);
        assert!(words.contains("--output-format pftrace rocpd"), "{words}");
        assert!(built.notes[0].contains("also writes rocpd, to check what was recorded"));
    }

    #[test]
    fn what_the_release_lacks_is_an_error() {
        let sampling = PcSampling {
            archs: vec!["gfx942".into()],
            method: "stochastic".into(),
            unit: "cycles".into(),
            interval: 65536,
        };
        let wanted = Wanted { pc_sampling: Some(sampling), ..wanted() };
        let output = Output { folder: "run".into(), name: "x".into() };
        let error = build(&profiler(ProfilerKind::Rocprofv3, "6.4"), &wanted, &output).unwrap_err();
        assert!(matches!(error, CollectError::TooOld { since, .. } if since == Version::new(7, 0)));
        let options = Wanted { options: vec!["--kfd-queue-trace".into()], ..self::wanted() };
        assert!(
            build(&profiler(ProfilerKind::Rocprofv3, "7.2"), &options, &output).is_ok(),
            "a trace is left out"
        );
        let options = Wanted { options: vec!["--spm".into(), "A".into()], ..self::wanted() };
        assert!(build(&profiler(ProfilerKind::Rocprofv3, "7.2"), &options, &output).is_err());
    }

    #[test]
    fn the_legacy_profiler_has_words_of_its_own() {
        let legacy = Profiler { path: "rocprof".into(), ..profiler(ProfilerKind::Rocprof, "6.0") };
        let (words, built) = command(&legacy, &wanted());
        assert_eq!(
            words,
            "rocprof -i run/counters.txt --hip-trace --stats --timestamp on -o run/results.csv"
        );
        assert_eq!(built.files[0].1, "pmc : SQ_WAVES GRBM_GUI_ACTIVE\n");
        assert!(built.notes[0].contains("memory-allocation"));
    }
}

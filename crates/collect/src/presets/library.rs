//! The presets that come with the program, and those in files.

use std::path::Path;
use std::sync::LazyLock;

use super::error::{Document, Mistake, one_of};
use super::preset::Preset;
use crate::command::options;

/// Files of the built-in presets, in the order they are listed.
const FILES: &[(&str, &str)] = &[
    ("compute-bound", include_str!("../../presets/compute-bound.toml")),
    ("memory-bound", include_str!("../../presets/memory-bound.toml")),
    ("multi-gpu", include_str!("../../presets/multi-gpu.toml")),
    ("comprehensive", include_str!("../../presets/comprehensive.toml")),
    ("lightweight", include_str!("../../presets/lightweight.toml")),
    ("multi-node", include_str!("../../presets/multi-node.toml")),
    ("compute", include_str!("../../presets/compute.toml")),
    ("memory", include_str!("../../presets/memory.toml")),
    ("communication", include_str!("../../presets/communication.toml")),
    ("full", include_str!("../../presets/full.toml")),
    ("perfetto", include_str!("../../presets/perfetto.toml")),
    ("api-overhead", include_str!("../../presets/api-overhead.toml")),
    ("pc-sampling", include_str!("../../presets/pc-sampling.toml")),
    ("panels", include_str!("../../presets/panels.toml")),
];

/// Formats that rocprofv3 can write.
pub const FORMATS: &[&str] = &["rocpd", "json", "csv", "pftrace", "otf2"];
/// What can be monitored while the application runs.
pub const MONITORS: &[&str] = &["power", "vram", "clocks", "temperature", "utilisation"];
/// Libraries whose calls can be logged.
pub const LIBRARIES: &[&str] = &["rocblas", "hipblaslt", "miopen"];

/// The built-in presets, as in their files.
pub fn builtin() -> &'static [Preset] {
    static PRESETS: LazyLock<Vec<Preset>> = LazyLock::new(|| {
        FILES.iter().filter_map(|(name, text)| parse(&Document { name, text }).ok()).collect()
    });
    &PRESETS
}

/// The text of a built-in preset's file, to copy and change.
pub fn source(name: &str) -> Option<&'static str> {
    let preset = builtin().iter().find(|preset| preset.is_called(name))?;
    FILES.iter().find(|(file, _)| *file == preset.name).map(|(_, text)| *text)
}

/// The preset with this name, or in this file, with all presets that it uses.
pub fn find(name: &str) -> Result<Preset, Mistake> {
    let path = Path::new(name);
    let preset = match builtin().iter().find(|preset| preset.is_called(name)) {
        Some(preset) => preset.clone(),
        None if path.extension().is_some_and(|end| end == "toml") || path.is_file() => {
            let text = read(path)?;
            parse(&Document { name, text: &text })?
        }
        None => {
            let known = builtin().iter().map(|preset| preset.name.as_str());
            let what = "no such preset";
            let mistake = Mistake { file: name.into(), line: None, what: what.into(), help: None };
            return Err(mistake.expecting(format!("give a TOML file, or one of {}", one_of(known))));
        }
    };
    expand(preset)
}

/// Reads a user's small file.
pub(super) fn read(path: &Path) -> Result<String, Mistake> {
    std::fs::read_to_string(path).map_err(|error| Mistake {
        file: path.display().to_string(),
        line: None,
        what: format!("cannot be read: {}", error.to_string().to_lowercase()),
        help: None,
    })
}

/// Adds the presets that this one uses. They are built-in, and those use no others.
fn expand(mut preset: Preset) -> Result<Preset, Mistake> {
    for used in preset.uses.clone() {
        if let Some(other) = builtin().iter().find(|other| other.is_called(&used)) {
            preset.take(other);
        }
    }
    Ok(preset)
}

/// Reads a preset from TOML.
pub fn parse(document: &Document<'_>) -> Result<Preset, Mistake> {
    let preset: Preset = toml::from_str(document.text).map_err(|error| {
        let at = error.span().map(|span| span.start);
        let message = error.message().lines().next().unwrap_or_default().to_string();
        document.mistake_at(at, message)
    })?;
    check(&preset, document)?;
    Ok(preset)
}

/// Checks what TOML itself cannot check.
fn check(preset: &Preset, document: &Document<'_>) -> Result<(), Mistake> {
    let known = |words: &[String], list: &[&str], what: &str| match words
        .iter()
        .find(|word| !list.contains(&word.as_str()))
    {
        Some(word) => Err(document
            .mistake(word, format!("no {what} `{word}`"))
            .expecting(format!("expected {}", one_of(list.iter().copied())))),
        None => Ok(()),
    };
    known(&preset.formats, FORMATS, "format")?;
    known(&preset.monitors, MONITORS, "monitor")?;
    known(&preset.library_calls, LIBRARIES, "library")?;
    known(&preset.trace, &traces(), "trace")?;
    if let Some(word) = preset.uses.iter().find(|used| !FILES.iter().any(|(name, _)| name == used)) {
        let names = FILES.iter().map(|(name, _)| *name);
        return Err(document
            .mistake(word, format!("no preset `{word}`"))
            .expecting(format!("expected {}", one_of(names))));
    }
    if preset.monitor_interval.is_some_and(|seconds| !(0.001..=3600.0).contains(&seconds)) {
        return Err(document
            .mistake("monitor_interval", "monitor_interval is out of range")
            .expecting("expected seconds from 0.001 to 3600"));
    }
    if let Err(error) = options::parse(&preset.options) {
        return Err(document.mistake("options", error.to_string()));
    }
    Ok(())
}

/// Names of traces: the part before `-trace` in an option.
pub fn traces() -> Vec<&'static str> {
    options::known().iter().filter_map(|option| option.name.strip_suffix("-trace")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_built_in_files_are_sound() {
        for (name, text) in FILES {
            let preset = parse(&Document { name, text }).unwrap_or_else(|mistake| panic!("{mistake}"));
            assert_eq!(preset.name, *name);
            assert!(!preset.title.is_empty() && preset.title.len() <= 85, "{name}");
            let whole = find(name).unwrap();
            assert!(!whole.overhead.is_empty() && !whole.trace.is_empty() && !whole.formats.is_empty());
        }
        assert_eq!(builtin().len(), FILES.len());
    }

    #[test]
    fn every_name_means_one_preset() {
        let mut names: Vec<&str> = builtin()
            .iter()
            .flat_map(|preset| preset.aliases.iter().map(String::as_str).chain([preset.name.as_str()]))
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn six_profiles_eight_tools_and_the_panels() {
        use crate::presets::PresetKind;
        let count = |kinds: [PresetKind; 2]| builtin().iter().filter(|p| kinds.contains(&p.kind)).count();
        assert_eq!(count([PresetKind::Profile, PresetKind::Both]), 6);
        assert_eq!(count([PresetKind::Tool, PresetKind::Both]), 8 + 1);
    }

    #[test]
    fn mistakes_have_a_line_and_say_what_was_expected() {
        let wrong = |text: &str| parse(&Document { name: "my.toml", text }).unwrap_err();
        let mistake = wrong("name = \"x\"\ntrace = [\n  \"kernel\",\n  \"kernels\",\n]\n");
        assert_eq!(mistake.to_string(), "`my.toml` line 4: no trace `kernels`");
        assert!(mistake.help.unwrap().contains("`kernel`"));
        let mistake = wrong("name = \"x\"\ncounter = []\n");
        assert_eq!((mistake.line, mistake.what.contains("`counter`, expected one of")), (Some(2), true));
        let mistake = wrong("name = \"x\"\n\ncounters = 3\n");
        assert_eq!(mistake.line, Some(3));
        assert_eq!(wrong("name = \"x\"\nformats = [\"sqlite\"]\n").line, Some(2));
        assert_eq!(wrong("title = \"x\"\n").line, Some(1));
    }
}

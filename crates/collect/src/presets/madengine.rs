//! madengine's JSON configurations, unchanged: `"tools": [{"name": "rocprofv3_compute"}]`, custom commands,
//! variables.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::{Document, Mistake, one_of};
use super::library::{builtin, read};
use super::preset::Preset;
use crate::command::options::{self, OptionError};

/// A configuration as a preset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// What it asks for.
    pub preset: Preset,
    /// What was corrected or ignored, one line each.
    pub notes: Vec<String>,
}

/// A tool that is not one of our presets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Tool {
    name: String,
    trace: Vec<String>,
    counters: Vec<String>,
    formats: Vec<String>,
    statistics: bool,
    monitors: Vec<String>,
    library_calls: Vec<String>,
    refused: String,
}

#[derive(Deserialize)]
struct File {
    tool: Vec<Tool>,
}

fn tools() -> &'static [Tool] {
    static TABLE: LazyLock<Vec<Tool>> = LazyLock::new(|| {
        formats::tables::built_in::<File>(include_str!("../../presets/madengine.toml"))
            .map_or_else(|_| Vec::new(), |file| file.tool)
    });
    &TABLE
}

/// Reads a configuration file.
pub fn from_json_file(path: &Path) -> Result<Config, Mistake> {
    let (name, text) = (path.display().to_string(), read(path)?);
    from_json(&Document { name: &name, text: &text })
}

/// Reads a configuration.
pub fn from_json(document: &Document<'_>) -> Result<Config, Mistake> {
    let Value::Object(object) = document.json()? else {
        return Err(document.mistake_at(Some(0), "not a JSON object").expecting("expected {\"tools\": […]}"));
    };
    let mut config = Config::default();
    config.preset.name = Path::new(document.name)
        .file_stem()
        .map_or_else(|| "config".into(), |stem| stem.to_string_lossy().trim_start_matches('-').to_string());
    let mut read = Reader { document, config };
    for (key, value) in &object {
        read.key(key, value)?;
    }
    if read.config.preset.trace.is_empty() && read.config.preset.counters.is_empty() {
        let help = "expected \"tools\": [{\"name\": \"rocprofv3_compute\"}]";
        return Err(document.mistake("tools", "none of its tools profiles anything").expecting(help));
    }
    Ok(read.config)
}

struct Reader<'a> {
    document: &'a Document<'a>,
    config: Config,
}

impl Reader<'_> {
    fn key(&mut self, key: &str, value: &Value) -> Result<(), Mistake> {
        let document = self.document;
        let wrong = |what: &str| document.mistake(key, format!("`{key}` is not {what}"));
        match key {
            _ if key.starts_with('_') => {}
            "gpu_vendor" => {
                let vendor = value.as_str().unwrap_or_default();
                if !vendor.eq_ignore_ascii_case("amd") {
                    let mistake = document.mistake(key, format!("the GPU's vendor is `{vendor}`"));
                    return Err(mistake.expecting("expected `AMD`"));
                }
            }
            "tools" => {
                for tool in value.as_array().ok_or_else(|| wrong("a list"))? {
                    self.tool(tool)?;
                }
            }
            "env_vars" | "docker_env_vars" => {
                let variables = value.as_object().ok_or_else(|| wrong("an object"))?;
                self.variables(key, variables)?;
            }
            "slurm" => {
                let slurm = serde_json::from_value(without_foreign(value)).map_err(|error| {
                    document.mistake(key, format!("`slurm`: {}", first_line(&error.to_string())))
                })?;
                self.config.preset.slurm = slurm;
            }
            "distributed" => {
                let object = value.as_object().ok_or_else(|| wrong("an object"))?;
                let number = |key: &str| object.get(key).and_then(Value::as_u64);
                self.config.preset.launcher =
                    object.get("launcher").and_then(Value::as_str).map(String::from);
                let ranks = number("nproc_per_node").map(|ranks| ranks * number("nnodes").unwrap_or(1));
                self.config.preset.ranks = ranks.and_then(|ranks| ranks.try_into().ok());
            }
            "guest_os" | "docker_gpus" | "debug" => {}
            other => self.note(format!("`{}`: ignored `{other}`", document.name)),
        }
        Ok(())
    }

    fn note(&mut self, note: String) {
        if !self.config.notes.contains(&note) {
            self.config.notes.push(note);
        }
    }

    fn tool(&mut self, tool: &Value) -> Result<(), Mistake> {
        let document = self.document;
        let Some(name) = tool.get("name").and_then(Value::as_str) else {
            let mistake = document.mistake("tools", "a tool has no name");
            return Err(mistake.expecting("expected {\"name\": \"rocprofv3_compute\"}"));
        };
        let mut seconds = None;
        if let Some(variables) = tool.get("env_vars") {
            let Some(variables) = variables.as_object() else {
                return Err(document.mistake("env_vars", "`env_vars` is not an object"));
            };
            seconds = self.variables("env_vars", variables)?;
        }
        if let Some(command) = tool.get("cmd") {
            let Some(command) = command.as_str() else {
                return Err(document.mistake("cmd", "`cmd` is not a string"));
            };
            return self.command(command);
        }
        if let Some(preset) = builtin().iter().find(|preset| preset.is_called(name)) {
            self.config.preset.take(preset);
            for used in &preset.uses {
                if let Some(used) = builtin().iter().find(|other| other.is_called(used)) {
                    self.config.preset.take(used);
                }
            }
            return Ok(());
        }
        let Some(known) = tools().iter().find(|tool| tool.name == name) else {
            let names = builtin()
                .iter()
                .filter_map(|preset| preset.aliases.first())
                .map(String::as_str)
                .filter(|name| name.starts_with("rocprofv3_"))
                .chain(tools().iter().filter(|tool| tool.refused.is_empty()).map(|tool| tool.name.as_str()));
            let mistake = document.mistake(name, format!("no tool `{name}`"));
            return Err(mistake.expecting(format!("expected {}", one_of(names))));
        };
        if !known.refused.is_empty() {
            let mistake = document.mistake(name, format!("the tool `{name}` is not supported here"));
            return Err(mistake.expecting(known.refused.clone()));
        }
        self.config.preset.take(&Preset {
            trace: known.trace.clone(),
            counters: known.counters.clone(),
            formats: known.formats.clone(),
            statistics: known.statistics,
            monitors: known.monitors.clone(),
            monitor_interval: seconds.filter(|_| !known.monitors.is_empty()),
            library_calls: known.library_calls.clone(),
            ..Preset::default()
        });
        Ok(())
    }

    /// Variables of the application; those of madengine's monitors set the monitors. Returns their interval.
    fn variables(&mut self, key: &str, variables: &Map<String, Value>) -> Result<Option<f64>, Mistake> {
        let mut interval = None;
        let mut kept = BTreeMap::new();
        for (name, value) in variables {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => {
                    let mistake = self.document.mistake(name, format!("`{key}`: `{name}` is not a string"));
                    return Err(mistake.expecting("expected a string in quotes"));
                }
            };
            match name.as_str() {
                "POWER_SAMPLING_RATE" | "VRAM_SAMPLING_RATE" => match text.parse::<f64>() {
                    Ok(seconds) if (0.001..=3600.0).contains(&seconds) => interval = Some(seconds),
                    _ => {
                        let mistake = self.document.mistake(name, format!("`{name}` is `{text}`"));
                        return Err(mistake.expecting("expected seconds from 0.001 to 3600"));
                    }
                },
                "RCCL_DEBUG" => {
                    self.note(format!(
                        "`{}`: RCCL reads NCCL_DEBUG, not RCCL_DEBUG: both are set to `{text}`",
                        self.document.name
                    ));
                    kept.entry("NCCL_DEBUG".to_string()).or_insert_with(|| text.clone());
                    kept.insert(name.clone(), text);
                }
                _ => {
                    kept.insert(name.clone(), text);
                }
            }
        }
        self.config.preset.env.extend(kept);
        Ok(interval)
    }

    /// `bash …/rocprof_wrapper.sh OPTIONS --`: the options of the profiler.
    fn command(&mut self, command: &str) -> Result<(), Mistake> {
        let document = self.document;
        let words: Vec<String> = command.split_whitespace().map(String::from).collect();
        let program = words.iter().position(|word| {
            let name = word.rsplit('/').next().unwrap_or_default();
            matches!(name, "rocprof_wrapper.sh" | "rocprofv3" | "rocprof")
        });
        let Some(program) = program else {
            let mistake = document.mistake("cmd", format!("`{command}` runs no known profiler"));
            return Err(mistake.expecting("expected `bash …/rocprof_wrapper.sh OPTIONS --`"));
        };
        let mut given = &words[program + 1..];
        match given.iter().position(|word| word == "--") {
            Some(end) if end + 1 == given.len() => given = &given[..end],
            Some(end) => {
                let extra = given[end + 1..].join(" ");
                let mistake = document.mistake("cmd", format!("`{extra}` follows the `--` of `cmd`"));
                return Err(mistake.expecting("expected `--` at the end; the application is appended"));
            }
            None => {
                let line = document.mistake("cmd", "").line.unwrap_or(1);
                let note =
                    format!("`{}` line {line}: added the `--` missing at the end of `cmd`", document.name);
                self.note(note);
            }
        }
        let options = options::parse(given).map_err(|error| {
            let help = match &error {
                OptionError::Unknown { nearest: Some(nearest), .. } => {
                    Some(format!("did you mean `{nearest}`?"))
                }
                OptionError::NoTruth { .. } => Some("write an option with a value as `--name=value`".into()),
                OptionError::Unknown { .. } => Some(
                    "expected options of rocprofv3, such as `--kernel-trace --output-format rocpd`".into(),
                ),
                _ => None,
            };
            Mistake { help, ..document.mistake("cmd", format!("`cmd`: {error}")) }
        })?;
        let preset = &mut self.config.preset;
        let mut folder = None;
        for option in options {
            let on = !option.values.first().is_some_and(|value| options::is_no(value));
            match option.name.as_str() {
                "output-format" => {
                    for format in option.values.iter().flat_map(|value| value.split(',')) {
                        let format = format.to_ascii_lowercase();
                        if !super::library::FORMATS.contains(&format.as_str()) {
                            let what = format!("`cmd`: no format `{format}`");
                            let expected = one_of(super::library::FORMATS.iter().copied());
                            return Err(document
                                .mistake("cmd", what)
                                .expecting(format!("expected {expected}")));
                        }
                        if !preset.formats.contains(&format) {
                            preset.formats.push(format);
                        }
                    }
                }
                "pmc" => {
                    let names = option.values.iter().flat_map(|value| value.split(','));
                    preset.counters.extend(names.filter(|name| !name.is_empty()).map(String::from));
                }
                "input" => {
                    let request = super::counter_file::counters(&option.values)?;
                    preset.counters.extend(request.counters);
                    self.config.notes.extend(request.notes);
                }
                "output-directory" | "output-file" => folder = option.values.first().cloned().or(folder),
                "stats" => preset.statistics |= on,
                name => match name.strip_suffix("-trace").filter(|_| on && option.values.is_empty()) {
                    Some(trace) if !preset.trace.iter().any(|known| known == trace) => {
                        preset.trace.push(trace.to_string());
                    }
                    Some(_) => {}
                    None => preset.options.extend(option.words()),
                },
            }
        }
        if let Some(folder) = folder {
            self.note(format!(
                "`{}`: ignored `{folder}`: everything goes to the run's folder",
                document.name
            ));
        }
        Ok(())
    }
}

/// Removes keys of madengine's `slurm` that configure its own files.
fn without_foreign(value: &Value) -> Value {
    let mut value = value.clone();
    if let Value::Object(object) = &mut value {
        object
            .retain(|key, _| !key.starts_with('_') && !matches!(key.as_str(), "output_dir" | "results_dir"));
    }
    value
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Result<Config, Mistake> {
        from_json(&Document { name: "c.json", text })
    }

    #[test]
    fn the_tools_are_known_as_madengine_names_them() {
        let text = r#"{"gpu_vendor": "AMD", "guest_os": "UBUNTU", "_comment": "x",
            "tools": [{"name": "rocprofv3_compute"},
                      {"name": "gpu_info_power_profiler",
                       "env_vars": {"POWER_DEVICE": "all", "POWER_SAMPLING_RATE": "0.5"}}],
            "env_vars": {"RCCL_DEBUG": "INFO"},
            "slurm": {"partition": "amd-rccl", "nodes": 2, "gpus_per_node": 4, "time": "02:00:00", "output_dir": "./x"},
            "distributed": {"launcher": "torchrun", "nnodes": 2, "nproc_per_node": 4}}"#;
        let Config { preset, notes } = config(text).unwrap();
        assert_eq!(preset.trace, ["hip", "kernel"]);
        assert_eq!(preset.counters.len(), 12);
        assert_eq!((preset.monitors, preset.monitor_interval), (vec!["power".to_string()], Some(0.5)));
        assert_eq!(preset.env["NCCL_DEBUG"], "INFO");
        assert_eq!((preset.launcher.as_deref(), preset.ranks), (Some("torchrun"), Some(8)));
        assert_eq!((preset.slurm.partition.as_deref(), preset.slurm.nodes), (Some("amd-rccl"), Some(2)));
        assert_eq!(notes.len(), 1, "{notes:?}");
    }

    #[test]
    fn a_custom_command_is_taken_apart() {
        let text = r#"{"tools": [{"name": "rocprof",
            "cmd": "bash ../scripts/common/tools/rocprof_wrapper.sh --hip-trace --kernel-trace --memory-copy-trace --output-format pftrace -d ./my_traces --",
            "env_vars": {"RCCL_DEBUG": "TRACE", "HSA_ENABLE_SDMA": "0"}}]}"#;
        let Config { preset, notes } = config(text).unwrap();
        assert_eq!(preset.trace, ["hip", "kernel", "memory-copy"]);
        assert_eq!(preset.formats, ["pftrace"]);
        assert_eq!(preset.env["HSA_ENABLE_SDMA"], "0");
        assert!(notes.iter().any(|note| note.contains("./my_traces")), "{notes:?}");
    }

    #[test]
    fn a_missing_separator_is_added_and_said() {
        let text =
            "{\"tools\": [\n {\"name\": \"rocprof\", \"cmd\": \"bash x/rocprof_wrapper.sh --sys-trace\"}]}";
        let Config { preset, notes } = config(text).unwrap();
        assert_eq!(preset.trace, ["sys"]);
        assert_eq!(notes, ["`c.json` line 2: added the `--` missing at the end of `cmd`"]);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let wrong = |text: &str| config(text).unwrap_err();
        let mistake = wrong("{\"tools\": [\n{\"name\": \"rocprofv3_cmpute\"}]}");
        assert_eq!(mistake.to_string(), "`c.json` line 2: no tool `rocprofv3_cmpute`");
        assert!(mistake.help.unwrap().contains("`rocprofv3_compute`"));
        assert_eq!(wrong("{\"tools\": [\n{\"name\": }]}").line, Some(2));
        assert_eq!(wrong("{\n\"tools\": {}}").to_string(), "`c.json` line 2: `tools` is not a list");
        assert!(wrong("{\"gpu_vendor\": \"NVIDIA\"}").help.unwrap().contains("AMD"));
        let cmd = |options: &str| {
            wrong(&format!(
                "{{\"tools\": [\n\n{{\"name\": \"rocprof\", \"cmd\": \"rocprofv3 {options}\"}}]}}"
            ))
        };
        let mistake = cmd("--perfetto-trace-filename x --");
        assert_eq!(mistake.line, Some(3));
        assert!(mistake.what.contains("has no option `--perfetto-trace-filename`"));
        assert!(cmd("--kernel-trace ./app").what.contains("takes yes or no"));
        assert!(cmd("--kernel-trace -- ./app").what.contains("`./app` follows"));
        assert!(wrong("{}").what.contains("profiles anything"));
    }
}

//! The JSON Schemas of `--format json`: made from `schemas/tables.toml`, and checked against what the code
//! declares and what the commands really print.

use crate::common;
use crate::lab;
use crate::panels_maker;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{SMALL_TORCH, files, rocm_perf, synth};
use lab::Lab;
use serde_json::{Map, Value, json};

type Tables = BTreeMap<String, Vec<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn contract() -> toml::Table {
    let text = std::fs::read_to_string(root().join("schemas/tables.toml")).expect("the contract");
    toml::from_str(&text).expect("TOML")
}

fn words(value: Option<&toml::Value>) -> Vec<String> {
    let list = value.and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|word| word.as_str().expect("text").to_string()).collect()
}

/// The tables of a command, including those it takes from others.
fn tables(contract: &toml::Table, command: &str) -> Tables {
    let entry = contract[command].as_table().expect("a command");
    let own = entry.get("tables").and_then(toml::Value::as_table).into_iter().flatten();
    let mut tables: Tables = own.map(|(name, columns)| (name.clone(), words(Some(columns)))).collect();
    for used in words(entry.get("uses")) {
        let (from, name) =
            used.split_once(" as ").map_or((used.as_str(), None), |(from, name)| (from, Some(name)));
        let (other, wanted) = from.split_once('.').expect("COMMAND.TABLE");
        let found: Tables = self::tables(contract, other)
            .into_iter()
            .filter(|(table, _)| wanted == "*" || table == wanted)
            .map(|(table, columns)| (name.map_or(table, str::to_string), columns))
            .collect();
        assert!(!found.is_empty(), "{command} uses {from}, which is not there");
        tables.extend(found);
    }
    tables
}

/// A column as the contract writes it: key, whether every row has it, type.
fn column(text: &str) -> (&str, bool, &str) {
    let (key, kind) = text.split_once(' ').unwrap_or((text, ""));
    let (key, always) = key.strip_suffix('?').map_or((key, true), |key| (key, false));
    let by_key = match key {
        _ if !kind.is_empty() => kind,
        _ if key.ends_with("_ns") || key.ends_with("_bytes") => "integer",
        _ if key.ends_with("_pct") || key.ends_with("_gbps") => "number",
        _ => panic!("`{key}` needs a type"),
    };
    (key, always, by_key)
}

/// The schema of a table's rows.
fn rows(columns: &[String], closed: bool) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for text in columns {
        let (key, always, kind) = column(text);
        let rule = match kind {
            "text" => json!({ "type": ["string", "null"] }),
            "list" => json!({ "type": ["array", "null"] }),
            "integer" | "number" | "object" => json!({ "type": [kind, "null"] }),
            "any" => json!({}),
            other => panic!("no type is called `{other}`"),
        };
        properties.insert(key.to_string(), rule);
        if always {
            required.push(key);
        }
    }
    properties.insert("absent".into(), json!({ "$ref": "#/$defs/absent" }));
    let mut row = json!({ "type": "object", "required": required, "properties": properties });
    if closed {
        row["additionalProperties"] = json!(false);
    }
    json!({ "type": "array", "items": row })
}

/// The schema of a command's output.
fn schema_of(contract: &toml::Table, command: &str) -> Value {
    let entry = &contract[command];
    let open = words(entry.get("open"));
    let mut named: Map<String, Value> = tables(contract, command)
        .iter()
        .map(|(name, columns)| (name.clone(), rows(columns, !open.contains(name))))
        .collect();
    for name in &open {
        named.entry(name.clone()).or_insert_with(|| rows(&[], false));
    }
    let mut tables = json!({ "type": "object", "properties": named });
    let patterns = entry.get("patterns").and_then(toml::Value::as_table);
    if let Some(patterns) = patterns {
        let patterns =
            patterns.iter().map(|(name, columns)| (name.clone(), rows(&words(Some(columns)), false)));
        tables["patternProperties"] = Value::Object(patterns.collect());
    }
    tables["additionalProperties"] = json!(false);
    let says = entry.get("command").and_then(toml::Value::as_str).unwrap_or(command);
    let nullable = json!({ "type": ["integer", "null"] });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("https://github.com/rocm-perf/rocm-perf/schemas/{command}.json"),
        "title": format!("Output of rocm-perf {command} --format json"),
        "type": "object",
        "required": ["tool", "version", "command", "schema", "inputs", "health", "tables", "findings"],
        "properties": {
            "tool": { "const": "rocm-perf" },
            "version": { "type": "string", "minLength": 1 },
            "command": { "const": says },
            "schema": { "const": 1 },
            "inputs": { "type": "array", "items": { "$ref": "#/$defs/input" } },
            "health": { "$ref": "#/$defs/health" },
            "tables": tables,
            "verdict": { "type": "object" },
            "findings": { "type": "array", "items": { "$ref": "#/$defs/finding" } },
            "result": { "type": "object" },
            "notes": { "type": "array", "items": { "type": "string" } },
            "charts": { "type": "array", "items": { "type": "object" } }
        },
        "additionalProperties": false,
        "$defs": {
            "absent": {
                "description": "why cells of the row are null",
                "type": "object",
                "additionalProperties": { "type": "string" }
            },
            "input": {
                "type": "object",
                "required": ["path", "format", "bytes", "rank"],
                "properties": {
                    "path": { "type": "string" },
                    "format": { "type": "string" },
                    "bytes": { "type": "integer", "minimum": 0 },
                    "rank": nullable
                }
            },
            "health": {
                "type": "object",
                "required": ["status", "checks"],
                "properties": {
                    "status": { "$ref": "#/$defs/status" },
                    "checks": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["id", "status", "value", "message"],
                            "properties": {
                                "id": { "type": "string", "minLength": 1 },
                                "status": { "$ref": "#/$defs/status" },
                                "value": { "type": ["number", "null"] },
                                "message": { "type": "string" }
                            }
                        }
                    }
                }
            },
            "status": { "enum": ["pass", "warn", "fail"] },
            "finding": {
                "type": "object",
                "required": ["id", "severity", "title", "evidence", "gain_ceiling_ns", "recommendation"],
                "properties": {
                    "id": { "type": "string", "minLength": 1 },
                    "rule": { "type": "string", "minLength": 1 },
                    "key": { "type": "string", "minLength": 1 },
                    "severity": { "enum": ["info", "medium", "high"] },
                    "title": { "type": "string", "minLength": 1 },
                    "evidence": { "type": ["object", "array"] },
                    "gain_ceiling_ns": nullable,
                    "gain_gpu_ns": nullable,
                    "gain_host_ns": nullable,
                    "recommendation": { "type": "string" },
                    "next": { "type": ["string", "null"] }
                }
            }
        }
    })
}

#[test]
fn shipped_schemas_are_those_of_the_contract() {
    let contract = contract();
    for command in contract.keys() {
        let text = serde_json::to_string_pretty(&schema_of(&contract, command)).unwrap() + "\n";
        let path = root().join("schemas").join(format!("{command}.json"));
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let shipped = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            shipped == text,
            "schemas/{command}.json is stale: UPDATE_SCHEMAS=1 cargo test -p rocm-perf --test all schemas"
        );
    }
}

/// The product's code without comments and tests, crate by crate.
fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for path in files(&root().join("crates"), ".rs") {
        let below = path.strip_prefix(root().join("crates")).expect("a source").to_path_buf();
        let mut parts = below.components().map(|part| part.as_os_str().to_string_lossy());
        let (krate, folder) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if folder == "src" && krate != "report" {
            let text = std::fs::read_to_string(&path).expect("a source");
            let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().to_string();
            found.push((below, text));
        }
    }
    found
}

/// The string literals that follow `start` in the code.
fn literals<'t>(text: &'t str, start: &str) -> Vec<&'t str> {
    let pieces = text.split(start).skip(1);
    pieces.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next()).collect()
}

#[test]
fn the_contract_and_the_code_declare_the_same_tables_and_columns() {
    let contract = contract();
    let (mut names, mut keys) = (BTreeSet::new(), BTreeMap::<String, BTreeSet<String>>::new());
    for command in contract.keys() {
        let mut declared = tables(&contract, command);
        let patterns = contract[command].get("patterns").and_then(toml::Value::as_table);
        let patterns = patterns.into_iter().flatten();
        declared.extend(patterns.map(|(name, columns)| (name.clone(), words(Some(columns)))));
        for (name, columns) in declared {
            names.insert(name);
            for (key, _, kind) in columns.iter().map(|text| column(text)) {
                keys.entry(key.to_string()).or_default().insert(kind.to_string());
            }
        }
        names.extend(words(contract[command].get("open")));
    }
    let mut problems = Vec::new();
    let mut quoted: BTreeSet<String> = BTreeSet::new();
    for (path, text) in sources() {
        let place = path.display();
        for name in literals(&text, "Table::new(").iter().filter(|name| !names.contains(**name)) {
            problems.push(format!("{place}: no command of the contract has the table `{name}`"));
        }
        for (start, text_column) in [("Column::text(", true), ("Column::int(", false)] {
            for key in literals(&text, start) {
                // Only for people: bars next to numbers.
                if key == "of_peak" {
                    continue;
                }
                let Some(kinds) = keys.get(key) else {
                    problems.push(format!("{place}: no table of the contract has the column `{key}`"));
                    continue;
                };
                let fits = |kind: &String| match kind.as_str() {
                    "integer" | "number" => !text_column,
                    "text" => text_column,
                    _ => true,
                };
                if !kinds.iter().any(fits) {
                    problems.push(format!("{place}: `{key}` is {kinds:?} in the contract"));
                }
            }
        }
        quoted.extend(text.split('"').map(str::to_string));
    }
    // Keys that the code assembles, such as `mean_ns` from `mean`.
    let put_together = |key: &str| {
        let stems = ["_ns", "_intensity", "_2"].iter().filter_map(|end| key.strip_suffix(end));
        stems.into_iter().any(|stem| quoted.contains(stem))
    };
    for key in keys.keys().filter(|key| !quoted.contains(*key) && !put_together(key)) {
        problems.push(format!("nothing in the code declares the column `{key}` of the contract"));
    }
    assert!(problems.is_empty(), "schemas/tables.toml and the code differ:\n{}", problems.join("\n"));
}

/// Runs a command and returns the problems of its output; `None` if it refuses the input.
fn problems(contract: &toml::Table, folder: &Path, arguments: &[&str]) -> Option<Vec<String>> {
    problems_of(rocm_perf(), contract, folder, arguments)
}

fn problems_of(
    mut program: Command,
    contract: &toml::Table,
    folder: &Path,
    arguments: &[&str],
) -> Option<Vec<String>> {
    let command = arguments[0];
    let output = program.current_dir(folder).args(["--format", "json"]).args(arguments).output().unwrap();
    if output.status.code() == Some(2) {
        return None;
    }
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{arguments:?}: {error}: {}", String::from_utf8_lossy(&output.stderr))
    });
    let found = formats::json_schema::problems(&schema_of(contract, command), &document);
    Some(found.into_iter().map(|problem| format!("{arguments:?}: {problem}")).collect())
}

const ANALYSES: [&str; 12] = [
    "info",
    "summary",
    "breakdown",
    "efficiency",
    "triage",
    "ops",
    "overlap",
    "critical-path",
    "explain",
    "bottleneck",
    "roofline",
    "occupancy",
];

#[test]
fn output_on_made_up_runs_is_as_the_schemas_say() {
    let (contract, folder) = (contract(), tempfile::tempdir().unwrap());
    let at = folder.path();
    synth(&at.join("serving"), &["--kernels", "2500", "--no-stacks"]);
    synth(
        &at.join("ranks"),
        &["--scenario", "training", "--kernels", "300", "--ranks", "2", "--to", "rocpd"],
    );
    let late = ["--straggler", "3:lower-clocks:1.3", "--slow-link", "expert:0:2", "--clock-offset-ms", "5"];
    let job = ["--scenario", "expert-training", "--steps", "4", "--no-stacks"];
    synth(&at.join("job"), &[&job[..], &late[..]].concat());
    let shapes = r#""args": {"Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"], "#;
    synth(&at.join("servers"), &["--scenario", "disaggregated", "--steps", "4"]);
    synth(&at.join("memory"), &["--to", "snapshot", "--steps", "3"]);
    std::fs::write(at.join("small.json"), SMALL_TORCH.replacen(r#""args": {"#, shapes, 1)).unwrap();
    let code = root().join("crates/hw/tests/fixtures/gfx942.co");
    std::fs::copy(code, at.join("kernel.hsaco")).unwrap();
    panels_maker::write(&at.join("workload"), |_| true);
    let samples = "\"Sample_Timestamp\",\"Exec_Mask\",\"Dispatch_Id\",\"Instruction\",\"Instruction_Comment\",\"Correlation_Id\"\n\
                   100,255,1,\"v_fma_f32 v5, v4, v6, v5\",\"k.cu:12\",1\n";
    std::fs::create_dir(at.join("samples")).unwrap();
    std::fs::write(at.join("samples/7_pc_sampling_host_trap.csv"), samples).unwrap();
    let mut lines: Vec<Vec<&str>> = Vec::new();
    for command in ANALYSES {
        for input in ["serving", "ranks", "small.json"] {
            lines.push(vec![command, input]);
        }
    }
    let more = [
        "summary ranks --by-rank",
        "compare small.json serving/serving.rank0.json --by ops",
        "critical-path small.json --what-if gemm=0.5",
        "compare ranks serving --fail-on total>+3%",
        "stability ranks ranks small.json",
        "ranks ranks",
        "ranks job",
        "ranks serving",
        "digest job --out digests",
        "ranks digests",
        "memory memory",
        "requests servers",
        "memory memory --compare memory",
        "occupancy kernel.hsaco",
        "occupancy --arch gfx942 --vgpr 137 --workgroup 256",
        "roofline --counters --arch gfx942",
        "panels --list-metrics gfx942",
        "panels workload",
        "panels workload --list-stats",
        "panels -p workload -p workload",
        "panels workload -o panels",
        "bottleneck workload",
        "roofline workload",
        "att samples",
        "presets list",
        "presets show compute --arch gfx942",
        "convert small.json --to csv,rocpd --out converted",
        "merge ranks --out merged.db",
        "merge ranks --package package",
        "perfetto-fix small.json --out fixed.json",
        "report small.json --to md --out written",
        "synth --kernels 50 --no-stacks --out made",
        "demo",
        "doctor",
    ];
    lines.extend(more.iter().map(|line| line.split(' ').collect()));
    lines.push(vec!["query", "small.json", "--sql", "SELECT name, NULL AS missing FROM kernels"]);
    let (mut wrong, mut seen) = (Vec::new(), BTreeSet::new());
    for line in &lines {
        if let Some(found) = problems(&contract, at, line) {
            wrong.extend(found);
            seen.insert(line[0]);
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    let asked: BTreeSet<&str> = lines.iter().map(|line| line[0]).collect();
    assert_eq!(seen, asked, "every command gave a report at least once");
}

#[test]
fn output_of_programs_that_run_is_as_the_schemas_say() {
    let Some(lab) = Lab::get() else { return };
    let (contract, folder) = (contract(), tempfile::tempdir().unwrap());
    let at = folder.path();
    std::fs::copy(lab.app("vector_add"), at.join("app")).unwrap();
    let source = root().join("tests/stand-ins/rocm/examples/vector_add.cu");
    std::fs::copy(source, at.join("app.cu")).unwrap();
    std::fs::write(at.join("space.json"), r#"{"ROUNDS": [2, 3]}"#).unwrap();
    let lines: [&[&str]; 6] = [
        &["collect", "--out", "plain", "--", "./app", "2"],
        &["collect", "--out", "counted", "--arch", "gfx942", "--counters", "SQ_WAVES", "--", "./app", "2"],
        &["profile", "--runs", "2", "--counters", "--out", "profiled", "--", "./app", "2"],
        &["profile", "--runs", "2", "--no-rocprof", "--", "./app", "2"],
        &["autotune", "--space", "space.json", "--no-rocprof", "--cmd-template", "./app {ROUNDS}"],
        &[
            "optimize",
            "--source",
            "app.cu",
            "--build",
            "hipcc -O2 app.cu -o app",
            "--check",
            "true",
            "--pairs",
            "3",
            "./app",
        ],
    ];
    let mut wrong = Vec::new();
    for line in lines {
        let found = problems_of(lab.rocm_perf(), &contract, at, line);
        wrong.extend(found.unwrap_or_else(|| panic!("refused: {line:?}")));
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// Real traces below a size, and those made with one fault each.
fn shared_traces(below: u64) -> Vec<PathBuf> {
    let folders = ["traces", "pathologies"].iter().filter_map(testing::data);
    let mut found: Vec<PathBuf> = folders.flat_map(|folder| files(&folder, ".json.gz")).collect();
    found.retain(|path| path.metadata().is_ok_and(|meta| meta.len() < below));
    found
}

#[test]
fn output_on_real_traces_is_as_the_schemas_say() {
    let (contract, folder) = (contract(), tempfile::tempdir().unwrap());
    let mut wrong = Vec::new();
    // Larger ones have no other columns.
    for path in shared_traces(700_000) {
        for command in ANALYSES {
            let found = problems(&contract, folder.path(), &[command, path.to_str().unwrap()]);
            wrong.extend(found.unwrap_or_default());
        }
    }
    for workload in ["vcopy_MI200", "vcopy_MI300X_A1", "vcopy_MI350"] {
        let Some(path) = testing::data(Path::new("rocprof_compute").join(workload)) else { continue };
        for command in ["info", "summary", "panels", "roofline", "occupancy", "bottleneck"] {
            let found = problems(&contract, folder.path(), &[command, path.to_str().unwrap()]);
            wrong.extend(found.unwrap_or_else(|| panic!("{command} refuses {workload}")));
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// Rows of runs without stages have the stage `all`, which the schema of the artifact did not know.
#[test]
fn overlap_artifacts_of_runs_without_stages_fit_their_schema() {
    let folder = tempfile::tempdir().unwrap();
    let path = root().join("schemas/overlap_opportunities.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let one = json!([{
        "stage": "all", "priority": "P1", "kernel_name": "copy", "python_scope": null, "recommendation": "move it",
        "dependency_risk": "low", "schema_version": 1, "absent": { "python_scope": "none was recorded" }
    }]);
    assert_eq!(formats::json_schema::problems(&schema, &one), Vec::<String>::new());
    let mut stages = BTreeSet::new();
    for (number, path) in shared_traces(u64::MAX).iter().enumerate() {
        let out = folder.path().join(number.to_string());
        let output = rocm_perf().args(["triage", "--quiet", "--out"]).arg(&out).arg(path).output().unwrap();
        if !output.status.success() {
            continue; // A capture, or a trace without GPU work.
        }
        let rows = std::fs::read_to_string(out.join("overlap_opportunities.json")).expect("the artifact");
        let rows: Value = serde_json::from_str(&rows).expect("JSON");
        assert_eq!(
            formats::json_schema::problems(&schema, &rows),
            Vec::<String>::new(),
            "{}",
            path.display()
        );
        stages.extend(rows.as_array().unwrap().iter().map(|row| row["stage"].as_str().unwrap().to_string()));
    }
    assert!(stages.is_empty() || stages.contains("all"), "{stages:?}");
}

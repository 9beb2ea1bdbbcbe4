//! The log that the HIP-like runtime writes: one process and what it did.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// A process and everything it logged.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Process id.
    pub pid: i64,
    /// Its parent.
    pub ppid: i64,
    /// First and last moment, in nanoseconds of the boot clock.
    pub span: (i64, i64),
    /// Command line.
    pub command: Vec<String>,
    /// Environment.
    pub environment: BTreeMap<String, String>,
    /// Calls of APIs.
    pub calls: Vec<Call>,
    /// Kernels that ran.
    pub kernels: Vec<Kernel>,
    /// Copies.
    pub copies: Vec<Copy>,
    /// Allocations and frees.
    pub allocations: Vec<Allocation>,
    /// User's markers; a mark has no duration.
    pub markers: Vec<Marker>,
}

/// A call of an API.
#[derive(Clone, Debug)]
pub struct Call {
    /// `HIP_RUNTIME_API_EXT`, `HSA_CORE_API` …
    pub domain: String,
    /// Function.
    pub name: String,
    /// When and where.
    pub when: When,
    /// Type, name and value of each argument.
    pub args: Vec<[String; 3]>,
}

/// Time, thread and correlation id of a record.
#[derive(Clone, Copy, Debug, Default)]
pub struct When {
    /// First nanosecond.
    pub start: i64,
    /// Nanosecond after the last.
    pub end: i64,
    /// Thread.
    pub thread: i64,
    /// Correlation id.
    pub correlation: i64,
}

/// A kernel that ran.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Mangled name.
    pub symbol: String,
    /// When.
    pub when: When,
    /// Number of the dispatch in its process.
    pub dispatch: i64,
    /// GPU, from 0.
    pub device: usize,
    /// Stream.
    pub stream: i64,
    /// Work-items.
    pub grid: [u32; 3],
    /// Work-items of a workgroup.
    pub workgroup: [u32; 3],
    /// LDS that the kernel declares.
    pub static_lds: i64,
    /// LDS that the launch asked for.
    pub dynamic_lds: i64,
}

/// A copy.
#[derive(Clone, Debug)]
pub struct Copy {
    /// When.
    pub when: When,
    /// Stream.
    pub stream: i64,
    /// GPU it came from; negative: the host.
    pub source: i64,
    /// GPU it went to; negative: the host.
    pub target: i64,
    /// Addresses.
    pub addresses: (i64, i64),
    /// Bytes.
    pub bytes: i64,
}

/// An allocation or free.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// `ALLOC` or `FREE`.
    pub kind: String,
    /// When.
    pub when: When,
    /// GPU; negative: the host.
    pub device: i64,
    /// Address.
    pub address: i64,
    /// Bytes.
    pub bytes: i64,
}

/// A user's marker.
#[derive(Clone, Debug)]
pub struct Marker {
    /// Function of the API.
    pub function: String,
    /// The user's text.
    pub message: String,
    /// When.
    pub when: When,
}

/// All recordings of a folder, by process id.
pub fn read_folder(folder: &Path) -> Vec<Recording> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut recordings: Vec<Recording> = entries
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "log"))
        .filter_map(|entry| std::fs::read_to_string(entry.path()).ok())
        .map(|text| parse(&text))
        .collect();
    recordings.sort_by_key(|recording| recording.pid);
    recordings
}

/// Reads a log; an incomplete last line is left out.
pub fn parse(text: &str) -> Recording {
    let mut recording = Recording::default();
    for line in text.lines() {
        if let Ok(record) = serde_json::from_str::<Value>(line) {
            add(&mut recording, &record);
        }
    }
    recording
}

fn add(recording: &mut Recording, record: &Value) {
    let int = |key: &str| record[key].as_i64().unwrap_or(0);
    let text = |key: &str| record[key].as_str().unwrap_or("").to_string();
    let triple = |key: &str| [0, 1, 2].map(|i| record[key][i].as_u64().unwrap_or(1) as u32);
    let when =
        When { start: int("start"), end: int("end"), thread: int("thread"), correlation: int("correlation") };
    recording.span.1 = recording.span.1.max(int("time")).max(when.end);
    match record["record"].as_str().unwrap_or("") {
        "process" => {
            recording.pid = int("pid");
            recording.ppid = int("ppid");
            if recording.span.0 == 0 {
                recording.span.0 = int("time");
            }
            let words = record["command"].as_array().into_iter().flatten();
            recording.command = words.filter_map(|word| word.as_str().map(String::from)).collect();
            let pairs = record["environment"].as_object().into_iter().flatten();
            recording.environment =
                pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_string()))).collect();
        }
        "api" => {
            let args = record["args"].as_array().into_iter().flatten();
            let args = args.map(|arg| [0, 1, 2].map(|i| arg[i].as_str().unwrap_or("").to_string())).collect();
            recording.calls.push(Call { domain: text("domain"), name: text("name"), when, args });
        }
        "kernel" => recording.kernels.push(Kernel {
            symbol: text("symbol"),
            when,
            dispatch: int("dispatch"),
            device: int("device").max(0) as usize,
            stream: int("stream"),
            grid: triple("grid"),
            workgroup: triple("workgroup"),
            static_lds: int("static_lds"),
            dynamic_lds: int("dynamic_lds"),
        }),
        "copy" => recording.copies.push(Copy {
            when,
            stream: int("stream"),
            source: int("source"),
            target: int("target"),
            addresses: (int("source_address"), int("target_address")),
            bytes: int("bytes"),
        }),
        "allocation" => recording.allocations.push(Allocation {
            kind: text("kind"),
            when,
            device: int("device"),
            address: int("address"),
            bytes: int("bytes"),
        }),
        "marker" => {
            recording.markers.push(Marker { function: text("function"), message: text("message"), when });
        }
        _ => {}
    }
}

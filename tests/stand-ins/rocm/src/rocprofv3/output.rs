//! The files of one process, in every requested format; all describe the same events.

use std::io;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::Value;
use trace::Trace;

use super::jobs::Pass;
use super::messages;
use super::naming;
use super::options::Values;
use super::services::Services;
use super::{pc_samples, stats, thread_trace};
use crate::log::{Kernel, Recording};
use crate::machine::{Product, part_of};
use crate::recorded::{Keep, trace};
use crate::settings::fault;
use crate::settings::{self, Version};

/// Where the files of a process go, and what they hold.
pub(super) struct Output<'a> {
    pub pass: &'a Pass,
    /// Number of the pass, from 0.
    pub number: usize,
    pub services: &'a Services,
    pub version: Version,
}

impl Output<'_> {
    /// Writes the files of a process; none if nothing was recorded.
    pub fn write(&self, recording: &Recording) -> io::Result<()> {
        let mut recording = recording.clone();
        self.vary(&mut recording);
        if fault("lose_graph_kernels") {
            lose_graph_kernels(&mut recording.kernels);
        }
        let values = &self.pass.values;
        let text = |key: &str| values.get(key).and_then(Value::as_str).map(String::from);
        let folder = text("output_directory")
            .or_else(|| settings::value("ROCPROF_OUTPUT_PATH"))
            .unwrap_or_else(|| ".".into());
        let name = text("output_file").or_else(|| settings::value("ROCPROF_OUTPUT_FILE_NAME"));
        let prefix = naming::prefix(&folder, self.pass.folder.as_deref(), name.as_deref(), &recording);
        if self.services.on("advanced_thread_trace") {
            thread_trace::write(&prefix, &recording, values, &|symbol| kernel_name(symbol, values))?;
        }
        let empty = self.records(&recording) == 0;
        if self.services.on("output_config") {
            self.config(&prefix, &recording)?;
        }
        let least = values.get("minimum_output_data").and_then(Value::as_u64).unwrap_or(0);
        if empty || (self.records(&recording) as u64 * 96) / 1024 < least {
            return Ok(());
        }
        if let Some(parent) = prefix.parent() {
            std::fs::create_dir_all(parent)?;
        }
        for format in formats(values, self.version) {
            self.format(&format, &prefix, &recording)?;
        }
        Ok(())
    }

    /// How many records of a process any service has.
    fn records(&self, recording: &Recording) -> usize {
        let on = |key: &str, count: usize| if self.services.on(key) { count } else { 0 };
        let counted = if self.services.counting() { recording.kernels.len() } else { 0 };
        let sampled = if self.services.on("pc_sampling_beta_enabled") { recording.kernels.len() } else { 0 };
        on("kernel_trace", recording.kernels.len())
            + on("memory_copy_trace", recording.copies.len())
            + on("memory_allocation_trace", recording.allocations.len())
            + on("marker_trace", recording.markers.len())
            + recording.calls.iter().filter(|call| self.services.calls(&call.domain)).count()
            + counted
            + sampled
    }

    /// Later passes are other executions: a dispatch may be missing or additional.
    fn vary(&self, recording: &mut Recording) {
        if self.number == 0 {
            return;
        }
        if fault("drop_dispatch") {
            recording.kernels.pop();
        }
        let last = recording.kernels.last().filter(|_| fault("extra_dispatch")).cloned();
        recording.kernels.extend(last.map(|last| Kernel { dispatch: last.dispatch + 1, ..last }));
    }

    fn keep<'k>(&'k self, part: Product, format: &str, closures: &'k Closures<'k>) -> Keep<'k> {
        Keep {
            part,
            gpus: settings::gpus(),
            kernels: self.services.on("kernel_trace") || self.services.counting(),
            copies: self.services.on("memory_copy_trace"),
            allocations: self.services.on("memory_allocation_trace"),
            markers: self.services.on("marker_trace"),
            marks_as_calls: format == "csv" || format == "json",
            static_lds: format == "csv",
            calls: &*closures.calls,
            domain: &*closures.domain,
            name: &*closures.name,
            counters: &*closures.counters,
        }
    }

    fn trace(&self, recording: &Recording, format: &str) -> Trace {
        let part = part_of(&settings::arch());
        let values = &self.pass.values;
        let filter = CounterFilter::new(values, self.services, &part);
        let seen = std::cell::RefCell::new(std::collections::HashMap::<String, usize>::new());
        let version = self.version;
        let closures = Closures {
            calls: Box::new(|domain| self.services.calls(domain)),
            domain: Box::new(move |domain| {
                let old = version < Version(7, 0, 0);
                if old { domain.trim_end_matches("_EXT").into() } else { domain.to_string() }
            }),
            name: Box::new(|symbol| kernel_name(symbol, values)),
            counters: Box::new(move |n, kernel| {
                let mut seen = seen.borrow_mut();
                let occurrence = seen.entry(kernel.symbol.clone()).or_insert(0);
                *occurrence += 1;
                filter.counters(n, kernel, *occurrence)
            }),
        };
        trace(recording, &self.keep(part, format, &closures))
    }

    fn format(&self, format: &str, prefix: &Path, recording: &Recording) -> io::Result<()> {
        let results = |extension: &str| naming::file(prefix, &format!("results.{extension}"));
        match format {
            "rocpd" => {
                let path = results("db");
                messages::library(
                    'W',
                    "generateRocpd.cpp:582",
                    &format!("writing SQL database for process {} on node stand-in", recording.pid),
                );
                opened(&path)?;
                let options = convert::rocpd::Options::default();
                convert::rocpd::write(&self.trace(recording, format), &path, &options)
                    .map_err(io::Error::other)?;
                if fault("truncated") {
                    let file = std::fs::OpenOptions::new().write(true).open(&path)?;
                    file.set_len(file.metadata()?.len() * 6 / 10)?;
                }
            }
            "json" => {
                let path = results("json");
                opened(&path)?;
                convert::rocprofv3::json::write(&self.trace(recording, format), &path)?;
                self.after_json(&path)?;
            }
            "pftrace" => {
                let path = results("pftrace");
                opened(&path)?;
                convert::pftrace::write(&self.trace(recording, format), &path, &Default::default())?;
            }
            "otf2" => {
                let path = results("otf2");
                opened(&path)?;
                convert::otf2::write(&self.trace(recording, format), &path)?;
            }
            _ => self.csv(prefix, recording)?,
        }
        Ok(())
    }

    fn csv(&self, prefix: &Path, recording: &Recording) -> io::Result<()> {
        let trace = self.trace(recording, "csv");
        let columns = match self.version < Version(6, 4, 0) {
            true => convert::rocprofv3::csv::ColumnSet::Older,
            false => convert::rocprofv3::csv::ColumnSet::Rocprofv3,
        };
        let options = convert::rocprofv3::csv::Options { columns, ..Default::default() };
        for (path, _) in convert::rocprofv3::csv::write(&trace, prefix, &options)? {
            // Without a kernel trace, dispatches were kept only for their counters.
            if path.to_string_lossy().ends_with("_kernel_trace.csv") && !self.services.on("kernel_trace") {
                std::fs::remove_file(path)?;
                continue;
            }
            opened(&path)?;
        }
        if let Some(path) = pc_samples::write(prefix, recording, &self.pass.values)? {
            opened(&path)?;
        }
        if self.services.on("stats") {
            for path in stats::write(&trace, prefix)? {
                opened(&path)?;
            }
        }
        Ok(())
    }

    /// Dispatches that were kept only for their counters are not a kernel trace.
    fn after_json(&self, path: &Path) -> io::Result<()> {
        if self.services.on("kernel_trace") || !self.services.counting() {
            return Ok(());
        }
        let mut document: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
        if let Some(rows) = document.pointer_mut("/rocprofiler-sdk-tool/0/buffer_records/kernel_dispatch") {
            *rows = Value::Array(Vec::new());
        }
        std::fs::write(path, document.to_string())
    }

    fn config(&self, prefix: &Path, recording: &Recording) -> io::Result<()> {
        let path: PathBuf = naming::file(prefix, "config.json");
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let config =
            serde_json::json!({"rocprofiler-sdk-tool": {"pid": recording.pid, "config": self.pass.values}});
        std::fs::write(path, config.to_string())
    }
}

/// Drops every eighth kernel of graph launches, as some releases do: 448 of 512 are left.
fn lose_graph_kernels(kernels: &mut Vec<Kernel>) {
    let mut launches = std::collections::HashMap::<i64, usize>::new();
    for kernel in kernels.iter() {
        *launches.entry(kernel.when.correlation).or_default() += 1;
    }
    let mut place = 0;
    kernels.retain(|kernel| {
        let is_of_graph = launches[&kernel.when.correlation] > 1;
        place += usize::from(is_of_graph);
        !is_of_graph || place % 8 != 0
    });
}

struct Closures<'a> {
    calls: Box<dyn Fn(&str) -> bool + 'a>,
    domain: Box<dyn Fn(&str) -> String + 'a>,
    name: Box<dyn Fn(&str) -> String + 'a>,
    counters: CountersOf<'a>,
}

/// Names of the counters of the n-th dispatch.
type CountersOf<'a> = Box<dyn Fn(usize, &Kernel) -> Vec<String> + 'a>;

/// Logs that a file was opened, not as an error; fails like a full disk if that fault is set.
fn opened(path: &Path) -> io::Result<()> {
    if fault("disk_full") {
        std::fs::write(path, b"half a fi")?;
        return Err(io::Error::from_raw_os_error(libc::ENOSPC));
    }
    messages::library('E', "output_stream.cpp:111", &format!("Opened result file: {}", path.display()));
    Ok(())
}

/// The requested formats, or the release's default.
pub(super) fn formats(values: &Values, version: Version) -> Vec<String> {
    let asked = values.get("output_format").and_then(Value::as_array).into_iter().flatten();
    let asked: Vec<String> = asked.filter_map(|f| f.as_str().map(String::from)).collect();
    match (asked.is_empty(), version >= Version(7, 0, 0)) {
        (false, _) => asked,
        (true, true) => vec!["rocpd".into()],
        (true, false) => vec!["csv".into()],
    }
}

fn kernel_name(symbol: &str, values: &Values) -> String {
    let on = |key: &str| values.get(key) == Some(&Value::Bool(true));
    if on("mangled_kernels") {
        return format!("{symbol}.kd");
    }
    let demangled = cpp_demangle::Symbol::new(symbol)
        .ok()
        .and_then(|s| s.demangle().ok())
        .unwrap_or_else(|| symbol.into());
    if on("truncate_kernels") { truncated(&demangled) } else { demangled }
}

/// `void a::b<c>(d)` is `b`.
fn truncated(name: &str) -> String {
    let head = name.split(['(', '<']).next().unwrap_or(name);
    head.rsplit([':', ' ']).next().unwrap_or(head).to_string()
}

/// Which dispatches are counted, and what.
struct CounterFilter {
    include: Option<Regex>,
    exclude: Option<Regex>,
    ranges: Vec<(usize, usize)>,
    groups: Vec<Vec<String>>,
    interval: usize,
}

impl CounterFilter {
    fn new(values: &Values, services: &Services, part: &Product) -> Self {
        let regex = |key: &str| Regex::new(values.get(key)?.as_str()?).ok();
        let exists = |names: &[String]| -> Vec<String> {
            names.iter().filter(|name| services.knows(name, part.arch)).cloned().collect()
        };
        let groups = match services.counter_groups.is_empty() {
            true => vec![exists(&services.counters)],
            false => services.counter_groups.iter().map(|group| exists(group)).collect(),
        };
        let ranges = match values.get("kernel_iteration_range") {
            Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).flat_map(ranges).collect(),
            Some(Value::String(text)) => ranges(text),
            _ => Vec::new(),
        };
        let (include, exclude) = (regex("kernel_include_regex"), regex("kernel_exclude_regex"));
        Self { include, exclude, ranges, groups, interval: services.group_interval }
    }

    fn counters(&self, n: usize, kernel: &Kernel, occurrence: usize) -> Vec<String> {
        let name = kernel_name(&kernel.symbol, &Values::new());
        let wanted = self.include.as_ref().is_none_or(|r| r.is_match(&name))
            && !self.exclude.as_ref().is_some_and(|r| r.is_match(&name))
            && (self.ranges.is_empty()
                || self.ranges.iter().any(|(from, to)| (*from..=*to).contains(&occurrence)));
        if wanted && !fault("lost_counters") {
            self.groups[n / self.interval % self.groups.len()].clone()
        } else {
            Vec::new()
        }
    }
}

/// `[1-2],[5]`.
fn ranges(text: &str) -> Vec<(usize, usize)> {
    let parts = text.split(',').map(|part| part.trim_matches(['[', ']', ' ']));
    let range = |part: &str| match part.split_once('-') {
        Some((from, to)) => Some((from.parse().ok()?, to.parse().ok()?)),
        None => part.parse().ok().map(|n| (n, n)),
    };
    parts.filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_demangled_truncated_or_left() {
        let mut values = Values::new();
        assert_eq!(
            kernel_name("_Z5scaleIfLi2EEvPT_S0_i", &values),
            "void scale<float, 2>(float*, float, int)"
        );
        assert_eq!(kernel_name("plain", &values), "plain");
        values.insert("truncate_kernels".into(), true.into());
        assert_eq!(kernel_name("_Z5scaleIfLi2EEvPT_S0_i", &values), "scale");
        values.insert("mangled_kernels".into(), true.into());
        assert_eq!(kernel_name("_Z1kv", &values), "_Z1kv.kd");
        assert_eq!(ranges("[1-2],[5]"), [(1, 2), (5, 5)]);
    }
}

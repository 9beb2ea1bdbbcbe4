//! Spans that a profiler writes about itself, by the table `rules/profiler.toml`: not work of the program.

use std::sync::LazyLock;

use serde::Deserialize;
use trace::{StrId, Trace};

/// One row of the table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Entry {
    writer: String,
    category: Option<String>,
    names: Vec<String>,
    prefixes: Vec<String>,
    contains: Vec<String>,
    wraps: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    spans: Vec<Entry>,
}

static TABLE: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let file: File = formats::tables::built_in(include_str!("../rules/profiler.toml"))
        .expect("the table is checked by a test");
    file.spans
});

impl Entry {
    fn means(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
            || self.prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
            || self.contains.iter().any(|part| name.contains(part.as_str()))
    }
}

/// Whether a span belongs to the program or to its profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Work of the program.
    Program,
    /// The profiler's, around work of the program.
    Wraps,
    /// The profiler's own.
    Profiler,
}

/// The profiler's own spans of a trace: every distinct name judged once.
#[derive(Clone, Debug, Default)]
pub struct ProfilerSpans {
    /// By name: the table entries that match it, as bits.
    of_name: Vec<u16>,
    /// By entry: the category it is limited to.
    category: Vec<Option<StrId>>,
}

impl ProfilerSpans {
    /// Judges the names of a trace.
    pub fn of(trace: &Trace) -> Self {
        let table = &*TABLE;
        // An entry whose category is not in the trace matches nothing.
        let category: Vec<Option<StrId>> = table
            .iter()
            .map(|entry| entry.category.as_ref().map(|name| trace.strings.find(name).unwrap_or(ABSENT)))
            .collect();
        let live: Vec<usize> = (0..table.len()).filter(|&entry| category[entry] != Some(ABSENT)).collect();
        let of_name = |name: &str| {
            live.iter().filter(|&&entry| table[entry].means(name)).fold(0, |bits, &entry| bits | 1 << entry)
        };
        Self { of_name: trace.strings.iter().map(of_name).collect(), category }
    }

    /// Whose span a row of `regions` is.
    #[inline]
    pub fn of_region(&self, trace: &Trace, row: usize) -> Span {
        let bits = self.of_name[trace.regions.name[row].0 as usize];
        if bits == 0 {
            return Span::Program;
        }
        let category = trace.regions.category[row];
        let mut means = (0..self.category.len()).filter(|&entry| {
            bits & (1 << entry) != 0 && self.category[entry].is_none_or(|only| only == category)
        });
        match means.next() {
            Some(entry) if TABLE[entry].wraps => Span::Wraps,
            Some(_) => Span::Profiler,
            None => Span::Program,
        }
    }

    /// Whether a row of `regions` shows what the program did.
    #[inline]
    pub fn is_program(&self, trace: &Trace, row: usize) -> bool {
        self.of_region(trace, row) == Span::Program
    }
}

/// A category that no trace has.
const ABSENT: StrId = StrId(u32::MAX);

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Region;

    fn judged(name: &str, category: &str) -> Span {
        let mut trace = Trace::default();
        let (name, category) = (trace.strings.intern(name), trace.strings.intern(category));
        trace.regions.push(Region { name, category, ..Region::default() });
        ProfilerSpans::of(&trace).of_region(&trace, 0)
    }

    #[test]
    fn every_entry_says_whose_span_it_is_and_which() {
        assert!(TABLE.len() <= 16);
        for entry in TABLE.iter() {
            assert!(!entry.writer.is_empty());
            assert!(entry.names.len() + entry.prefixes.len() + entry.contains.len() > 0, "{}", entry.writer);
            let parts = entry.names.iter().chain(&entry.prefixes).chain(&entry.contains);
            assert!(parts.into_iter().all(|part| !part.is_empty()), "{}", entry.writer);
        }
    }

    #[test]
    fn the_profilers_own_spans_are_no_work_of_the_program() {
        for (name, category, span) in [
            ("PyTorch Profiler (0)", "Trace", Span::Profiler),
            ("ProfilerStep#4", "user_annotation", Span::Wraps),
            ("torch/profiler/profiler.py(740): stop", "python_function", Span::Profiler),
            ("/opt/venv/lib/torch/autograd/profiler.py(3): __exit__", "python_function", Span::Profiler),
            ("Activity Buffer Request", "overhead", Span::Profiler),
            ("roctxProfilerPause", "MARKER_CORE_API", Span::Profiler),
            ("PyTorch Profiler (0)", "user_annotation", Span::Program),
            ("sglang_profiler::rmsnorm", "cpu_op", Span::Program),
            ("my/profiler/profiler.py(3): stop", "python_function", Span::Program),
            ("decode_transferred", "sglang", Span::Profiler),
            ("decode_transferred", "user_annotation", Span::Program),
            ("aten::mm", "cpu_op", Span::Program),
        ] {
            assert_eq!(judged(name, category), span, "{name}");
        }
    }
}

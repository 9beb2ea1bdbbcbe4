//! A handle on opened inputs: what to read, which part of it, and what was read so far.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use app::convert::{ConvertRequest, Target};
use app::input::{expand, only_rank, only_stage, without_rank_and_stage};
use app::memory::{MemoryRequest, MemoryWindow};
use app::panels::{Choice, NormalUnit, PanelsOptions, Rule};
use app::report::{Look, ReportRequest, Theme};
use app::roofline::{Peaks, RooflineRequest};
use app::triage::{Folder, ProfileFacts, TARGET_ARCH, TriageRequest, framework_named};
use app::{Edge, Failure, FileStates, Filters, Input, Kept, Observer, Report};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trace::{ArgNeeds, Needs};

use crate::failure::Failed;
use crate::report::NativeReport;
use crate::selection::{filters, one_or_more};
use crate::session::{NativeSession, Opened};
use crate::table::ArrowTable;
use crate::tables;
use crate::work::work;

/// Opened inputs, and the selected part of them. Nothing is read until a result is requested.
#[pyclass(frozen, module = "rocm_perf._rocm_perf")]
pub struct Handle {
    input: Input,
    /// Whether tables of the trace include Python frames.
    python_frames: bool,
    files: FileStates,
    kept: Arc<Kept>,
    opened: Mutex<Opened>,
}

/// Appearance of saved reports.
const LOOK: Look = Look { theme: Theme::Light, scale: 2.0, rows: None };

/// The architecture that answers are for, unless the caller gives another one.
fn target(arch: Option<String>) -> Option<String> {
    arch.or_else(|| Some(TARGET_ARCH.to_string()))
}

#[pymethods]
impl Handle {
    #[new]
    #[pyo3(signature = (paths, python_frames = false, part = None))]
    fn new(
        paths: Vec<PathBuf>,
        python_frames: bool,
        part: Option<&Bound<'_, PyDict>>,
    ) -> Result<Self, Failed> {
        if paths.iter().any(|path| path.as_os_str() == "-") {
            return Err(Failure::input("standard input cannot be opened from Python")
                .with_help("pass a path")
                .into());
        }
        let paths = expand(&paths)?;
        let input = Input { filters: filters(Filters::default(), part)?, paths };
        let files = FileStates::of(&input.paths)?;
        Ok(Self { input, python_frames, files, kept: Arc::default(), opened: Mutex::default() })
    }

    /// The same inputs with another selection; data that was read is shared.
    fn select(&self, part: &Bound<'_, PyDict>) -> Result<Self, Failed> {
        let input = Input { filters: filters(self.input.filters.clone(), Some(part))?, ..self.input.clone() };
        let (files, kept) = (self.files.clone(), Arc::clone(&self.kept));
        Ok(Self { input, python_frames: self.python_frames, files, kept, opened: Mutex::default() })
    }

    /// Paths as they were given.
    #[getter]
    fn paths(&self) -> Vec<String> {
        self.input.paths.iter().map(|path| path.display().to_string()).collect()
    }

    /// Forgets what was read.
    fn forget(&self) {
        self.kept.clear();
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = Opened::default();
    }

    /// A table of the trace as Arrow.
    fn table(&self, py: Python<'_>, name: String) -> Result<ArrowTable, Failed> {
        self.check()?;
        let input = self.input.clone();
        let needs = Needs {
            python_frames: self.python_frames,
            args: if name == "args" { ArgNeeds::All } else { ArgNeeds::None },
            ..Needs::everything()
        };
        let made = work(py, Some(Arc::clone(&self.kept)), move |observer| {
            let trace = input.read(&needs, observer)?;
            let known = || trace::COLUMNAR_TABLES.join(", ");
            tables::batch(&trace, &name).ok_or_else(|| {
                Failure::input(format!("there is no table `{name}`"))
                    .with_help(format!("it is one of {}", known()))
            })
        });
        Ok(ArrowTable::of(made?))
    }

    /// Runs SQL; all rows of the last statement's result.
    fn sql(&self, py: Python<'_>, sql: String) -> Result<NativeReport, Failed> {
        self.check()?;
        let session = self.session(py, Some(&sql))?;
        NativeSession::query(&session, py, sql, self.input.paths.clone())
    }

    /// A session for many statements.
    fn connect(&self, py: Python<'_>) -> Result<NativeSession, Failed> {
        self.check()?;
        Ok(NativeSession::of(self.session(py, None)?))
    }

    fn info(&self, py: Python<'_>) -> Result<NativeReport, Failed> {
        self.ask(py, |input, observer| app::info(&input, observer))
    }

    #[pyo3(signature = (by_rank = false, region_categories = None, python_frames = false, target_arch = None))]
    fn summary(
        &self,
        py: Python<'_>,
        by_rank: bool,
        region_categories: Option<Vec<String>>,
        python_frames: bool,
        target_arch: Option<String>,
    ) -> Result<NativeReport, Failed> {
        let target_arch = target(target_arch);
        self.ask(py, move |input, observer| {
            let request = app::timeline::SummaryRequest {
                input,
                by_rank,
                region_categories,
                python: python_frames,
                target_arch,
                cluster: None,
            };
            app::summary(&request, observer)
        })
    }

    #[pyo3(signature = (linked = false, by_rank = false, rules = None, target_arch = None))]
    fn breakdown(
        &self,
        py: Python<'_>,
        linked: bool,
        by_rank: bool,
        rules: Option<PathBuf>,
        target_arch: Option<String>,
    ) -> Result<NativeReport, Failed> {
        let target_arch = target(target_arch);
        self.ask(py, move |input, observer| {
            let request = app::timeline::BreakdownRequest { input, linked, by_rank, rules, target_arch };
            app::breakdown(&request, observer)
        })
    }

    #[pyo3(signature = (rules = None, sql_rules = None, mapping = None, target_arch = None))]
    fn explain(
        &self,
        py: Python<'_>,
        rules: Option<Vec<String>>,
        sql_rules: Option<PathBuf>,
        mapping: Option<PathBuf>,
        target_arch: Option<String>,
    ) -> Result<NativeReport, Failed> {
        let (rules, target_arch) = (rules.unwrap_or_default(), target(target_arch));
        self.ask(py, move |input, observer| {
            let request = app::explain::ExplainRequest { input, sql_rules, rules, mapping, target_arch };
            app::explain(&request, observer)
        })
    }

    #[pyo3(signature = (mapping = None, min_share = 1.0, skip_warm_up = false, rules = None, framework = None, out = None, target_arch = None))]
    #[allow(clippy::too_many_arguments)]
    fn triage(
        &self,
        py: Python<'_>,
        mapping: Option<&Bound<'_, PyAny>>,
        min_share: f64,
        skip_warm_up: bool,
        rules: Option<PathBuf>,
        framework: Option<String>,
        out: Option<PathBuf>,
        target_arch: Option<String>,
    ) -> Result<NativeReport, Failed> {
        let mapping = mapping.map_or(Ok(Vec::new()), one_or_more)?;
        let framework = match framework.as_deref() {
            None | Some("auto") => None,
            Some(name) => Some(framework_named(&name.to_lowercase()).ok_or_else(|| {
                Failure::input(format!("there is no framework `{name}`"))
                    .with_help("leave it out to detect it")
            })?),
        };
        let profile = ProfileFacts { target_arch: target(target_arch), ..ProfileFacts::default() };
        self.ask(py, move |input, observer| {
            let request = TriageRequest {
                rank: only_rank(&input.filters)?,
                stage: only_stage(&input.filters)?,
                part: without_rank_and_stage(&input.filters),
                inputs: input.paths,
                mapping,
                skip_warm_up,
                min_share,
                rules,
                framework,
                profile,
                folder: out.map(|path| Folder { path, perfetto_fix: false }),
            };
            app::triage(&request, observer)
        })
    }

    #[pyo3(signature = (what_if = None, infer = false, all_segments = false, out = None, rules = None, target_arch = None))]
    #[allow(clippy::too_many_arguments)]
    fn critical_path(
        &self,
        py: Python<'_>,
        what_if: Option<&Bound<'_, PyAny>>,
        infer: bool,
        all_segments: bool,
        out: Option<PathBuf>,
        rules: Option<PathBuf>,
        target_arch: Option<String>,
    ) -> Result<NativeReport, Failed> {
        let what_if = what_if.map_or(Ok(Vec::new()), questions)?;
        let target_arch = target(target_arch);
        self.ask(py, move |input, observer| {
            let request = app::causes::CriticalPathRequest {
                input,
                what_if,
                infer,
                rows: app::causes::PathRows { all_segments, first: 0 },
                out,
                rules,
                target_arch,
            };
            app::critical_path(&request, observer)
        })
    }

    #[pyo3(signature = (mapping = None, linked = false, stacks = None, target_arch = None))]
    fn ops(
        &self,
        py: Python<'_>,
        mapping: Option<PathBuf>,
        linked: bool,
        stacks: Option<PathBuf>,
        target_arch: Option<String>,
    ) -> Result<NativeReport, Failed> {
        let target_arch = target(target_arch);
        self.ask(py, move |input, observer| {
            let request = app::ops::OpsRequest { input, mapping, linked, stacks, target_arch };
            app::ops(&request, observer)
        })
    }

    #[pyo3(signature = (mapping = None, min_share = 1.0, rules = None, target_arch = None))]
    fn overlap(
        &self,
        py: Python<'_>,
        mapping: Option<PathBuf>,
        min_share: f64,
        rules: Option<PathBuf>,
        target_arch: Option<String>,
    ) -> Result<NativeReport, Failed> {
        let target_arch = target(target_arch);
        self.ask(py, move |input, observer| {
            let request = app::causes::OverlapRequest { input, mapping, min_share, rules, target_arch };
            app::overlap(&request, observer)
        })
    }

    #[pyo3(signature = (mapping = None, arch = None, product = None, cus = None, clock_mhz = None, memory_gbps = None, measured = false, peaks = None, out = None))]
    #[allow(clippy::too_many_arguments)]
    fn roofline(
        &self,
        py: Python<'_>,
        mapping: Option<PathBuf>,
        arch: Option<String>,
        product: Option<String>,
        cus: Option<u32>,
        clock_mhz: Option<f64>,
        memory_gbps: Option<f64>,
        measured: bool,
        peaks: Option<PathBuf>,
        out: Option<PathBuf>,
    ) -> Result<NativeReport, Failed> {
        let peaks = match (peaks, measured) {
            (Some(path), _) => Peaks::File(path),
            (None, true) => Peaks::Measured,
            (None, false) => Peaks::DataSheet,
        };
        self.ask(py, move |input, observer| {
            let request = RooflineRequest {
                input,
                mapping,
                peaks,
                out,
                arch,
                product,
                cus,
                clock_mhz,
                memory_gbps,
                ..RooflineRequest::default()
            };
            app::roofline(&request, observer)
        })
    }

    #[pyo3(signature = (mapping = None, rules = None, arch = None, product = None, cus = None, clock_mhz = None))]
    #[allow(clippy::too_many_arguments)]
    fn efficiency(
        &self,
        py: Python<'_>,
        mapping: Option<PathBuf>,
        rules: Option<PathBuf>,
        arch: Option<String>,
        product: Option<String>,
        cus: Option<u32>,
        clock_mhz: Option<f64>,
    ) -> Result<NativeReport, Failed> {
        self.ask(py, move |input, observer| {
            let request =
                app::efficiency::EfficiencyRequest { input, mapping, rules, arch, product, cus, clock_mhz };
            app::efficiency(&request, observer)
        })
    }

    #[pyo3(signature = (compare = None))]
    fn memory(&self, py: Python<'_>, compare: Option<PathBuf>) -> Result<NativeReport, Failed> {
        self.ask(py, move |mut input, observer| {
            // The window refers to the allocation record, which may have its own clock.
            let edges = (input.filters.start.take(), input.filters.end.take());
            let moment = |edge| match edge {
                Some(Edge::At(moment)) => Ok(Some(moment)),
                Some(Edge::Marker(_)) => {
                    Err(Failure::input("memory takes times, and no markers, for a window"))
                }
                None => Ok(None),
            };
            let part = MemoryWindow { start: moment(edges.0)?, end: moment(edges.1)? };
            app::memory(&MemoryRequest { input, part, compare }, observer)
        })
    }

    #[pyo3(signature = (blocks = None, kernels = None, dispatches = None, normal_unit = "per_kernel", vendor_parity = false))]
    fn panels(
        &self,
        py: Python<'_>,
        blocks: Option<&Bound<'_, PyAny>>,
        kernels: Option<Vec<String>>,
        dispatches: Option<Vec<String>>,
        normal_unit: &str,
        vendor_parity: bool,
    ) -> Result<NativeReport, Failed> {
        let blocks = blocks.map_or(Ok(Vec::new()), block_numbers)?;
        let unit = match normal_unit {
            "per_kernel" => NormalUnit::PerKernel,
            "per_wave" => NormalUnit::PerWave,
            "per_cycle" => NormalUnit::PerCycle,
            "per_second" => NormalUnit::PerSecond,
            other => {
                let failure = Failure::input(format!("there is no unit `{other}`"));
                return Err(failure.with_help("it is per_kernel, per_wave, per_cycle or per_second").into());
            }
        };
        self.ask(py, move |input, observer| {
            let options = PanelsOptions {
                rule: if vendor_parity { Rule::MeanOfRatios } else { Rule::RatioOfSums },
                unit,
                blocks: app::panels::blocks(&blocks)?,
                choice: Choice {
                    kernels: kernels.unwrap_or_default(),
                    dispatches: dispatches.unwrap_or_default(),
                    ..Choice::default()
                },
                ..PanelsOptions::default()
            };
            app::panels(&app::panels::read_panels(&[input], None, observer)?, &options)
        })
    }

    #[pyo3(signature = (thread_traces = None))]
    fn bottleneck(
        &self,
        py: Python<'_>,
        thread_traces: Option<Vec<PathBuf>>,
    ) -> Result<NativeReport, Failed> {
        let thread_traces = thread_traces.unwrap_or_default();
        self.ask(py, move |input, observer| {
            app::bottleneck(&app::stalls::BottleneckRequest { input, thread_traces }, observer)
        })
    }

    fn requests(&self, py: Python<'_>) -> Result<NativeReport, Failed> {
        self.ask(py, |input, observer| app::requests(&app::requests::RequestsRequest { input }, observer))
    }

    #[pyo3(signature = (out = None, title = None, mapping = None, replace = false, target_arch = None))]
    fn report(
        &self,
        py: Python<'_>,
        out: Option<PathBuf>,
        title: Option<String>,
        mapping: Option<PathBuf>,
        replace: bool,
        target_arch: Option<String>,
    ) -> Result<NativeReport, Failed> {
        let (look, to, target_arch) = (LOOK, Vec::new(), target(target_arch));
        self.ask(py, move |input, observer| {
            let request = ReportRequest { input, to, out, title, look, mapping, target_arch, replace };
            match request.out {
                Some(_) => app::report(&request, observer).map(|written| written.report),
                None => app::report::overview(&request, observer),
            }
        })
    }

    #[pyo3(signature = (to, out = None, gzip = false, replace = false))]
    fn convert(
        &self,
        py: Python<'_>,
        to: String,
        out: Option<PathBuf>,
        gzip: bool,
        replace: bool,
    ) -> Result<NativeReport, Failed> {
        let to = vec![format_named(&to)?];
        self.ask(py, move |input, observer| {
            app::convert(
                &ConvertRequest { input, to, out, gzip, replace, ..ConvertRequest::default() },
                observer,
            )
        })
    }
}

impl Handle {
    /// Asks something of the inputs, unless they changed since they were opened.
    fn ask(
        &self,
        py: Python<'_>,
        request: impl FnOnce(Input, &dyn Observer) -> Result<Report, Failure> + Send + 'static,
    ) -> Result<NativeReport, Failed> {
        self.check()?;
        let input = self.input.clone();
        let report = work(py, Some(Arc::clone(&self.kept)), move |observer| request(input, observer))?;
        Ok(NativeReport::of(report))
    }

    fn check(&self) -> Result<(), Failed> {
        self.files.check().map_err(Failed::Changed)
    }

    fn session(&self, py: Python<'_>, sql: Option<&str>) -> Result<crate::session::Shared, Failed> {
        crate::session::open(&self.opened, py, &self.input, sql, Arc::clone(&self.kept))
    }
}

/// `["gemm=0.5"]`, `"gemm=0.5"` or `{"gemm": 0.5}`.
fn questions(value: &Bound<'_, PyAny>) -> Result<Vec<String>, Failed> {
    let Ok(dict) = value.cast::<PyDict>() else { return one_or_more(value) };
    let question = |(name, factor): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        Ok(format!("{}={}", name.str()?.extract::<String>()?, factor.str()?.extract::<String>()?))
    };
    dict.iter().map(question).collect()
}

/// `"7.2"`, `7.2`, `2` or a list of such.
fn block_numbers(value: &Bound<'_, PyAny>) -> Result<Vec<String>, Failed> {
    let items: Vec<Bound<'_, PyAny>> = match value.is_instance_of::<pyo3::types::PyList>() {
        true => value.try_iter()?.collect::<PyResult<_>>()?,
        false => vec![value.clone()],
    };
    Ok(items.iter().map(|item| item.str()?.extract()).collect::<PyResult<_>>()?)
}

fn format_named(name: &str) -> Result<Target, Failure> {
    Ok(match name {
        "csv" => Target::Csv,
        "pftrace" | "perfetto" => Target::Pftrace,
        "otf2" => Target::Otf2,
        "chrome" | "json" => Target::Chrome,
        "rocpd" | "db" => Target::Rocpd,
        "parquet" => Target::Parquet,
        other => {
            return Err(Failure::input(format!("there is no format `{other}`"))
                .with_help("it is csv, pftrace, otf2, chrome, rocpd or parquet"));
        }
    })
}

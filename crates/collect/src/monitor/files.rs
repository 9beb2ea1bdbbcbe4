//! The monitor's files: madengine's CSV per kind, and one with all samples on the clocks of traces.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::metrics::Metric;
use super::{Moment, MonitorError};

/// All samples, one per line.
pub const SAMPLES: &str = "monitor_samples.csv";

/// Open files; every row is written at once.
pub(super) struct Files {
    open: Vec<(PathBuf, File, Content)>,
    paths: Vec<PathBuf>,
}

/// What a file holds.
enum Content {
    /// The columns of one kind.
    Kind(&'static str),
    /// Everything.
    Samples,
}

impl Files {
    /// Creates the files with their headings.
    pub fn create(folder: &Path, metrics: &[&'static Metric], gpus: usize) -> Result<Self, MonitorError> {
        let mut files = Self { open: Vec::new(), paths: Vec::new() };
        let mut kinds: Vec<&'static str> = Vec::new();
        metrics.iter().for_each(|metric| {
            if !kinds.contains(&metric.kind) {
                kinds.push(metric.kind);
            }
        });
        for kind in kinds {
            let columns = (0..gpus).flat_map(|gpu| {
                let shown = metrics.iter().filter(move |m| m.kind == kind && !m.column.is_empty());
                shown.map(move |m| format!(",{} GPU{gpu}", m.column))
            });
            let heading: String = std::iter::once("time".to_string()).chain(columns).collect();
            let name = format!("gpu_info_{kind}_profiler_output.csv");
            files.add(folder.join(name), &heading, Content::Kind(kind))?;
        }
        let heading = "boot_ns,monotonic_ns,time,gpu,kind,name,value,unit";
        files.add(folder.join(SAMPLES), heading, Content::Samples)?;
        Ok(files)
    }

    fn add(&mut self, path: PathBuf, heading: &str, content: Content) -> Result<(), MonitorError> {
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| File::create(&path));
        let written = made.and_then(|mut file| writeln!(file, "{heading}").map(|()| file));
        match written {
            Ok(file) => {
                self.paths.push(path.clone());
                self.open.push((path, file, content));
                Ok(())
            }
            Err(why) => Err(MonitorError::Write { path, why }),
        }
    }

    /// Appends a sample to every file.
    pub fn append(
        &mut self,
        moment: &Moment,
        metrics: &[&'static Metric],
        values: &[Vec<Option<f64>>],
    ) -> std::io::Result<()> {
        for (_, file, content) in &mut self.open {
            let mut text = String::new();
            match content {
                Content::Kind(kind) => {
                    text.push_str(&moment.local());
                    for gpu in values {
                        for (metric, value) in metrics.iter().zip(gpu) {
                            if metric.kind == *kind && !metric.column.is_empty() {
                                text.push(',');
                                text.push_str(&value.map_or_else(|| "N/A".into(), show));
                            }
                        }
                    }
                    text.push('\n');
                }
                Content::Samples => {
                    let (boot, monotonic, time) = (moment.boot_ns, moment.monotonic_ns, moment.local());
                    for (gpu, values) in values.iter().enumerate() {
                        for (metric, value) in metrics.iter().zip(values) {
                            let Metric { kind, name, unit, .. } = metric;
                            let value = value.map_or_else(|| "N/A".into(), show);
                            text.push_str(&format!(
                                "{boot},{monotonic},{time},{gpu},{kind},{name},{value},{unit}\n"
                            ));
                        }
                    }
                }
            }
            file.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// Stops writing.
    pub fn close(&mut self) {
        self.open.clear();
    }

    /// The files that were written.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.paths.clone()
    }
}

/// Whole numbers without a fraction, others with three digits.
fn show(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.3}") }
}

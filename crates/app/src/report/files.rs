//! The files of a report: their names, their bytes, and writing all of them or none.

use std::io::Write;
use std::path::{Path, PathBuf};

use files::OutputFile;
use report::chart::SvgOptions;
use report::{Chart, Document, Remedy, render};

use crate::failure::Failure;
use crate::input::{base_name, is_folder};

/// Rows of a table in Markdown and PDF, which have no paging.
const ROWS: usize = 20;

/// What can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// One page that works from disk.
    Html,
    /// Typeset, for print.
    Pdf,
    /// Markdown; links the charts if images are written too.
    Md,
    /// Spreadsheet with a sheet for each table.
    Xlsx,
    /// The data, as programs read it.
    Json,
    /// The charts, as pixels.
    Png,
    /// The charts as vector graphics.
    Svg,
    /// The charts as pixels, for programs that do not read png.
    Jpeg,
}

/// Colours of images.
pub type Theme = report::chart::Theme;

/// How things look.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Colours of images.
    pub theme: Theme,
    /// Image pixels per unit of the drawing.
    pub scale: f32,
    /// Rows of a table, if the user chose a number.
    pub rows: Option<usize>,
}

impl Target {
    /// All formats of this build: name, alias, description.
    pub const ALL: &[(Target, &str, Option<&str>, &str)] = &[
        (Target::Html, "html", None, "One page that works from disk"),
        #[cfg(feature = "pdf")]
        (Target::Pdf, "pdf", None, "Typeset, for print"),
        (
            Target::Md,
            "md",
            Some("markdown"),
            "Markdown; links the charts where svg, png or jpeg is written too",
        ),
        (Target::Xlsx, "xlsx", Some("excel"), "Spreadsheet with a sheet for each table"),
        (Target::Json, "json", None, "The data, as programs read it"),
        (Target::Png, "png", None, "The charts, as pixels"),
        (Target::Svg, "svg", None, "The charts, to be scaled"),
        (Target::Jpeg, "jpeg", Some("jpg"), "The charts as pixels, for programs that cannot read png"),
    ];

    /// Its name, which is also its file extension.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(target, ..)| *target == self).map_or("pdf", |(_, name, ..)| name)
    }

    /// Whether there is a file for each chart.
    fn is_image(self) -> bool {
        matches!(self, Target::Png | Target::Svg | Target::Jpeg)
    }

    /// The format for a file's extension.
    fn of_file(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_lowercase();
        let named = |(_, name, other, _): &&(Target, &str, Option<&str>, &str)| {
            *name == ending || *other == Some(ending.as_str())
        };
        Target::ALL.iter().find(named).map(|(target, ..)| *target)
    }
}

/// Where the files go.
pub struct Destination {
    targets: Vec<Target>,
    /// The file, if one is named.
    file: Option<PathBuf>,
    folder: PathBuf,
    /// Prefix of file names.
    pub name: String,
    inputs: Vec<PathBuf>,
    force: bool,
}

/// A file that is not written yet.
struct Made {
    path: PathBuf,
    target: Target,
    bytes: Vec<u8>,
}

impl Destination {
    /// Decides formats and names from the request.
    pub fn new(to: &[Target], out: Option<&Path>, inputs: &[PathBuf], force: bool) -> Result<Self, Failure> {
        let mut targets: Vec<Target> = Vec::new();
        for target in to {
            if !targets.contains(target) {
                targets.push(*target);
            }
        }
        let named = out.filter(|out| !is_folder(out)).and_then(Target::of_file);
        let ending = out.filter(|out| !is_folder(out)).and_then(Path::extension);
        if let (Some(out), Some(_), None, true) = (out, ending, named, targets.is_empty()) {
            let names: Vec<&str> = Target::ALL.iter().map(|(_, name, ..)| *name).collect();
            return Err(Failure::input(format!("`{}` does not end in a report format", out.display()))
                .with_help(format!("formats are {}", names.join(", "))));
        }
        if targets.is_empty() {
            targets.push(named.unwrap_or(Target::Html));
        }
        let one_file = matches!(&targets[..], [target] if !target.is_image());
        if let (Some(out), Some(_), false) = (out, named, one_file) {
            let message = format!("`{}` is one file, and this report is several", out.display());
            return Err(Failure::input(message).with_help("name a folder for it"));
        }
        // A name without a known extension is a folder, as with `convert`.
        let file = out.filter(|out| one_file && !is_folder(out)).map(Path::to_path_buf);
        let folder = if file.is_some() { PathBuf::new() } else { out.unwrap_or(Path::new("")).to_path_buf() };
        Ok(Self { targets, file, folder, name: base_name(inputs), inputs: inputs.to_vec(), force })
    }

    /// Fails early if a file is known to be in the way.
    pub fn check(&self) -> Result<(), Failure> {
        let mut files =
            self.targets.iter().filter(|target| !target.is_image()).map(|target| self.path(*target));
        files.try_for_each(|path| self.check_path(&path))
    }

    /// Makes every file, then writes them all; nothing is written if one fails.
    pub fn write(&self, document: &Document, look: &Look) -> Result<Vec<(PathBuf, Target, usize)>, Failure> {
        let mut made: Vec<Made> = Vec::new();
        for &target in &self.targets {
            if target.is_image() {
                for chart in document.report.charts.iter().filter(|chart| !chart.is_empty()) {
                    let path = self.chart_path(&chart.name, target);
                    made.push(Made { bytes: image(chart, target, look)?, path, target });
                }
            } else {
                let bytes = self.bytes(document, target, look)?;
                made.push(Made { path: self.path(target), target, bytes });
            }
        }
        if made.is_empty() {
            return Err(Failure::input("there is no GPU work to draw charts of"));
        }
        made.iter().try_for_each(|made| self.check_path(&made.path))?;
        let failed = |made: &Made, error: std::io::Error| {
            Failure::input(format!("cannot write `{}`: {error}", made.path.display()))
        };
        let mut files = Vec::new();
        for made in &made {
            let write = || -> std::io::Result<OutputFile> {
                let mut file = OutputFile::create(&made.path)?;
                file.write_all(&made.bytes)?;
                file.file()?.sync_all()?;
                Ok(file)
            };
            files.push(write().map_err(|error| failed(made, error))?);
        }
        for (file, made) in files.into_iter().zip(&made) {
            file.commit().map_err(|error| failed(made, error))?;
        }
        Ok(made.into_iter().map(|made| (made.path, made.target, made.bytes.len())).collect())
    }

    fn path(&self, target: Target) -> PathBuf {
        let named = || self.folder.join(format!("{}_report.{}", self.name, target.name()));
        self.file.clone().unwrap_or_else(named)
    }

    fn chart_path(&self, chart: &str, target: Target) -> PathBuf {
        self.folder.join(format!("{}_{chart}.{}", self.name, target.name()))
    }

    /// Refuses to replace existing files, and inputs in any case.
    fn check_path(&self, path: &Path) -> Result<(), Failure> {
        if !path.exists() {
            return Ok(());
        }
        let real = |path: &Path| path.canonicalize().ok();
        if path.is_dir() {
            return Err(Failure::input(format!("`{}` is a folder", path.display())));
        }
        if self.inputs.iter().any(|input| real(input) == real(path)) {
            return Err(
                Failure::input(format!("`{}` is the input", path.display())).with_help(Remedy::OtherPlace)
            );
        }
        if !self.force {
            return Err(Failure::input(format!("`{}` already exists", path.display()))
                .with_help(Remedy::OtherPlaceOrReplace));
        }
        Ok(())
    }

    fn bytes(&self, document: &Document, target: Target, look: &Look) -> Result<Vec<u8>, Failure> {
        let rows = look.rows.unwrap_or(ROWS);
        Ok(match target {
            Target::Html => render::html(document).into_bytes(),
            Target::Md => {
                let pictures = [Target::Svg, Target::Png, Target::Jpeg];
                let beside = pictures.into_iter().find(|picture| self.targets.contains(picture));
                let link =
                    |chart: &str| beside.map(|picture| format!("{}_{chart}.{}", self.name, picture.name()));
                render::markdown_document(document, rows, &link).into_bytes()
            }
            Target::Json => render::json(&document.report, &document.version).into_bytes(),
            Target::Xlsx => render::xlsx(document).map_err(|error| made_badly("spreadsheet", &error))?,
            #[cfg(feature = "pdf")]
            Target::Pdf => render::pdf(document, rows).map_err(|error| made_badly("PDF", &error))?,
            #[cfg(not(feature = "pdf"))]
            Target::Pdf => return Err(Failure::input("this build writes no PDF")),
            Target::Png | Target::Svg | Target::Jpeg => Vec::new(),
        })
    }
}

fn image(chart: &Chart, target: Target, look: &Look) -> Result<Vec<u8>, Failure> {
    let svg = chart.svg(&SvgOptions { theme: look.theme, ..SvgOptions::default() });
    let failed = |error| made_badly(&format!("picture of `{}`", chart.name), &error);
    match target {
        Target::Png => render::png(&svg, look.scale).map_err(failed),
        Target::Jpeg => render::jpeg(&svg, look.scale).map_err(failed),
        _ => Ok(svg.into_bytes()),
    }
}

fn made_badly(what: &str, error: &render::RenderError) -> Failure {
    Failure::input(format!("cannot make the {what}: {error}"))
}

//! The software that known issues depend on: releases, and libraries that are found before ROCm's own.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::Machine;
use super::rpath::search_path;
use super::software::{profiler_field, rocm_version};

/// A release: 7.2.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Release([u32; 3]);

impl Release {
    /// From `7.2`, `7.2.1`, `7.2.1-43` or `7.14.0rc1`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split(['.', '-', '+', '_', ' ']);
        let mut number = || {
            let part = parts.next()?;
            let digits = part.split(|c: char| !c.is_ascii_digit()).next()?;
            digits.parse::<u32>().ok()
        };
        Some(Self([number()?, number()?, number().unwrap_or(0)]))
    }
}

impl TryFrom<String> for Release {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is not a release"))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// A torch library that is loaded instead of ROCm's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shadowed {
    /// File name.
    pub name: String,
    folder: String,
    hash: String,
    rocm_hash: String,
}

impl fmt::Display for Shadowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, folder, hash, rocm_hash } = self;
        write!(f, "{folder}/{name} (sha256 {hash}…) is not ROCm's ({rocm_hash}…)")
    }
}

/// What is installed; unknown facts are absent.
#[derive(Clone, Debug, Default)]
pub(super) struct Stack {
    pub rocm: Option<Release>,
    pub sdk: Option<Release>,
    pub python: Option<Release>,
    /// One per GPU, if its product is known.
    pub products: Vec<Option<String>>,
    pub shadowed: Vec<Shadowed>,
}

impl Stack {
    pub(super) fn of(machine: &Machine) -> Self {
        let rocm = rocm_version(machine).or_else(|| profiler_field(machine, "rocm_version"));
        Self {
            rocm: rocm.and_then(|version| Release::parse(&version)),
            sdk: sdk(machine),
            python: python(machine),
            products: machine.topology.gpus.iter().map(|gpu| gpu.product.clone()).collect(),
            shadowed: shadowed(machine),
        }
    }
}

const SDK: &str = "librocprofiler-sdk.so.";

/// The release in the library's name, else from the profiler.
fn sdk(machine: &Machine) -> Option<Release> {
    let folders = machine.rocm_folders().into_iter().map(|folder| folder.join("lib"));
    let names = folders.flat_map(|folder| names_in(&folder)).filter(|name| name.starts_with(SDK));
    let releases = names.filter(|name| name.matches('.').count() >= 4);
    let in_name = releases.filter_map(|name| Release::parse(&name[SDK.len()..])).max();
    in_name.or_else(|| Release::parse(&profiler_field(machine, "version")?))
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// What `python3` reports on this machine; for another one, the target of its link.
fn python(machine: &Machine) -> Option<Release> {
    if machine.root == Path::new("/") {
        let text = machine.output(&machine.program("python3")?, &["--version"])?;
        return Release::parse(text.trim().strip_prefix("Python ")?);
    }
    let target = std::fs::read_link(machine.root.join("usr/bin/python3")).ok()?;
    Release::parse(target.file_name()?.to_str()?.strip_prefix("python")?)
}

/// Folders with libraries that come with torch.
fn torch_folders(machine: &Machine) -> Vec<PathBuf> {
    let own = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(|name| machine.variable(name));
    let own = own.map(|path| machine.root.join(path.trim_start_matches('/')));
    let usual = ["opt/venv", "opt/conda", "usr/local", "usr"].map(|path| machine.root.join(path));
    let mut found: Vec<PathBuf> = Vec::new();
    for base in own.chain(usual) {
        let lib = base.join("lib");
        for python in names_in(&lib).iter().filter(|name| name.starts_with("python3")) {
            for packages in ["site-packages", "dist-packages"] {
                let folder = lib.join(python).join(packages).join("torch/lib");
                if folder.is_dir() && !found.contains(&folder) {
                    found.push(folder);
                }
            }
        }
    }
    found
}

/// Libraries in torch's folders that its own RPATH finds before ROCm's, and that differ from them.
fn shadowed(machine: &Machine) -> Vec<Shadowed> {
    let rocm: Vec<PathBuf> = machine
        .rocm_folders()
        .into_iter()
        .map(|folder| folder.join("lib"))
        .filter(|lib| lib.is_dir())
        .collect();
    let mut found = Vec::new();
    for folder in torch_folders(machine) {
        // RUNPATH gives way to LD_LIBRARY_PATH; RPATH does not. Either comes before the system's own folders.
        let paths = search_path(&folder.join("libtorch_hip.so"));
        if !paths.is_some_and(|folders| folders.iter().any(|path| path == "$ORIGIN")) {
            continue;
        }
        for name in names_in(&folder).into_iter().filter(|name| name.contains(".so")) {
            let Some(own) = rocm.iter().map(|lib| lib.join(&name)).find(|path| path.is_file()) else {
                continue;
            };
            let (Some(hash), Some(rocm_hash)) = (hash(&folder.join(&name)), hash(&own)) else { continue };
            if hash != rocm_hash {
                let shown = folder.strip_prefix(&machine.root).unwrap_or(&folder);
                found.push(Shadowed { name, folder: format!("/{}", shown.display()), hash, rocm_hash });
            }
        }
    }
    found
}

/// The first digits of a file's SHA-256.
fn hash(path: &Path) -> Option<String> {
    let mut file = std::fs::File::open(path).ok()?;
    let mut hasher = Sha256::new();
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block).ok()? {
            0 => break,
            read => hasher.update(&block[..read]),
        }
    }
    Some(hasher.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_and_compared() {
        let release = |text| Release::parse(text).unwrap();
        assert_eq!(release("7.2.1-43").to_string(), "7.2.1");
        assert_eq!(release("7.14.0rc1").to_string(), "7.14.0");
        assert_eq!(release("3.14").to_string(), "3.14.0");
        assert!(release("7.13.0") < release("7.14"));
        assert_eq!((Release::parse("seven"), Release::parse("")), (None, None));
    }
}

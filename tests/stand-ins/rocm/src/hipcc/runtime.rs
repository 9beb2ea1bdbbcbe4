//! The runtime's headers and object, written and compiled once per version, next to the program.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Compiler;

/// Where the runtime is.
pub(super) struct Runtime {
    pub include: PathBuf,
    pub object: PathBuf,
}

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../runtime/", $path)))),*]
    };
}

const FILES: &[(&str, &str)] = files![
    "hip/hip_runtime.h",
    "hip/hip_runtime_api.h",
    "hip/hip_fp16.h",
    "hip/launch.h",
    "hip/device.h",
    "hip/vector_types.h",
    "roctracer/roctx.h",
    "rocprofiler-sdk-roctx/roctx.h",
    "roctx.h",
    "rocblas/rocblas.h",
    "internal.h",
    "log.cpp",
    "fibers.cpp",
    "devices.cpp",
    "streams.cpp",
    "memory.cpp",
    "rocblas.cpp",
];

/// Returns the runtime, compiling it if this version of it does not exist yet.
pub(super) fn build(compiler: &Compiler) -> Result<Runtime, String> {
    let mut hasher = DefaultHasher::new();
    (FILES, &compiler.path).hash(&mut hasher);
    let name = format!("stand-in-rocm-runtime-{:016x}", hasher.finish());
    let beside = std::env::current_exe().ok().and_then(|exe| exe.canonicalize().ok());
    let beside = beside.and_then(|exe| Some(exe.parent()?.to_path_buf()));
    let mut why = String::from("no folder to build the runtime in");
    for home in beside.into_iter().chain([std::env::temp_dir()]) {
        let folder = home.join(&name);
        let runtime = Runtime { include: folder.clone(), object: folder.join("runtime.o") };
        if runtime.object.exists() {
            return Ok(runtime);
        }
        match build_in(&home, &folder, compiler) {
            Ok(()) => return Ok(runtime),
            Err(e) => why = e,
        }
    }
    Err(why)
}

fn build_in(home: &Path, folder: &Path, compiler: &Compiler) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("cannot build the runtime: {e}");
    let scratch = tempfile::tempdir_in(home).map_err(failed)?;
    for (path, text) in FILES {
        let path = scratch.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(home)).map_err(failed)?;
        std::fs::write(path, text).map_err(failed)?;
    }
    let sources = FILES.iter().filter(|(path, _)| path.ends_with(".cpp"));
    let mut command = Command::new(&compiler.path);
    command.args(["-std=c++17", "-O2", "-fPIC", "-r", "-nostdlib", "-I"]).arg(scratch.path());
    command.args(sources.map(|(path, _)| scratch.path().join(path)));
    command.arg("-o").arg(scratch.path().join("runtime.o"));
    let status = command.status().map_err(failed)?;
    if !status.success() {
        return Err(format!("cannot build the runtime: {command:?}: {status}"));
    }
    // If another process was faster, ours is thrown away.
    let made = scratch.keep();
    if std::fs::rename(&made, folder).is_err() {
        let _ = std::fs::remove_dir_all(&made);
    }
    Ok(())
}

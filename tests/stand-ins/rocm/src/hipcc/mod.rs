//! `hipcc`: compiles HIP for the CPU with the machine's own C++ compiler and a small runtime.

mod rewrite;
mod runtime;
mod tokens;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::settings::{self, Version};

/// What the command line asks for.
#[derive(Debug, Default, PartialEq)]
struct Request {
    sources: Vec<PathBuf>,
    output: Option<PathBuf>,
    compile_only: bool,
    preprocess_only: bool,
    verbose: bool,
    /// For the compiler proper.
    compile: Vec<String>,
    /// Objects, libraries and options for the linker.
    link: Vec<String>,
}

/// Options of the GPU compiler that have no meaning here: the word itself, or its prefix.
const GPU_ONLY: [&str; 14] = [
    "--offload-arch",
    "--amdgpu-target",
    "--rocm-path",
    "--rocm-device-lib-path",
    "--hip-",
    "-fgpu-",
    "-fno-gpu-",
    "-munsafe-fp-atomics",
    "-Rpass",
    "--gpu-max-threads-per-block",
    "-nogpu",
    "-amdgpu-",
    "--offload-compress",
    "-s",
];

/// Options whose value is the next word, by what they are for.
const COMPILE_VALUES: [&str; 8] = ["-I", "-D", "-U", "-include", "-isystem", "-iquote", "-MF", "-MT"];
const LINK_VALUES: [&str; 3] = ["-L", "-l", "-Xlinker"];

/// Runs as `hipcc`.
pub fn main(arguments: &[String]) -> ExitCode {
    if arguments.iter().any(|a| a == "--version") {
        print!("{}", version(&settings::rocm_version()));
        return ExitCode::SUCCESS;
    }
    // As the real one does: options that a build system cannot pass on.
    let appended = std::env::var("HIPCC_COMPILE_FLAGS_APPEND").unwrap_or_default();
    let arguments: Vec<String> =
        arguments.iter().cloned().chain(appended.split_whitespace().map(String::from)).collect();
    match compile(&parse(&arguments)) {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            eprintln!("hipcc: error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn version(rocm: &Version) -> String {
    format!(
        "HIP version: {rocm}-9999\nAMD clang version 19.0.0git (stand-in for roc-{rocm})\n\
         Target: x86_64-unknown-linux-gnu\nThread model: posix\n"
    )
}

fn parse(arguments: &[String]) -> Request {
    let mut request = Request::default();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().unwrap_or_default();
        match word.as_str() {
            "-o" => request.output = Some(value().into()),
            "-c" => request.compile_only = true,
            "-E" => request.preprocess_only = true,
            "-v" | "--verbose" => request.verbose = true,
            "-x" | "-mllvm" | "-Xclang" | "-Xoffload-linker" => drop(value()),
            "-std=c++11" | "-std=gnu++11" => request.compile.push("-std=gnu++14".into()),
            "-Ofast" => request.compile.push("-Ofast".into()),
            option if option == "-s" || GPU_ONLY.iter().any(|g| *g != "-s" && option.starts_with(g)) => {
                // `--offload-arch gfx942` as two words.
                if matches!(option, "--offload-arch" | "--amdgpu-target" | "--rocm-path") {
                    drop(value());
                }
            }
            option if COMPILE_VALUES.contains(&option) => {
                let value = value();
                request.compile.extend([option.to_string(), value]);
            }
            option if LINK_VALUES.contains(&option) => {
                let value = value();
                request.link.extend([option.to_string(), value]);
            }
            option if ["-L", "-l", "-Wl,"].iter().any(|start| option.starts_with(start)) => {
                if !is_gpu_library(option) {
                    request.link.push(option.into());
                }
            }
            option if option.starts_with('-') => request.compile.push(option.into()),
            path if is_source(path) => request.sources.push(path.into()),
            path => request.link.push(path.into()),
        }
    }
    if !request.compile.iter().any(|o| o.starts_with("-O")) {
        request.compile.push("-O3".into());
    }
    request
}

/// Libraries that the runtime contains.
fn is_gpu_library(option: &str) -> bool {
    ["-lamdhip64", "-lroctx64", "-lrocprofiler-sdk-roctx", "-lhsa-runtime64", "-lrocblas"].contains(&option)
}

fn is_source(path: &str) -> bool {
    let extension = Path::new(path).extension().and_then(|e| e.to_str()).unwrap_or("");
    ["cu", "hip", "cpp", "cc", "cxx", "C"].contains(&extension)
}

/// Compiles and links; returns the compiler's exit code if it fails.
fn compile(request: &Request) -> Result<u8, String> {
    if request.sources.is_empty() && request.link.is_empty() {
        return Err("no input files".into());
    }
    let compiler = compiler()?;
    let runtime = runtime::build(&compiler)?;
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut objects: Vec<OsString> = Vec::new();
    for (n, source) in request.sources.iter().enumerate() {
        let plain = scratch.path().join(format!("{n}.ii"));
        let code = preprocess(request, &compiler, &runtime.include, source, &plain)?;
        if code != 0 || request.preprocess_only {
            return Ok(code);
        }
        let object = match &request.output {
            Some(output) if request.compile_only => output.clone(),
            _ if request.compile_only => source.with_extension("o").file_name().unwrap_or_default().into(),
            _ => scratch.path().join(format!("{n}.o")),
        };
        let mut command = Command::new(&compiler.path);
        command
            .args(&request.compile)
            .args(["-w", "-c", "-x", "c++-cpp-output"])
            .arg(&plain)
            .arg("-o")
            .arg(&object);
        let code = run(request, &mut command)?;
        if code != 0 {
            return Ok(code);
        }
        objects.push(object.into());
    }
    if request.compile_only {
        return Ok(0);
    }
    let output = request.output.clone().unwrap_or_else(|| "a.out".into());
    let shared = request.compile.iter().any(|o| o == "-shared");
    let mut command = Command::new(&compiler.path);
    command.args(&request.compile).args(&objects);
    if !shared {
        command.arg(&runtime.object);
    }
    command.args(&request.link).args(["-lpthread", "-ldl"]).arg("-o").arg(&output);
    run(request, &mut command)
}

fn preprocess(
    request: &Request,
    compiler: &Compiler,
    include: &Path,
    source: &Path,
    target: &Path,
) -> Result<u8, String> {
    if !source.exists() {
        eprintln!("clang++: error: no such file or directory: '{}'", source.display());
        return Ok(1);
    }
    let mut command = Command::new(&compiler.path);
    command
        .args(&request.compile)
        .arg("-isystem")
        .arg(include)
        .args(["-D__HIPCC__=1", "-D__HIP__=1", "-include", "hip/hip_runtime.h", "-E", "-x", "c++"])
        .arg(source);
    if request.verbose {
        eprintln!("{command:?}");
    }
    let made = command.stderr(std::process::Stdio::inherit()).output().map_err(|e| e.to_string())?;
    if !made.status.success() {
        return Ok(made.status.code().unwrap_or(1) as u8);
    }
    let text = String::from_utf8_lossy(&made.stdout);
    let text = rewrite::rewrite(&text, compiler.gcc);
    if request.preprocess_only {
        print!("{text}");
    }
    std::fs::write(target, text).map_err(|e| e.to_string())?;
    Ok(0)
}

fn run(request: &Request, command: &mut Command) -> Result<u8, String> {
    if request.verbose {
        eprintln!("{command:?}");
    }
    let status = command.status().map_err(|e| e.to_string())?;
    Ok(status.code().unwrap_or(1) as u8)
}

/// The installed compiler.
struct Compiler {
    path: PathBuf,
    gcc: bool,
}

fn compiler() -> Result<Compiler, String> {
    let asked = std::env::var("STAND_IN_CXX").ok().into_iter();
    let found =
        asked.chain(["g++", "clang++", "c++"].map(String::from)).find_map(|name| settings::on_path(&name));
    let path = found.ok_or("no C++ compiler: install g++ or clang++")?;
    let gcc = !path.to_string_lossy().contains("clang");
    Ok(Compiler { path, gcc })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_gpu_compiler_are_dropped() {
        let words = "--offload-arch=gfx942 --offload-arch gfx90a -O2 -Iinc -D X=1 -mllvm -amdgpu-x a.cu b.o -lm -o out";
        let words: Vec<String> = words.split(' ').map(String::from).collect();
        let request = parse(&words);
        assert_eq!(request.sources, [PathBuf::from("a.cu")]);
        assert_eq!(request.compile, ["-O2", "-Iinc", "-D", "X=1"]);
        assert_eq!(request.link, ["b.o", "-lm"]);
        assert_eq!(request.output, Some("out".into()));
    }
}

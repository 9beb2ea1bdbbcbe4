//! The lines that libraries log, and the variables that enable logging.

use std::path::Path;

use super::Call;

/// A library whose calls can be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Library {
    /// rocBLAS.
    Rocblas,
    /// hipBLASLt.
    Hipblaslt,
    /// MIOpen.
    Miopen,
}

/// Every library.
pub const LIBRARIES: [Library; 3] = [Library::Rocblas, Library::Hipblaslt, Library::Miopen];

impl Library {
    /// `rocblas`, `hipblaslt`, `miopen`.
    pub fn name(self) -> &'static str {
        match self {
            Library::Rocblas => "rocblas",
            Library::Hipblaslt => "hipblaslt",
            Library::Miopen => "miopen",
        }
    }

    /// Variables that enable its log; `{folder}` is the target.
    pub(super) fn variables(self) -> &'static [(&'static str, &'static str)] {
        match self {
            // Layer 2 logs each call; one file for all processes, to which rocBLAS appends.
            Library::Rocblas => {
                &[("ROCBLAS_LAYER", "2"), ("ROCBLAS_LOG_BENCH_PATH", "{folder}/rocblas_calls.log")]
            }
            // The name's `%i` becomes the process id.
            Library::Hipblaslt => {
                &[("HIPBLASLT_LOG_MASK", "32"), ("HIPBLASLT_LOG_FILE", "{folder}/hipblaslt_calls_%i.log")]
            }
            // It writes to stderr only.
            Library::Miopen => &[("MIOPEN_ENABLE_LOGGING_CMD", "1")],
        }
    }

    /// Prefixes or parts of the names of its kernels.
    pub(super) fn kernels(self) -> &'static [&'static str] {
        match self {
            Library::Rocblas => &["Cijk_", "rocblas_", "Custom_Cijk", "gemv"],
            Library::Hipblaslt => &["Cijk_", "Custom_Cijk", "hipblaslt"],
            Library::Miopen => &[
                "miopen",
                "MIOpen",
                "Conv",
                "conv",
                "igemm",
                "batchnorm",
                "BatchNorm",
                "SubTensor",
                "pooling",
            ],
        }
    }
}

/// What a call's line contains, and which library logs it. The configuration follows.
const MARKS: [(&str, Library); 4] = [
    ("./rocblas-bench ", Library::Rocblas),
    ("rocblas_function:", Library::Rocblas),
    ("hipblaslt-bench ", Library::Hipblaslt),
    ("./bin/MIOpenDriver ", Library::Miopen),
];

/// The call in a line, if any.
pub(super) fn parse(line: &str) -> Option<Call> {
    let (mark, library) = MARKS.into_iter().find(|(mark, _)| line.contains(mark))?;
    // The driver's line is a command only after `Command`; help texts also contain it.
    if library == Library::Miopen && !line.contains("Command") {
        return None;
    }
    let (_, config) = line.split_once(mark)?;
    Some(Call { library, config: config.trim().to_string(), time_ns: None, pid: None })
}

/// Whether a file name is that of a library's log.
pub(super) fn is_log_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ["rocblas_calls", "hipblaslt_calls"].iter().any(|start| name.starts_with(start))
}

/// The process id in `hipblaslt_calls_1234.log`.
pub(super) fn pid_of_name(path: &Path) -> Option<u32> {
    path.file_stem()?.to_str()?.rsplit('_').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_library_are_known() {
        let lines = [
            (
                "./rocblas-bench -f gemm -r f32_r -m 64 -n 32",
                Library::Rocblas,
                "-f gemm -r f32_r -m 64 -n 32",
            ),
            ("hipblaslt-bench --api_method c -m 8", Library::Hipblaslt, "--api_method c -m 8"),
            (
                "MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 16 -c 3",
                Library::Miopen,
                "conv -n 16 -c 3",
            ),
        ];
        for (line, library, config) in lines {
            let call = parse(line).unwrap();
            assert_eq!((call.library, call.config.as_str()), (library, config));
        }
        assert_eq!(parse("loading weights"), None);
        assert_eq!(parse("see ./bin/MIOpenDriver --help"), None);
    }
}

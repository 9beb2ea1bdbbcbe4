//! Real code objects for a GPU that this machine does not have.

use std::process::Command;

/// A clang with this target, if there is one.
pub fn clang() -> Option<&'static str> {
    let names = ["clang-22", "clang-23", "clang-21", "clang"];
    let can = |name: &&str| {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("k.hip"), "").expect("a file");
        let mut command = Command::new(name);
        command.current_dir(folder.path()).args(OPTIONS).args(["k.hip", "-o", "k.co"]);
        command.output().is_ok_and(|output| output.status.success())
    };
    let found = names.into_iter().find(can);
    if found.is_none() {
        testing::skip("no clang that builds for gfx942");
    }
    found
}

/// Options to compile a file to a code object.
pub const OPTIONS: [&str; 8] = [
    "-x",
    "hip",
    "--cuda-device-only",
    "--offload-arch=gfx942",
    "--no-gpu-bundle-output",
    "-nogpulib",
    "-nogpuinc",
    "-O3",
];

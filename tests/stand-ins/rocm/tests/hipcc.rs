//! Programs compiled by the stand-in `hipcc`: they run, compute the right results, and log what they did.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rocm_perf_stand_in_rocm::log::{self, Recording};
use rocm_perf_stand_in_rocm::{StandIns, can_compile};

macro_rules! need_compiler {
    () => {
        if !can_compile() {
            testing::skip("no C++ compiler");
            return;
        }
    };
}

/// Runs a program with its log in `folder`.
fn logged(program: &Path, folder: &Path) -> (Output, Vec<Recording>) {
    let output = Command::new(program).env("STAND_IN_HIP_LOG", folder).output().unwrap();
    (output, log::read_folder(folder))
}

fn source(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("program.cu");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn kernels_really_run_and_are_logged_as_they_ran() {
    need_compiler!();
    let (stand_ins, folder) = (StandIns::install().unwrap(), tempfile::tempdir().unwrap());
    let program = stand_ins.example("vector_add", folder.path()).unwrap();
    let (output, recordings) = logged(&program, folder.path());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "PASS\n");
    let recording = &recordings[0];
    let symbols: Vec<&str> = recording.kernels.iter().map(|k| k.symbol.as_str()).collect();
    assert_eq!(symbols.len(), 11);
    assert!(symbols[..10].iter().all(|s| *s == "_Z10vector_addPKfS0_Pfi"), "{symbols:?}");
    assert_eq!(symbols[10], "_Z5scaleIfLi2EEvPT_S0_i");
    let last = &recording.kernels[10];
    assert_eq!((last.grid, last.workgroup), ([16384, 1, 1], [128, 1, 1]));
    assert!(recording.kernels.iter().all(|k| k.when.start < k.when.end));
    // One stream runs its kernels one after another.
    assert!(recording.kernels.windows(2).all(|w| w[0].when.end <= w[1].when.start));
    assert_eq!(recording.copies.iter().map(|c| c.bytes).sum::<i64>(), 3 * 4 * (1 << 14));
    let launches = recording.calls.iter().filter(|c| c.name == "hipLaunchKernel");
    let launches: Vec<i64> = launches.map(|c| c.when.correlation).collect();
    let kernels: Vec<i64> = recording.kernels.iter().map(|k| k.when.correlation).collect();
    assert_eq!(launches, kernels);
}

#[test]
fn barriers_shared_memory_waves_streams_and_devices_work() {
    need_compiler!();
    let (stand_ins, folder) = (StandIns::install().unwrap(), tempfile::tempdir().unwrap());
    let program = stand_ins.example("streams", folder.path()).unwrap();
    let (output, recordings) = logged(&program, folder.path());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "PASS\n");
    let reduce: Vec<_> = recordings[0].kernels.iter().filter(|k| k.symbol.contains("reduce")).collect();
    assert_eq!(reduce.len(), 4);
    assert!(reduce.iter().all(|k| k.static_lds == 1024));
    assert_eq!(reduce.iter().map(|k| k.device).max(), Some(1));
    let wave = recordings[0].kernels.iter().find(|k| k.symbol == "_Z8wave_sumPi").unwrap();
    assert_eq!((wave.static_lds, wave.dynamic_lds), (0, 64));
    assert_eq!(recordings[0].markers.iter().filter(|m| m.message == "device \"round\", part 1").count(), 2);
}

#[test]
fn ordinary_code_around_launches_is_understood() {
    need_compiler!();
    let (stand_ins, folder) = (StandIns::install().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(
        folder.path().join("kernels.h"),
        "#pragma once\ntemplate <int A, typename T> static __global__ void add(T* p, T v = T(A)) { *p += v; }\n",
    )
    .unwrap();
    let text = r#"
        #include "kernels.h"
        #include <iostream>
        #include <vector>
        #define CHECK(x) do { if ((x) != hipSuccess) { std::cerr << "<<<bad>>>" << __LINE__; return 1; } } while (0)
        #define LAUNCH(k, n, ...) k<<<(n), 1>>>(__VA_ARGS__)
        __global__ void twice(int* p) {
            #pragma unroll 4
            for (int i = 0; i < 1; ++i) *p *= 2;
        }
        __global__ void by_pointer(int* p, long by) { atomicAdd(p, by); }
        template <class T> struct Runner {
            T* p;
            void go() { add<3, T><<<dim3(1 << 1 >> 1), 1>>>(p); }
        };
        __device__ int square(int x) { return x * x; }
        __constant__ int offset = 5;
        __global__ void uses(int* p) { *p = square(*p) + offset; }
        int main() {
            int* p;
            CHECK(hipMalloc(&p, sizeof *p));
            CHECK(hipMemset(p, 0, sizeof *p));
            Runner<int>{p}.go();                       // 3
            if (p) twice<<<1, 1>>>(p); else return 9;  // 6
            LAUNCH(twice, 1'0 / 10, p);                // 12
            long by = 4;
            void* args[] = {&p, &by};
            CHECK(hipLaunchKernel((const void*)by_pointer, dim3(1), dim3(1), args, 0, nullptr));  // 16
            hipLaunchKernelGGL(HIP_KERNEL_NAME(add<1, int>), 1, 1, 0, 0, p, 9);  // 25
            uses<<<1, 1>>>(p);  // 630
            int result;
            CHECK(hipMemcpy(&result, p, sizeof result, hipMemcpyDeviceToHost));
            std::cout << result << " " << R"(k<<<1, 1>>>(x))" << '\n';
            twice<<<1, 2000>>>(p);
            CHECK(hipGetLastError() == hipErrorInvalidConfiguration ? hipSuccess : hipErrorUnknown);
        }
    "#;
    let program = stand_ins.compile(&source(folder.path(), text), &folder.path().join("program")).unwrap();
    let (output, recordings) = logged(&program, folder.path());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "630 k<<<1, 1>>>(x)\n", "{output:?}");
    // Compilers differ on the `L` of a static template.
    let symbols: Vec<String> = recordings[0].kernels.iter().map(|k| k.symbol.replace("_ZL", "_Z")).collect();
    let expected = [
        "__amd_rocclr_fillBufferAligned",
        "_Z3addILi3EiEvPT0_S0_",
        "_Z5twicePi",
        "_Z5twicePi",
        "_Z10by_pointerPil",
        "_Z3addILi1EiEvPT0_S0_",
        "_Z4usesPi",
    ];
    assert_eq!(symbols, expected);
}

#[test]
fn rocblas_logs_its_calls_and_launches_one_kernel_for_each() {
    need_compiler!();
    let (stand_ins, folder) = (StandIns::install().unwrap(), tempfile::tempdir().unwrap());
    let program = stand_ins.example("gemm", folder.path()).unwrap();
    let path = folder.path().join("rocblas_calls.txt");
    let mut command = Command::new(program);
    command
        .env("STAND_IN_HIP_LOG", folder.path())
        .env("ROCBLAS_LAYER", "2")
        .env("ROCBLAS_LOG_BENCH_PATH", &path);
    assert_eq!(String::from_utf8_lossy(&command.output().unwrap().stdout), "PASS\n");
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(text.lines().count(), 4);
    assert!(
        text.starts_with("./rocblas-bench -f gemm -r f32_r --transposeA N --transposeB N -m 32 -n 32 -k 32")
    );
    let recordings = log::read_folder(folder.path());
    assert_eq!(recordings[0].kernels.iter().filter(|k| k.symbol.starts_with("Cijk_")).count(), 4);
}

#[test]
fn mistakes_are_the_compilers_to_report() {
    need_compiler!();
    let (stand_ins, folder) = (StandIns::install().unwrap(), tempfile::tempdir().unwrap());
    let path = source(folder.path(), "__global__ void k(int* p) { *p = nonsense; }\nint main() {}\n");
    let output = Command::new(stand_ins.program("hipcc"))
        .arg(&path)
        .arg("-o")
        .arg(folder.path().join("x"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("program.cu:1") && message.contains("nonsense"), "{message}");
    let version = Command::new(stand_ins.program("hipcc")).arg("--version").output().unwrap();
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("HIP version: 7.0.0"));
}

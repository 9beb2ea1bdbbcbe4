//! The rule library on a HIP program that really runs: whatever a rule writes compiles, runs and computes the same.

use crate::common;
use crate::optimize_lab;

use common::rocm_perf;
use optimize_lab::{session, text};

const PROGRAM: &str = r#"
#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>
#define ROW 32
__global__ void all(const float* __restrict__ x, const float* y, const int* once, float* out, int n) {
  __shared__ float tile[32][ROW];
  int t = threadIdx.x, row = blockIdx.x;
  tile[t / 32][t % 32] = y[t];
  __syncthreads();
  float sum = tile[t % 2][t / 2];
  for (int k = 0; k < n; ++k) {
    sum += x[row * n + k] * expf(y[k] * 0.01f);
  }
  out[row * 64 + t] = sum + once[t];
}
int main(int count, char** words) {
  const int rows = 4, n = count > 1 ? atoi(words[1]) : 64;
  std::vector<float> x(rows * n), y(n + 64), out(rows * 64);
  std::vector<int> once(64);
  for (size_t i = 0; i < x.size(); ++i) x[i] = (i * 37 % 101) * 0.25f;
  for (size_t i = 0; i < y.size(); ++i) y[i] = (i * 53 % 89) * 0.5f;
  for (size_t i = 0; i < once.size(); ++i) once[i] = i;
  float *dx, *dy, *dout;
  int* donce;
  if (hipMalloc(&dx, x.size() * 4) != hipSuccess || hipMalloc(&dy, y.size() * 4) != hipSuccess) return 2;
  if (hipMalloc(&donce, 256) != hipSuccess || hipMalloc(&dout, out.size() * 4) != hipSuccess) return 2;
  hipMemcpy(dx, x.data(), x.size() * 4, hipMemcpyHostToDevice);
  hipMemcpy(dy, y.data(), y.size() * 4, hipMemcpyHostToDevice);
  hipMemcpy(donce, once.data(), 256, hipMemcpyHostToDevice);
  all<<<rows, 64>>>(dx, dy, donce, dout, n);
  hipMemcpy(out.data(), dout, out.size() * 4, hipMemcpyDeviceToHost);
  FILE* file = fopen("out.bin", "wb");
  fwrite(out.data(), 4, out.size(), file);
  fclose(file);
  puts("done");
}
"#;

#[test]
fn what_rules_write_runs_and_computes_the_same_bits() {
    if !stand_in_rocm::can_compile() {
        testing::skip("no C++ compiler");
        return;
    }
    let (folder, stand_ins) =
        (tempfile::tempdir().expect("a folder"), stand_in_rocm::StandIns::install().expect("stand-ins"));
    std::fs::write(folder.path().join("app.cu"), PROGRAM).expect("a source");
    let mut command = rocm_perf();
    command.current_dir(folder.path()).env("PATH", stand_ins.path());
    // 61 and 3 elements leave a remainder, and rows that are not aligned.
    command.args([
        "optimize",
        "--build",
        "hipcc -O2 -ffp-contract=off app.cu -o app",
        "--golden",
        "out.bin:bytes",
    ]);
    command.args(["--input", "61", "--input", "3", "--no-rocprof", "--kernel", "all", "--pairs", "3"]);
    for rule in [
        "vectorised_loads",
        "lds_padding",
        "nontemporal_load",
        "nontemporal_store",
        "restrict",
        "waves_per_eu",
    ] {
        command.args(["--rule", rule]);
    }
    command.args(["--rule", "compile_flags", "--flags", "--candidates", "9", "./app"]);
    let (output, session) = session(&mut command, folder.path());
    let candidates = session["candidates"].as_array().expect("candidates");
    assert_eq!(candidates.len(), 9, "{}", text(&output.stderr));
    let fine = ["accepted", "not_faster", "inconclusive", "no_effect", "slower_end_to_end", "not_confirmed"];
    for one in candidates {
        let status = one["status"].as_str().unwrap_or("");
        assert!(fine.contains(&status), "{}: {status}: {}", one["description"], one["reason"]);
    }
    let measured = |rule: &str| {
        let of = candidates.iter().filter(|one| one["origin"] == format!("rule {rule}"));
        of.filter(|one| one["status"] != "no_effect").count()
    };
    assert!(measured("vectorised_loads") == 1 && measured("lds_padding") == 1, "{candidates:#?}");
    assert!(candidates.iter().any(|one| one["flags"].as_array().is_some_and(|flags| !flags.is_empty())));
}

// What `rocm-perf doctor --probe` runs: kernels launched one by one on two streams, then a graph of kernels, launched several
// times. It prints how many kernels it launched each way.
#include <hip/hip_runtime.h>

#include <cstdio>

#define CHECK(call)                                                             \
  do {                                                                          \
    hipError_t error = (call);                                                  \
    if (error != hipSuccess) {                                                  \
      fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));             \
      return 1;                                                                 \
    }                                                                           \
  } while (0)

__global__ void rocm_perf_probe_eager(float* data) { data[threadIdx.x] += 1.0f; }
__global__ void rocm_perf_probe_graph(float* data) { data[threadIdx.x] += 2.0f; }

int main() {
  const int eager = 64, nodes = 16, launches = 8;
  hipStream_t streams[2];
  float* data[2];
  for (int i = 0; i < 2; ++i) {
    CHECK(hipStreamCreate(&streams[i]));
    CHECK(hipMalloc((void**)&data[i], 64 * sizeof(float)));
    CHECK(hipMemset(data[i], 0, 64 * sizeof(float)));
  }
  CHECK(hipDeviceSynchronize());
  for (int i = 0; i < eager; ++i) {
    rocm_perf_probe_eager<<<1, 64, 0, streams[i % 2]>>>(data[i % 2]);
  }
  CHECK(hipDeviceSynchronize());
  hipGraph_t graph;
  hipGraphExec_t exec;
  CHECK(hipStreamBeginCapture(streams[0], hipStreamCaptureModeGlobal));
  for (int i = 0; i < nodes; ++i) {
    rocm_perf_probe_graph<<<1, 64, 0, streams[0]>>>(data[0]);
  }
  CHECK(hipStreamEndCapture(streams[0], &graph));
  CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int i = 0; i < launches; ++i) {
    CHECK(hipGraphLaunch(exec, streams[0]));
  }
  CHECK(hipDeviceSynchronize());
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));
  float sum[2];
  for (int i = 0; i < 2; ++i) {
    CHECK(hipMemcpy(&sum[i], data[i], sizeof(float), hipMemcpyDeviceToHost));
  }
  if (sum[0] != eager / 2 + 2.0f * nodes * launches || sum[1] != eager / 2) {
    fprintf(stderr, "the GPU computed %g and %g\n", sum[0], sum[1]);
    return 1;
  }
  printf("rocm-perf probe: eager=%d graph=%d\n", eager, nodes * launches);
  return 0;
}

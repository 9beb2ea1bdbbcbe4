// Two GPUs, streams that overlap, events, shared memory, barriers, wave operations, markers.
#include <hip/hip_runtime.h>
#include <roctracer/roctx.h>

#include <cstdio>
#include <vector>

namespace math {
template <typename T, typename Op>
__global__ void reduce(const T* in, T* out, int n, Op op) {
  __shared__ T part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : T(0);
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] = op(part[threadIdx.x], part[threadIdx.x + s]);
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(out, part[0]);
}
struct Plus {
  template <typename T> __device__ T operator()(T a, T b) const { return a + b; }
};
}  // namespace math

__global__ void wave_sum(int* out) {
  extern __shared__ int sums[];
  int value = 1;
  for (int step = warpSize / 2; step > 0; step /= 2) value += __shfl_down(value, step);
  if (threadIdx.x % warpSize == 0) sums[threadIdx.x / warpSize] = value;
  __syncthreads();
  if (threadIdx.x == 0)
    for (unsigned w = 0; w < blockDim.x / warpSize; ++w) *out += sums[w];
}

int main() {
  int devices = 0, bad = 0;
  if (hipGetDeviceCount(&devices) != hipSuccess) return 2;
  const int n = 1 << 14;
  for (int d = 0; d < devices; ++d) {
    roctxRangePush("device \"round\", part 1");
    hipSetDevice(d);
    hipStream_t streams[2];
    hipEvent_t start, stop;
    hipEventCreate(&start);
    hipEventCreate(&stop);
    std::vector<int> ones(n, 1);
    int *in, *out, total[2] = {0, 0};
    hipMalloc(&in, n * sizeof(int));
    hipMalloc(&out, 2 * sizeof(int));
    hipMemcpy(in, ones.data(), n * sizeof(int), hipMemcpyHostToDevice);
    hipMemset(out, 0, 2 * sizeof(int));
    for (auto& s : streams) hipStreamCreate(&s);
    hipEventRecord(start, streams[0]);
    for (int i = 0; i < 2; ++i) math::reduce<int, math::Plus><<<n / 256, 256, 0, streams[i]>>>(in, out, n, math::Plus{});
    hipEventRecord(stop, streams[0]);
    hipStreamWaitEvent(streams[1], stop, 0);
    hipLaunchKernelGGL(wave_sum, dim3(1), dim3(128), 64, streams[1], out + 1);
    for (auto& s : streams) hipStreamSynchronize(s);
    float ms = -1;
    hipEventElapsedTime(&ms, start, stop);
    hipMemcpy(total, out, sizeof total, hipMemcpyDeviceToHost);
    if (total[0] != 2 * n || total[1] != 128 || ms < 0) bad = 1, printf("wrong: %d %d %f\n", total[0], total[1], ms);
    hipFree(in);
    hipFree(out);
    roctxMark("done");
    roctxRangePop();
  }
  puts(bad ? "FAIL" : "PASS");
  return bad;
}

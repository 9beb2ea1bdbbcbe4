// The smallest whole program: two kernels, copies both ways, a check of the result.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

template <typename T, int N>
__global__ void scale(T* data, T by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < N && i < n; ++k) data[i] *= by;
}

int main(int argc, char** argv) {
  const int n = 1 << 14, rounds = argc > 1 ? atoi(argv[1]) : 10;
  std::vector<float> a(n, 1.0f), b(n, 2.0f), c(n);
  float *da, *db, *dc;
  if (hipMalloc(&da, n * sizeof(float)) != hipSuccess) return puts("no GPU"), 2;
  hipMalloc(&db, n * sizeof(float));
  hipMalloc(&dc, n * sizeof(float));
  hipMemcpy(da, a.data(), n * sizeof(float), hipMemcpyHostToDevice);
  hipMemcpy(db, b.data(), n * sizeof(float), hipMemcpyHostToDevice);
  for (int i = 0; i < rounds; ++i) vector_add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
  scale<float, 2><<<dim3((n + 127) / 128), dim3(128)>>>(dc, 2.0f, n);
  hipMemcpy(c.data(), dc, n * sizeof(float), hipMemcpyDeviceToHost);
  hipFree(da);
  hipFree(db);
  hipFree(dc);
  for (int i = 0; i < n; ++i)
    if (c[i] != 12.0f) return printf("wrong: c[%d] = %f\n", i, c[i]), 1;
  puts("PASS");
  return 0;
}

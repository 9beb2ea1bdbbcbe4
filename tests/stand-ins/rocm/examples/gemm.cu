// Products of matrices by rocBLAS, beside a kernel of the program's own.
#include <hip/hip_runtime.h>
#include <rocblas/rocblas.h>

#include <cstdio>
#include <vector>

__global__ void relu(float* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && data[i] < 0) data[i] = 0;
}

int main() {
  const int n = 32;
  std::vector<float> ones(n * n, 1.0f), out(n * n);
  float *a, *c;
  if (hipMalloc(&a, n * n * sizeof(float)) != hipSuccess) return 2;
  hipMalloc(&c, n * n * sizeof(float));
  hipMemcpy(a, ones.data(), n * n * sizeof(float), hipMemcpyHostToDevice);
  hipMemset(c, 0, n * n * sizeof(float));
  rocblas_handle handle;
  rocblas_create_handle(&handle);
  const float one = 1.0f, minus = -1.0f, zero = 0.0f;
  for (int i = 0; i < 3; ++i) {
    rocblas_sgemm(handle, rocblas_operation_none, rocblas_operation_none, n, n, n, &one, a, n, a, n, &one, c, n);
    relu<<<(n * n + 255) / 256, 256>>>(c, n * n);
  }
  rocblas_sgemm(handle, rocblas_operation_transpose, rocblas_operation_none, n, n, n / 2, &minus, a, n, c, n, &zero, a, n);
  hipMemcpy(out.data(), c, n * n * sizeof(float), hipMemcpyDeviceToHost);
  rocblas_destroy_handle(handle);
  puts(out[5] == 3.0f * n ? "PASS" : "FAIL");
  return out[5] == 3.0f * n ? 0 : 1;
}

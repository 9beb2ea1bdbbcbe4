// Runs a kernel, then dies of a signal (or exits with the given code).
#include <hip/hip_runtime.h>

#include <csignal>
#include <cstdlib>

__global__ void touch(int* data) { data[threadIdx.x] = 1; }

int main(int argc, char** argv) {
  int* data;
  if (hipMalloc(&data, 64 * sizeof(int)) != hipSuccess) return 2;
  touch<<<1, 64>>>(data);
  hipDeviceSynchronize();
  if (argc > 1) return atoi(argv[1]);
  raise(SIGSEGV);
}

// A job of several processes: each child has RANK set and uses a GPU of its own.
#include <hip/hip_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

__global__ void step(float* data, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < rounds; ++k) data[i] = data[i] * 0.5f + 1.0f;
}

static int work(int rank) {
  float* data;
  if (hipMalloc(&data, 4096 * sizeof(float)) != hipSuccess) return 2;
  hipMemset(data, 0, 4096 * sizeof(float));
  for (int i = 0; i < 5; ++i) step<<<16, 256>>>(data, 10 * (rank + 1));
  hipDeviceSynchronize();
  return hipFree(data);
}

// ranks COUNT [FAILING]: the failing rank exits with 7 after its work.
int main(int argc, char** argv) {
  if (const char* rank = getenv("RANK")) return work(atoi(rank));
  int count = argc > 1 ? atoi(argv[1]) : 2, failing = argc > 2 ? atoi(argv[2]) : -1, bad = 0;
  for (int r = 0; r < count; ++r) {
    if (fork() == 0) {
      setenv("RANK", std::to_string(r).c_str(), 1);
      setenv("LOCAL_RANK", std::to_string(r).c_str(), 1);
      setenv("WORLD_SIZE", std::to_string(count).c_str(), 1);
      int code = work(r);
      exit(r == failing ? 7 : code);
    }
  }
  for (int status; wait(&status) > 0;) bad |= status != 0;
  return bad ? 1 : 0;
}

// What the parts of the runtime share.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "hip/hip_runtime.h"

namespace hip_stand_in {

/// Nanoseconds of the clock that profilers use.
int64_t now();

// log.cpp
bool logging();
int64_t new_correlation();
std::string quoted(const char* text);
void log_line(const std::string& line);
/// The symbol at an address, as the compiler mangled it.
std::string symbol_at(const void* address);

/// One call of the API, logged when it ends.
class Call {
 public:
  explicit Call(const char* name, const char* domain = "HIP_RUNTIME_API_EXT");
  ~Call();
  Call& arg(const char* type, const char* name, const std::string& value);
  int64_t correlation;

 private:
  const char* name;
  const char* domain;
  int64_t start;
  std::string args;
};
std::string hex(const void* pointer);

// devices.cpp
int device_count();
int physical_device(int device);
int current_device();
hipError_t failed(hipError_t error);

// fibers.cpp
struct Ran {
  const void* entry = nullptr;
  size_t static_lds = 0;
};
/// Runs every work-item of a dispatch on the calling thread.
Ran run_grid(const Work& work, dim3 grid, dim3 block, size_t lds);

// streams.cpp
/// A launch that a graph holds.
struct Node {
  dim3 grid, block;
  size_t lds;
  std::shared_ptr<Work> work;
  const void* function;
};
/// Kernels that one launch runs, in order.
struct Graph {
  std::vector<Node> nodes;
};
struct Stream {
  int id;
  int device;
  bool is_default;
  bool non_blocking;
  bool running = false;
  uint64_t submitted = 0;
  uint64_t completed = 0;
  struct Task {
    std::function<void()> run;
    std::vector<std::pair<Stream*, uint64_t>> after;
  };
  std::deque<Task> tasks;
  std::vector<std::pair<Stream*, uint64_t>> waits;
  /// Where launches go while the stream is captured.
  Graph* capture = nullptr;
};
struct Event {
  Stream* stream = nullptr;
  uint64_t sequence = 0;
  int64_t time = 0;
};
Stream* stream_of(hipStream_t stream);
uint64_t enqueue(Stream* stream, std::function<void()> run);
void wait_for(Stream* stream, uint64_t sequence);
void wait_for_device(int device);
void drain();

}  // namespace hip_stand_in

// Memory, copies and markers. Device memory is memory of the host that is known to belong to a device.
#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <memory>

#include "internal.h"
#include "roctracer/roctx.h"

namespace hip_stand_in {

struct Block { size_t bytes; int device; };  // device -1: memory of the host
struct Heap { std::mutex mutex; std::map<uintptr_t, Block> blocks; };
static Heap& heap() {
  static Heap* h = new Heap;
  return *h;
}

/// The device of an address, or -1.
static int device_of(const void* pointer) {
  Heap& h = heap();
  std::lock_guard<std::mutex> lock(h.mutex);
  auto after = h.blocks.upper_bound((uintptr_t)pointer);
  if (after == h.blocks.begin()) return -1;
  --after;
  bool inside = (uintptr_t)pointer < after->first + std::max<size_t>(after->second.bytes, 1);
  return inside ? after->second.device : -1;
}

static hipError_t allocate(const char* name, void** pointer, size_t bytes, bool on_device) {
  Call call(name);
  call.arg("void**", "ptr", hex(pointer)).arg("size_t", "size", std::to_string(bytes));
  if (!pointer) return failed(hipErrorInvalidValue);
  if (!device_count()) return failed(hipErrorNoDevice);
  int64_t start = now();
  *pointer = bytes > (size_t(1) << 36) ? nullptr : aligned_alloc(256, (bytes + 511) / 256 * 256);
  if (!*pointer) return failed(hipErrorOutOfMemory);
  int device = on_device ? physical_device(current_device()) : -1;
  {
    Heap& h = heap();
    std::lock_guard<std::mutex> lock(h.mutex);
    h.blocks[(uintptr_t)*pointer] = {bytes, device};
  }
  if (logging())
    log_line("{\"record\":\"allocation\",\"kind\":\"ALLOC\",\"correlation\":" + std::to_string(call.correlation) +
             ",\"thread\":" + std::to_string(syscall(SYS_gettid)) + ",\"device\":" + std::to_string(device) + ",\"address\":" +
             std::to_string((uintptr_t)*pointer) + ",\"bytes\":" + std::to_string(bytes) + ",\"start\":" +
             std::to_string(start) + ",\"end\":" + std::to_string(now()) + "}");
  return hipSuccess;
}

static hipError_t release(const char* name, void* pointer) {
  Call call(name);
  call.arg("void*", "ptr", hex(pointer));
  if (!pointer) return hipSuccess;
  wait_for_device(current_device());
  int64_t start = now();
  {
    Heap& h = heap();
    std::lock_guard<std::mutex> lock(h.mutex);
    if (!h.blocks.erase((uintptr_t)pointer)) return failed(hipErrorInvalidValue);
  }
  free(pointer);
  if (logging())
    log_line("{\"record\":\"allocation\",\"kind\":\"FREE\",\"correlation\":" + std::to_string(call.correlation) + ",\"thread\":" +
             std::to_string(syscall(SYS_gettid)) + ",\"device\":-1,\"address\":" + std::to_string((uintptr_t)pointer) +
             ",\"bytes\":0,\"start\":" + std::to_string(start) + ",\"end\":" + std::to_string(now()) + "}");
  return hipSuccess;
}

static hipError_t copy(const char* name, void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream, bool wait) {
  Call call(name);
  call.arg("void*", "dst", hex(to)).arg("void*", "src", hex(from)).arg("size_t", "sizeBytes", std::to_string(bytes));
  if (bytes && (!to || !from)) return failed(hipErrorInvalidValue);
  if (!device_count()) return failed(hipErrorNoDevice);
  int src = device_of(from), dst = device_of(to), here = physical_device(current_device());
  if (kind == hipMemcpyHostToHost) src = dst = -1;
  if (kind == hipMemcpyHostToDevice) src = -1, dst = dst < 0 ? here : dst;
  if (kind == hipMemcpyDeviceToHost) dst = -1, src = src < 0 ? here : src;
  if (kind == hipMemcpyDeviceToDevice) src = src < 0 ? here : src, dst = dst < 0 ? here : dst;
  int64_t correlation = call.correlation;
  long thread = syscall(SYS_gettid);
  Stream* s = stream_of(stream);
  uint64_t sequence = enqueue(s, [=] {
    int64_t start = now();
    memcpy(to, from, bytes);
    int64_t end = now();
    if (logging())
      log_line("{\"record\":\"copy\",\"correlation\":" + std::to_string(correlation) + ",\"thread\":" + std::to_string(thread) +
               ",\"stream\":" + std::to_string(s->id) + ",\"source\":" + std::to_string(src) + ",\"target\":" +
               std::to_string(dst) + ",\"source_address\":" + std::to_string((uintptr_t)from) + ",\"target_address\":" +
               std::to_string((uintptr_t)to) + ",\"bytes\":" + std::to_string(bytes) + ",\"start\":" + std::to_string(start) +
               ",\"end\":" + std::to_string(end) + "}");
  });
  if (wait) wait_for(s, sequence);
  return hipSuccess;
}

}  // namespace hip_stand_in

using namespace hip_stand_in;

hipError_t hipMalloc(void** pointer, size_t bytes) { return allocate("hipMalloc", pointer, bytes, true); }
hipError_t hipMallocAsync(void** pointer, size_t bytes, hipStream_t) { return allocate("hipMallocAsync", pointer, bytes, true); }
hipError_t hipMallocManaged(void** pointer, size_t bytes, unsigned) { return allocate("hipMallocManaged", pointer, bytes, true); }
hipError_t hipHostMalloc(void** pointer, size_t bytes, unsigned) { return allocate("hipHostMalloc", pointer, bytes, false); }
hipError_t hipFree(void* pointer) { return release("hipFree", pointer); }
hipError_t hipFreeAsync(void* pointer, hipStream_t) { return release("hipFreeAsync", pointer); }
hipError_t hipHostFree(void* pointer) { return release("hipHostFree", pointer); }
hipError_t hipMemGetInfo(size_t* free, size_t* total) {
  hipDeviceProp_t p;
  hipError_t error = hipGetDeviceProperties(&p, current_device());
  if (error == hipSuccess) *total = p.totalGlobalMem, *free = p.totalGlobalMem / 2;
  return error;
}

hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  return copy("hipMemcpy", to, from, bytes, kind, nullptr, true);
}
hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return copy("hipMemcpyAsync", to, from, bytes, kind, stream, false);
}
hipError_t hipMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, hipMemcpyKind kind) {
  return copy("hipMemcpyToSymbol", (char*)symbol + offset, from, bytes, kind, nullptr, true);
}

/// The real one launches a fill kernel under this name.
extern "C" __attribute__((noinline)) void __amd_rocclr_fillBufferAligned(char* to, int value, size_t bytes, size_t items) {
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x, part = (bytes + items - 1) / items, first = i * part;
  if (first < bytes) memset(to + first, value, first + part < bytes ? part : bytes - first);
}

static hipError_t fill(const char* name, void* to, int value, size_t bytes, hipStream_t stream, bool wait) {
  if (!bytes) return hipSuccess;
  if (!to) return failed(hipErrorInvalidValue);
  const unsigned blocks = 64, width = 256;
  auto body = [=] { __amd_rocclr_fillBufferAligned((char*)to, value, bytes, size_t(blocks) * width); };
  hipError_t error = submit(name, dim3(blocks), dim3(width), 0, stream, new Bound<decltype(body)>(body), (const void*)__amd_rocclr_fillBufferAligned);
  Stream* s = stream_of(stream);
  if (wait && error == hipSuccess) wait_for(s, s->submitted);
  return error;
}
hipError_t hipMemset(void* to, int value, size_t bytes) { return fill("hipMemset", to, value, bytes, nullptr, true); }
hipError_t hipMemsetAsync(void* to, int value, size_t bytes, hipStream_t stream) {
  return fill("hipMemsetAsync", to, value, bytes, stream, false);
}

struct OpenRange { std::string message; int64_t start; int64_t correlation; };
static thread_local std::vector<OpenRange> ranges;
static std::mutex started_mutex;
static std::map<uint64_t, OpenRange>& started = *new std::map<uint64_t, OpenRange>;

static void log_range(const OpenRange& range, int64_t end, const char* function) {
  if (logging())
    log_line("{\"record\":\"marker\",\"function\":\"" + std::string(function) + "\",\"message\":" + quoted(range.message.c_str()) +
             ",\"correlation\":" + std::to_string(range.correlation) + ",\"thread\":" + std::to_string(syscall(SYS_gettid)) +
             ",\"start\":" + std::to_string(range.start) + ",\"end\":" + std::to_string(end) + "}");
}

extern "C" {
void roctxMarkA(const char* message) {
  OpenRange mark{message, now(), new_correlation()};
  log_range(mark, mark.start, "roctxMarkA");
}
int roctxRangePushA(const char* message) {
  ranges.push_back({message, now(), new_correlation()});
  return (int)ranges.size() - 1;
}
int roctxRangePop() {
  if (ranges.empty()) return -1;
  log_range(ranges.back(), now(), "roctxThreadRangeA");
  ranges.pop_back();
  return (int)ranges.size();
}
uint64_t roctxRangeStartA(const char* message) {
  OpenRange range{message, now(), new_correlation()};
  std::lock_guard<std::mutex> lock(started_mutex);
  started[range.correlation] = range;
  return (uint64_t)range.correlation;
}
void roctxRangeStop(uint64_t id) {
  std::lock_guard<std::mutex> lock(started_mutex);
  auto found = started.find(id);
  if (found == started.end()) return;
  log_range(found->second, now(), "roctxProcessRangeA");
  started.erase(found);
}
int roctxProfilerPause(uint64_t) { return 0; }
int roctxProfilerResume(uint64_t) { return 0; }
}

// Streams, events and launches: a thread per stream takes its tasks in order. The default stream of a
// device and its blocking streams wait for each other, as in HIP.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <thread>

#include "internal.h"

namespace hip_stand_in {

/// Never freed: threads of streams may outlive static objects.
struct State {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Stream*> streams;
  std::map<int, Stream*> defaults;
  int next_id = 1;
  int64_t dispatches = 0;
};
/// Kernels by address; filled before `main`, when nothing else of the runtime may start.
static std::map<const void*, Binder>& kernels() {
  static auto* known = new std::map<const void*, Binder>;
  return *known;
}

static State& state() {
  static State* s = [] {
    State* made = new State;
    atexit(drain);
    if (logging()) {
      Call init("hsa_init", "HSA_CORE_API");
    }
    return made;
  }();
  return *s;
}

static void work_off(Stream* stream) {
  State& s = state();
  std::unique_lock<std::mutex> lock(s.mutex);
  for (;;) {
    s.changed.wait(lock, [&] { return !stream->tasks.empty(); });
    Stream::Task task = std::move(stream->tasks.front());
    stream->tasks.pop_front();
    for (auto& [other, sequence] : task.after)
      s.changed.wait(lock, [&, other = other, sequence = sequence] { return other->completed >= sequence; });
    lock.unlock();
    task.run();
    lock.lock();
    ++stream->completed;
    s.changed.notify_all();
  }
}

static Stream* make_stream(State& s, int device, bool is_default, bool non_blocking) {
  Stream* stream = new Stream{is_default ? 0 : s.next_id++, device, is_default, non_blocking};
  s.streams.push_back(stream);
  return stream;
}

Stream* stream_of(hipStream_t stream) {
  if (stream) return stream;
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  Stream*& found = s.defaults[current_device()];
  if (!found) found = make_stream(s, current_device(), true, false);
  return found;
}

uint64_t enqueue(Stream* stream, std::function<void()> run) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  Stream::Task task{std::move(run), std::move(stream->waits)};
  stream->waits.clear();
  for (Stream* other : s.streams) {
    bool tied = other != stream && other->device == stream->device && !other->non_blocking && !stream->non_blocking &&
                (other->is_default || stream->is_default);
    if (tied) task.after.push_back({other, other->submitted});
  }
  stream->tasks.push_back(std::move(task));
  if (!stream->running) {
    stream->running = true;
    std::thread(work_off, stream).detach();
  }
  s.changed.notify_all();
  return ++stream->submitted;
}

void wait_for(Stream* stream, uint64_t sequence) {
  State& s = state();
  std::unique_lock<std::mutex> lock(s.mutex);
  s.changed.wait(lock, [&] { return stream->completed >= sequence; });
}

static void wait_for_streams(bool all, int device) {
  State& s = state();
  std::unique_lock<std::mutex> lock(s.mutex);
  s.changed.wait(lock, [&] {
    for (Stream* stream : s.streams)
      if ((all || stream->device == device) && stream->completed < stream->submitted) return false;
    return true;
  });
}
void wait_for_device(int device) { wait_for_streams(false, device); }

void drain() {
  wait_for_streams(true, 0);
  log_line("{\"record\":\"end\",\"time\":" + std::to_string(now()) + "}");
}

static void log_dispatch(int64_t dispatch, int64_t correlation, long thread, Stream* stream, dim3 grid, dim3 block,
                         size_t lds, const Ran& ran, const void* function, int64_t start, int64_t end) {
  auto triple = [](unsigned x, unsigned y, unsigned z) {
    return "[" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + "]";
  };
  std::string symbol = symbol_at(function ? function : ran.entry);
  // Clones that the compiler made carry a suffix.
  size_t dot = symbol.find('.');
  if (dot != std::string::npos) symbol.resize(dot);
  log_line("{\"record\":\"kernel\",\"symbol\":" + quoted(symbol.c_str()) + ",\"dispatch\":" + std::to_string(dispatch) +
           ",\"correlation\":" + std::to_string(correlation) + ",\"thread\":" + std::to_string(thread) + ",\"device\":" +
           std::to_string(physical_device(stream->device)) + ",\"stream\":" + std::to_string(stream->id) + ",\"grid\":" +
           triple(grid.x * block.x, grid.y * block.y, grid.z * block.z) + ",\"workgroup\":" + triple(block.x, block.y, block.z) +
           ",\"static_lds\":" + std::to_string(ran.static_lds) + ",\"dynamic_lds\":" + std::to_string(lds) + ",\"start\":" +
           std::to_string(start) + ",\"end\":" + std::to_string(end) + "}");
}

/// Queues one kernel of a launch.
static void dispatch(Stream* stream, const Node& node, int64_t correlation) {
  State& s = state();
  int64_t dispatch;
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    dispatch = ++s.dispatches;
  }
  long thread = syscall(SYS_gettid);
  enqueue(stream, [=] {
    int64_t start = now();
    Ran ran = run_grid(*node.work, node.grid, node.block, node.lds);
    int64_t end = now();
    if (logging())
      log_dispatch(dispatch, correlation, thread, stream, node.grid, node.block, node.lds, ran, node.function, start, end);
  });
}

hipError_t submit(const char* name, dim3 grid, dim3 block, size_t lds, hipStream_t to, Work* work, const void* function) {
  Call call(name);
  call.arg("void*", "stream", hex(to)).arg("size_t", "sharedMemBytes", std::to_string(lds));
  std::shared_ptr<Work> owned(work);
  uint64_t items = uint64_t(block.x) * block.y * block.z;
  if (!device_count()) return failed(hipErrorNoDevice);
  if (!items || items > 1024 || !grid.x || !grid.y || !grid.z || lds > (160u << 10)) return failed(hipErrorInvalidConfiguration);
  // The profiler's library aborts inside the application when it cannot count what it was asked to.
  if (const char* message = getenv("STAND_IN_HIP_ABORT")) fprintf(stderr, "%s\n", message), abort();
  Stream* stream = stream_of(to);
  Node node{grid, block, lds, owned, function};
  if (stream->capture) {
    stream->capture->nodes.push_back(node);
    return hipSuccess;
  }
  dispatch(stream, node, call.correlation);
  return hipSuccess;
}

void register_kernel(const void* function, Binder binder) { kernels()[function] = binder; }

hipError_t launch_registered(const void* function, dim3 grid, dim3 block, void** args, size_t lds, hipStream_t stream) {
  auto found = kernels().find(function);
  if (found == kernels().end()) return failed(hipErrorInvalidDeviceFunction);
  return submit("hipLaunchKernel", grid, block, lds, stream, found->second(function, args), function);
}

}  // namespace hip_stand_in

using namespace hip_stand_in;

hipError_t hipDeviceSynchronize() {
  Call call("hipDeviceSynchronize");
  wait_for_device(current_device());
  return hipSuccess;
}

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  Call call("hipStreamCreateWithFlags");
  if (!device_count()) return failed(hipErrorNoDevice);
  Call queue("hsa_queue_create", "HSA_CORE_API");
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  *stream = make_stream(s, current_device(), false, flags & hipStreamNonBlocking);
  return hipSuccess;
}
hipError_t hipStreamCreate(hipStream_t* stream) { return hipStreamCreateWithFlags(stream, hipStreamDefault); }
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int) {
  return hipStreamCreateWithFlags(stream, flags);
}
hipError_t hipStreamSynchronize(hipStream_t stream) {
  Call call("hipStreamSynchronize");
  Stream* s = stream_of(stream);
  wait_for(s, s->submitted);
  return hipSuccess;
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  Call call("hipStreamDestroy");
  if (!stream) return failed(hipErrorInvalidHandle);
  // Its thread and record stay: work may still be queued.
  return hipSuccess;
}
hipError_t hipStreamQuery(hipStream_t stream) {
  Stream* s = stream_of(stream);
  std::lock_guard<std::mutex> lock(state().mutex);
  return s->completed >= s->submitted ? hipSuccess : hipErrorNotReady;
}
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned) {
  Call call("hipStreamWaitEvent");
  call.arg("hipStream_t", "stream", hex(stream)).arg("hipEvent_t", "event", hex(event));
  Stream* s = stream_of(stream);
  std::lock_guard<std::mutex> lock(state().mutex);
  if (event->stream) s->waits.push_back({event->stream, event->sequence});
  return hipSuccess;
}

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode) {
  Call call("hipStreamBeginCapture");
  if (!stream || stream->capture) return failed(hipErrorInvalidHandle);
  stream->capture = new Graph;
  return hipSuccess;
}
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  Call call("hipStreamEndCapture");
  if (!stream || !stream->capture) return failed(hipErrorInvalidHandle);
  *graph = stream->capture;
  stream->capture = nullptr;
  return hipSuccess;
}
hipError_t hipGraphInstantiate(hipGraphExec_t* exec, hipGraph_t graph, hipGraphNode_t*, char*, size_t) {
  Call call("hipGraphInstantiate");
  *exec = new Graph(*graph);
  return hipSuccess;
}
hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
  Call call("hipGraphLaunch");
  call.arg("hipGraphExec_t", "graphExec", hex(exec)).arg("hipStream_t", "stream", hex(stream));
  for (const Node& node : exec->nodes) dispatch(stream_of(stream), node, call.correlation);
  return hipSuccess;
}
hipError_t hipGraphDestroy(hipGraph_t graph) {
  Call call("hipGraphDestroy");
  delete graph;
  return hipSuccess;
}
hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  Call call("hipGraphExecDestroy");
  delete exec;
  return hipSuccess;
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned) {
  Call call("hipEventCreateWithFlags");
  *event = new Event;
  return hipSuccess;
}
hipError_t hipEventCreate(hipEvent_t* event) { return hipEventCreateWithFlags(event, hipEventDefault); }
hipError_t hipEventDestroy(hipEvent_t event) {
  Call call("hipEventDestroy");
  if (event->stream) wait_for(event->stream, event->sequence);
  delete event;
  return hipSuccess;
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  Call call("hipEventRecord");
  call.arg("hipEvent_t", "event", hex(event)).arg("hipStream_t", "stream", hex(stream));
  Stream* s = stream_of(stream);
  event->sequence = enqueue(s, [event] { event->time = now(); });
  event->stream = s;
  return hipSuccess;
}
hipError_t hipEventSynchronize(hipEvent_t event) {
  Call call("hipEventSynchronize");
  if (event->stream) wait_for(event->stream, event->sequence);
  return hipSuccess;
}
hipError_t hipEventQuery(hipEvent_t event) {
  std::lock_guard<std::mutex> lock(state().mutex);
  return !event->stream || event->stream->completed >= event->sequence ? hipSuccess : hipErrorNotReady;
}
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  Call call("hipEventElapsedTime");
  if (!start->stream || !stop->stream) return failed(hipErrorInvalidHandle);
  if (hipEventQuery(start) != hipSuccess || hipEventQuery(stop) != hipSuccess) return failed(hipErrorNotReady);
  *milliseconds = float(double(stop->time - start->time) / 1e6);
  return hipSuccess;
}

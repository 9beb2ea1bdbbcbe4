// The machine that is pretended: `STAND_IN_ARCH` (gfx942) and `STAND_IN_GPUS` (2), less what is hidden.
#include "internal.h"

namespace hip_stand_in {

struct Part { const char* arch; const char* name; int units; int wave; size_t gib; int lds_kib; int clock_mhz; int bus_bits; };
static const Part PARTS[] = {
    {"gfx908", "AMD Instinct MI100", 120, 64, 32, 64, 1502, 4096},
    {"gfx90a", "AMD Instinct MI250X", 110, 64, 64, 64, 1700, 4096},
    {"gfx942", "AMD Instinct MI300X", 304, 64, 192, 64, 2100, 8192},
    {"gfx950", "AMD Instinct MI355X", 256, 64, 288, 160, 2400, 8192},
    {"gfx1100", "AMD Radeon RX 7900 XTX", 96, 32, 24, 64, 2526, 384},
    {"gfx1201", "AMD Radeon RX 9070 XT", 64, 32, 16, 64, 2970, 256},
};

static const Part& part() {
  static const Part& chosen = [&]() -> const Part& {
    const char* arch = getenv("STAND_IN_ARCH");
    for (const Part& p : PARTS)
      if (arch && strcmp(p.arch, arch) == 0) return p;
    return PARTS[2];
  }();
  return chosen;
}

/// Physical numbers of the visible GPUs.
static const std::vector<int>& visible() {
  static const std::vector<int>& devices = *new std::vector<int>([] {
    const char* count = getenv("STAND_IN_GPUS");
    std::vector<int> all;
    for (int i = 0; i < (count ? atoi(count) : 2); ++i) all.push_back(i);
    for (const char* name : {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}) {
      const char* list = getenv(name);
      if (!list) continue;
      std::vector<int> kept;
      for (const char* c = list; *c;) {
        char* end;
        long n = strtol(c, &end, 10);
        if (end == c || n < 0 || n >= (long)all.size()) break;
        kept.push_back(all[n]);
        c = *end == ',' ? end + 1 : end;
      }
      all = kept;
    }
    return all;
  }());
  return devices;
}

static thread_local int chosen = 0;
static thread_local hipError_t last_error = hipSuccess;

int device_count() { return (int)visible().size(); }
int physical_device(int device) { return device < device_count() ? visible()[device] : device; }
int current_device() { return chosen; }
unsigned wave_size() {
  static const unsigned size = part().wave;
  return size;
}
hipError_t failed(hipError_t error) {
  if (error != hipSuccess) last_error = error;
  return error;
}

}  // namespace hip_stand_in

const int warpSize = (int)hip_stand_in::wave_size();

using namespace hip_stand_in;

hipError_t hipInit(unsigned) { return failed(device_count() ? hipSuccess : hipErrorNoDevice); }

hipError_t hipGetDeviceCount(int* count) {
  Call call("hipGetDeviceCount");
  *count = device_count();
  return failed(*count ? hipSuccess : hipErrorNoDevice);
}

hipError_t hipSetDevice(int device) {
  Call call("hipSetDevice");
  call.arg("int", "deviceId", std::to_string(device));
  if (device < 0 || device >= device_count()) return failed(hipErrorInvalidDevice);
  chosen = device;
  return hipSuccess;
}

hipError_t hipGetDevice(int* device) {
  *device = chosen;
  return hipSuccess;
}

hipError_t hipGetDeviceProperties(hipDeviceProp_t* out, int device) {
  Call call("hipGetDevicePropertiesR0600");
  if (device < 0 || device >= device_count()) return failed(hipErrorInvalidDevice);
  const Part& p = part();
  memset(out, 0, sizeof *out);
  snprintf(out->name, sizeof out->name, "%s", p.name);
  snprintf(out->gcnArchName, sizeof out->gcnArchName, "%s%s", p.arch, p.wave == 64 ? ":sramecc+:xnack-" : "");
  out->totalGlobalMem = p.gib << 30;
  out->sharedMemPerBlock = size_t(p.lds_kib) << 10;
  out->regsPerBlock = 65536;
  out->warpSize = p.wave;
  out->maxThreadsPerBlock = 1024;
  for (int i = 0; i < 3; ++i) out->maxThreadsDim[i] = 1024, out->maxGridSize[i] = 2147483647 >> (i ? 15 : 0);
  out->clockRate = p.clock_mhz * 1000;
  out->memoryClockRate = 1300000;
  out->memoryBusWidth = p.bus_bits;
  out->multiProcessorCount = p.units;
  out->l2CacheSize = 4 << 20;
  out->maxThreadsPerMultiProcessor = 2048;
  out->major = 9;
  out->minor = 4;
  out->concurrentKernels = 1;
  out->pciBusID = 0x0c + 0x10 * physical_device(device);
  return hipSuccess;
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  hipDeviceProp_t p;
  hipError_t error = hipGetDeviceProperties(&p, device);
  if (error != hipSuccess) return error;
  switch (attribute) {
    case hipDeviceAttributeMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case hipDeviceAttributeMaxSharedMemoryPerBlock: *value = (int)p.sharedMemPerBlock; break;
    case hipDeviceAttributeMultiprocessorCount: *value = p.multiProcessorCount; break;
    case hipDeviceAttributeWarpSize: *value = p.warpSize; break;
    case hipDeviceAttributeClockRate: *value = p.clockRate; break;
    default: return failed(hipErrorInvalidValue);
  }
  return hipSuccess;
}

hipError_t hipRuntimeGetVersion(int* version) { *version = 70051831; return hipSuccess; }
hipError_t hipDriverGetVersion(int* version) { *version = 70051831; return hipSuccess; }
hipError_t hipDeviceReset() { return hipDeviceSynchronize(); }
hipError_t hipPeekAtLastError() { return last_error; }
hipError_t hipGetLastError() {
  Call call("hipGetLastError");
  hipError_t error = last_error;
  last_error = hipSuccess;
  return error;
}

static const struct { hipError_t error; const char* name; const char* text; } ERRORS[] = {
    {hipSuccess, "hipSuccess", "no error"},
    {hipErrorInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {hipErrorOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {hipErrorInvalidConfiguration, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {hipErrorInvalidDeviceFunction, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {hipErrorNoDevice, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {hipErrorInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {hipErrorNotReady, "hipErrorNotReady", "device not ready"},
};
const char* hipGetErrorName(hipError_t error) {
  for (auto& e : ERRORS)
    if (e.error == error) return e.name;
  return "hipErrorUnknown";
}
const char* hipGetErrorString(hipError_t error) {
  for (auto& e : ERRORS)
    if (e.error == error) return e.text;
  return "unknown error";
}

hipError_t hipFuncSetAttribute(const void*, hipFuncAttribute, int) { return hipSuccess; }
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int block, size_t lds) {
  int by_threads = 2048 / (block > 0 ? block : 1);
  int by_lds = lds ? int((size_t(part().lds_kib) << 10) / lds) : by_threads;
  *blocks = by_threads < by_lds ? by_threads : by_lds;
  return hipSuccess;
}

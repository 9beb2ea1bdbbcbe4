// What kernels may use: indices, barriers, wave operations, atomics, a little arithmetic.
#pragma once

namespace hip_stand_in {

struct Item {
  uint3 thread;
  uint3 block;
  uint3 block_dim;
  uint3 grid_dim;
};
/// The work-item that this thread of the machine is running.
extern __thread Item item;

/// True while the first work-item of a dispatch runs: the kernel's name and static LDS are noted then.
extern __thread bool noting;
void note_entry();
inline __attribute__((always_inline)) void kernel_entered() {
  if (__builtin_expect(noting, 0)) note_entry();
}
void note_lds(size_t bytes);
inline __attribute__((always_inline)) void lds_declared(size_t bytes) {
  if (__builtin_expect(noting, 0)) note_lds(bytes);
}

void* dynamic_lds();
void wait_for_block();
void wait_for_wave();
unsigned wave_size();
unsigned lane();
uint64_t exchange(uint64_t value, unsigned source_lane);
uint64_t ballot(bool predicate);

template <class T> T shuffle(T value, unsigned source) {
  static_assert(sizeof(T) <= 8, "shuffles move up to eight bytes");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  bits = exchange(bits, source);
  memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace hip_stand_in

#define threadIdx (::hip_stand_in::item.thread)
#define blockIdx (::hip_stand_in::item.block)
#define blockDim (::hip_stand_in::item.block_dim)
#define gridDim (::hip_stand_in::item.grid_dim)
#define hipThreadIdx_x threadIdx.x
#define hipBlockIdx_x blockIdx.x
#define hipBlockDim_x blockDim.x
#define hipGridDim_x gridDim.x
extern const int warpSize;

inline void __syncthreads() { ::hip_stand_in::wait_for_block(); }
inline void __syncwarp(unsigned long long = ~0ull) { ::hip_stand_in::wait_for_wave(); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

template <class T> T __shfl(T value, int source, int width = warpSize) {
  unsigned me = ::hip_stand_in::lane();
  return ::hip_stand_in::shuffle(value, me / width * width + (unsigned)source % width);
}
template <class T> T __shfl_xor(T value, int mask, int width = warpSize) {
  unsigned me = ::hip_stand_in::lane(), to = me ^ mask;
  return ::hip_stand_in::shuffle(value, to / width == me / width ? to : me);
}
template <class T> T __shfl_down(T value, unsigned delta, int width = warpSize) {
  unsigned me = ::hip_stand_in::lane(), to = me + delta;
  return ::hip_stand_in::shuffle(value, to / width == me / width ? to : me);
}
template <class T> T __shfl_up(T value, unsigned delta, int width = warpSize) {
  unsigned me = ::hip_stand_in::lane();
  return ::hip_stand_in::shuffle(value, me % width >= delta ? me - delta : me);
}
inline unsigned long long __ballot(int predicate) { return ::hip_stand_in::ballot(predicate != 0); }
inline int __any(int predicate) { return __ballot(predicate) != 0; }
inline int __all(int predicate) { return __ballot(!predicate) == 0; }
inline unsigned __lane_id() { return ::hip_stand_in::lane(); }

template <class T, class Change> T hip_stand_in_atomic(T* at, Change change) {
  T old, next;
  __atomic_load(at, &old, __ATOMIC_RELAXED);
  do next = change(old);
  while (!__atomic_compare_exchange(at, &old, &next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
  return old;
}
template <class T, class V> T atomicAdd(T* at, V by) { return hip_stand_in_atomic(at, [by](T old) { return T(old + by); }); }
template <class T, class V> T atomicSub(T* at, V by) { return hip_stand_in_atomic(at, [by](T old) { return T(old - by); }); }
template <class T, class V> T atomicMax(T* at, V by) { return hip_stand_in_atomic(at, [by](T old) { return old > T(by) ? old : T(by); }); }
template <class T, class V> T atomicMin(T* at, V by) { return hip_stand_in_atomic(at, [by](T old) { return old < T(by) ? old : T(by); }); }
template <class T, class V> T atomicOr(T* at, V by) { return hip_stand_in_atomic(at, [by](T old) { return T(old | by); }); }
template <class T, class V> T atomicAnd(T* at, V by) { return hip_stand_in_atomic(at, [by](T old) { return T(old & by); }); }
template <class T, class V> T atomicExch(T* at, V to) { return hip_stand_in_atomic(at, [to](T) { return T(to); }); }
template <class T> T atomicCAS(T* at, T expected, T to) {
  __atomic_compare_exchange(at, &expected, &to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  return expected;
}

template <class T> T __ldg(const T* from) { return *from; }
#ifndef __clang__
template <class T> T __builtin_nontemporal_load(const T* from) { return *from; }
template <class V, class T> void __builtin_nontemporal_store(V value, T* to) { *to = value; }
#endif
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline long long clock64() { return (long long)__builtin_ia32_rdtsc(); }
inline long long wall_clock64() { return clock64(); }
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
inline float min(float a, float b) { return a < b ? a : b; }
inline float max(float a, float b) { return a > b ? a : b; }
inline double min(double a, double b) { return a < b ? a : b; }
inline double max(double a, double b) { return a > b ? a : b; }

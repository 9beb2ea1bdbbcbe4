// Work-items as fibers: a work-item runs through unless it meets a barrier, so kernels without one cost
// no switch at all. A fiber that waits is set aside and the next work-item starts on another.
#include <sys/mman.h>

#include <memory>

#include "internal.h"

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace hip_stand_in {

__thread Item item;
__thread bool noting = false;

static constexpr size_t STACK = 256 * 1024;

enum class Waiting { Nothing, Block, Wave };

struct Fiber {
#if defined(__x86_64__)
  void* sp = nullptr;
#else
  ucontext_t context;
#endif
  Item saved;
  unsigned index = 0;
  Waiting waiting = Waiting::Nothing;
  bool was_noting = false;
};

/// The dispatch that a thread of the machine is running.
struct Executor {
  Fiber main;
  Fiber* running = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber*> idle, parked;
  const Work* work = nullptr;
  dim3 grid, block;
  unsigned next = 0, total = 0;
  std::vector<unsigned> live_in_wave;
  std::vector<uint64_t> exchanged;
  std::vector<char> present;
  std::vector<char> lds;
  Ran ran;
};

static __thread Executor* executor = nullptr;

#if defined(__x86_64__)
extern "C" void hip_stand_in_switch(void** save, void* load);
asm(R"(
.text
.globl hip_stand_in_switch
.type hip_stand_in_switch,@function
hip_stand_in_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size hip_stand_in_switch,.-hip_stand_in_switch
)");
static void switch_to(Fiber& from, Fiber& to) { hip_stand_in_switch(&from.sp, to.sp); }
#else
static void switch_to(Fiber& from, Fiber& to) { swapcontext(&from.context, &to.context); }
#endif

static void begin(Executor& e, Fiber& fiber, unsigned index) {
  fiber.index = index;
  item.thread = {index % e.block.x, index / e.block.x % e.block.y, index / (e.block.x * e.block.y)};
}

static void fiber_main() {
  for (;;) {
    // Re-read: the same fiber serves one dispatch after another.
    Executor& e = *executor;
    while (e.next < e.total) {
      Fiber& me = *e.running;
      begin(e, me, e.next++);
      e.work->item();
      noting = me.was_noting = false;
      --e.live_in_wave[me.index / wave_size()];
    }
    Fiber& me = *e.running;
    e.idle.push_back(&me);
    switch_to(me, e.main);
  }
}

static Fiber* new_fiber(Executor& e) {
  e.fibers.emplace_back(new Fiber);
  Fiber* fiber = e.fibers.back().get();
  char* stack = (char*)mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) { fputs("stand-in: no memory for work-items\n", stderr); abort(); }
  // Stacks at equal distances would share the same few cache lines.
  size_t colour = e.fibers.size() % 128 * 448;
#if defined(__x86_64__)
  // A return address on top, as after a call; six saved registers below it.
  void** top = (void**)(stack + STACK - colour) - 2;
  *top = (void*)fiber_main;
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  fiber->sp = top;
#else
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = stack;
  fiber->context.uc_stack.ss_size = STACK - colour;
  makecontext(&fiber->context, fiber_main, 0);
#endif
  return fiber;
}

static void resume(Executor& e, Fiber* fiber) {
  e.running = fiber;
  item = fiber->saved;
  noting |= fiber->was_noting;
  fiber->waiting = Waiting::Nothing;
  switch_to(e.main, *fiber);
}

/// Takes those for which `goes` holds out of the waiting ones.
template <class Goes> static std::vector<Fiber*> take(Executor& e, Goes goes) {
  std::vector<Fiber*> go, stay;
  for (Fiber* fiber : e.parked) (goes(*fiber) ? go : stay).push_back(fiber);
  e.parked = stay;
  return go;
}

/// Fibers whose barrier is complete; at a standstill, whoever waits for its wave goes on first.
static std::vector<Fiber*> released(Executor& e) {
  std::vector<unsigned> at_wave(e.live_in_wave.size());
  for (Fiber* f : e.parked)
    if (f->waiting == Waiting::Wave) ++at_wave[f->index / wave_size()];
  auto go = take(e, [&](const Fiber& f) {
    unsigned wave = f.index / wave_size();
    return f.waiting == Waiting::Wave && at_wave[wave] == e.live_in_wave[wave];
  });
  if (go.empty()) go = take(e, [](const Fiber& f) { return f.waiting == Waiting::Wave; });
  if (go.empty()) go.swap(e.parked);
  return go;
}

static void run_block(Executor& e) {
  e.next = 0;
  for (size_t w = 0; w < e.live_in_wave.size(); ++w) {
    unsigned first = unsigned(w) * wave_size();
    e.live_in_wave[w] = e.total - first < wave_size() ? e.total - first : wave_size();
  }
  while (e.next < e.total) {
    if (e.idle.empty()) e.idle.push_back(new_fiber(e));
    Fiber* fiber = e.idle.back();
    e.idle.pop_back();
    fiber->saved = item;
    resume(e, fiber);
  }
  while (!e.parked.empty())
    for (Fiber* fiber : released(e)) resume(e, fiber);
}

Ran run_grid(const Work& work, dim3 grid, dim3 block, size_t lds) {
  if (!executor) executor = new Executor;
  Executor& e = *executor;
  e.work = &work;
  e.grid = grid;
  e.block = block;
  e.total = block.x * block.y * block.z;
  e.live_in_wave.assign((e.total + wave_size() - 1) / wave_size(), 0);
  e.exchanged.assign(e.total, 0);
  e.present.assign(e.total, 0);
  e.lds.assign(lds + 16, 0);
  e.ran = Ran{};
  noting = true;
  item.block_dim = {block.x, block.y, block.z};
  item.grid_dim = {grid.x, grid.y, grid.z};
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        item.block = {x, y, z};
        run_block(e);
      }
  noting = false;
  return e.ran;
}

static void park(Waiting why) {
  Executor& e = *executor;
  Fiber& me = *e.running;
  me.was_noting = noting;
  noting = false;
  me.saved = item;
  me.waiting = why;
  e.parked.push_back(&me);
  switch_to(me, e.main);
}

void note_entry() {
  // The caller is the kernel itself, which is never inlined.
  if (!executor->ran.entry) executor->ran.entry = __builtin_return_address(0);
}
void note_lds(size_t bytes) { executor->ran.static_lds += bytes; }
void* dynamic_lds() { return executor->lds.data(); }
void wait_for_block() { park(Waiting::Block); }
void wait_for_wave() { park(Waiting::Wave); }
unsigned lane() { return executor->running->index % wave_size(); }

uint64_t exchange(uint64_t value, unsigned source_lane) {
  Executor& e = *executor;
  unsigned me = e.running->index, first = me / wave_size() * wave_size(), from = first + source_lane;
  e.exchanged[me] = value;
  e.present[me] = 1;
  wait_for_wave();
  bool there = from < e.total && e.present[from];
  uint64_t result = there ? e.exchanged[from] : value;
  wait_for_wave();
  e.present[me] = 0;
  return result;
}

uint64_t ballot(bool predicate) {
  Executor& e = *executor;
  unsigned me = e.running->index, first = me / wave_size() * wave_size();
  e.exchanged[me] = predicate;
  e.present[me] = 1;
  wait_for_wave();
  uint64_t result = 0;
  for (unsigned l = 0; l < wave_size() && first + l < e.total; ++l)
    if (e.present[first + l] && e.exchanged[first + l]) result |= uint64_t(1) << l;
  wait_for_wave();
  e.present[me] = 0;
  return result;
}

}  // namespace hip_stand_in

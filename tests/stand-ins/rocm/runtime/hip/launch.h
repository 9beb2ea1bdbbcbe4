// How a kernel gets from `k<<<grid, block>>>(args)` to a thread of its stream.
#pragma once

namespace hip_stand_in {

/// What one work-item does, with its arguments bound.
struct Work {
  virtual void item() const = 0;
  virtual ~Work() {}
};

template <class Body> struct Bound final : Work {
  Body body;
  explicit Bound(Body body) : body(body) {}
  void item() const override { body(); }
};

/// Queues a kernel; `function` is its address when the caller knows it.
hipError_t submit(const char* call, dim3 grid, dim3 block, size_t lds, hipStream_t stream, Work* work, const void* function);

/// The kernel registered under an address, for launches by bare pointer.
typedef Work* (*Binder)(const void* function, void** args);
void register_kernel(const void* function, Binder binder);
hipError_t launch_registered(const void* function, dim3 grid, dim3 block, void** args, size_t lds, hipStream_t stream);

struct Configured {
  dim3 grid, block;
  size_t lds;
  hipStream_t stream;
  template <class F, class... A> void run(F f, A... a) const {
    auto body = [f, a...]() { f(a...); };
    submit("hipLaunchKernel", grid, block, lds, stream, new Bound<decltype(body)>(body), nullptr);
  }
};

inline Configured configure(dim3 grid, dim3 block, size_t lds = 0, hipStream_t stream = nullptr) {
  return {grid, block, lds, stream};
}

template <size_t... I> struct Indices {};
template <size_t N, size_t... I> struct Count : Count<N - 1, N - 1, I...> {};
template <size_t... I> struct Count<0, I...> { typedef Indices<I...> type; };
template <class T> struct Plain { typedef T type; };
template <class T> struct Plain<const T> { typedef T type; };

template <class... P, size_t... I> Work* bind_with(void (*f)(P...), void** args, Indices<I...>) {
  struct Unpack {
    static auto body(void (*f)(P...), typename Plain<P>::type... a) { return [f, a...]() { f(a...); }; }
  };
  auto body = Unpack::body(f, *static_cast<typename Plain<P>::type*>(args[I])...);
  return new Bound<decltype(body)>(body);
}

template <class... P> Work* bind(void (*f)(P...), void** args) {
  (void)args;
  return bind_with(f, args, typename Count<sizeof...(P)>::type{});
}

/// Emitted for every kernel that is not a template, so that `hipLaunchKernel` can take its address.
struct Registered {
  template <class... P> explicit Registered(void (*f)(P...)) {
    register_kernel((const void*)f, [](const void* function, void** args) { return bind((void (*)(P...))function, args); });
  }
};

}  // namespace hip_stand_in

inline hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** args, size_t lds, hipStream_t stream) {
  return hip_stand_in::launch_registered(function, grid, block, args, lds, stream);
}
template <class... P>
hipError_t hipLaunchKernel(void (*function)(P...), dim3 grid, dim3 block, void** args, size_t lds, hipStream_t stream) {
  return hip_stand_in::submit("hipLaunchKernel", grid, block, lds, stream, hip_stand_in::bind(function, args), (const void*)function);
}

#define hipLaunchKernelGGL(kernel, grid, block, lds, stream, ...) \
  ::hip_stand_in::configure(grid, block, lds, stream).run([=](auto... hip_arguments) { kernel(hip_arguments...); }, ##__VA_ARGS__)

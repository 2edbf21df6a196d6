// tests/fake_nvidia/cuda_shim.h: what the kernels of train.compile need of CUDA, on the host: a
// block's threads are fibers that take turns.
//
// A fiber gives its turn away where threads of a device wait for each other (__syncthreads, a
// shuffle). Threads that wait at different places end the process with a message.
#pragma once

#include <ucontext.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "narrow.h"

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __align__(bytes) alignas(bytes)
#define __shared__ static thread_local
#define threadIdx cuda_shim::block().thread_index
#define blockIdx cuda_shim::block().index
#define gridDim cuda_shim::block().grid

namespace cuda_shim {

struct Index {
  unsigned x = 0;
};

enum class Place { kRunning, kBlock, kWarp, kDone };

struct Fiber {
  ucontext_t context{};
  std::vector<char> stack = std::vector<char>(size_t{64} << 10);
  Place place = Place::kDone;
  float shown = 0;
};

struct Block {
  Index thread_index, index, grid;
  std::vector<Fiber> fibers;
  ucontext_t scheduler{};
  void (*start)(void*) = nullptr;
  void* argument = nullptr;
};

inline Block& block() {
  thread_local Block the;
  return the;
}

inline void wait_at(Place place) {
  Block& block = cuda_shim::block();
  const Index self = block.thread_index;
  Fiber& fiber = block.fibers[self.x];
  fiber.place = place;
  swapcontext(&fiber.context, &block.scheduler);
  fiber.place = Place::kRunning;
}

inline float shuffle_xor(float value, int mask) {
  Block& block = cuda_shim::block();
  const unsigned self = block.thread_index.x;
  block.fibers[self].shown = value;
  wait_at(Place::kWarp);
  const float out = block.fibers[self ^ static_cast<unsigned>(mask)].shown;
  wait_at(Place::kWarp);
  return out;
}

inline void fail(const char* why) {
  std::fprintf(stderr, "cuda_shim: %s\n", why);
  std::abort();
}

inline void enter() {
  Block& block = cuda_shim::block();
  const unsigned self = block.thread_index.x;
  block.start(block.argument);
  block.fibers[self].place = Place::kDone;
  setcontext(&block.scheduler);
}

// Each thread goes on to its next meeting point; returns whether some are left.
inline bool run_round(Block& block, unsigned threads) {
  bool is_left = false;
  for (unsigned i = 0; i < threads; ++i) {
    if (block.fibers[i].place == Place::kDone) continue;
    block.thread_index.x = i;
    swapcontext(&block.scheduler, &block.fibers[i].context);
    is_left = is_left || block.fibers[i].place != Place::kDone;
  }
  for (unsigned i = 0; i < threads; ++i) {
    const Place place = block.fibers[i].place;
    if (place != block.fibers[i / 32 * 32].place)
      fail("threads of a warp wait at different places");
    if ((place == Place::kBlock) != (block.fibers[0].place == Place::kBlock)) {
      fail("threads of a block do not all wait");
    }
  }
  return is_left;
}

template <class Call>
void run_blocks(unsigned blocks, unsigned threads, Call call) {
  Block& block = cuda_shim::block();
  if (block.fibers.size() < threads) block.fibers = std::vector<Fiber>(threads);
  block.start = [](void* argument) { (*static_cast<Call*>(argument))(); };
  block.argument = &call;
  block.grid.x = blocks;
  for (unsigned b = 0; b < blocks; ++b) {
    block.index.x = b;
    for (unsigned i = 0; i < threads; ++i) {
      Fiber& fiber = block.fibers[i];
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.data();
      fiber.context.uc_stack.ss_size = fiber.stack.size();
      fiber.context.uc_link = nullptr;
      makecontext(&fiber.context, &enter, 0);
      fiber.place = Place::kRunning;
    }
    while (run_round(block, threads)) {
    }
  }
}

// A launch that may happen later. `parameters`: the addresses of the kernel's parameters, as
// cuLaunchKernel takes them.
template <class... Types>
std::function<void()> bind(void (*kernel)(Types...), unsigned blocks, unsigned threads,
                           void** parameters) {
  std::tuple<Types...> values;
  size_t at = 0;
  std::apply([&](auto&... value) { (std::memcpy(&value, parameters[at++], sizeof value), ...); },
             values);
  return [=] { run_blocks(blocks, threads, [&] { std::apply(kernel, values); }); };
}

}  // namespace cuda_shim

inline void __syncthreads() { cuda_shim::wait_at(cuda_shim::Place::kBlock); }
inline void __syncwarp() { cuda_shim::wait_at(cuda_shim::Place::kWarp); }
inline float __shfl_xor_sync(unsigned, float value, int mask) {
  return cuda_shim::shuffle_xor(value, mask);
}
// Compiled with -ffp-contract=off.
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float rsqrtf(float a) { return 1.0F / std::sqrt(a); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline float __uint2float_rn(unsigned a) { return static_cast<float>(a); }
inline float __uint_as_float(unsigned bits) {
  float out = 0;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}
inline float __int_as_float(unsigned bits) { return __uint_as_float(bits); }
inline unsigned __float_as_uint(float value) {
  unsigned out = 0;
  std::memcpy(&out, &value, sizeof out);
  return out;
}
inline float float_of_float16(unsigned short bits) { return narrow::float_of_float16(bits); }
inline unsigned short float16_of(float value) { return narrow::float16_of(value); }

#include "host/compile/kernel_text.h"

namespace rtrain::compile {

std::string_view kernel_prelude() {
  return R"cuda(// A kernel of rtrain's train.compile.
template <class T, int kCount>
struct __align__(sizeof(T) * kCount) Pack {
  T at[kCount];
};

// Numbers of 16 bits.
struct Float16 {
  unsigned short bits;
};
struct BFloat16 {
  unsigned short bits;
};

#ifdef __CUDA_ARCH__
__device__ __forceinline__ float float_of_float16(unsigned short bits) {
  float out;
  asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(bits));
  return out;
}

__device__ __forceinline__ unsigned short float16_of(float value) {
  unsigned short out;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out) : "f"(value));
  return out;
}
#endif

__device__ __forceinline__ unsigned short bfloat16_of(float value) {
#if __CUDA_ARCH__ >= 800
  unsigned short out;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out) : "f"(value));
  return out;
#else
  const unsigned int bits = __float_as_uint(value);
  return value != value ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
#endif
}

template <class T>
__device__ __forceinline__ float number_of(T value) {
  return static_cast<float>(value);
}
__device__ __forceinline__ float number_of(Float16 value) { return float_of_float16(value.bits); }
__device__ __forceinline__ float number_of(BFloat16 value) {
  return __uint_as_float(static_cast<unsigned int>(value.bits) << 16);
}

template <class T>
struct As {
  static __device__ __forceinline__ T of(float value) { return static_cast<T>(value); }
};
template <>
struct As<Float16> {
  static __device__ __forceinline__ Float16 of(float value) { return {float16_of(value)}; }
};
template <>
struct As<BFloat16> {
  static __device__ __forceinline__ BFloat16 of(float value) { return {bfloat16_of(value)}; }
};

template <class T>
__device__ __forceinline__ float rounded(float value) {
  return number_of(As<T>::of(value));
}

// Neighbours in memory, as one access.
template <int kCount, class T>
__device__ __forceinline__ void load(float* out, const T* from) {
  const Pack<T, kCount> pack = *reinterpret_cast<const Pack<T, kCount>*>(from);
#pragma unroll
  for (int k = 0; k < kCount; ++k) out[k] = number_of(pack.at[k]);
}

template <int kCount, class T>
__device__ __forceinline__ void store(T* to, const float* from) {
  Pack<T, kCount> pack;
#pragma unroll
  for (int k = 0; k < kCount; ++k) pack.at[k] = As<T>::of(from[k]);
  *reinterpret_cast<Pack<T, kCount>*>(to) = pack;
}

// Where random numbers begin.
struct Draw {
  unsigned long long seed, offset;
  const long long *seed_at, *offset_at;
  unsigned long long threads;
};

// Philox with ten rounds.
__device__ __forceinline__ void philox(unsigned int* x, unsigned int key0, unsigned int key1) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned int high0 = __umulhi(0xd2511f53u, x[0]), low0 = 0xd2511f53u * x[0];
    const unsigned int high1 = __umulhi(0xcd9e8d57u, x[2]), low1 = 0xcd9e8d57u * x[2];
    x[0] = high1 ^ x[1] ^ key0;
    x[1] = low1;
    x[2] = high0 ^ x[3] ^ key1;
    x[3] = low0;
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
}

// The numbers of neighbours, as cuRAND's generators give them to the threads of ATen's kernel: one
// of its threads takes kVector neighbours, then those that all threads further on, and needs a call
// of the generator for each four of them. Without neighbours a call is for four such steps.
template <int kVector, int kCount, class Index>
__device__ __forceinline__ void draw(float* out, const Draw& from, Index first) {
  const unsigned long long seed = from.seed_at ? *from.seed_at : from.seed;
  const unsigned long long offset = from.offset + (from.offset_at ? *from.offset_at : 0);
  const Index threads = static_cast<Index>(from.threads);
  constexpr int kShared = kVector < 4 ? kVector : 4;
  constexpr int kOfCall = kCount < kShared ? kCount : kShared;
#pragma unroll
  for (int k = 0; k < kCount; k += kOfCall) {
    const Index element = first + k;
    const Index step = element / kVector / threads;
    const int lane = kVector == 1 ? step % 4 : element % kVector;
    const Index call = kVector == 1 ? step / 4 : step * ((kVector + 3) / 4) + lane / 4;
    const unsigned long long counter = offset / 4 + call;
    unsigned int x[4] = {static_cast<unsigned int>(counter),
                         static_cast<unsigned int>(counter >> 32),
                         static_cast<unsigned int>(element / kVector % threads), 0};
    philox(x, static_cast<unsigned int>(seed), static_cast<unsigned int>(seed >> 32));
#pragma unroll
    for (int i = 0; i < kOfCall; ++i) {
      const int at = (lane + i) % 4;
      const unsigned int word = at == 0 ? x[0] : at == 1 ? x[1] : at == 2 ? x[2] : x[3];
      out[k + i] = __fmaf_rn(__uint2float_rn(word), 2.3283064365e-10f, 1.1641532183e-10f);
    }
  }
}

// The gradient of GELU's approximation; t: its tanh.
__device__ __forceinline__ float gelu_slope(float grad, float x, float t) {
  const float square = __fmul_rn(x, x);
  const float inner = __fmul_rn(0.797884583f, __fmaf_rn(3 * 0.044715f, square, 1.0f));
  const float half_x = __fmul_rn(0.5f, x);
  const float slope = __fmul_rn(__fmul_rn(half_x, __fmaf_rn(-t, t, 1.0f)), inner);
  return __fmul_rn(grad, __fadd_rn(__fmul_rn(0.5f, __fadd_rn(1.0f, t)), slope));
}

__device__ __forceinline__ float gelu_tanh(float x) {
  const float cube = __fmul_rn(__fmul_rn(x, x), x);
  return tanhf(__fmul_rn(0.797884583f, __fmaf_rn(0.044715f, cube, x)));
}

// The larger one; a NaN if there is one.
struct Larger {
  __device__ __forceinline__ float operator()(float a, float b) const {
    return a != a || a > b ? a : b;
  }
};

struct Sum {
  __device__ __forceinline__ float operator()(float a, float b) const { return __fadd_rn(a, b); }
};

template <class Join>
__device__ __forceinline__ float join_warp(float value, Join join) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value = join(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

// All threads of the block get the same result.
template <int kThreads, class Join>
__device__ __forceinline__ float join_block(float value, Join join) {
  __shared__ float parts[kThreads / 32];
  value = join_warp(value, join);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float out = parts[0];
#pragma unroll
  for (int i = 1; i < kThreads / 32; ++i) out = join(out, parts[i]);
  return out;
}
)cuda";
}

}  // namespace rtrain::compile

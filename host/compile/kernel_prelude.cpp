#include "host/compile/kernel_text.h"

namespace rtrain::compile {

std::string_view kernel_prelude() {
  return R"cuda(// A kernel of rtrain's train.compile.
template <class T, int kCount>
struct __align__(sizeof(T) * kCount) Pack {
  T at[kCount];
};

template <class T>
__device__ __forceinline__ float number_of(T value) {
  return static_cast<float>(value);
}

// Neighbours in memory, as one access.
template <int kCount, class T>
__device__ __forceinline__ void load(float* out, const T* from) {
  const Pack<T, kCount> pack = *reinterpret_cast<const Pack<T, kCount>*>(from);
#pragma unroll
  for (int k = 0; k < kCount; ++k) out[k] = number_of(pack.at[k]);
}

template <int kCount>
__device__ __forceinline__ void store(float* to, const float* from) {
  Pack<float, kCount> pack;
#pragma unroll
  for (int k = 0; k < kCount; ++k) pack.at[k] = from[k];
  *reinterpret_cast<Pack<float, kCount>*>(to) = pack;
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

#include "host/engine/distributed/shm/reduction.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/runtime/dtype.h"

namespace rtrain::engine {
namespace {

using Op = c10d::ReduceOp::RedOpType;

constexpr size_t kBlock = 1024;  // elements; a block's sums fit into the L1 cache

template <class T>
struct SumOf {
  using Type = T;
};
template <>
struct SumOf<c10::Half> {
  using Type = float;
};
template <>
struct SumOf<c10::BFloat16> {
  using Type = float;
};

template <Op kOp, class A>
[[gnu::always_inline]] inline A combine(A a, A b) {
  if constexpr (kOp == Op::SUM || kOp == Op::AVG) {
    // Integers wrap, as in PyTorch.
    if constexpr (std::is_integral_v<A>) {
      using U = std::make_unsigned_t<A>;
      return static_cast<A>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    } else {
      return a + b;
    }
  } else if constexpr (kOp == Op::PRODUCT) {
    if constexpr (std::is_integral_v<A>) {
      return static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  } else if constexpr (kOp == Op::MIN) {
    return b < a || b != b ? b : a;
  } else if constexpr (kOp == Op::MAX) {
    return b > a || b != b ? b : a;
  } else if constexpr (kOp == Op::BAND) {
    return static_cast<A>(a & b);
  } else if constexpr (kOp == Op::BOR) {
    return static_cast<A>(a | b);
  } else {
    return static_cast<A>(a ^ b);
  }
}

template <class T, Op kOp>
[[gnu::always_inline]] inline void reduce_blocks(std::byte* out, const std::byte* const* inputs,
                                                 int num, size_t count) {
  using A = typename SumOf<T>::Type;
  std::array<A, kBlock> sums;
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t size = std::min(kBlock, count - begin);
    const auto* first = reinterpret_cast<const T*>(inputs[0]) + begin;
    for (size_t i = 0; i < size; ++i) sums[i] = static_cast<A>(first[i]);
    for (int k = 1; k < num; ++k) {
      const auto* next = reinterpret_cast<const T*>(inputs[k]) + begin;
      for (size_t i = 0; i < size; ++i) sums[i] = combine<kOp, A>(sums[i], static_cast<A>(next[i]));
    }
    auto* target = reinterpret_cast<T*>(out) + begin;
    if constexpr (kOp == Op::AVG) {
      const auto divisor = static_cast<A>(num);
      for (size_t i = 0; i < size; ++i) target[i] = static_cast<T>(sums[i] / divisor);
    } else {
      for (size_t i = 0; i < size; ++i) target[i] = static_cast<T>(sums[i]);
    }
  }
}

using Kernel = void (*)(std::byte*, const std::byte* const*, int, size_t);

template <class T, Op kOp>
void reduce_plain(std::byte* out, const std::byte* const* inputs, int num, size_t count) {
  reduce_blocks<T, kOp>(out, inputs, num, count);
}

#if defined(__x86_64__)
// Without fused multiply-add, which would round differently.
template <class T, Op kOp>
[[gnu::target("avx2")]] void reduce_avx2(std::byte* out, const std::byte* const* inputs, int num,
                                         size_t count) {
  reduce_blocks<T, kOp>(out, inputs, num, count);
}

template <class T, Op kOp>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void reduce_avx512(
    std::byte* out, const std::byte* const* inputs, int num, size_t count) {
  reduce_blocks<T, kOp>(out, inputs, num, count);
}
#endif

template <class T, Op kOp>
Kernel kernel_of_processor() {
#if defined(__x86_64__)
  static const Kernel kKernel = [] {
    const bool has_avx512 =
        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (has_avx512) return &reduce_avx512<T, kOp>;
    if (__builtin_cpu_supports("avx2")) return &reduce_avx2<T, kOp>;
    return &reduce_plain<T, kOp>;
  }();
  return kKernel;
#else
  return &reduce_plain<T, kOp>;
#endif
}

// Returns null for an operation that the dtype does not have.
template <class T, Op kOp, bool kHasIt>
Kernel kernel_where() {
  if constexpr (kHasIt) {
    return kernel_of_processor<T, kOp>();
  } else {
    return nullptr;
  }
}

template <class T>
Kernel kernel_of_op(Op op) {
  constexpr bool kHasBits = std::is_integral_v<T>;
  switch (op) {
    case Op::SUM:
      return kernel_of_processor<T, Op::SUM>();
    case Op::PRODUCT:
      return kernel_of_processor<T, Op::PRODUCT>();
    case Op::MIN:
      return kernel_of_processor<T, Op::MIN>();
    case Op::MAX:
      return kernel_of_processor<T, Op::MAX>();
    case Op::AVG:
      return kernel_where<T, Op::AVG, !kHasBits>();
    case Op::BAND:
      return kernel_where<T, Op::BAND, kHasBits>();
    case Op::BOR:
      return kernel_where<T, Op::BOR, kHasBits>();
    case Op::BXOR:
      return kernel_where<T, Op::BXOR, kHasBits>();
    default:
      return nullptr;
  }
}

// For booleans a sum is logical or, a product is logical and.
Kernel kernel_of_bool(Op op) {
  switch (op) {
    case Op::SUM:
    case Op::MAX:
    case Op::BOR:
      return kernel_of_op<uint8_t>(Op::BOR);
    case Op::PRODUCT:
    case Op::MIN:
    case Op::BAND:
      return kernel_of_op<uint8_t>(Op::BAND);
    case Op::BXOR:
      return kernel_of_op<uint8_t>(Op::BXOR);
    default:
      return nullptr;
  }
}

Kernel kernel_of(const Reduction& reduction) {
  const Op op = reduction.op;
  switch (reduction.dtype) {
    case c10::kFloat:
      return kernel_of_op<float>(op);
    case c10::kDouble:
      return kernel_of_op<double>(op);
    case c10::kHalf:
      return kernel_of_op<c10::Half>(op);
    case c10::kBFloat16:
      return kernel_of_op<c10::BFloat16>(op);
    case c10::kByte:
      return kernel_of_op<uint8_t>(op);
    case c10::kChar:
      return kernel_of_op<int8_t>(op);
    case c10::kShort:
      return kernel_of_op<int16_t>(op);
    case c10::kInt:
      return kernel_of_op<int32_t>(op);
    case c10::kLong:
      return kernel_of_op<int64_t>(op);
    case c10::kUInt16:
      return kernel_of_op<uint16_t>(op);
    case c10::kUInt32:
      return kernel_of_op<uint32_t>(op);
    case c10::kUInt64:
      return kernel_of_op<uint64_t>(op);
    case c10::kBool:
      return kernel_of_bool(op);
    default:
      return nullptr;
  }
}

// Treats a complex number as two real ones.
Reduction parts_of(const Reduction& reduction) {
  if (reduction.op != Op::SUM && reduction.op != Op::AVG) return reduction;
  if (reduction.dtype == c10::kComplexFloat) return {reduction.op, c10::kFloat};
  if (reduction.dtype == c10::kComplexDouble) return {reduction.op, c10::kDouble};
  return reduction;
}

const char* name_of(Op op) {
  switch (op) {
    case Op::SUM:
      return "SUM";
    case Op::AVG:
      return "AVG";
    case Op::PRODUCT:
      return "PRODUCT";
    case Op::MIN:
      return "MIN";
    case Op::MAX:
      return "MAX";
    case Op::BAND:
      return "BAND";
    case Op::BOR:
      return "BOR";
    case Op::BXOR:
      return "BXOR";
    default:
      return "this operation";
  }
}

}  // namespace

void check_reduction(const Reduction& reduction) {
  if (kernel_of(parts_of(reduction)) != nullptr) return;
  throw Error(Code::kArgument, cat("the backend shm has no ", name_of(reduction.op), " of ",
                                   dtype_name(reduction.dtype)));
}

void reduce(const Reduction& reduction, std::byte* out, const std::byte* const* inputs, int num,
            size_t count) {
  const Reduction parts = parts_of(reduction);
  const bool is_complex = parts.dtype != reduction.dtype;
  kernel_of(parts)(out, inputs, num, is_complex ? 2 * count : count);
}

}  // namespace rtrain::engine

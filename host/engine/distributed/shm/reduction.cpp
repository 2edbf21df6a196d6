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

using RedOpType = c10d::ReduceOp::RedOpType;

constexpr size_t kBlock = 1024;      // elements; a block's sums fit into the L1 cache
constexpr size_t kMostWaiting = 12;  // sums that wait for their siblings: enough for 4096 ranks

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

template <RedOpType kOp, class A>
[[gnu::always_inline]] inline A combine(A a, A b) {
  if constexpr (kOp == RedOpType::SUM || kOp == RedOpType::AVG) {
    // Integers wrap, as in PyTorch.
    if constexpr (std::is_integral_v<A>) {
      using U = std::make_unsigned_t<A>;
      return static_cast<A>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    } else {
      return a + b;
    }
  } else if constexpr (kOp == RedOpType::PRODUCT) {
    if constexpr (std::is_integral_v<A>) {
      return static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  } else if constexpr (kOp == RedOpType::MIN) {
    return b < a || b != b ? b : a;
  } else if constexpr (kOp == RedOpType::MAX) {
    return b > a || b != b ? b : a;
  } else if constexpr (kOp == RedOpType::BAND) {
    return static_cast<A>(a & b);
  } else if constexpr (kOp == RedOpType::BOR) {
    return static_cast<A>(a | b);
  } else {
    return static_cast<A>(a ^ b);
  }
}

template <class T, RedOpType kOp, class A>
[[gnu::always_inline]] inline void write_sums(T* out, const A* sums, int num, size_t size) {
  if constexpr (kOp == RedOpType::AVG) {
    const auto divisor = static_cast<A>(num);
    for (size_t i = 0; i < size; ++i) out[i] = static_cast<T>(sums[i] / divisor);
  } else {
    for (size_t i = 0; i < size; ++i) out[i] = static_cast<T>(sums[i]);
  }
}

template <class T, RedOpType kOp>
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
    write_sums<T, kOp>(reinterpret_cast<T*>(out) + begin, sums.data(), num, size);
  }
}

template <RedOpType kOp, class A>
[[gnu::always_inline]] inline void combine_into(A* sums, const A* others, size_t size) {
  for (size_t i = 0; i < size; ++i) sums[i] = combine<kOp, A>(sums[i], others[i]);
}

// The same for sums, along the tree of host/base/sum_tree.h over the ranks. Sums of pairs wait on a
// stack for their siblings; of three ranks or fewer the order is that of the ranks.
template <class T, RedOpType kOp>
[[gnu::always_inline]] inline void add_blocks(std::byte* out, const std::byte* const* inputs,
                                              int num, size_t count) {
  using A = typename SumOf<T>::Type;
  std::array<std::array<A, kBlock>, kMostWaiting> waiting;
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t size = std::min(kBlock, count - begin);
    size_t depth = 0;
    for (int k = 0; k < num; k += 2) {
      A* const sums = waiting[depth++].data();
      const auto* left = reinterpret_cast<const T*>(inputs[k]) + begin;
      if (k + 1 < num) {
        const auto* right = reinterpret_cast<const T*>(inputs[k + 1]) + begin;
        for (size_t i = 0; i < size; ++i) {
          sums[i] = combine<kOp, A>(static_cast<A>(left[i]), static_cast<A>(right[i]));
        }
      } else {
        for (size_t i = 0; i < size; ++i) sums[i] = static_cast<A>(left[i]);
      }
      for (int pairs = k / 2 + 1; pairs % 2 == 0; pairs /= 2, --depth) {
        combine_into<kOp>(waiting[depth - 2].data(), waiting[depth - 1].data(), size);
      }
    }
    for (; depth > 1; --depth) {
      combine_into<kOp>(waiting[depth - 2].data(), waiting[depth - 1].data(), size);
    }
    write_sums<T, kOp>(reinterpret_cast<T*>(out) + begin, waiting[0].data(), num, size);
  }
}

template <class T, RedOpType kOp>
[[gnu::always_inline]] inline void reduce_all(std::byte* out, const std::byte* const* inputs,
                                              int num, size_t count) {
  constexpr bool kIsSum = kOp == RedOpType::SUM || kOp == RedOpType::AVG;
  if constexpr (kIsSum && !std::is_integral_v<T>) {
    if (num > 3) return add_blocks<T, kOp>(out, inputs, num, count);
  }
  reduce_blocks<T, kOp>(out, inputs, num, count);
}

using Kernel = void (*)(std::byte*, const std::byte* const*, int, size_t);

template <class T, RedOpType kOp>
void reduce_plain(std::byte* out, const std::byte* const* inputs, int num, size_t count) {
  reduce_all<T, kOp>(out, inputs, num, count);
}

#if defined(__x86_64__)
// Without fused multiply-add, which would round differently.
template <class T, RedOpType kOp>
[[gnu::target("avx2")]] void reduce_avx2(std::byte* out, const std::byte* const* inputs, int num,
                                         size_t count) {
  reduce_all<T, kOp>(out, inputs, num, count);
}

template <class T, RedOpType kOp>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void reduce_avx512(
    std::byte* out, const std::byte* const* inputs, int num, size_t count) {
  reduce_all<T, kOp>(out, inputs, num, count);
}
#endif

template <class T, RedOpType kOp>
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
template <class T, RedOpType kOp, bool kHasIt>
Kernel kernel_where() {
  if constexpr (kHasIt) {
    return kernel_of_processor<T, kOp>();
  } else {
    return nullptr;
  }
}

template <class T>
Kernel kernel_of_op(RedOpType op) {
  constexpr bool kHasBits = std::is_integral_v<T>;
  switch (op) {
    case RedOpType::SUM:
      return kernel_of_processor<T, RedOpType::SUM>();
    case RedOpType::PRODUCT:
      return kernel_of_processor<T, RedOpType::PRODUCT>();
    case RedOpType::MIN:
      return kernel_of_processor<T, RedOpType::MIN>();
    case RedOpType::MAX:
      return kernel_of_processor<T, RedOpType::MAX>();
    case RedOpType::AVG:
      return kernel_where<T, RedOpType::AVG, !kHasBits>();
    case RedOpType::BAND:
      return kernel_where<T, RedOpType::BAND, kHasBits>();
    case RedOpType::BOR:
      return kernel_where<T, RedOpType::BOR, kHasBits>();
    case RedOpType::BXOR:
      return kernel_where<T, RedOpType::BXOR, kHasBits>();
    default:
      return nullptr;
  }
}

// For booleans a sum is logical or, a product is logical and.
Kernel kernel_of_bool(RedOpType op) {
  switch (op) {
    case RedOpType::SUM:
    case RedOpType::MAX:
    case RedOpType::BOR:
      return kernel_of_op<uint8_t>(RedOpType::BOR);
    case RedOpType::PRODUCT:
    case RedOpType::MIN:
    case RedOpType::BAND:
      return kernel_of_op<uint8_t>(RedOpType::BAND);
    case RedOpType::BXOR:
      return kernel_of_op<uint8_t>(RedOpType::BXOR);
    default:
      return nullptr;
  }
}

Kernel kernel_of(const Reduction& reduction) {
  const RedOpType op = reduction.op;
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
  if (reduction.op != RedOpType::SUM && reduction.op != RedOpType::AVG) return reduction;
  if (reduction.dtype == c10::kComplexFloat) return {reduction.op, c10::kFloat};
  if (reduction.dtype == c10::kComplexDouble) return {reduction.op, c10::kDouble};
  return reduction;
}

const char* name_of(RedOpType op) {
  switch (op) {
    case RedOpType::SUM:
      return "SUM";
    case RedOpType::AVG:
      return "AVG";
    case RedOpType::PRODUCT:
      return "PRODUCT";
    case RedOpType::MIN:
      return "MIN";
    case RedOpType::MAX:
      return "MAX";
    case RedOpType::BAND:
      return "BAND";
    case RedOpType::BOR:
      return "BOR";
    case RedOpType::BXOR:
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

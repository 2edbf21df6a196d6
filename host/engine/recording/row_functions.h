// host/engine/recording/row_functions.h: functions of rows with the bits of ATen's kernels. A part
// of vector_functions.h.
//
// Each sum has ATen's order, in which an addition waits for the one before it. So the moments of
// several rows are computed at once. Where exp takes longer, or rows come from memory, it is one.
#pragma once

#include <ATen/cpu/vec/functional.h>
#include <ATen/native/cpu/moments_utils.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "host/compile/function.h"
#include "host/engine/recording/vector_math.h"

namespace rtrain::engine::CPU_CAPABILITY {

using compile::RowOperand;
using compile::RowResult;

inline constexpr size_t kWidth = Vector::size();

template <size_t kRows>
using Rows = std::array<const float*, kRows>;

// Calls each(0), each(1) … for the rows.
template <size_t kRows, class Each>
[[gnu::always_inline]] inline void each_row(Each each) {
  [&]<size_t... kRow>(std::index_sequence<kRow...>) { (each(kRow), ...); }
  (std::make_index_sequence<kRows>());
}

// Calls some.operator()<n>(row) for n rows at once, at most kMost, until all have passed.
template <size_t kMost, class Some>
void for_rows(size_t num_rows, Some some) {
  size_t row = 0;
  for (; row + kMost <= num_rows; row += kMost) some.template operator()<kMost>(row);
  if constexpr (kMost > 2) {
    for (; row + 2 <= num_rows; row += 2) some.template operator()<2>(row);
  }
  if (row < num_rows) some.template operator()<1>(row);
}

inline const float* row_at(const RowOperand& operand, size_t row) {
  return operand.numbers + row * operand.stride;
}

template <size_t kRows>
Rows<kRows> rows_at(const RowOperand& operand, size_t row) {
  Rows<kRows> out;
  for (size_t k = 0; k < kRows; ++k) out[k] = row_at(operand, row + k);
  return out;
}

inline Vector load(const float* numbers, size_t count) {
  return Vector::loadu(numbers, static_cast<int64_t>(count));
}

inline void store(Vector vector, float* to, size_t count) {
  vector.store(to, static_cast<int>(count));
}

inline constexpr auto kPlus = [](Vector a, Vector b) { return a + b; };
inline constexpr auto kLarger = [](Vector a, Vector b) { return at::vec::maximum(a, b); };

// at::vec::map of a row. map(i, count): `count` numbers from i on.
template <class Map>
[[gnu::always_inline]] inline void map_row(float* out, size_t width, Map map) {
  size_t i = 0;
  for (; i + kWidth <= width; i += kWidth) store(map(i, kWidth), out + i, kWidth);
  if (i < width) store(map(i, width - i), out + i, width - i);
}

// at::vec::map_reduce_all of a row. map(i, count): `count` numbers from i on.
template <class Map, class Reduce>
[[gnu::always_inline]] inline float reduced(size_t width, Map map, Reduce reduce) {
  if (width < kWidth) {
    return at::vec::vec_reduce_all<float>(reduce, map(0, width), static_cast<int>(width));
  }
  Vector sum = map(0, kWidth);
  size_t i = kWidth;
  for (; i + kWidth <= width; i += kWidth) sum = reduce(sum, map(i, kWidth));
  if (i < width) {
    const size_t rest = width - i;
    sum = Vector::set(sum, reduce(sum, map(i, rest)), static_cast<int64_t>(rest));
  }
  return at::vec::vec_reduce_all<float>(reduce, sum);
}

// The largest number, of which several vectors are looked at at once: only which of two zeros it
// is depends on the order, and no result here on that.
inline float largest(const float* row, size_t width) {
  constexpr size_t kAtOnce = 4;
  constexpr size_t kStep = kAtOnce * kWidth;
  const auto number = [=](size_t i, size_t count) { return load(row + i, count); };
  if (width < 2 * kStep) return reduced(width, number, kLarger);
  Vector most[kAtOnce];
  for (size_t k = 0; k < kAtOnce; ++k) most[k] = Vector::loadu(row + k * kWidth);
  size_t i = kStep;
  for (; i + kStep <= width; i += kStep) {
    for (size_t k = 0; k < kAtOnce; ++k) {
      most[k] = kLarger(most[k], Vector::loadu(row + i + k * kWidth));
    }
  }
  const Vector all = kLarger(kLarger(most[0], most[1]), kLarger(most[2], most[3]));
  const float first = at::vec::vec_reduce_all<float>(kLarger, all);
  if (i == width) return first;
  const float rest = reduced(
      width - i, [=](size_t k, size_t count) { return load(row + i + k, count); }, kLarger);
  return at::vec::vec_reduce_all<float>(kLarger, kLarger(Vector(first), Vector(rest)));
}

// The order of ATen's amax over a row, which decides about the sign of a zero.
inline float maximum_of(const float* row, size_t width) {
  constexpr size_t kAtOnce = 4;
  constexpr size_t kStep = kAtOnce * kWidth;
  const auto larger = [](float a, float b) { return a != a || b != b ? a + b : a < b ? b : a; };
  float most = -__builtin_inff();
  size_t done = 0;
  if (width >= kStep) {
    Vector most_of[kAtOnce];
    for (size_t k = 0; k < kAtOnce; ++k) most_of[k] = Vector::loadu(row + k * kWidth);
    for (done = kStep; done + kStep <= width; done += kStep) {
      for (size_t k = 0; k < kAtOnce; ++k) {
        most_of[k] = at::vec::maximum(most_of[k], Vector::loadu(row + done + k * kWidth));
      }
    }
    float partial[kWidth];
    at::vec::maximum(at::vec::maximum(most_of[0], most_of[1]),
                     at::vec::maximum(most_of[2], most_of[3]))
        .store(partial);
    for (size_t k = 1; k < kWidth; ++k) partial[0] = larger(partial[0], partial[k]);
    most = larger(most, partial[0]);
  }
  for (; done < width; ++done) most = larger(most, row[done]);
  return most;
}

template <Vector (*kExp)(Vector)>
void softmax(RowResult out, const RowOperand* operands, size_t width, size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    const float* in = row_at(operands[0], row);
    float* to = out.numbers + row * width;
    const Vector shift(largest(in, width));
    const auto power = [=](size_t i, size_t count) {
      const Vector made = kExp(load(in + i, count) - shift);
      store(made, to + i, count);
      return made;
    };
    const Vector scale(1 / reduced(width, power, kPlus));
    map_row(to, width, [=](size_t i, size_t count) { return load(to + i, count) * scale; });
  }
}

template <Vector (*kExp)(Vector)>
void log_softmax(RowResult out, const RowOperand* operands, size_t width, size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    const float* in = row_at(operands[0], row);
    const Vector shift(largest(in, width));
    const auto power = [=](size_t i, size_t count) { return kExp(load(in + i, count) - shift); };
    const Vector log = Vector(reduced(width, power, kPlus)).log();
    map_row(out.numbers + row * width, width,
            [=](size_t i, size_t count) { return load(in + i, count) - shift - log; });
  }
}

inline void softmax_backward(RowResult out, const RowOperand* operands, size_t width,
                             size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    const float* grad = row_at(operands[0], row);
    const float* result = row_at(operands[1], row);
    const auto product = [=](size_t i, size_t count) {
      return apart(load(grad + i, count) * load(result + i, count));
    };
    const Vector sum(reduced(width, product, kPlus));
    map_row(out.numbers + row * width, width, [=](size_t i, size_t count) {
      return (load(grad + i, count) - sum) * load(result + i, count);
    });
  }
}

template <Vector (*kExp)(Vector)>
void log_softmax_backward(RowResult out, const RowOperand* operands, size_t width,
                          size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    const float* grad = row_at(operands[0], row);
    const float* result = row_at(operands[1], row);
    const auto number = [=](size_t i, size_t count) { return load(grad + i, count); };
    const Vector sum(reduced(width, number, kPlus));
    map_row(out.numbers + row * width, width, [=](size_t i, size_t count) {
      return at::vec::fnmadd(kExp(load(result + i, count)), sum, load(grad + i, count));
    });
  }
}

// The same for a gradient that is 0 but for one column of each row.
template <Vector (*kExp)(Vector)>
void class_backward(RowResult out, const RowOperand* operands, size_t width, size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    const float* result = row_at(operands[0], row);
    const float column = *row_at(operands[1], row);
    const float grad = *row_at(operands[2], row);
    const bool has_class = column >= 0 && column < static_cast<float>(width);
    const auto place = has_class ? static_cast<size_t>(column) : 0;
    const Vector sum(has_class ? grad + 0.0F : 0.0F);
    float own[kWidth];
    at::vec::fnmadd(kExp(Vector(result[place])), sum, Vector(grad)).store(own);
    float* to = out.numbers + row * width;
    map_row(to, width, [=](size_t i, size_t count) {
      return at::vec::fnmadd(kExp(load(result + i, count)), sum, Vector(0));
    });
    if (has_class) to[place] = own[0];
  }
}

// The sums of kNormDots for some rows. also(k, i, grad, x): vectors of row k from number i on.
template <size_t kRows>
struct NormDots {
  template <class Also>
  [[gnu::always_inline]] NormDots(const RowOperand* operands, size_t width, size_t first,
                                  Also also) {
    const auto grad = rows_at<kRows>(operands[0], first);
    const auto x = rows_at<kRows>(operands[1], first);
    const auto gamma = rows_at<kRows>(operands[2], first);
    std::array<Vector, kRows> of_three;
    std::array<Vector, kRows> of_two;
    of_three.fill(Vector(0));
    of_two.fill(Vector(0));
    for (size_t i = 0; i < width; i += kWidth) {
      each_row<kRows>([&](size_t k) {
        const Vector grad_now = Vector::loadu(grad[k] + i);
        const Vector x_now = Vector::loadu(x[k] + i);
        const Vector gamma_now = Vector::loadu(gamma[k] + i);
        of_three[k] = of_three[k] + apart(grad_now * x_now * gamma_now);
        of_two[k] = of_two[k] + apart(grad_now * gamma_now);
        also(k, i, grad_now, x_now);
      });
    }
    for (size_t k = 0; k < kRows; ++k) {
      ds[k] = at::vec::vec_reduce_all<float>(kPlus, of_three[k]);
      db[k] = at::vec::vec_reduce_all<float>(kPlus, of_two[k]);
    }
  }

  std::array<float, kRows> ds;
  std::array<float, kRows> db;
};

// REQUIRES: rows fill vectors.
inline void norm_dots(RowResult out, const RowOperand* operands, size_t width, size_t num_rows) {
  for_rows<4>(num_rows, [&]<size_t kRows>(size_t first) {
    const NormDots<kRows> dots(operands, width, first, [](size_t, size_t, Vector, Vector) {});
    std::copy(dots.ds.begin(), dots.ds.end(), out.numbers + first);
    std::copy(dots.db.begin(), dots.db.end(), out.numbers + out.spread + first);
  });
}

// kNormDots of the rows, which adds their part of the gradients of scale and shift to `sums`.
template <size_t kRows>
[[gnu::always_inline]] inline NormDots<kRows> dots_and_sums(float* sums, const RowOperand* operands,
                                                            size_t width, size_t first) {
  std::array<Vector, kRows> scale;
  std::array<Vector, kRows> shift;
  for (size_t k = 0; k < kRows; ++k) {
    const float rstd = *row_at(operands[4], first + k);
    scale[k] = Vector(rstd);
    shift[k] = Vector(-rstd * *row_at(operands[3], first + k));
  }
  Vector scale_sum;
  Vector shift_sum;
  return {operands, width, first, [&](size_t k, size_t i, Vector grad, Vector x) {
            if (k == 0) {
              scale_sum = Vector::loadu(sums + i);
              shift_sum = Vector::loadu(sums + width + i);
            }
            scale_sum = at::vec::fmadd(grad, at::vec::fmadd(x, scale[k], shift[k]), scale_sum);
            shift_sum = shift_sum + grad;
            if (k + 1 < kRows) return;
            scale_sum.store(sums + i);
            shift_sum.store(sums + width + i);
          }};
}

// REQUIRES: rows fill vectors.
inline void norm_pass(RowResult out, const RowOperand* operands, size_t width, size_t num_rows) {
  const float scale = 1.0F / static_cast<float>(width);
  for_rows<2>(num_rows, [&]<size_t kRows>(size_t first) {
    const auto dots = out.sums == nullptr ? NormDots<kRows>(operands, width, first,
                                                            [](size_t, size_t, Vector, Vector) {})
                                          : dots_and_sums<kRows>(out.sums, operands, width, first);
    for (size_t k = 0; k < kRows; ++k) {
      const float mean = *row_at(operands[3], first + k);
      const float a = *row_at(operands[4], first + k);
      const float b = std::fma(dots.db[k], mean, -dots.ds[k]) * a * a * a * scale;
      const float c = std::fma(-b, mean, -(dots.db[k] * a * scale));
      const float* grad = row_at(operands[0], first + k);
      const float* x = row_at(operands[1], first + k);
      const float* gamma = row_at(operands[2], first + k);
      float* to = out.numbers + (first + k) * width;
      for (size_t i = 0; i < width; i += kWidth) {
        const Vector scaled = Vector(a) * Vector::loadu(grad + i) * Vector::loadu(gamma + i);
        (at::vec::fmadd(Vector(b), Vector::loadu(x + i), scaled) + Vector(c)).store(to + i);
      }
    }
  });
}

// Mean and m2, the sum of squared differences from it, of the numbers that each lane of a vector
// has seen, for several rows.
template <size_t kRows>
struct Moments {
  int64_t count = 0;
  std::array<Vector, kRows> mean;
  std::array<Vector, kRows> m2;

  void clear() {
    count = 0;
    mean.fill(Vector(0));
    m2.fill(Vector(0));
  }

  [[gnu::always_inline]] void add(const Moments& other) {
    int64_t sum = count;
    each_row<kRows>([&](size_t k) {
      sum = count;
      at::native::AddMomentsVec(other.count, other.mean[k], other.m2[k], sum, mean[k], m2[k]);
    });
    count = sum;
  }
};

// at::native::RowwiseMomentsImpl of several rows. REQUIRES: rows fill vectors, and at most
// 1 << kLevels chunks of them.
template <size_t kRows, size_t kLevels>
void moments_of(float* out, size_t spread, const Rows<kRows>& rows, size_t width) {
  constexpr size_t kChunk = at::native::kChunkSize;
  static constexpr std::array<float, kChunk> kShares = [] {
    std::array<float, kChunk> shares{};
    for (size_t i = 0; i < kChunk; ++i) shares[i] = 1.0F / static_cast<float>(i + 1);
    return shares;
  }();
  const size_t num_vectors = width / kWidth;
  const size_t num_chunks = (num_vectors + kChunk - 1) / kChunk;
  size_t depth = 0;
  while (size_t{1} << depth < num_chunks) ++depth;
  std::array<Moments<kRows>, kLevels> levels;
  for (size_t level = 0; level < std::max<size_t>(1, depth); ++level) levels[level].clear();
  for (size_t chunk = 0; chunk < num_chunks; ++chunk) {
    const size_t begin = chunk * kChunk;
    const size_t count = std::min(kChunk, num_vectors - begin);
    Moments<kRows> of_chunk;
    of_chunk.clear();
    for (size_t j = 0; j < count; ++j) {
      const Vector share(kShares[j]);
      each_row<kRows>([&](size_t k) {
        const Vector x = Vector::loadu(rows[k] + (begin + j) * kWidth);
        const Vector before = x - of_chunk.mean[k];
        of_chunk.mean[k] = at::vec::fmadd(share, before, of_chunk.mean[k]);
        of_chunk.m2[k] = at::vec::fmadd(before, x - of_chunk.mean[k], of_chunk.m2[k]);
      });
    }
    of_chunk.count = static_cast<int64_t>(count);
    levels[0].add(of_chunk);
    size_t mask = chunk + 1;
    for (size_t level = 1; level < depth && (mask & 1) == 0; ++level) {
      levels[level].add(levels[level - 1]);
      levels[level - 1].clear();
      mask >>= 1;
    }
  }
  for (size_t level = 1; level < depth; ++level) levels[0].add(levels[level]);
  for (size_t k = 0; k < kRows; ++k) {
    float means[kWidth];
    float m2s[kWidth];
    levels[0].mean[k].store(means);
    levels[0].m2[k].store(m2s);
    int64_t count = 0;
    float mean = 0;
    float m2 = 0;
    for (size_t lane = 0; lane < kWidth; ++lane) {
      at::native::AddMoments(static_cast<int64_t>(num_vectors), means[lane], m2s[lane], count, mean,
                             m2);
    }
    out[k] = mean;
    out[spread + k] = m2 / static_cast<float>(width);
  }
}

inline void moments(RowResult out, const RowOperand* operands, size_t width, size_t num_rows) {
  for_rows<4>(num_rows, [&]<size_t kRows>(size_t first) {
    constexpr size_t kFew = 4;
    constexpr size_t kMost = 40;
    const bool is_narrow = width <= (kWidth * at::native::kChunkSize) << kFew;
    const auto of = is_narrow ? &moments_of<kRows, kFew> : &moments_of<kRows, kMost>;
    of(out.numbers + first, out.spread, rows_at<kRows>(operands[0], first), width);
  });
}

// The order of ATen's sum over a row: four vectors at once, whose sums go up a cascade of levels.
inline float sum_of(const float* row, size_t width) {
  constexpr size_t kAtOnce = 4;
  constexpr size_t kLevels = 4;
  const auto vector = [&](size_t index) { return Vector::loadu(row + index * kWidth); };
  const size_t num_vectors = width / kWidth;
  const size_t count = num_vectors / kAtOnce;
  size_t power = 4;
  while (count > size_t{1} << (power * kLevels + kLevels - 1)) ++power;
  const size_t step = size_t{1} << power;
  Vector sums[kLevels][kAtOnce];
  for (auto& level : sums) {
    for (Vector& each : level) each = Vector(0);
  }
  const auto add = [&](size_t i) {
    for (size_t k = 0; k < kAtOnce; ++k) sums[0][k] = sums[0][k] + vector(i * kAtOnce + k);
  };
  size_t i = 0;
  while (i + step <= count) {
    for (const size_t end = i + step; i < end; ++i) add(i);
    for (size_t level = 1; level < kLevels; ++level) {
      for (size_t k = 0; k < kAtOnce; ++k) {
        sums[level][k] = sums[level][k] + sums[level - 1][k];
        sums[level - 1][k] = Vector(0);
      }
      if ((i & ((step - 1) << (level * power))) != 0) break;
    }
  }
  for (; i < count; ++i) add(i);
  for (size_t level = 1; level < kLevels; ++level) {
    for (size_t k = 0; k < kAtOnce; ++k) sums[0][k] = sums[0][k] + sums[level][k];
  }
  for (size_t rest = count * kAtOnce; rest < num_vectors; ++rest) {
    sums[0][0] = sums[0][0] + vector(rest);
  }
  for (size_t k = 1; k < kAtOnce; ++k) sums[0][0] = sums[0][0] + sums[0][k];
  float total = 0;
  for (size_t k = num_vectors * kWidth; k < width; ++k) total += row[k];
  float partial[kWidth];
  sums[0][0].store(partial);
  for (const float each : partial) total += each;
  return total;
}

template <float (*kFunction)(const float* row, size_t width)>
void number_of_rows(RowResult out, const RowOperand* operands, size_t width, size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    out.numbers[row] = kFunction(row_at(operands[0], row), width);
  }
}

}  // namespace rtrain::engine::CPU_CAPABILITY

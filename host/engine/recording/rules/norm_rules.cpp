#include "host/engine/recording/rules/norm_rules.h"

#include <optional>
#include <vector>

namespace rtrain::engine {

using compile::Operation;

namespace {

using Maybe = std::optional<compile::Operand>;

// Whether the shape of what is normalized is a row.
bool normalizes_rows(const Formula& f, int argument) {
  const std::vector<int64_t> shape = f.argument(argument).toIntVector();
  return shape.size() == 1 && f.width() > 0 && shape[0] == f.width() && f.rows_fill_vectors();
}

// An argument of LayerNorm that may be missing. The kernel for the CPU has other formulas then.
Maybe optional(Formula& f, int argument, float otherwise) {
  return f.is_on_gpu() && f.is_none(argument) ? f.constant(otherwise) : f.tensor(argument);
}

}  // namespace

// input, normalized_shape, weight, bias, eps
bool add_layer_norm(Formula& f) {
  using enum Operation;
  if (!normalizes_rows(f, 1)) return false;
  const Maybe self = f.tensor(0);
  const Maybe moments = f.compute(kRowMoments, self);
  const Maybe mean = f.compute(kFirst, moments);
  const Maybe variance = f.compute(kAdd, f.compute(kSecond, moments), f.constant(f.number(4)));
  const Maybe rstd = f.compute(kReciprocalRoot, variance);
  return f.set(0, f.compute(kNorm, self, optional(f, 2, 1), optional(f, 3, 0), mean, rstd)) &&
         f.set(1, mean) && f.set(2, rstd);
}

// grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask
bool add_layer_norm_backward(Formula& f) {
  using enum Operation;
  if (!normalizes_rows(f, 2)) return false;
  const Maybe grad = f.tensor(0);
  const Maybe self = f.tensor(1);
  const Maybe mean = f.tensor(3);
  const Maybe rstd = f.tensor(4);
  const Maybe weight = optional(f, 5, 1);
  const auto product = [&](Maybe a, Maybe b) { return f.compute(kMultiply, a, b); };
  const auto negated = [&](Maybe a) { return f.compute(kNegate, a); };
  const Maybe dots = f.compute(kNormDots, grad, self, weight);
  const Maybe ds = f.compute(kFirst, dots);
  const Maybe db = f.compute(kSecond, dots);
  const Maybe scale = f.constant(1.0F / static_cast<float>(f.width()));
  const Maybe difference = f.compute(kAddScaled, negated(ds), db, mean);
  const Maybe b = product(product(product(product(difference, rstd), rstd), rstd), scale);
  const Maybe c = f.compute(kSubtractProduct, negated(product(product(db, rstd), scale)), b, mean);
  const Maybe shift = product(negated(rstd), mean);
  return f.set(0, f.compute(kNormBackward, grad, weight, self, rstd, b, c)) &&
         f.set(1, f.compute(kColumnNormDot, grad, self, rstd, shift)) &&
         f.set(2, f.compute(kColumnSum, grad));
}

}  // namespace rtrain::engine

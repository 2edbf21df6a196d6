#include "host/engine/data/sample_draws.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/DistributionsHelper.h>

#include <mutex>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/tensor/empty_tensor.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

at::Tensor empty_for(c10::ArrayRef<int64_t> limits, int64_t count) {
  for (const int64_t limit : limits) {
    if (limit < 0) {
      throw Error(Code::kArgument, cat("draw_samples: a limit is 0 or more, got ", limit));
    }
  }
  const auto size = static_cast<int64_t>(limits.size());
  return empty_tensor({count, size}, at::TensorOptions().dtype(at::kDouble));
}

// Draws one number exactly as ATen's serial kernels of uniform_ and random_ do.
double draw(int64_t limit, at::CPUGeneratorImpl* generator) {
  if (limit == 0) return at::uniform_real_distribution<float>(0, 1)(generator);
  return static_cast<double>(
      at::uniform_int_from_to_distribution<int64_t>(static_cast<uint64_t>(limit), 0)(generator));
}

double* draw_row(c10::ArrayRef<int64_t> limits, at::CPUGeneratorImpl* generator, double* out) {
  for (const int64_t limit : limits) *out++ = draw(limit, generator);
  return out;
}

}  // namespace

at::Tensor draw_samples(c10::ArrayRef<int64_t> limits, int64_t count, at::Generator generator) {
  at::Tensor numbers = empty_for(limits, count);
  auto* out = numbers.mutable_data_ptr<double>();
  const std::lock_guard lock(generator.mutex());
  auto* impl = at::check_generator<at::CPUGeneratorImpl>(generator);
  for (int64_t i = 0; i < count; ++i) out = draw_row(limits, impl, out);
  return numbers;
}

at::Tensor draw_samples(c10::ArrayRef<int64_t> limits, const at::Tensor& seeds) {
  if (seeds.scalar_type() != at::kLong || seeds.dim() != 1 || !seeds.is_cpu()) {
    throw Error(Code::kArgument,
                cat("draw_samples: expected seeds int64 (samples), got ", describe(seeds)));
  }
  const at::Tensor list = seeds.contiguous();
  at::Tensor numbers = empty_for(limits, list.size(0));
  auto* out = numbers.mutable_data_ptr<double>();
  at::Generator generator = at::detail::createCPUGenerator();
  auto* impl = at::check_generator<at::CPUGeneratorImpl>(generator);
  for (int64_t i = 0; i < list.size(0); ++i) {
    impl->set_current_seed(static_cast<uint64_t>(list.const_data_ptr<int64_t>()[i]));
    out = draw_row(limits, impl, out);
  }
  return numbers;
}

}  // namespace rtrain::engine

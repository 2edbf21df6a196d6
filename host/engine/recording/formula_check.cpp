#include "host/engine/recording/formula_check.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <sstream>
#include <utility>

#include "host/engine/recording/region_step.h"

namespace rtrain::engine {
namespace {

size_t at(int index) { return static_cast<size_t>(index); }

// Elements of a call without rows: two tiles and the longest tail.
constexpr int64_t kCount = 2048 + 31;
// Rows of the others, at least. A sum over rows has some whose sums go up by two levels.
constexpr int64_t kRows = 9;
constexpr int64_t kRowsOfSum = 16 * 16 + 16 + 3;

// Numbers of all sizes, and some that are special, at both ends.
void fill(float* data, int64_t count, std::mt19937& random) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kSpecial[] = {
      0.0F,   -0.0F, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(),
      1e-42F, 88.8F, -88.8F,    104.0F,     -104.0F,
      1e10F,  -1e10F};
  std::normal_distribution<float> normal(0, 3);
  for (int64_t i = 0; i < count; ++i) data[i] = normal(random);
  if (count < 2 * std::ssize(kSpecial)) return;
  std::copy(std::begin(kSpecial), std::end(kSpecial), data + random() % 7);
  std::copy(std::begin(kSpecial), std::end(kSpecial), data + count - std::ssize(kSpecial));
}

// A row of zeros of both signs.
void fill_with_zeros(float* row, int64_t width, std::mt19937& random) {
  for (int64_t i = 0; i < width; ++i) row[i] = random() % 2 == 0 ? 0.0F : -0.0F;
}

// A record of the call alone, with smaller tensors: of one dimension, or with few rows.
class Trial {
 public:
  Trial(const Record& given, const RecordedCall& call, const std::vector<int64_t>& sizes,
        bool has_rows)
      : call_(call), given_sizes_(sizes) {
    sizes_ = {kCount};
    if (has_rows) {
      sizes_.assign(sizes.size(), 1);
      const int64_t rows = call.name() == "aten::sum.dim_IntList" ? kRowsOfSum : kRows;
      sizes_.front() = sizes.size() > 1 ? std::max(rows, kCount / sizes.back()) : sizes.back();
      sizes_.back() = sizes.back();
    }
    for (ValuePlace& place : call_.tensors) add(given, place.value);
    for (int& value : call_.written) add(given, value);
    for (ValuePlace& place : call_.results) {
      add(given, place.value);
      values_[at(place.value)].reset();
    }
    record_.num_storages = static_cast<int>(record_.values.size());
  }

  std::vector<at::Tensor> by_operator() const {
    torch::jit::Stack stack = call_.arguments;
    for (const ValuePlace& place : call_.tensors) {
      stack[at(place.at)] = values_[at(place.value)].clone();
    }
    for (const int argument : call_.undefined) stack[at(argument)] = at::Tensor();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    call_.op.callBoxed(stack);
    std::vector<at::Tensor> out;
    for (const ValuePlace& place : call_.results) out.push_back(stack[at(place.at)].toTensor());
    if (!call_.written.empty()) out.push_back(stack[0].toTensor());
    return out;
  }

  // Nothing if it cannot be a region.
  std::vector<at::Tensor> by_region() {
    RegionBuilder builder(record_, {.sizes = sizes_});
    if (!builder.add(call_)) return {};
    std::vector<int> targets;
    for (const ValuePlace& place : call_.results) targets.push_back(place.value);
    targets.insert(targets.end(), call_.written.begin(), call_.written.end());
    std::vector<bool> is_needed(record_.values.size());
    for (const int target : targets) is_needed[at(target)] = true;
    RegionStep(record_, builder.build(is_needed)).run(values_);
    std::vector<at::Tensor> out;
    for (const int target : targets) out.push_back(values_[at(target)]);
    return out;
  }

 private:
  // The sizes of a tensor that had these ones.
  std::vector<int64_t> sizes_of(const std::vector<int64_t>& given) const {
    if (given == given_sizes_) return sizes_;
    std::vector<int64_t> row = given_sizes_;
    row.back() = 1;
    if (given != row) return given;
    std::vector<int64_t> out = sizes_;
    out.back() = 1;
    return out;
  }

  void add(const Record& given, int& value) {
    const Geometry& geometry = given.values[at(value)].geometry;
    const auto [found, is_new] = numbers_.try_emplace(value, static_cast<int>(values_.size()));
    value = found->second;
    if (!is_new) return;
    at::Tensor tensor = at::empty(sizes_of(geometry.sizes));
    fill(tensor.mutable_data_ptr<float>(), tensor.numel(), random_);
    const int64_t width = sizes_.back();
    if (sizes_.size() > 1 && tensor.numel() >= kRows * width) {
      auto* row = tensor.mutable_data_ptr<float>() + kRows / 2 * width;
      fill_with_zeros(row, width, random_);
    }
    record_.values.push_back(
        {.origin = Origin::kMade, .source = 0, .storage = value, .geometry = Geometry::of(tensor)});
    values_.push_back(std::move(tensor));
  }

  Record record_;
  RecordedCall call_;
  std::vector<int64_t> given_sizes_;
  std::vector<int64_t> sizes_;
  std::mt19937 random_{1};
  std::map<int, int> numbers_;  // of the given values
  std::vector<at::Tensor> values_;
};

bool has_same_bits(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

bool has_same_bits(const at::Tensor& a, const at::Tensor& b) {
  const auto* first = a.const_data_ptr<float>();
  const auto* second = b.const_data_ptr<float>();
  return std::equal(first, first + a.numel(), second, second + b.numel(),
                    [](float x, float y) { return has_same_bits(x, y); });
}

bool try_call(Trial trial) {
  const std::vector<at::Tensor> expected = trial.by_operator();
  const std::vector<at::Tensor> got = trial.by_region();
  return std::equal(expected.begin(), expected.end(), got.begin(), got.end(),
                    [](const at::Tensor& a, const at::Tensor& b) { return has_same_bits(a, b); });
}

std::string key_of(const RecordedCall& call, const std::vector<int64_t>& sizes, bool has_rows) {
  std::ostringstream out;
  out << call.name();
  for (const c10::IValue& argument : call.arguments) out << ' ' << argument;
  if (has_rows) out << ' ' << sizes.size() << ' ' << sizes.back();
  return out.str();
}

}  // namespace

bool gives_bits_of_operator(const Record& record, const RecordedCall& call,
                            const std::vector<int64_t>& sizes, bool has_rows) {
  static std::mutex mutex;
  static std::map<std::string, bool> results;
  const bool has_others = std::ranges::any_of(call.tensors, [&](const ValuePlace& place) {
    const Value& value = record.values[at(place.value)];
    return value.origin == Origin::kConstant || value.geometry.dtype != at::kFloat;
  });
  if (has_others) return false;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = results.try_emplace(key_of(call, sizes, has_rows), false);
  if (is_new) found->second = try_call(Trial(record, call, sizes, has_rows));
  return found->second;
}

}  // namespace rtrain::engine

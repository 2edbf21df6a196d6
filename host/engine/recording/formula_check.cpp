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

// Two tiles and the longest tail.
constexpr int64_t kCount = 2048 + 31;

// Numbers of all sizes, and some that are special, at both ends.
at::Tensor numbers(unsigned seed) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kSpecial[] = {
      0.0F,   -0.0F, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(),
      1e-42F, 88.8F, -88.8F,    104.0F,     -104.0F,
      1e10F,  -1e10F};
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 3);
  at::Tensor out = at::empty({kCount});
  auto* data = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < kCount; ++i) data[i] = normal(random);
  std::copy(std::begin(kSpecial), std::end(kSpecial), data + seed % 7);
  std::copy(std::begin(kSpecial), std::end(kSpecial), data + kCount - std::ssize(kSpecial));
  return out;
}

// A record of the call alone, with tensors of one dimension.
struct Trial {
  Record record;
  RecordedCall call;
  std::vector<at::Tensor> values;

  explicit Trial(const RecordedCall& given) : call(given) {
    std::map<int, int> numbers_of;
    const auto number = [&](int& value) {
      const auto [found, is_new] =
          numbers_of.try_emplace(value, static_cast<int>(record.values.size()));
      value = found->second;
      if (!is_new) return;
      record.values.push_back({.origin = Origin::kMade,
                               .source = 0,
                               .storage = value,
                               .geometry = {.sizes = {kCount}, .strides = {1}}});
      values.push_back(numbers(static_cast<unsigned>(value) + 1));
    };
    for (ValuePlace& place : call.tensors) number(place.value);
    for (int& value : call.written) number(value);
    for (ValuePlace& place : call.results) {
      number(place.value);
      values[at(place.value)].reset();
    }
    record.num_storages = static_cast<int>(record.values.size());
  }

  int target() const { return call.written.empty() ? call.results[0].value : call.written[0]; }

  at::Tensor by_operator() const {
    torch::jit::Stack stack = call.arguments;
    for (const ValuePlace& place : call.tensors) {
      stack[at(place.at)] = values[at(place.value)].clone();
    }
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    call.op.callBoxed(stack);
    return stack[0].toTensor();
  }

  at::Tensor by_region() {
    RegionBuilder builder(record, {kCount});
    if (!builder.add(call)) return {};
    std::vector<bool> is_needed(record.values.size());
    is_needed[at(target())] = true;
    RegionStep(record, builder.build(is_needed)).run(values);
    return values[at(target())];
  }
};

bool has_same_bits(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

bool try_call(const Record& record, const RecordedCall& call) {
  const bool has_constants = std::ranges::any_of(call.tensors, [&](const ValuePlace& place) {
    return record.values[at(place.value)].origin == Origin::kConstant;
  });
  if (has_constants) return false;
  Trial trial(call);
  const at::Tensor expected = trial.by_operator();
  const at::Tensor got = trial.by_region();
  if (!got.defined()) return false;
  const auto* a = expected.const_data_ptr<float>();
  const auto* b = got.const_data_ptr<float>();
  return std::equal(a, a + kCount, b, &has_same_bits);
}

std::string key_of(const RecordedCall& call) {
  std::ostringstream out;
  out << call.name();
  for (const c10::IValue& argument : call.arguments) out << ' ' << argument;
  return out.str();
}

}  // namespace

bool gives_bits_of_operator(const Record& record, const RecordedCall& call) {
  static std::mutex mutex;
  static std::map<std::string, bool> results;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = results.try_emplace(key_of(call), false);
  if (is_new) found->second = try_call(record, call);
  return found->second;
}

}  // namespace rtrain::engine

#include "host/engine/recording/drop_masks.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "host/engine/recording/pointwise.h"
#include "host/engine/recording/region_step.h"

namespace rtrain::engine {
namespace {

size_t at(int index) { return static_cast<size_t>(index); }

class DropMasks {
 public:
  DropMasks(const Record& record, std::vector<bool>& is_needed)
      : record_(record), is_needed_(is_needed), calls_of_(at(record.num_storages)) {
    for (size_t i = 0; i < record.calls.size(); ++i) {
      if (is_needed[i]) note(static_cast<int>(i));
    }
  }

  std::map<int, float> take() {
    std::map<int, float> out;
    for (const RecordedCall& call : record_.calls) {
      if (!is_mask_draw(record_, call)) continue;
      if (const auto number = taken(call)) out.emplace(call.written[0], *number);
    }
    return out;
  }

 private:
  int storage_of(int value) const { return record_.values[at(value)].storage; }

  void note(int index) {
    const RecordedCall& call = record_.calls[at(index)];
    std::set<int> storages;
    for (const ValuePlace& place : call.tensors) storages.insert(storage_of(place.value));
    for (const ValuePlace& place : call.results) storages.insert(storage_of(place.value));
    for (const int value : call.written) storages.insert(storage_of(value));
    for (const int storage : storages) calls_of_[at(storage)].push_back(index);
  }

  // The number that stands for 1 in the mask that the call draws; nothing if it cannot be taken.
  std::optional<float> taken(const RecordedCall& draw) {
    const int mask = draw.written[0];
    const std::vector<int>& calls = calls_of_[at(storage_of(mask))];
    if (calls.size() < 3 || is_kept(storage_of(mask))) return std::nullopt;
    const RecordedCall& made = record_.calls[at(calls[0])];
    const bool is_new = made.results.size() == 1 && made.results[0].value == mask &&
                        allocates(made.op.schema().name());
    if (!is_new || &record_.calls[at(calls[1])] != &draw) return std::nullopt;
    const auto divisor = divisor_of(record_.calls[at(calls[2])], mask);
    const auto readers = calls.begin() + (divisor ? 3 : 2);
    const bool are_products = std::all_of(
        readers, calls.end(), [&](int call) { return is_product(record_.calls[at(call)], mask); });
    if (!are_products) return std::nullopt;
    is_needed_[at(calls[0])] = false;
    if (divisor) is_needed_[at(calls[2])] = false;
    return divisor ? 1.0F / *divisor : 1.0F;
  }

  // Whether the memory outlives a run.
  bool is_kept(int storage) const {
    const auto is_in = [&](int value) { return value >= 0 && storage_of(value) == storage; };
    return std::ranges::any_of(record_.outputs, is_in) || is_in(record_.loss) ||
           std::ranges::any_of(record_.grads, is_in, &GradEffect::value);
  }

  std::optional<float> divisor_of(const RecordedCall& call, int mask) const {
    if (call.written != std::vector<int>{mask}) return std::nullopt;
    const std::string name = call.name();
    if (name == "aten::div_.Scalar") return call.arguments[1].toScalar().toFloat();
    if (name != "aten::div_.Tensor" || call.tensors.size() != 2) return std::nullopt;
    const Value& other = record_.values[at(call.tensors[1].value)];
    if (other.origin != Origin::kConstant) return std::nullopt;
    const at::Tensor& number = record_.constants[at(other.source)];
    if (number.numel() != 1 || number.is_complex()) return std::nullopt;
    return static_cast<float>(number.item<double>());
  }

  bool is_product(const RecordedCall& call, int mask) const {
    if (call.name() != "aten::mul.Tensor" || call.results.size() != 1) return false;
    const Geometry& result = record_.values[at(call.results[0].value)].geometry;
    const bool is_whole = result.sizes == record_.values[at(mask)].geometry.sizes;
    const bool is_read_alone = std::ranges::all_of(call.tensors, [&](const ValuePlace& place) {
      return place.value == mask || storage_of(place.value) != storage_of(mask);
    });
    return is_whole && is_read_alone && pointwise_shape(record_, call).has_value();
  }

  const Record& record_;
  std::vector<bool>& is_needed_;
  std::vector<std::vector<int>> calls_of_;  // of each storage
};

}  // namespace

std::map<int, float> take_drop_masks(const Record& record, std::vector<bool>& is_needed) {
  return DropMasks(record, is_needed).take();
}

}  // namespace rtrain::engine

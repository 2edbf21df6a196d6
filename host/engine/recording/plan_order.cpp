#include "host/engine/recording/plan_order.h"

#include <ATen/core/enum_tag.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "host/compile/grouping.h"
#include "host/engine/runtime/effect.h"

namespace rtrain::engine {
namespace {

// A region keeps at most this many calls, so that its registers stay in the first-level cache.
constexpr size_t kMostMembers = 32;

size_t at(int index) { return static_cast<size_t>(index); }

// Memory that outlives a run, or that the caller gets.
std::vector<bool> kept_storages(const Record& record) {
  std::vector<bool> out(at(record.num_storages));
  const auto keep = [&](int value) {
    if (value >= 0) out[at(record.values[at(value)].storage)] = true;
  };
  for (size_t i = 0; i < record.values.size(); ++i) {
    const Origin origin = record.values[i].origin;
    if (origin == Origin::kState || origin == Origin::kArgument) keep(static_cast<int>(i));
  }
  for (const int output : record.outputs) keep(output);
  for (const GradEffect& effect : record.grads) keep(effect.value);
  keep(record.loss);
  return out;
}

// The number of a view's tensor, which does not exist before the view is made: behind those of
// storages.
int tensor_of_view(const Record& record, int value) { return record.num_storages + value; }

// Stands for the state of random generators: draws keep their order.
constexpr int kGenerators = -1;

bool is_made_by_view(const Record& record, int number) {
  const Value& value = record.values[at(number)];
  return value.origin == Origin::kMade && record.calls[at(value.source)].is_view;
}

compile::GroupedCall grouped(const Record& record, const RecordedCall& call,
                             std::map<std::vector<int64_t>, int>& shapes) {
  const auto storage_of = [&](int value) { return record.values[at(value)].storage; };
  compile::GroupedCall out;
  out.is_view = call.is_view;
  for (const ValuePlace& place : call.tensors) {
    out.reads.push_back(storage_of(place.value));
    if (is_made_by_view(record, place.value)) {
      out.reads.push_back(tensor_of_view(record, place.value));
    }
  }
  for (const int value : call.written) out.writes.push_back(storage_of(value));
  if (call.op.hasTag(at::Tag::nondeterministic_seeded)) out.writes.push_back(kGenerators);
  for (const ValuePlace& place : call.results) {
    out.writes.push_back(call.is_view ? tensor_of_view(record, place.value)
                                      : storage_of(place.value));
  }
  if (auto shape = pointwise_shape(record, call)) {
    const auto number_of = [&](std::vector<int64_t> sizes) {
      sizes.push_back(shape->device.index());
      return shapes.try_emplace(sizes, static_cast<int>(shapes.size())).first->second;
    };
    out.shape = number_of(shape->sizes);
    out.has_rows = shape->has_rows;
    if (!shape->sizes.empty() && shape->sizes.back() != 1) {
      shape->sizes.back() = 1;
      out.rows = number_of(shape->sizes);
    }
  }
  return out;
}

bool ends_groups(const RecordedCall& call) {
  return call.is_effect() && Effect::of(call.arguments[0]).order() == Effect::Order::kOfAll;
}

// Zeroes memory directly before it is used: where gradients are zeroed and then added to, both
// become one region, which writes them once.
std::vector<int> with_late_zeros(const Record& record, const std::vector<int>& calls) {
  std::vector<int> out;
  std::map<int, int> waiting;  // storage → the call that zeroes it
  const auto use = [&](int value) {
    const auto found = waiting.find(record.values[at(value)].storage);
    if (found == waiting.end()) return;
    out.push_back(found->second);
    waiting.erase(found);
  };
  for (const int index : calls) {
    const RecordedCall& call = record.calls[at(index)];
    if (!call.is_view) {
      for (const ValuePlace& place : call.tensors) use(place.value);
    }
    if (call.op.schema().name() == "aten::zero_") {
      waiting[record.values[at(call.written[0])].storage] = index;
    } else {
      out.push_back(index);
    }
  }
  for (const auto& [storage, index] : waiting) out.push_back(index);
  return out;
}

// The needed calls in groups. An effect that keeps its order among all calls is in none, and no
// call moves from one side of it to the other.
std::vector<std::vector<int>> groups_of(const Record& record, const std::vector<bool>& is_needed) {
  std::map<std::vector<int64_t>, int> shapes;
  std::vector<std::vector<int>> out;
  std::vector<int> indices;
  const auto end = [&] {
    indices = with_late_zeros(record, indices);
    std::vector<compile::GroupedCall> calls;
    for (const int index : indices) {
      calls.push_back(grouped(record, record.calls[at(index)], shapes));
    }
    for (const std::vector<size_t>& members : compile::group_calls(calls, kMostMembers)) {
      std::vector<int>& group = out.emplace_back();
      for (const size_t member : members) group.push_back(indices[member]);
    }
    indices.clear();
  };
  for (size_t i = 0; i < record.calls.size(); ++i) {
    if (!is_needed[i]) continue;
    const RecordedCall& call = record.calls[i];
    if (ends_groups(call)) end();
    indices.push_back(static_cast<int>(i));
    if (ends_groups(call)) end();
  }
  end();
  return out;
}

// Builds the regions of an order, from its end: what later items use is needed.
class RegionsOfOrder {
 public:
  explicit RegionsOfOrder(const Record& record) : record_(record), used_(kept_storages(record)) {}

  // The items of a group, in reverse order. A call that a region cannot take begins another one.
  std::vector<PlanItem> items_of(const std::vector<int>& calls) {
    std::vector<Part> parts;
    for (const int call : calls) {
      if (!parts.empty() && !parts.back().is_single && add(parts.back(), call)) continue;
      const auto shape = pointwise_shape(record_, record_.calls[at(call)]);
      Part& part = parts.emplace_back(RegionBuilder(record_, shape.value_or(PointwiseShape{})));
      part.is_single = !add(part, call);
      if (part.is_single) part.calls.push_back(call);
    }
    std::vector<PlanItem> out;
    for (size_t i = parts.size(); i-- > 0;) {
      Part& part = parts[i];
      const bool is_region =
          part.calls.size() > 1 || reads_mask(part.calls[0]) || part.builder.maps_rows();
      const std::vector<int> with_views = part.calls;
      if (is_region) {
        for (PlanItem& view : taken_views(part)) out.push_back(std::move(view));
      }
      PlanItem item{.calls = part.calls, .with_views = with_views, .region = {}};
      if (is_region) item.region = built(part.builder);
      out.push_back(std::move(item));
      for (const int call : part.calls) use(record_.calls[at(call)]);
    }
    return out;
  }

 private:
  struct Part {
    explicit Part(RegionBuilder given) : builder(std::move(given)) {}

    RegionBuilder builder;
    std::vector<int> calls;
    bool is_single = false;  // no region can take its call
  };

  bool add(Part& part, int call) const {
    RegionBuilder with = part.builder;  // a builder that refuses a call has changed
    if (!with.add(record_.calls[at(call)])) return false;
    part.builder = std::move(with);
    part.calls.push_back(call);
    return true;
  }

  bool reads_mask(int call) const {
    return std::ranges::any_of(record_.calls[at(call)].tensors, [&](const ValuePlace& place) {
      return record_.masks.contains(place.value) && record_.calls[at(call)].written.empty();
    });
  }

  // Takes the views out of a part that is a region. Those whose memory is used later follow it.
  std::vector<PlanItem> taken_views(Part& part) const {
    const auto is_view = [&](int call) { return record_.calls[at(call)].is_view; };
    std::vector<PlanItem> out;
    for (size_t i = part.calls.size(); i-- > 0;) {
      const int call = part.calls[i];
      if (!is_view(call)) continue;
      const int shown = record_.calls[at(call)].results[0].value;
      const bool is_used = used_[at(record_.values[at(shown)].storage)];
      if (is_used) out.emplace_back().calls = {call};
    }
    std::erase_if(part.calls, is_view);
    return out;
  }

  RegionBuilder::Built built(const RegionBuilder& builder) const {
    std::vector<bool> is_needed(record_.values.size());
    for (const auto& [value, operand] : builder.written()) {
      is_needed[at(value)] = used_[at(record_.values[at(value)].storage)];
    }
    return builder.build(is_needed);
  }

  void use(const RecordedCall& call) {
    for (const ValuePlace& place : call.tensors) {
      used_[at(record_.values[at(place.value)].storage)] = true;
    }
  }

  const Record& record_;
  std::vector<bool> used_;  // storages, by later items or by the caller
};

}  // namespace

std::vector<bool> needed_calls(const Record& record) {
  std::vector<bool> storages = kept_storages(record);
  const auto storage_of = [&](int value) { return at(record.values[at(value)].storage); };
  const auto is_used = [&](int value) { return static_cast<bool>(storages[storage_of(value)]); };
  std::vector<bool> out(record.calls.size());
  for (size_t i = record.calls.size(); i-- > 0;) {
    const RecordedCall& call = record.calls[i];
    out[i] = (call.results.empty() && call.written.empty()) ||
             call.op.hasTag(at::Tag::nondeterministic_seeded) ||
             std::ranges::any_of(call.written, is_used) ||
             std::ranges::any_of(call.results, is_used, &ValuePlace::value);
    if (!out[i]) continue;
    for (const ValuePlace& place : call.tensors) storages[storage_of(place.value)] = true;
    for (const ValuePlace& place : call.results) storages[storage_of(place.value)] = true;
  }
  return out;
}

std::vector<PlanItem> plan_order(const Record& record, const std::vector<bool>& is_needed) {
  const auto order = groups_of(record, is_needed);
  RegionsOfOrder regions(record);
  std::vector<PlanItem> out;
  for (size_t i = order.size(); i-- > 0;) {
    for (PlanItem& item : regions.items_of(order[i])) out.push_back(std::move(item));
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace rtrain::engine

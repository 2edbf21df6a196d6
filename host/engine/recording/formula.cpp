#include "host/engine/recording/formula.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "host/engine/recording/functions.h"
#include "host/engine/recording/pointwise.h"

namespace rtrain::engine {

using compile::Operand;
using compile::Operation;

namespace {

size_t at(int index) { return static_cast<size_t>(index); }

}  // namespace

Formula::Formula(RegionBuilder& builder, const RecordedCall& call)
    : builder_(builder), call_(call) {
  std::optional<at::ScalarType> common;
  for (const ValuePlace& place : call.tensors) {
    const Value& value = builder.record_->values[at(place.value)];
    if (value.origin == Origin::kConstant || !at::isFloatingType(value.geometry.dtype)) continue;
    if (common && *common != value.geometry.dtype) return;
    common = value.geometry.dtype;
  }
  if (common) narrow_ = rounding_to(*common);
}

std::optional<Operand> Formula::rounded(std::optional<Operand> operand) {
  return narrow_ ? compute(*narrow_, operand) : operand;
}

const ValuePlace* Formula::place_of(int argument) const {
  const auto found = std::ranges::find_if(call_.tensors, [&](const ValuePlace& place) {
    return place.at == argument && place.item < 0;
  });
  return found == call_.tensors.end() ? nullptr : &*found;
}

std::optional<Operand> Formula::tensor(int argument) {
  const ValuePlace* place = place_of(argument);
  return place == nullptr ? std::nullopt : builder_.operand(place->value);
}

std::optional<Operand> Formula::row_tensor(int argument) {
  const ValuePlace* place = place_of(argument);
  return place == nullptr ? std::nullopt : builder_.row_operand(place->value);
}

std::optional<Operand> Formula::window(int argument, int64_t begin) {
  const ValuePlace* place = place_of(argument);
  has_rows_ = true;
  return place == nullptr ? std::nullopt : builder_.window(place->value, begin);
}

std::optional<Operand> Formula::rolled(int argument, int64_t first_column) {
  const ValuePlace* place = place_of(argument);
  return place == nullptr ? std::nullopt : builder_.rolled(place->value, first_column);
}

bool Formula::is_none(int argument) const {
  return call_.arguments[at(argument)].isNone() && place_of(argument) == nullptr;
}

int64_t Formula::width() const {
  const std::vector<int64_t>& sizes = builder_.region_.sizes;
  return sizes.empty() || sizes.back() == 1 ? 0 : sizes.back();
}

const compile::Functions& Formula::functions() const {
  return engine::functions(builder_.record_->has_fast_math);
}

int64_t Formula::num_elements() const { return builder_.region_.num_elements(); }

bool Formula::rows_fill_vectors() const {
  if (is_on_gpu()) return true;
  const auto vector = static_cast<int64_t>(functions().granule() / 2);
  return vector > 0 && width() % vector == 0;
}

bool Formula::is_on_gpu() const { return builder_.device().is_cuda(); }

size_t Formula::num_dims() const { return builder_.region_.sizes.size(); }

std::optional<float> Formula::number(int argument) const {
  const c10::IValue& value = call_.arguments[at(argument)];
  if (value.isDouble()) return static_cast<float>(value.toDouble());
  if (value.isInt()) return static_cast<float>(value.toInt());
  return std::nullopt;
}

std::string_view Formula::text(int argument) const {
  const c10::IValue& value = call_.arguments[at(argument)];
  return value.isString() ? value.toStringView() : std::string_view();
}

std::optional<Operand> Formula::constant(std::optional<float> value) {
  if (!value) return std::nullopt;
  return builder_.region_.add_constant(*value);
}

// ATen's kernel takes as many neighbours at once as are 16 bytes, fewer where the tensor's address
// or its number of elements is not a multiple.
std::optional<Operand> Formula::draw(int argument) {
  constexpr size_t kBytes = 16;
  const ValuePlace* place = place_of(argument);
  if (place == nullptr || !builder_.is_full(place->value) || num_elements() == 0 ||
      !builder_.is_row_major(place->value)) {
    return std::nullopt;
  }
  const Geometry& geometry = builder_.record_->values[at(place->value)].geometry;
  auto vector = static_cast<int64_t>(kBytes / c10::elementSize(geometry.dtype));
  while (geometry.offset % vector != 0 || num_elements() % vector != 0) vector /= 2;
  builder_.region_.draws.push_back({.vector = static_cast<int>(vector)});
  return Operand{.kind = Operand::Kind::kDraw,
                 .index = static_cast<int>(std::ssize(builder_.region_.draws)) - 1};
}

std::optional<Operand> Formula::inverse(std::optional<Operand> constant) {
  if (!constant || constant->kind != Operand::Kind::kConstant) return std::nullopt;
  return builder_.region_.add_constant(1.0F / builder_.region_.constants[at(constant->index)]);
}

// The operand with a number for each element.
Operand Formula::spread(const Operand& operand) {
  compile::Region& region = builder_.region_;
  const bool is_full = region.extent(operand, region.extents_with_rows()) == compile::Extent::kFull;
  return is_full ? operand : region.add(Operation::kSpread, {operand});
}

std::optional<Operand> Formula::instruction(
    Operation operation, std::initializer_list<std::optional<Operand>> operands) {
  std::vector<Operand> list;
  for (const auto& operand : operands) {
    if (!operand) return std::nullopt;
    const bool is_full = std::ssize(list) < compile::num_full_operands(operation);
    list.push_back(is_full ? spread(*operand) : *operand);
  }
  has_rows_ = has_rows_ || compile::needs_rows(operation);
  if (operation == Operation::kColumnCascade) calls_functions_ = true;
  const bool is_function = compile::is_function(operation) || compile::is_row_function(operation);
  if (is_function && !is_on_gpu()) {
    if (!functions().has(operation)) return std::nullopt;
    calls_functions_ = true;
    has_tail_ = has_tail_ || functions().at(operation).tail != nullptr;
  }
  return builder_.region_.add(operation, std::move(list));
}

bool Formula::set(std::optional<Operand> result) {
  const int target = call_.written.empty() ? call_.results.front().value : call_.written.front();
  return call_.results.size() + call_.written.size() == 1 && result &&
         builder_.set(target, *result);
}

bool Formula::set(int place, std::optional<Operand> result) {
  const auto found = std::ranges::find(call_.results, place, &ValuePlace::at);
  return found == call_.results.end() || (result && builder_.set(found->value, *result));
}

}  // namespace rtrain::engine

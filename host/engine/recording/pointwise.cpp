#include "host/engine/recording/pointwise.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "host/base/error.h"
#include "host/engine/recording/formula.h"
#include "host/engine/recording/formula_check.h"

namespace rtrain::engine {

using compile::Operand;
using compile::Operation;

namespace {

size_t at(int index) { return static_cast<size_t>(index); }

}  // namespace

std::optional<Operation> rounding_to(at::ScalarType dtype) {
  if (dtype == at::kHalf) return Operation::kRoundToFloat16;
  return dtype == at::kBFloat16 ? std::optional(Operation::kRoundToBFloat16) : std::nullopt;
}

namespace {

// The type of a region's tensor; nothing for one that no region of the device has.
std::optional<compile::Type> region_type(at::ScalarType dtype, at::Device device) {
  using compile::Type;
  if (dtype == at::kFloat) return Type::kFloat32;
  if (dtype == at::kBool) return Type::kBool;
  if (dtype == at::kLong) return Type::kInt64;
  if (!device.is_cuda()) return std::nullopt;
  if (dtype == at::kHalf) return Type::kFloat16;
  return dtype == at::kBFloat16 ? std::optional(Type::kBFloat16) : std::nullopt;
}

// Whether regions compute tensors of this kind.
bool is_number(const Geometry& geometry) {
  return at::isFloatingType(geometry.dtype) &&
         region_type(geometry.dtype, geometry.device).has_value();
}

bool covers_once(const Geometry& geometry) {
  for (size_t i = 0; i < geometry.sizes.size(); ++i) {
    if (geometry.sizes[i] > 1 && geometry.strides[i] == 0) return false;
  }
  return true;
}

// The strides of a tensor that is broadcast to the sizes.
std::optional<std::vector<int64_t>> broadcast_strides(const Geometry& geometry,
                                                      const std::vector<int64_t>& sizes) {
  if (geometry.sizes.size() > sizes.size()) return std::nullopt;
  std::vector<int64_t> out(sizes.size(), 0);
  const size_t missing = sizes.size() - geometry.sizes.size();
  for (size_t i = 0; i < geometry.sizes.size(); ++i) {
    if (geometry.sizes[i] == 1) continue;
    if (geometry.sizes[i] != sizes[missing + i]) return std::nullopt;
    out[missing + i] = geometry.strides[i];
  }
  return out;
}

std::optional<PointwiseShape> shape_of_view(const Record& record, const RecordedCall& call) {
  if (call.tensors.size() != 1 || call.results.size() != 1) return std::nullopt;
  const Geometry& base = record.values[at(call.tensors[0].value)].geometry;
  const Geometry& shown = record.values[at(call.results[0].value)].geometry;
  const bool is_expansion =
      is_number(base) && base.offset == shown.offset &&
      broadcast_strides(base, shown.sizes) == broadcast_strides(shown, shown.sizes);
  if (!is_expansion) return std::nullopt;
  return PointwiseShape{.device = shown.device, .sizes = shown.sizes};
}

}  // namespace

std::optional<PointwiseShape> pointwise_shape(const Record& record, const RecordedCall& call) {
  if (call.is_view) return shape_of_view(record, call);
  const Rule* rule = rule_of(call.name());
  if (rule == nullptr) return std::nullopt;
  std::vector<int> targets = call.written;
  for (const ValuePlace& place : call.results) targets.push_back(place.value);
  const bool are_plain = std::ranges::all_of(targets, [&](int target) {
    const Geometry& geometry = record.values[at(target)].geometry;
    const bool is_mask = geometry.dtype == at::kBool && call.name() == "aten::native_dropout";
    return (is_number(geometry) || is_mask) && covers_once(geometry);
  });
  if (targets.empty() || !are_plain) return std::nullopt;
  const int sized = rule->reduces ? call.tensors[0].value : targets[0];
  const Geometry& geometry = record.values[at(sized)].geometry;
  PointwiseShape out{.device = geometry.device, .sizes = geometry.sizes};
  RegionBuilder alone(record, out);
  if (!alone.add(call)) return std::nullopt;
  out.has_rows = alone.has_rows();
  if (out.device.is_cpu() && alone.calls_functions() && !record.has_fast_math &&
      !gives_bits_of_operator(record, call, geometry.sizes, out.has_rows)) {
    return std::nullopt;
  }
  return out;
}

RegionBuilder::RegionBuilder(const Record& record, PointwiseShape shape)
    : record_(&record), device_(shape.device) {
  region_.sizes = std::move(shape.sizes);
}

std::optional<Operand> RegionBuilder::operand(int number) {
  if (const auto found = current_.find(number); found != current_.end()) return found->second;
  const Value& value = record_->values[at(number)];
  if (value.origin == Origin::kConstant) {
    const at::Tensor& constant = record_->constants[at(value.source)];
    if (constant.numel() == 1 && !constant.is_complex()) {
      return region_.add_constant(static_cast<float>(constant.item<double>()));
    }
  }
  const auto strides = broadcast_strides(value.geometry, region_.sizes);
  if (!strides) return std::nullopt;
  if (written_storages_.contains(value.storage)) return shown_by(value);
  const auto in = input(number, {.strides = *strides});
  const auto mask = record_->masks.find(number);
  if (!in || mask == record_->masks.end()) return in;
  return region_.add(Operation::kSelect,
                     {*in, region_.add_constant(mask->second), region_.add_constant(0)});
}

// What a call wrote, if the value shows the same number at each place: it is its expansion.
std::optional<Operand> RegionBuilder::shown_by(const Value& value) const {
  const auto strides = broadcast_strides(value.geometry, region_.sizes);
  for (const auto& [number, operand] : current_) {
    const Value& written = record_->values[at(number)];
    const bool is_same = written.storage == value.storage &&
                         written.geometry.offset == value.geometry.offset &&
                         written.geometry.dtype == value.geometry.dtype &&
                         broadcast_strides(written.geometry, region_.sizes) == strides;
    if (is_same) return operand;
  }
  return std::nullopt;
}

// A tensor with a number for each row: its sizes are those of the region without the last.
std::optional<Operand> RegionBuilder::row_operand(int number) {
  const Geometry& geometry = record_->values[at(number)].geometry;
  std::vector<int64_t> strides = geometry.strides;
  if (geometry.sizes.size() + 1 != region_.sizes.size()) return std::nullopt;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (geometry.sizes[i] != region_.sizes[i]) return std::nullopt;
    if (geometry.sizes[i] == 1) strides[i] = 0;
  }
  strides.push_back(0);
  if (current_.contains(number)) return std::nullopt;
  return input(number, {.strides = std::move(strides)});
}

// A tensor with a part of the columns, from `begin` on.
std::optional<Operand> RegionBuilder::window(int number, int64_t begin) {
  const Geometry& geometry = record_->values[at(number)].geometry;
  std::vector<int64_t> sizes = region_.sizes;
  if (sizes.empty() || geometry.sizes.empty() || current_.contains(number)) return std::nullopt;
  sizes.back() = geometry.sizes.back();
  const bool fits = begin >= 0 && begin + sizes.back() <= region_.sizes.back();
  if (geometry.sizes != sizes || !fits) return std::nullopt;
  std::vector<int64_t> strides = geometry.strides;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) {
    if (sizes[i] == 1) strides[i] = 0;
  }
  return input(
      number, {.strides = std::move(strides), .window_begin = begin, .window_width = sizes.back()});
}

// A tensor whose rows begin with another column. What the region computes element by element it
// computes again, from tensors whose rows begin there.
std::optional<Operand> RegionBuilder::rolled(int number, int64_t first_column) {
  if (record_->values[at(number)].geometry.sizes != region_.sizes) return std::nullopt;
  const auto of = operand(number);
  return of ? rolled(*of, first_column) : std::nullopt;
}

std::optional<Operand> RegionBuilder::rolled(const Operand& operand, int64_t first_column) {
  const compile::Extent extent = region_.extent(operand, region_.extents_with_rows());
  if (extent != compile::Extent::kFull) return operand;
  if (operand.kind == Operand::Kind::kDraw) return std::nullopt;
  if (operand.kind == Operand::Kind::kInput) {
    compile::RegionTensor tensor = region_.inputs[at(operand.index)];
    if (tensor.has_window()) return std::nullopt;
    tensor.first_column = (tensor.first_column + first_column) % region_.sizes.back();
    return input(inputs_[at(operand.index)], std::move(tensor));
  }
  const compile::Instruction instruction = region_.instructions[at(operand.index)];
  if (instruction.operation >= compile::kFirstFunction ||
      instruction.operation == Operation::kColumnIndex) {
    return std::nullopt;
  }
  std::vector<Operand> operands;
  for (const Operand& each : instruction.operands) {
    const auto other = rolled(each, first_column);
    if (!other) return std::nullopt;
    operands.push_back(*other);
  }
  return region_.add(instruction.operation, std::move(operands));
}

std::optional<Operand> RegionBuilder::input(int number, compile::RegionTensor tensor) {
  const Value& value = record_->values[at(number)];
  const bool is_here = value.geometry.device == device_;
  const auto type = region_type(value.geometry.dtype, device_);
  if (!is_here || !type || written_storages_.contains(value.storage)) return std::nullopt;
  tensor.type = record_->masks.contains(number) ? compile::Type::kBool : *type;
  const auto [read, is_new] = read_from_.try_emplace(value.storage, number);
  if (!is_new && read->second != number) read->second = -1;
  size_t index = 0;
  while (index < inputs_.size() && (inputs_[index] != number || region_.inputs[index] != tensor)) {
    ++index;
  }
  if (index == inputs_.size()) {
    inputs_.push_back(number);
    region_.inputs.push_back(std::move(tensor));
  }
  return Operand{.kind = Operand::Kind::kInput, .index = static_cast<int>(index)};
}

bool RegionBuilder::set(int number, Operand result) {
  using compile::Extent;
  const Value& value = record_->values[at(number)];
  if (value.geometry.device != device_) return false;
  if (region_.extent(result, region_.extents_with_rows()) != Extent::kColumn) {
    result = rounded(result, value.geometry.dtype);
  }
  const Extent extent = region_.extent(result, region_.extents_with_rows());
  const std::vector<int64_t>& sizes = value.geometry.sizes;
  if (is_full(number)) {
    if (extent == Extent::kColumn) return false;
    if (extent == Extent::kRow) result = region_.add(Operation::kSpread, {result});
  } else {
    std::vector<int64_t> wanted = region_.sizes;
    if (extent == Extent::kRow) wanted.back() = 1;
    if (extent == Extent::kColumn) {
      wanted.assign(std::min(sizes.size(), wanted.size()), 1);
      if (!wanted.empty()) wanted.back() = region_.sizes.back();
    }
    if (sizes != wanted || !region_.has_rows()) return false;
  }
  const bool is_written_elsewhere =
      written_storages_.contains(value.storage) && !current_.contains(number);
  const auto read = read_from_.find(value.storage);
  if (is_written_elsewhere || (read != read_from_.end() && read->second != number)) return false;
  written_storages_.insert(value.storage);
  current_[number] = result;
  return true;
}

// The number that memory of the type holds of a result.
Operand RegionBuilder::rounded(Operand result, at::ScalarType dtype) {
  const auto rounding = rounding_to(dtype);
  const bool is_rounded = (result.kind == Operand::Kind::kInstruction &&
                           region_.instructions[at(result.index)].operation == rounding) ||
                          (result.kind == Operand::Kind::kInput &&
                           region_.inputs[at(result.index)].type == region_type(dtype, device_));
  return !rounding || is_rounded ? result : region_.add(*rounding, {result});
}

bool RegionBuilder::maps_rows() const {
  using enum Operation;
  return device_.is_cpu() &&
         std::ranges::any_of(region_.instructions, [](const compile::Instruction& instruction) {
           return compile::is_row_map(instruction.operation) || instruction.operation == kNorm ||
                  instruction.operation == kNormBackward;
         });
}

bool RegionBuilder::is_full(int number) const {
  return record_->values[at(number)].geometry.sizes == region_.sizes;
}

// Whether elements lie in memory in the region's order.
bool RegionBuilder::is_row_major(int number) const {
  const Geometry& geometry = record_->values[at(number)].geometry;
  int64_t expected = 1;
  for (size_t dim = geometry.sizes.size(); dim-- > 0;) {
    if (geometry.sizes[dim] == 1) continue;
    if (geometry.strides[dim] != expected) return false;
    expected *= geometry.sizes[dim];
  }
  return true;
}

// Whether a region can have the tensor as this argument. Masks and classes are the only ones that
// are not numbers, but for what is cast.
bool RegionBuilder::takes(const RecordedCall& call, const ValuePlace& place) const {
  const std::string& name = call.op.schema().arguments()[at(place.at)].name();
  const Value& value = record_->values[at(place.value)];
  const Geometry& geometry = value.geometry;
  if (value.origin == Origin::kConstant && geometry.sizes.empty()) return true;
  if (name == "condition" || name == "mask") return geometry.dtype == at::kBool;
  if (name == "target") return geometry.dtype == at::kLong;
  const std::string& op = call.op.schema().name();
  if (op == "aten::_to_copy" || (op == "aten::copy_" && device_.is_cuda())) {
    return region_type(geometry.dtype, device_).has_value();
  }
  // A single number of float32 would be rounded to the type of tensors of 16 bits.
  const bool is_single = geometry.sizes.empty() && geometry.dtype == at::kFloat;
  const int target = call.written.empty() ? call.results.front().value : call.written.front();
  const bool is_rounded = is_single && rounding_to(record_->values[at(target)].geometry.dtype);
  return is_number(geometry) && !is_rounded;
}

bool RegionBuilder::add(const RecordedCall& call) {
  if (call.is_view) return shown_by(record_->values[at(call.results[0].value)]).has_value();
  const Rule* rule = rule_of(call.name());
  if (rule == nullptr) return false;
  const bool are_taken = std::ranges::all_of(
      call.tensors, [&](const ValuePlace& place) { return takes(call, place); });
  if (!are_taken) return false;
  Formula formula(*this, call);
  if (!rule->add(formula)) return false;
  calls_functions_ = calls_functions_ || formula.calls_functions();
  is_row_major_ =
      is_row_major_ || formula.has_tail() || region_.has_rows() || !region_.draws.empty();
  // The last elements of a range have to be the same in each tensor; and rows lie one after the
  // other in LibTorch's kernels.
  const auto has_order = [&](int number) {
    return is_full(number) ? is_row_major(number) : !formula.has_tail();
  };
  return !(formula.has_tail() || formula.has_rows()) ||
         (std::ranges::all_of(call.tensors, has_order, &ValuePlace::value) &&
          std::ranges::all_of(call.results, has_order, &ValuePlace::value));
}

RegionBuilder::Built RegionBuilder::build(const std::vector<bool>& is_needed) const {
  Built out{.region = region_, .inputs = inputs_, .outputs = {}, .device = device_};
  for (const auto& [number, operand] : current_) {
    if (!is_needed[at(number)]) continue;
    Operand from = operand;
    if (from.kind != Operand::Kind::kInstruction) {
      from = out.region.add(Operation::kCopy, {operand});
    }
    const Geometry& geometry = record_->values[at(number)].geometry;
    const auto shared = std::ranges::find(inputs_, number);
    out.outputs.push_back(number);
    out.region.outputs.push_back(
        {.from = from,
         .tensor = {.type = *region_type(geometry.dtype, device_),
                    .strides = *broadcast_strides(geometry, region_.sizes)},
         .shared_input =
             shared == inputs_.end() ? -1 : static_cast<int>(shared - inputs_.begin())});
  }
  out.region.remove_dead();
  // The first output's order of memory is the order of elements.
  if (out.region.outputs.empty() || is_row_major_) return out;
  std::vector<size_t> order(region_.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<int64_t> strides = out.region.outputs[0].tensor.strides;
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  const auto permute = [&](std::vector<int64_t>& list) {
    std::vector<int64_t> permuted;
    for (const size_t dim : order) permuted.push_back(list[dim]);
    list = std::move(permuted);
  };
  permute(out.region.sizes);
  for (compile::RegionTensor& input : out.region.inputs) permute(input.strides);
  for (compile::Output& output : out.region.outputs) permute(output.tensor.strides);
  RT_CHECK(out.region.valid());
  return out;
}

}  // namespace rtrain::engine

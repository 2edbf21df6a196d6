#include "host/compile/region.h"

#include <algorithm>
#include <bit>

namespace rtrain::compile {
namespace {

size_t at(int index) { return static_cast<size_t>(index); }

bool exists(const Region& region, const Operand& operand, size_t num_instructions) {
  if (operand.index < 0) return false;
  const size_t index = at(operand.index);
  switch (operand.kind) {
    case Operand::Kind::kInput:
      return index < region.inputs.size();
    case Operand::Kind::kConstant:
      return index < region.constants.size();
    case Operand::Kind::kInstruction:
      return index < num_instructions;
    case Operand::Kind::kDraw:
      return index < region.draws.size();
  }
  return false;
}

// Whether numbers of this extent differ along a dimension.
bool walks(Extent extent, bool is_last) {
  return extent == Extent::kFull || (extent == Extent::kRow && !is_last) ||
         (extent == Extent::kColumn && is_last);
}

bool covers_once(const RegionTensor& tensor, const std::vector<int64_t>& sizes, Extent extent) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1 && (tensor.strides[i] != 0) != walks(extent, i + 1 == sizes.size())) {
      return false;
    }
  }
  return true;
}

}  // namespace

int64_t width_of(Type type) {
  if (type == Type::kBool) return 1;
  if (has_16_bits(type)) return 2;
  return type == Type::kInt64 ? 8 : 4;
}

int64_t Region::num_elements() const {
  int64_t out = 1;
  for (const int64_t size : sizes) out *= size;
  return out;
}

bool Region::has_rows() const {
  return !std::ranges::all_of(inputs, &RegionTensor::is_plain) ||
         std::ranges::any_of(instructions, [](const Instruction& instruction) {
           return needs_rows(instruction.operation);
         });
}

Extent Region::extent(const Operand& operand, const std::vector<Extent>& extents) const {
  if (operand.kind == Operand::Kind::kConstant) return Extent::kSingle;
  if (operand.kind == Operand::Kind::kDraw) return Extent::kFull;
  if (operand.kind == Operand::Kind::kInstruction) return extents[at(operand.index)];
  const std::vector<int64_t>& strides = inputs[at(operand.index)].strides;
  if (!inputs[at(operand.index)].is_plain()) return Extent::kFull;
  const auto is_zero = [](int64_t stride) { return stride == 0; };
  if (std::ranges::all_of(strides, is_zero)) return Extent::kSingle;
  return strides.back() == 0 ? Extent::kRow : Extent::kFull;
}

std::vector<Extent> Region::extents() const {
  if (has_rows()) return extents_with_rows();
  return std::vector<Extent>(instructions.size(), Extent::kFull);
}

std::vector<Extent> Region::extents_with_rows() const {
  std::vector<Extent> out;
  for (const Instruction& instruction : instructions) {
    const Operation operation = instruction.operation;
    Extent extent = Extent::kRow;
    if (operation < kFirstRowFunction) {
      for (const Operand& operand : instruction.operands) {
        extent = std::max(extent, this->extent(operand, out));
      }
    }
    const bool is_full = operation == Operation::kSpread || operation == Operation::kColumnIndex ||
                         is_row_loop(operation) || is_row_map(operation);
    if (is_full) extent = Extent::kFull;
    out.push_back(is_column_sum(operation) ? Extent::kColumn : extent);
  }
  return out;
}

bool Region::valid() const {
  const auto has_strides = [&](const RegionTensor& tensor) {
    return tensor.strides.size() == sizes.size();
  };
  if (!std::ranges::all_of(inputs, has_strides) || (sizes.empty() && has_rows())) return false;
  const std::vector<Extent> all = extents();
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& instruction = instructions[i];
    if (static_cast<int>(instruction.operands.size()) != num_operands(instruction.operation)) {
      return false;
    }
    const auto num_full = static_cast<size_t>(num_full_operands(instruction.operation));
    for (size_t k = 0; k < instruction.operands.size(); ++k) {
      const Operand& operand = instruction.operands[k];
      if (!exists(*this, operand, i)) return false;
      const Extent its_extent = extent(operand, all);
      if (its_extent == Extent::kColumn || (k < num_full && its_extent != Extent::kFull))
        return false;
      if (instruction.operation >= kFirstRowFunction && k >= num_full &&
          its_extent == Extent::kFull) {
        return false;
      }
    }
  }
  return std::ranges::all_of(outputs, [&](const Output& output) {
    return output.from.kind == Operand::Kind::kInstruction &&
           exists(*this, output.from, instructions.size()) && has_strides(output.tensor) &&
           output.tensor.type != Type::kInt64 &&
           covers_once(output.tensor, sizes, extent(output.from, all));
  });
}

int64_t Region::num_bytes() const {
  const auto bytes = [&](const RegionTensor& tensor) {
    int64_t out = width_of(tensor.type);
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (tensor.strides[i] != 0) out *= sizes[i];
    }
    return tensor.has_window() ? out / sizes.back() * tensor.window_width : out;
  };
  int64_t out = 0;
  for (const RegionTensor& input : inputs) out += bytes(input);
  for (const Output& output : outputs) out += bytes(output.tensor);
  return out;
}

Operand Region::add(Operation operation, std::vector<Operand> operands) {
  Instruction wanted{.operation = operation, .operands = std::move(operands)};
  const auto found = std::ranges::find(instructions, wanted);
  const auto index = static_cast<int>(found - instructions.begin());
  if (found == instructions.end()) instructions.push_back(std::move(wanted));
  return {.kind = Operand::Kind::kInstruction, .index = index};
}

Operand Region::add_constant(float value) {
  const auto has_its_bits = [&](float other) {
    return std::bit_cast<uint32_t>(other) == std::bit_cast<uint32_t>(value);
  };
  const auto found = std::ranges::find_if(constants, has_its_bits);
  const auto index = static_cast<int>(found - constants.begin());
  if (found == constants.end()) constants.push_back(value);
  return {.kind = Operand::Kind::kConstant, .index = index};
}

void Region::remove_dead() {
  std::vector<bool> is_needed(instructions.size());
  const auto need = [&](const Operand& operand) {
    if (operand.kind == Operand::Kind::kInstruction) is_needed[at(operand.index)] = true;
  };
  for (const Output& output : outputs) need(output.from);
  for (size_t i = instructions.size(); i-- > 0;) {
    if (is_needed[i]) std::ranges::for_each(instructions[i].operands, need);
  }
  std::vector<int> places(instructions.size(), -1);
  std::vector<Instruction> kept;
  const auto rename = [&](Operand& operand) {
    if (operand.kind == Operand::Kind::kInstruction) operand.index = places[at(operand.index)];
  };
  for (size_t i = 0; i < instructions.size(); ++i) {
    if (!is_needed[i]) continue;
    std::ranges::for_each(instructions[i].operands, rename);
    places[i] = static_cast<int>(kept.size());
    kept.push_back(std::move(instructions[i]));
  }
  instructions = std::move(kept);
  for (Output& output : outputs) rename(output.from);
}

void Region::join_dimensions() {
  const size_t num_kept = has_rows() ? 1 : 0;
  std::vector<RegionTensor*> tensors;
  for (RegionTensor& input : inputs) tensors.push_back(&input);
  for (Output& output : outputs) tensors.push_back(&output.tensor);
  const auto erase = [&](size_t dim) {
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
    for (RegionTensor* tensor : tensors) {
      tensor->strides.erase(tensor->strides.begin() + static_cast<std::ptrdiff_t>(dim));
    }
  };
  for (size_t dim = sizes.size() - num_kept; dim-- > 0;) {
    if (sizes[dim] == 1) erase(dim);
  }
  for (size_t dim = sizes.size() - num_kept; dim-- > 1;) {
    const bool can_join = std::ranges::all_of(tensors, [&](const RegionTensor* tensor) {
      return tensor->strides[dim - 1] == tensor->strides[dim] * sizes[dim];
    });
    if (!can_join) continue;
    sizes[dim] *= sizes[dim - 1];
    erase(dim - 1);
  }
}

}  // namespace rtrain::compile

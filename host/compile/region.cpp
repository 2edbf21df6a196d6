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
  }
  return false;
}

bool covers_once(const RegionTensor& tensor, const std::vector<int64_t>& sizes) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1 && tensor.strides[i] == 0) return false;
  }
  return true;
}

}  // namespace

int64_t Region::num_elements() const {
  int64_t out = 1;
  for (const int64_t size : sizes) out *= size;
  return out;
}

bool Region::valid() const {
  const auto has_strides = [&](const RegionTensor& tensor) {
    return tensor.strides.size() == sizes.size();
  };
  if (!std::ranges::all_of(inputs, has_strides)) return false;
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& instruction = instructions[i];
    if (static_cast<int>(instruction.operands.size()) != num_operands(instruction.operation)) {
      return false;
    }
    for (const Operand& operand : instruction.operands) {
      if (!exists(*this, operand, i)) return false;
    }
  }
  return std::ranges::all_of(outputs, [&](const Output& output) {
    return output.from.kind == Operand::Kind::kInstruction &&
           exists(*this, output.from, instructions.size()) && has_strides(output.tensor) &&
           output.tensor.type == Type::kFloat32 && covers_once(output.tensor, sizes);
  });
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

}  // namespace rtrain::compile

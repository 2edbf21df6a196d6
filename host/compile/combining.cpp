#include "host/compile/combining.h"

#include <optional>
#include <utility>
#include <vector>

namespace rtrain::compile {
namespace {

size_t at(int index) { return static_cast<size_t>(index); }

// The operands of the instruction that the operand is, if it is one of that operation.
const std::vector<Operand>* operands_of(const Region& region, const Operand& operand,
                                        Operation operation) {
  if (operand.kind != Operand::Kind::kInstruction) return nullptr;
  const Instruction& instruction = region.instructions[at(operand.index)];
  return instruction.operation == operation ? &instruction.operands : nullptr;
}

bool is_zero(const Region& region, const Operand& operand) {
  return operand.kind == Operand::Kind::kConstant && region.constants[at(operand.index)] == 0;
}

// log_softmax_backward(where(column = class, grad, 0), result)
std::optional<Instruction> class_backward(const Region& region, const Instruction& instruction,
                                          const std::vector<Extent>& extents) {
  using enum Operation;
  if (instruction.operation != kLogSoftmaxBackward) return std::nullopt;
  const auto* choice = operands_of(region, instruction.operands[0], kSelect);
  if (choice == nullptr || !is_zero(region, (*choice)[2])) return std::nullopt;
  const auto* equal = operands_of(region, (*choice)[0], kEqual);
  if (equal == nullptr || operands_of(region, (*equal)[0], kColumnIndex) == nullptr) {
    return std::nullopt;
  }
  const Operand& of_row = (*equal)[1];
  const Operand& grad = (*choice)[1];
  for (const Operand& each : {of_row, grad}) {
    if (each.kind == Operand::Kind::kConstant || region.extent(each, extents) == Extent::kFull) {
      return std::nullopt;
    }
  }
  return Instruction{.operation = kClassBackward,
                     .operands = {instruction.operands[1], of_row, grad}};
}

}  // namespace

Region combined(Region region, const Functions& functions) {
  if (!functions.has(Operation::kClassBackward)) return region;
  const std::vector<Extent> extents = region.extents();
  for (Instruction& instruction : region.instructions) {
    auto joined = class_backward(region, instruction, extents);
    if (joined) instruction = std::move(*joined);
  }
  region.remove_dead();
  return region;
}

}  // namespace rtrain::compile

#include "host/compile/combining.h"

#include <algorithm>
#include <cstddef>
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

// The instruction behind the one with this index, or nullptr.
Instruction* find_behind(Region& region, size_t index, Operation operation,
                         const std::vector<Operand>& operands) {
  const auto begin = region.instructions.begin() + static_cast<std::ptrdiff_t>(index);
  const auto found = std::find(begin, region.instructions.end(),
                               Instruction{.operation = operation, .operands = operands});
  return found == region.instructions.end() ? nullptr : &*found;
}

// LayerNorm's backward of the rows, from its sums on, with the gradients of scale and shift.
void join_norm(Region& region, size_t index) {
  using enum Operation;
  const Instruction backward = region.instructions[index];
  if (backward.operation != kNormBackward) return;
  const Operand& grad = backward.operands[0];
  const Operand& weight = backward.operands[1];
  const Operand& x = backward.operands[2];
  const Operand& rstd = backward.operands[3];
  const auto* offset = operands_of(region, backward.operands[5], kSubtractProduct);
  if (offset == nullptr) return;
  const Operand mean = (*offset)[2];
  // What is there already is found, not added.
  Region formula = region;
  const auto add = [&](Operation operation, auto... operands) {
    return formula.add(operation, {operands...});
  };
  const Operand scale = formula.add_constant(1.0F / static_cast<float>(region.sizes.back()));
  const Operand dots = add(kNormDots, grad, x, weight);
  const Operand db = add(kSecond, dots);
  Operand b = add(kAddScaled, add(kNegate, add(kFirst, dots)), db, mean);
  for (const Operand& factor : {rstd, rstd, rstd, scale}) b = add(kMultiply, b, factor);
  const Operand product = add(kMultiply, add(kMultiply, db, rstd), scale);
  const Operand c = add(kSubtractProduct, add(kNegate, product), b, mean);
  if (backward.operands[4] != b || backward.operands[5] != c) return;
  const Operand pass{.kind = Operand::Kind::kInstruction, .index = static_cast<int>(index)};
  region.instructions[index] = {.operation = kNormPass, .operands = {grad, x, weight, mean, rstd}};
  const Operand shift = add(kMultiply, add(kNegate, rstd), mean);
  Instruction* scale_sum = find_behind(region, index, kColumnNormDot, {grad, x, rstd, shift});
  Instruction* shift_sum = find_behind(region, index, kColumnSum, {grad});
  if (scale_sum == nullptr || shift_sum == nullptr) return;
  *scale_sum = {.operation = kFirstSum, .operands = {pass}};
  *shift_sum = {.operation = kSecondSum, .operands = {pass}};
}

}  // namespace

Region combined(Region region, const Functions& functions) {
  const bool joins_classes = functions.has(Operation::kClassBackward);
  const bool joins_norms = functions.has(Operation::kNormPass);
  const std::vector<Extent> extents = region.extents();
  for (size_t i = 0; i < region.instructions.size(); ++i) {
    auto joined = class_backward(region, region.instructions[i], extents);
    if (joined && joins_classes) region.instructions[i] = std::move(*joined);
    if (joins_norms) join_norm(region, i);
  }
  region.remove_dead();
  return region;
}

}  // namespace rtrain::compile

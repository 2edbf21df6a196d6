#include "host/compile/lowering.h"

#include <array>
#include <utility>

namespace rtrain::compile {
namespace {

size_t at(int index) { return static_cast<size_t>(index); }

class Lowering {
 public:
  explicit Lowering(const Region& region) : region_(region) {
    out_.sizes = region.sizes;
    out_.inputs = region.inputs;
    out_.constants = region.constants;
    out_.draws = region.draws;
  }

  Region run() {
    for (const Instruction& instruction : region_.instructions) {
      std::vector<Operand> operands;
      for (const Operand& operand : instruction.operands) operands.push_back(new_one(operand));
      results_.push_back(lower(instruction, std::move(operands)));
    }
    for (const Output& output : region_.outputs) {
      out_.outputs.push_back(output);
      out_.outputs.back().from = unrounded(new_one(output.from), output.tensor.type);
      if (out_.outputs.back().from.kind != Operand::Kind::kInstruction) {
        out_.outputs.back().from = add(Operation::kCopy, out_.outputs.back().from);
      }
    }
    out_.remove_dead();
    return std::move(out_);
  }

 private:
  using Pair = std::array<Operand, 2>;  // of one result the first

  Operand new_one(const Operand& operand) const {
    return operand.kind == Operand::Kind::kInstruction ? results_[at(operand.index)][0] : operand;
  }

  // What is rounded as it is stored need not be rounded before.
  Operand unrounded(const Operand& from, Type type) const {
    if (from.kind != Operand::Kind::kInstruction) return from;
    const Instruction& instruction = out_.instructions[at(from.index)];
    const bool is_rounded =
        (type == Type::kFloat16 && instruction.operation == Operation::kRoundToFloat16) ||
        (type == Type::kBFloat16 && instruction.operation == Operation::kRoundToBFloat16);
    return is_rounded ? instruction.operands[0] : from;
  }

  template <class... Operands>
  Operand add(Operation operation, Operands... operands) {
    return out_.add(operation, {operands...});
  }

  Operand width_divided(const Operand& sum) {
    const auto width = static_cast<float>(region_.sizes.back());
    return add(Operation::kDivide, sum, out_.add_constant(width));
  }

  Pair moments(const Operand& a) {
    using enum Operation;
    const Operand mean = width_divided(add(kRowSum, a));
    const Operand difference = add(kSubtract, a, mean);
    return {mean, width_divided(add(kRowSum, add(kMultiply, difference, difference)))};
  }

  // How far numbers are away from the largest one of their row.
  Operand distance(const Operand& a) {
    return add(Operation::kSubtract, a, add(Operation::kRowMaximum, a));
  }

  Pair lower(const Instruction& instruction, std::vector<Operand> o) {
    using enum Operation;
    switch (instruction.operation) {
      case kFirst:
        return {results_[at(instruction.operands[0].index)][0]};
      case kSecond:
        return {results_[at(instruction.operands[0].index)][1]};
      case kSoftmax: {
        const Operand exp = add(kExp, distance(o[0]));
        return {add(kDivide, exp, add(kRowSum, exp))};
      }
      case kLogSoftmax: {
        const Operand log = add(kLog, add(kRowSum, add(kExp, distance(o[0]))));
        return {add(kSubtract, distance(o[0]), log)};
      }
      case kSoftmaxBackward: {
        const Operand product = add(kMultiply, o[0], o[1]);
        return {add(kSubtractProduct, product, o[1], add(kRowSum, product))};
      }
      case kLogSoftmaxBackward:
        return {add(kSubtractProduct, o[0], add(kExp, o[1]), add(kRowSum, o[0]))};
      case kRowMoments:
        return moments(o[0]);
      case kNormDots: {
        const Operand product = add(kMultiply, o[0], o[2]);
        return {add(kRowSum, add(kMultiply, product, o[1])), add(kRowSum, product)};
      }
      case kColumnNormDot: {
        const Operand normal = add(kAddScaled, o[3], o[1], o[2]);
        return {add(kColumnSum, add(kMultiply, o[0], normal))};
      }
      default:
        return {out_.add(instruction.operation, std::move(o))};
    }
  }

  const Region& region_;
  Region out_;
  std::vector<Pair> results_;  // of each instruction of the region
};

}  // namespace

Region lowered(const Region& region) { return Lowering(region).run(); }

}  // namespace rtrain::compile

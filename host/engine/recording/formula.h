// host/engine/recording/formula.h: what ATen's operators that work element by element compute, as
// instructions of a region of host/compile.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "host/compile/region.h"
#include "host/engine/recording/record.h"

namespace rtrain::engine {

class RegionBuilder;

// The operands of one call, and the instructions that compute its result. An operand that is
// nothing makes a result that is nothing.
class Formula {
 public:
  using Operand = compile::Operand;

  Formula(RegionBuilder& builder, const RecordedCall& call) : builder_(builder), call_(call) {}

  // A tensor argument.
  std::optional<Operand> tensor(int argument);
  // A number argument; as float32, since that is what ATen computes with.
  std::optional<float> number(int argument) const;
  std::string_view text(int argument) const;
  std::optional<Operand> constant(std::optional<float> value);

  template <class... Operands>
  std::optional<Operand> compute(compile::Operation operation, Operands... operands) {
    return instruction(operation, {operands...});
  }
  // Makes it the result of the call. Returns false if it cannot be.
  bool set(std::optional<Operand> result);

  // Whether it calls functions, and one whose last elements are computed in another way.
  bool calls_functions() const { return calls_functions_; }
  bool has_tail() const { return has_tail_; }

 private:
  std::optional<Operand> instruction(compile::Operation operation,
                                     std::initializer_list<std::optional<Operand>> operands);

  RegionBuilder& builder_;
  const RecordedCall& call_;
  bool calls_functions_ = false;
  bool has_tail_ = false;
};

// Adds the instructions of a call. Returns false if there is no formula for its arguments.
using Rule = bool (*)(Formula& formula);

// The rule of an operator; nullptr if it has none.
Rule rule_of(std::string_view name);

}  // namespace rtrain::engine

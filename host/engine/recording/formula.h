// host/engine/recording/formula.h: what ATen's operators that work element by element compute, as
// instructions of a region of host/compile.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "host/compile/function.h"
#include "host/compile/region.h"
#include "host/engine/recording/record.h"

namespace rtrain::engine {

class RegionBuilder;

// The operands of one call, and the instructions that compute its result. An operand that is
// nothing makes a result that is nothing.
class Formula {
 public:
  using Operand = compile::Operand;

  Formula(RegionBuilder& builder, const RecordedCall& call);

  // A tensor argument.
  std::optional<Operand> tensor(int argument);
  // A tensor argument with a number for each row, whose sizes are those of the region without the
  // last.
  std::optional<Operand> row_tensor(int argument);
  // A tensor argument with a part of the columns, from `begin` on.
  std::optional<Operand> window(int argument, int64_t begin);
  // A tensor argument whose rows begin with that column and go round.
  std::optional<Operand> rolled(int argument, int64_t first_column);
  // A number argument; as float32, since that is what ATen computes with.
  std::optional<float> number(int argument) const;
  std::string_view text(int argument) const;
  int64_t integer(int argument) const { return call_.arguments[index_of(argument)].toInt(); }
  const c10::IValue& argument(int argument) const { return call_.arguments[index_of(argument)]; }
  bool is_none(int argument) const;
  // The elements of a row; 0 if there are no rows of several elements.
  int64_t width() const;
  int64_t num_elements() const;
  // Whether rows fill the vectors of the CPU's kernels. Where the last one is not full the compiler
  // of LibTorch may have joined products and sums in another way.
  bool rows_fill_vectors() const;
  size_t num_dims() const;
  // Whether a kernel of a GPU will compute it: with all functions, and formulas of its own.
  bool is_on_gpu() const;
  // Whether all tensors of numbers have 16 bits, of one type: where ATen computes with this type,
  // each of its results is rounded.
  bool is_narrow() const { return narrow_.has_value(); }
  // The operand, rounded where is_narrow().
  std::optional<Operand> rounded(std::optional<Operand> operand);
  std::optional<Operand> constant(std::optional<float> value);
  // The random numbers of dropout of a tensor argument; nothing unless it has all elements of the
  // region, in their order. Each call draws others.
  std::optional<Operand> draw(int argument);
  // 1 / number, of a constant.
  std::optional<Operand> inverse(std::optional<Operand> constant);
  const compile::Functions& functions() const;

  template <class... Operands>
  std::optional<Operand> compute(compile::Operation operation, Operands... operands) {
    return instruction(operation, {operands...});
  }
  // Makes it the result of the call, or the one at that place if the call gives it. Returns false
  // if it cannot be.
  bool set(std::optional<Operand> result);
  bool set(int place, std::optional<Operand> result);

  // Whether it calls functions, or adds up in an order of ATen's, which have to be tried; whether
  // it calls one whose last elements are computed in another way.
  bool calls_functions() const { return calls_functions_; }
  bool has_tail() const { return has_tail_; }
  // Whether it works on rows.
  bool has_rows() const { return has_rows_; }

 private:
  static size_t index_of(int argument) { return static_cast<size_t>(argument); }
  const ValuePlace* place_of(int argument) const;
  Operand spread(const Operand& operand);
  std::optional<Operand> instruction(compile::Operation operation,
                                     std::initializer_list<std::optional<Operand>> operands);

  RegionBuilder& builder_;
  const RecordedCall& call_;
  std::optional<compile::Operation> narrow_;  // what rounds
  bool calls_functions_ = false;
  bool has_tail_ = false;
  bool has_rows_ = false;
};

struct Rule {
  // Adds the instructions of a call. Returns false if there is no formula for its arguments.
  bool (*add)(Formula& formula) = nullptr;
  // Whether its result has a number for each row of its first argument.
  bool reduces = false;
};

// The rule of an operator; nullptr if it has none.
const Rule* rule_of(std::string_view name);

}  // namespace rtrain::engine

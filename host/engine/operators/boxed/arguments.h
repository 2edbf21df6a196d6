// host/engine/operators/boxed/arguments.h: converts Lua arguments to the values of an operator's
// schema.
//
// Strict: it converts nothing implicitly except a 0-dim tensor to a number, because boxed kernels
// do not check their arguments (a missing one is undefined behaviour, a wrong one an internal
// assertion of LibTorch). Arguments are positions 1…n of the Lua stack. A last table with only
// string keys holds keywords; so does an empty last table if the call fits without it.
#pragma once

#include <c10/util/SmallVector.h>

#include <string>

#include "host/engine/operators/boxed/overloads.h"
#include "host/engine/runtime/vm.h"
#include "host/lua/lua.h"

namespace rtrain::engine {

class Arguments {
 public:
  // Reads the stack of the running C function. Throws Error(kArgument) for a table that mixes items
  // and names.
  Arguments(Vm& vm, lua_State* L);

  // A number that is equal for calls whose arguments have the same kinds.
  uint64_t kinds() const;

  // Fills the stack with one value for each parameter. If the arguments do not fit, returns false
  // and leaves the stack empty.
  bool bind(const Overload& overload, torch::jit::Stack& stack) const;

  // Why the arguments do not fit: "argument 'other' (2nd): expected Tensor, got string".
  std::string mismatch(const Overload& overload) const;

  // "self: float32 [2, 3], other: number 2": the arguments with parameter names, for a message.
  std::string describe(const Overload& overload) const;

  // "float32 [2, 3], 2, alpha = 0.5": all given arguments, for a message.
  std::string given() const;

  // Stack index of the keyword's value; 0 if it was not given.
  int keyword(std::string_view name) const;

  // Treats a last empty table, which the constructor has taken for keywords, as an argument: an
  // empty list. Returns false if there is none.
  bool take_empty_table();

  // Removes the keyword `out` and keeps its tensor or list of tensors for overloads that write to
  // them. Returns false if it was not given.
  bool take_out();
  bool has_out() const { return out_ != 0; }
  int out() const { return out_; }  // its stack index

  // Stack index of the value bound to the parameter: a position or a tensor of `out`.
  int index_of(const Overload& overload, size_t param) const;

  // Whether the value stands for Python's None. True for index 0.
  bool is_none(int index) const;

  // Removes the keyword, so that no overload sees it.
  void drop_keyword(std::string_view name);

 private:
  static constexpr int kMaxKeywords = 32;
  struct Keyword {
    const char* name;
    int index;
  };
  // Stack index of each parameter's value; 0 if it was not given.
  struct Slots {
    int index[64];
    bool gathered = false;  // the varargs parameter takes all positions from its own on
  };
  enum class Fit { kOk, kTooMany, kUnknownKeyword, kGivenTwice, kOuts };

  void read_keywords();
  Fit assign(const Overload& overload, Slots& slots, const Keyword** culprit) const;
  bool takes_varargs(const Overload& overload) const;
  bool gather(int first, torch::jit::Stack& stack) const;
  bool convert(int index, const Param& param, torch::jit::Stack& stack) const;
  bool convert_table(int index, const Param& param, torch::jit::Stack& stack) const;
  bool is_item(int index, const Param& param) const;
  // ": item 2 is nil": why a table is not the list that the parameter expects; "" if the items are
  // not the reason.
  std::string item_problem(int index, const Param& param) const;
  bool convert_string(const char* text, const Param& param, torch::jit::Stack& stack) const;
  bool convert_repeated(int index, const Param& param, torch::jit::Stack& stack) const;
  std::string join_numbers(int first) const;

  Vm& vm_;
  lua_State* L_;
  int positional_;
  bool ends_with_empty_table_ = false;
  int keyword_count_ = 0;
  Keyword keywords_[kMaxKeywords];
  int out_ = 0;                    // stack index of `out`
  c10::SmallVector<int, 4> outs_;  // stack indices of its tensors
};

}  // namespace rtrain::engine

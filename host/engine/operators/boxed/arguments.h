// host/engine/operators/boxed/arguments.h: the marshaller: Lua arguments as the values that an
// operator's schema asks for.
//
// Strict: nothing is coerced but a 0-dim tensor to a number, because boxed kernels check nothing
// themselves (a missing argument is undefined behaviour, a wrong one an internal assertion of
// LibTorch). Arguments are the positions 1…n of the Lua stack; a last table with string keys only
// holds keywords, and so does an empty one wherever the call fits without it.
#pragma once

#include <c10/util/SmallVector.h>

#include <string>

#include "host/engine/operators/boxed/overloads.h"
#include "host/engine/runtime/vm.h"
#include "host/lua/lua.h"

namespace rtrain {

class Arguments {
 public:
  // Takes the values on the stack of the running C function. Throws Error(kArgument) for a table
  // that mixes items and names.
  Arguments(Vm& vm, lua_State* L);

  // A number that is equal for calls with the same kinds of arguments.
  uint64_t kinds() const;

  // Fills the stack with one value for each parameter. False, with the stack empty, when the
  // arguments do not fit.
  bool bind(const Overload& overload, torch::jit::Stack& stack) const;

  // Why the arguments do not fit: "argument 'other' (2nd): expected Tensor, got string".
  std::string mismatch(const Overload& overload) const;

  // "self: float32 [2, 3], other: number 2": the arguments for a message.
  std::string describe(const Overload& overload) const;

  // "float32 [2, 3], 2, alpha = 0.5": all that was given, for a message.
  std::string given() const;

  // The keyword's value on the stack; 0 when it was not given.
  int keyword(std::string_view name) const;

  // Makes an empty table at the end, which the constructor takes for keywords, an argument: an
  // empty list. False when there is none.
  bool take_empty_table();

  // Takes the keyword `out` away and keeps its tensor or list of tensors for the overloads that
  // write to them. False when it was not given.
  bool take_out();
  bool has_out() const { return out_ != 0; }
  int out() const { return out_; }  // where it lies on the stack

  // Where the argument that became the param lies on the stack: a position or a tensor of `out`.
  int index_of(const Overload& overload, size_t param) const;

  // Whether the value stands for Python's None; index 0 does.
  bool is_none(int index) const;

  // Takes the keyword away, so that no overload sees it.
  void drop_keyword(std::string_view name);

 private:
  static constexpr int kMaxKeywords = 32;
  struct Keyword {
    const char* name;
    int index;
  };
  // Where each parameter's value lies on the stack; 0 for one that is not given.
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
  // ": item 2 is nil": why a table is not the list that the parameter takes; "" where its items are
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
  int out_ = 0;                    // where `out` lies on the stack
  c10::SmallVector<int, 4> outs_;  // where its tensors lie
};

}  // namespace rtrain

// host/engine/operators/boxed/overloads.h: ATen's operators as the dispatcher has them registered,
// by base name.
//
// A Family is everything `torch.add` can mean: its overloads in PyTorch's order of preference.
// Families are made from the schemas on first use, are shared by all threads and live until the
// process ends. Forms that write to `out` are a list of their own, those that PyTorch has; forms
// for named dimensions are left out.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/engine/operators/boxed/unsafe_operators.h"

namespace rtrain {

enum class Kind : uint8_t {
  kTensor,
  kTensorList,
  kOptionalTensorList,
  kInt,
  kReduction,  // an int: 0 none, 1 mean, 2 sum
  kIntList,
  kFloat,
  kFloatList,
  kScalar,
  kScalarList,
  kBool,
  kBoolList,
  kString,
  kDtype,
  kLayout,
  kMemoryFormat,
  kDevice,
  kGenerator,
  kOther,  // nothing of Lua fits: only nil where it is optional
};

constexpr bool is_list_kind(Kind kind) {
  return kind == Kind::kTensorList || kind == Kind::kOptionalTensorList || kind == Kind::kIntList ||
         kind == Kind::kFloatList || kind == Kind::kScalarList || kind == Kind::kBoolList;
}

struct Param {
  std::string name;
  std::string shown;  // the name that users see: PyTorch's functions say input where ATen says self
  std::string type;   // as the schema writes it: "Tensor?", "int[2]"
  Kind kind = Kind::kOther;
  bool optional = false;
  bool keyword_only = false;
  bool has_default = false;
  bool is_out = false;        // a tensor that takes a result: the keyword `out`
  bool takes_number = false;  // a Tensor for which a number will do: add(2, x)
  int fixed_size = 0;         // int[2]: one number stands for all of them; 0 where any length goes
  c10::IValue default_value;
};

struct Return {
  bool is_dtype = false;
  int same_as = -1;  // the argument that may come back as it is: written to (add_), or nothing was
                     // to do (contiguous)
};

struct Overload {
  explicit Overload(c10::OperatorHandle handle) : op(handle) {}

  c10::OperatorHandle op;
  std::vector<Param> params;
  std::vector<Return> returns;
  size_t outs = 0;        // how many of the last params take results
  size_t positional = 0;  // the first params, which may be given by position
  int varargs = -1;  // the param that takes the rest of the positions: zeros(2, 3), x:view(2, 3)
  bool factory = false;  // makes a tensor from nothing: takes requires_grad too
  bool is_mutable = false;
  bool is_random = false;  // draws random numbers, unless an argument tells it not to
  std::string signature;   // "add(Tensor self, Tensor other, *, Scalar alpha=1)"
  std::string results;     // "Tensor values, Tensor indices"; "" for none
};

struct Family {
  std::string name;
  std::vector<Overload> overloads;
  std::vector<Overload> with_out;  // what a call with the keyword `out` means
  SafetyCheck check = nullptr;     // made before each call
  int self_place = 0;  // whose method it is: the second parameter of where(condition, self, other)
};

// The operator of that name; a trailing underscore is dropped where Lua reserves the word
// ("repeat_"). Null if unknown. Throws Error(kUnsupported) for one that is refused.
const Family* find_family(const std::string& name);

// Every public base name that can be called, sorted.
std::vector<std::string> family_names();

// One operator as one Lua state uses it: the family and which overload fitted which kinds of
// arguments.
struct Op {
  struct Memo {
    uint64_t key;
    uint32_t overload;
  };
  const Family* family = nullptr;
  std::vector<Memo> memo;
};

// The name without the underscore that stands after a word that Lua reserves: "end_" → "end".
std::string_view without_reserved_mark(std::string_view name);

}  // namespace rtrain

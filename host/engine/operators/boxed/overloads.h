// host/engine/operators/boxed/overloads.h: ATen's operators from the dispatcher's registry, by base
// name.
//
// A Family has all overloads of, for example, `torch.add`, in PyTorch's order of preference.
// Families are made from the schemas on first use, are shared by all threads and live until the
// process ends. Overloads with `out` are in a separate list, with those that PyTorch has; overloads
// for named dimensions are left out.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/engine/operators/boxed/unsafe_operators.h"

namespace rtrain::engine {

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
  kOther,  // no Lua value fits, except nil if optional
};

constexpr bool is_list_kind(Kind kind) {
  return kind == Kind::kTensorList || kind == Kind::kOptionalTensorList || kind == Kind::kIntList ||
         kind == Kind::kFloatList || kind == Kind::kScalarList || kind == Kind::kBoolList;
}

struct Param {
  std::string name;
  std::string shown;  // name for users: PyTorch's functions say input where ATen says self
  std::string type;   // as in the schema: "Tensor?", "int[2]"
  Kind kind = Kind::kOther;
  bool optional = false;
  bool keyword_only = false;
  bool has_default = false;
  bool is_out = false;        // a tensor for a result: the keyword `out`
  bool takes_number = false;  // a Tensor that may be a number: add(2, x)
  int fixed_size = 0;         // int[2]: one number stands for all items; 0: any length
  c10::IValue default_value;
};

struct Return {
  bool is_dtype = false;
  int same_as = -1;  // the argument that may be returned itself: it was written to (add_), or
                     // needed no change (contiguous)
};

struct Overload {
  explicit Overload(c10::OperatorHandle handle) : op(handle) {}

  c10::OperatorHandle op;
  std::vector<Param> params;
  std::vector<Return> returns;
  size_t outs = 0;        // how many of the last params are results
  size_t positional = 0;  // how many of the first params may be given by position
  int varargs = -1;       // the param for all remaining positions: zeros(2, 3), x:view(2, 3)
  bool factory = false;   // makes a tensor from none: also takes requires_grad
  bool is_mutable = false;
  bool is_random = false;  // draws random numbers, unless an argument turns that off
  std::string signature;   // "add(Tensor self, Tensor other, *, Scalar alpha=1)"
  std::string results;     // "Tensor values, Tensor indices"; "" for none
};

struct Family {
  std::string name;
  std::vector<Overload> overloads;
  std::vector<Overload> with_out;  // overloads for calls with the keyword `out`
  SafetyCheck check = nullptr;     // called before each call
  int self_place = 0;  // index of the method's own tensor: 1 for where(condition, self, other)
};

// Finds an operator. A trailing underscore is dropped if the name is a reserved word of Lua
// ("repeat_"). Null if unknown. Throws Error(kUnsupported) for a refused operator.
const Family* find_family(const std::string& name);

// All public base names that can be called, sorted.
std::vector<std::string> family_names();

// An operator in one Lua state: its family, and a cache of which overload fits which kinds of
// arguments.
struct Op {
  struct Memo {
    uint64_t key;
    uint32_t overload;
  };
  const Family* family = nullptr;
  std::vector<Memo> memo;
};

// Removes the underscore after a reserved word of Lua: "end_" → "end".
std::string_view without_reserved_mark(std::string_view name);

}  // namespace rtrain::engine

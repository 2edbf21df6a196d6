// host/engine/recording/record.h: a Record: the operators that one call of a step made below
// autograd: forward, backward and optimizer.
//
// Tensors are numbers of values. A value is memory with sizes and strides: an argument of the step,
// a state (it existed before: parameters, buffers, states of optimizers), a constant, or made by a
// call. Tensors of equal geometry in the same storage are one value. A call in place gives no new
// value: what it writes is in `written`.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rtrain::engine {

struct Geometry {
  at::ScalarType dtype = at::kFloat;
  at::Device device = at::kCPU;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t offset = 0;

  static Geometry of(const at::Tensor& tensor);
  bool operator==(const Geometry&) const = default;
  bool is_of(const at::Tensor& tensor) const;
};

enum class Origin { kArgument, kState, kConstant, kMade };

struct Value {
  Origin origin = Origin::kMade;
  int source = 0;  // index into arguments, states, constants or calls
  int storage = 0;
  Geometry geometry;
};

// A tensor among the arguments of a call, or among its results.
struct ValuePlace {
  int at = 0;     // argument or result
  int item = -1;  // of a list
  int value = -1;

  bool operator==(const ValuePlace&) const = default;
};

struct RecordedCall {
  explicit RecordedCall(c10::OperatorHandle given) : op(given) {}

  c10::OperatorHandle op;
  torch::jit::Stack arguments;      // tensors are None; a list of tensors is its length
  std::vector<int> optional_lists;  // arguments that are lists of optional tensors
  std::vector<ValuePlace> tensors;  // without undefined ones
  std::vector<int> undefined;       // arguments that are undefined tensors
  std::vector<ValuePlace> results;  // without those that were given
  std::vector<int> written;         // values that it changes
  bool is_view = false;             // all results are views of arguments
  int rate_argument = -1;           // the argument that is the learning rate of group `rate`
  int rate = -1;
  std::string line;  // of the script that made it: "train.lua:12"; empty if it is not known
  // In a check: copies of the results and of what it wrote; of an effect, what it changed.
  std::vector<at::Tensor> kept;

  std::string name() const;  // of the operator, or of the effect
  std::string text() const;  // the name, with the line: "aten::mm at train.lua:12"
  bool is_effect() const;
};

// What the step did to the gradient of a leaf.
struct GradEffect {
  enum class Kind { kNone, kMissing, kSet, kDropped, kKept };
  at::Tensor leaf;
  Kind kind = Kind::kNone;
  // kMissing: there was none before and after. kSet: it is `value` now; kDropped: it is gone;
  // kKept: it is the tensor that it was.
  int value = -1;
  bool was_defined = false;  // before the call
  bool needs_same = false;   // whether the gradient was defined matters
};

struct Record {
  std::vector<Value> values;
  std::vector<at::Tensor> states;
  std::vector<int> grad_of;  // for each state: the leaf whose gradient it was at the begin, or -1
  std::vector<at::Tensor> constants;
  std::vector<RecordedCall> calls;
  std::vector<at::Tensor> leaves;     // that need a gradient
  std::vector<GradEffect> grads;      // one for each leaf
  std::vector<int> arguments;         // values
  std::vector<int> outputs;           // values of the step's results
  std::vector<int> argument_aliases;  // for each argument: the first one in the same storage
  std::vector<std::pair<int, int>> versions;  // value, by how much its version grew
  bool has_fast_math = false;  // of a plan: its numbers may differ in their last digits
  // Of a plan: masks of dropout that are kept as bytes (drop_masks.h).
  std::map<int, float> masks;
  int num_storages = 0;
  int loss = -1;  // the value at which backward began

  // The value's number in each state's storage and other facts are not kept: the tensors are.
  bool is_written(int storage) const;
};

// Whether the operator gives memory that nothing has written.
bool allocates(std::string_view name);

// How the calls of `now` differ from those of `before`; nothing if a plan made of one is the other.
std::optional<std::string> difference(const Record& before, const Record& now);

}  // namespace rtrain::engine

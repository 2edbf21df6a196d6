// host/engine/profiler/call_trace.h: the operators that a thread calls, each with its arguments,
// its results and the operators that it calls itself.
//
// All tensors of a trace stay alive with it, so that none of them takes the place of another one.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/lua/lua.h"
#include "host/lua/ref.h"

namespace rtrain {

struct TracedCall {
  explicit TracedCall(c10::FunctionSchema of) : schema(std::move(of)) {}

  c10::FunctionSchema schema;
  std::vector<c10::IValue> arguments;
  std::vector<c10::IValue> results;
  std::string line;    // the user's, of a call that Lua has made
  std::string module;  // the nn.Module whose forward was running: "in Net.fc1 (Linear)"
  std::vector<std::unique_ptr<TracedCall>> calls;
};
using TracedCalls = std::vector<std::unique_ptr<TracedCall>>;

// Adds what the calling thread calls to `calls`, for its lifetime. One at a time on a thread.
class CallTracer {
 public:
  // `where`: the function that says which module is running; empty for none.
  // Throws Error(kArgument) where this thread is being traced already.
  CallTracer(lua_State* L, Ref where, TracedCalls& calls);
  ~CallTracer();
  CallTracer(const CallTracer&) = delete;
  CallTracer& operator=(const CallTracer&) = delete;

 private:
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function);
  static void end(const at::RecordFunction& function, at::ObserverContext* context);
  std::string running_module() const;

  lua_State* L_;
  Ref where_;
  TracedCalls& calls_;
  std::vector<TracedCall*> open_;
  at::CallbackHandle handle_ = 0;
};

// Numbers that no other living tensor has, and no other memory of one.
double tensor_identity(const at::Tensor& tensor);
double storage_identity(const at::Tensor& tensor);

// Pushes a list of {name, overload, arguments = {name = value}, results, writes, calls, line,
// module}. A tensor is a table {id, storage, tensor}, everywhere the same one; `writes` names the
// arguments that the call changes.
void push_calls(lua_State* L, const TracedCalls& calls);

}  // namespace rtrain

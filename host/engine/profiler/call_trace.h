// host/engine/profiler/call_trace.h: records the operators that a thread calls, each with its
// arguments, its results and the operators that it calls itself.
//
// A trace keeps all of its tensors alive, so that no two of them have the same address.
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

namespace rtrain::engine {

struct TracedCall {
  explicit TracedCall(c10::FunctionSchema of) : schema(std::move(of)) {}

  c10::FunctionSchema schema;
  std::vector<c10::IValue> arguments;
  std::vector<c10::IValue> results;
  std::string line;    // line of the script, for calls from Lua
  std::string module;  // the nn.Module whose forward ran: "in Net.fc1 (Linear)"
  std::vector<std::unique_ptr<TracedCall>> calls;
};
using TracedCalls = std::vector<std::unique_ptr<TracedCall>>;

// While it exists, adds the calling thread's operator calls to `calls`. At most one on each thread.
class CallTracer {
 public:
  // `where`: a Lua function that names the running module; may be empty. Throws Error(kArgument) if
  // this thread is already being traced.
  CallTracer(lua_State* L, lua::Ref where, TracedCalls& calls);
  ~CallTracer();
  CallTracer(const CallTracer&) = delete;
  CallTracer& operator=(const CallTracer&) = delete;

 private:
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function);
  static void end(const at::RecordFunction& function, at::ObserverContext* context);
  std::string running_module() const;

  lua_State* L_;
  lua::Ref where_;
  TracedCalls& calls_;
  std::vector<TracedCall*> open_;
  at::CallbackHandle handle_ = 0;
};

// Numbers that identify a living tensor, and its memory.
double tensor_identity(const at::Tensor& tensor);
double storage_identity(const at::Tensor& tensor);

// Pushes a list of {name, overload, arguments = {name = value}, results, writes, calls, line,
// module}. A tensor is a table {id, storage, tensor}, the same table in all places. `writes` names
// the arguments that the call changes.
void push_calls(lua_State* L, const TracedCalls& calls);

}  // namespace rtrain::engine

// backward() and grad(): gradients of tensors. LibTorch's errors are rewritten for users of Lua.
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <optional>
#include <string>
#include <vector>

#include "host/engine/autograd/autograd.h"
#include "host/engine/autograd/loss_watch.h"
#include "host/engine/autograd/lua_engine.h"
#include "host/engine/memory/collector.h"
#include "host/engine/memory/history_frames.h"
#include "host/engine/memory/out_of_memory.h"
#include "host/engine/operators/boxed/call.h"
#include "host/engine/runtime/blocking.h"
#include "host/engine/runtime/comm_hook.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/phase_region.h"
#include "host/engine/tensor/tensor.h"
#include "host/lua/list_items.h"

namespace rtrain::engine {
namespace {

using Tensors = std::vector<at::Tensor>;

struct Options {
  Tensors gradients;
  Tensors inputs;
  std::optional<bool> retain_graph;
  bool create_graph = false;
  bool allow_unused = false;
  bool materialize_grads = false;
};

void read_option(lua_State* L, const std::string& key, Options& out) {
  static const std::vector<std::string> kNames = {
      "gradient",     "grad_tensors", "grad_outputs", "inputs",
      "retain_graph", "create_graph", "allow_unused", "materialize_grads"};
  const int value = lua_gettop(L);
  if (key == "retain_graph") {
    out.retain_graph = lua_toboolean(L, value) != 0;
  } else if (key == "create_graph") {
    out.create_graph = lua_toboolean(L, value) != 0;
  } else if (key == "allow_unused") {
    out.allow_unused = lua_toboolean(L, value) != 0;
  } else if (key == "materialize_grads") {
    out.materialize_grads = lua_toboolean(L, value) != 0;
  } else if (key == "inputs") {
    out.inputs = read_tensors(L, value);
  } else if (key == "gradient" || key == "grad_tensors" || key == "grad_outputs") {
    out.gradients = read_tensors(L, value);
  } else {
    throw Error(Code::kArgument,
                cat("backward: unknown keyword '", key, "'", suggestion(key, kNames)));
  }
}

bool is_keywords(lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TTABLE || lua_objlen(L, index) > 0) return false;
  lua_pushnil(L);
  if (lua_next(L, index) == 0) return false;
  const bool out = lua_type(L, -2) == LUA_TSTRING;
  lua_pop(L, 2);
  return out;
}

// Reads the gradients at `first`, unless it holds keywords, and then the keywords.
Options read_options(lua_State* L, int first) {
  Options out;
  int keywords = first;
  if (!is_keywords(L, first)) {
    out.gradients = read_tensors(L, first);
    ++keywords;
  }
  if (!is_keywords(L, keywords)) return out;
  lua_pushnil(L);
  while (lua_next(L, keywords) != 0) {
    if (lua_type(L, -2) != LUA_TSTRING) throw Error(Code::kArgument, "backward: expected keywords");
    read_option(L, lua_tostring(L, -2), out);
    lua_pop(L, 1);
  }
  return out;
}

// LibTorch's text followed by the lines that anomaly detection recorded, or by advice to turn it
// on.
std::string engine_text(std::string text) {
  const std::string found = take_anomaly_text();
  const size_t hint = text.find(" Hint: ");
  if (hint == std::string::npos) return text + found;
  text.resize(hint);
  if (!found.empty()) return text + found;
  return text + " torch.autograd.detect_anomaly(fn) names the line of that operation.";
}

// Runs the autograd engine. Hooks run on this Lua state, and errors name the function `name`.
template <class Body>
auto run_engine(lua_State* L, const char* name, Body body) {
  check_outside_comm_hook(L, name);
  const Running running(vm(L), L);
  const CollectableCall call(vm(L), L);
  const FrameScope frames(L);
  const PhaseRegion phase(*vm(L).host, TrainPhase::kBackward);
  // DDP exchanges gradients during backward.
  const BlockingRegion region(*vm(L).host, WaitKind::kCollective, name);
  std::optional<OutOfMemory> failure;
  try {
    return body();
  } catch (const c10::OutOfMemoryError& e) {
    failure = OutOfMemory(e);
  } catch (const Error& e) {
    throw Error(e.code(), e.message() + take_anomaly_text(), e.traceback());
  } catch (const c10::Error& e) {
    const Error error = operator_error(name, e, "");
    throw Error(error.code(), engine_text(error.message()));
  } catch (const std::runtime_error& e) {
    // Thrown by anomaly detection: "Function 'LogBackward0' returned nan values in its 0th output."
    const std::string found = take_anomaly_text();
    if (found.empty()) throw;
    throw Error(Code::kArgument, cat(name, ": ", e.what(), found));
  }
  // Backward cannot be repeated: parts of the graph are freed by now.
  throw out_of_memory_error(L, *failure, name, "");
}

int run_backward(lua_State* L, const Tensors& roots) {
  const Options options = read_options(L, 2);
  if (roots.size() == 1 && roots[0].defined()) see_loss(vm(L), L, roots[0]);
  run_engine(L, "backward", [&] {
    torch::autograd::backward(roots, options.gradients, options.retain_graph, options.create_graph,
                              options.inputs);
  });
  return 0;
}

int backward_all(lua_State* L) { return run_backward(L, read_tensors(L, 1)); }

int grad(lua_State* L) {
  const Tensors outputs = read_tensors(L, 1);
  const Tensors inputs = read_tensors(L, 2);
  const Options options = read_options(L, 3);
  Tensors gradients = run_engine(L, "grad", [&] {
    return torch::autograd::grad(outputs, inputs, options.gradients, options.retain_graph,
                                 options.create_graph,
                                 options.allow_unused || options.materialize_grads);
  });
  lua_createtable(L, static_cast<int>(gradients.size()), 0);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (options.materialize_grads && !gradients[i].defined()) {
      gradients[i] = at::zeros_like(inputs[i]);
    }
    push_or_none(L, gradients[i]);
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  return 1;
}

}  // namespace

int backward(lua_State* L) { return run_backward(L, {check_tensor(L, 1)}); }

std::vector<at::Tensor> read_tensors(lua_State* L, int index) {
  if (lua_isnoneornil(L, index)) return {};
  if (test_tensor(L, index) != nullptr) return {check_tensor(L, index)};
  if (lua_type(L, index) != LUA_TTABLE) return check_tensors(L, index);
  Tensors out;
  const int size = static_cast<int>(lua_objlen(L, index));
  if (!lua::is_list(L, index, size)) {
    throw Error(Code::kArgument, cat("argument ", index, ": expected a list of Tensors, got ",
                                     describe_value(L, index), ": ", lua::list_problem(L, index)));
  }
  for (int i = 1; i <= size; ++i) {
    lua_rawgeti(L, index, i);
    const bool none = lua_touserdata(L, -1) == vm(L).none;
    out.push_back(none ? at::Tensor() : check_tensor(L, lua_gettop(L)));
    lua_pop(L, 1);
  }
  return out;
}

void push_or_none(lua_State* L, const at::Tensor& tensor) {
  if (tensor.defined()) {
    push_tensor(L, tensor);
  } else {
    lua_rawgeti(L, LUA_REGISTRYINDEX, vm(L).none_ref);
  }
}

std::span<const lua::Method> backward_functions() {
  static constexpr lua::Method kFunctions[] = {torch_method<&backward_all>("backward"),
                                               torch_method<&grad>("grad")};
  return kFunctions;
}

}  // namespace rtrain::engine

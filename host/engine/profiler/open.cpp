// The functions behind torch.profiler. modules/torch/profiler checks the arguments and documents
// them.
#include <memory>

#include "host/engine/profiler/call_trace.h"
#include "host/engine/profiler/profile_class.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/line_range.h"
#include "host/engine/runtime/lua_tensor.h"
#include "host/engine/runtime/open.h"
#include "host/engine/runtime/ranges.h"

namespace rtrain::engine {
namespace {

bool flag(lua_State* L, int table, const char* name) {
  lua_getfield(L, table, name);
  const bool out = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  return out;
}

// prepare(options): {cpu, cuda, record_shapes, …}, each a boolean.
int prepare(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  api::ProfileOptions options;
  options.cpu = flag(L, 1, "cpu");
  options.cuda = flag(L, 1, "cuda");
  options.record_shapes = flag(L, 1, "record_shapes");
  options.profile_memory = flag(L, 1, "profile_memory");
  options.with_stack = flag(L, 1, "with_stack");
  options.with_flops = flag(L, 1, "with_flops");
  options.all_threads = flag(L, 1, "all_threads");
  std::string line = lua_line(L);
  prepare_recording(options, line.empty() ? "torch.profiler" : cat("torch.profiler at ", line));
  return 0;
}

int start(lua_State*) {
  start_recording();
  return 0;
}

int stop(lua_State* L) {
  lua::push<Profile>(L, std::make_unique<Profile>(stop_recording()));
  return 1;
}

int drop(lua_State*) {
  drop_recording();
  return 0;
}

int add_metadata(lua_State* L) {
  const std::string_view key = check_text(L, 1, "add_metadata_json: key");
  const std::string_view json = check_text(L, 2, "add_metadata_json: value");
  add_recording_metadata(std::string(key), std::string(json));
  return 0;
}

// record_function(name, fn, …) → the results of fn(…).
int record_function(lua_State* L) {
  const std::string_view name = check_text(L, 1, "record_function: name");
  check_callable(L, 2, "record_function: fn");
  const ProfileRange range(name);
  lua_call(L, lua_gettop(L) - 2, LUA_MULTRET);
  return lua_gettop(L) - 1;
}

// trace_calls(where, fn, …) → the calls that fn(…) makes, then its results. `where` names the
// running module.
int trace_calls(lua_State* L) {
  check_callable(L, 2, "trace_calls: fn");
  lua_pushvalue(L, 1);
  lua::Ref where(L);
  TracedCalls calls;
  {
    const CallTracer tracer(L, std::move(where), calls);
    lua_call(L, lua_gettop(L) - 2, LUA_MULTRET);
  }
  push_calls(L, calls);
  lua_replace(L, 1);
  return lua_gettop(L);
}

// identity(tensor) → two numbers: the ids of the tensor and of its memory, as in
// trace_calls.
int identity(lua_State* L) {
  const at::Tensor& tensor = check_tensor(L, 1);
  lua_pushnumber(L, tensor_identity(tensor));
  lua_pushnumber(L, storage_identity(tensor));
  return 2;
}

int begin_range(lua_State* L) {
  lua::push<ProfileRange>(L, std::make_unique<ProfileRange>(check_text(L, 1, "begin_range: name")));
  return 1;
}

constexpr lua::Method kFunctions[] = {
    torch_method<&prepare>("prepare"),
    torch_method<&start>("start"),
    torch_method<&stop>("stop"),
    torch_method<&drop>("drop"),
    torch_method<&add_metadata>("add_metadata"),
    torch_method<&record_function>("record_function"),
    torch_method<&begin_range>("begin_range"),
    torch_method<&trace_calls>("trace_calls"),
    torch_method<&identity>("identity"),
};

}  // namespace

void open_profiler(lua_State* L) {
  static constexpr std::array kProfileMethods = {
      torch_method<&profile_methods::num_events>("num_events"),
      torch_method<&profile_methods::key_averages>("key_averages"),
      torch_method<&profile_methods::events>("events"),
      torch_method<&profile_methods::save>("save")};
  lua::register_class<Profile>(L, kProfileMethods);
  lua::register_class<ProfileRange>(L);
  lua_newtable(L);
  lua::add_functions(L, kFunctions);
  lua_setfield(L, -2, "profiler");
}

}  // namespace rtrain::engine

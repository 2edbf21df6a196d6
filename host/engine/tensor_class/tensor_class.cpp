// The metatable of tensors: lookup of attributes, methods and operators, and release of
// memory.
#include <string>

#include "host/base/text/text.h"
#include "host/engine/operators/boxed/call.h"
#include "host/engine/operators/functions.h"
#include "host/engine/operators/operators.h"
#include "host/engine/runtime/chunk.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/tensor/named_results.h"
#include "host/engine/tensor/printing.h"
#include "host/engine/tensor/size_class.h"
#include "host/engine/tensor/tensor.h"
#include "host/engine/tensor_class/attributes.h"
#include "host/engine/tensor_class/indexing.h"
#include "host/engine/tensor_class/methods.h"

namespace rtrain::engine {
namespace {

// Written in Lua, so that the JIT compiler can inline the lookup of a method.
constexpr const char* kIndex = R"(
local methods, attributes, find, index, type, names, result = ...
local kept = {}
return function(self, key)
  local method = methods[key]
  if method ~= nil then return method end
  if type(key) ~= 'string' or key == '...' then return index(self, key) end
  local attribute = attributes[key]
  if attribute ~= nil then return attribute(self) end
  if names[key] then
    local value = result(self, key)
    if value == nil then
      value = kept[key] or find(key)
      kept[key] = value
    end
    return value
  end
  method = find(key)
  methods[key] = method
  return method
end
)";

constexpr const char* kNewIndex = R"(
local attributes, unknown, set_index, type = ...
return function(self, key, value)
  local attribute = attributes[key]
  if attribute ~= nil then return attribute(self, value) end
  if type(key) == 'string' and key ~= '...' then unknown(key) end
  set_index(self, key, value)
end
)";

int drop(lua_State* L) {
  static_cast<at::Tensor*>(lua_touserdata(L, 1))->reset();
  return 0;
}

int length(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  if (self.dim() == 0) throw Error(Code::kArgument, "a 0-dim tensor has no length");
  lua_pushnumber(L, static_cast<double>(self.size(0)));
  return 1;
}

int to_string(lua_State* L) {
  const at::Tensor* self = test_tensor(L, 1);
  const std::string text =
      self == nullptr || !self->defined() ? "tensor(released)" : to_text(L, *self);
  lua_pushlstring(L, text.data(), text.size());
  return 1;
}

// Pushes the table that torch/methods.lua returns.
void push_lua_methods(lua_State* L) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "torch.methods");
  lua_call(L, 1, 1);
}

bool push_lua_method(lua_State* L, const std::string& name) {
  push_lua_methods(L);
  lua_getfield(L, -1, "find");
  lua_pushlstring(L, name.data(), name.size());
  lua_call(L, 1, 1);
  return !lua_isnil(L, -1);
}

void add_lua_method_names(lua_State* L, std::vector<std::string>& out) {
  push_lua_methods(L);
  lua_getfield(L, -1, "names");
  lua_call(L, 0, 1);
  for (int i = 1; i <= static_cast<int>(lua_objlen(L, -1)); ++i) {
    lua_rawgeti(L, -1, i);
    out.emplace_back(lua_tostring(L, -1));
    lua_pop(L, 1);
  }
}

// Finds a method of torch/methods.lua or an operator. Lua caches it in the table of methods.
int find_method(lua_State* L) {
  const std::string name = lua_tostring(L, 1);
  if (push_lua_method(L, name)) return 1;
  if (Op* op = find_op(vm(L), name)) {
    push_method(L, *op);
    return 1;
  }
  std::vector<std::string> names = family_names();
  for (const lua::Method& m : attribute_getters()) names.emplace_back(m.name());
  for (const lua::Method& m : tensor_methods()) names.emplace_back(m.name());
  add_lua_method_names(L, names);
  const auto near = nearest_name(name, names);
  throw Error(Code::kArgument, cat("a Tensor has no method or attribute '", name, "'",
                                   near ? cat(", did you mean '", *near, "'?") : std::string()));
}

void push_names(lua_State* L, std::span<const lua::Method> entries) {
  lua_createtable(L, static_cast<int>(entries.size()), 0);
  for (size_t i = 0; i < entries.size(); ++i) {
    lua_pushstring(L, entries[i].name());
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
}

// Lists of methods and attributes that tensors have in addition to operators.
int tensor_members(lua_State* L) {
  push_names(L, tensor_methods());
  push_names(L, attribute_getters());
  return 2;
}

int refuse_field(lua_State* L) {
  throw Error(Code::kArgument,
              cat("a Tensor has no attribute '", std::string_view(lua_tostring(L, 1)),
                  "' that can be set: grad, requires_grad, data, real and imag can"));
}

int is_tensor(lua_State* L) {
  lua_pushboolean(L, test_tensor(L, 1) != nullptr ? 1 : 0);
  return 1;
}

// Stack: metatable. The table of methods stays in the registry.
void add_index(lua_State* L) {
  Vm& state = vm(L);
  lua::push_functions(L, tensor_methods());
  lua_pushvalue(L, -1);
  state.methods_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  lua::push_functions(L, attribute_getters());
  push_torch_function<&find_method>(L);
  push_torch_function<&get_item>(L);
  lua_getglobal(L, "type");
  push_result_names(L);
  run_chunk(L, kIndex, 7);
  lua_setfield(L, -2, "__index");
  lua::push_functions(L, attribute_setters());
  push_torch_function<&refuse_field>(L);
  push_torch_function<&set_item>(L);
  lua_getglobal(L, "type");
  run_chunk(L, kNewIndex, 4);
  lua_setfield(L, -2, "__newindex");
}

void create_metatable(lua_State* L) {
  Vm& state = vm(L);
  luaL_newmetatable(L, "torch.Tensor");
  state.tensor_meta = lua_topointer(L, -1);
  push_torch_function<&drop>(L);
  lua_setfield(L, -2, "__gc");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pushliteral(L, "torch.Tensor");
  lua_setfield(L, -2, "__name");
  push_torch_function<&length>(L);
  lua_setfield(L, -2, "__len");
  push_torch_function<&to_string>(L);
  lua_setfield(L, -2, "__tostring");
  add_operators(L);
  add_index(L);
  state.tensor_meta_ref = luaL_ref(L, LUA_REGISTRYINDEX);
}

}  // namespace

void open_tensor(lua_State* L) {
  open_size(L);
  create_metatable(L);
  lua_rawgeti(L, LUA_REGISTRYINDEX, vm(L).methods_ref);
  lua_setfield(L, -2, "Tensor");
  push_torch_function<&is_tensor>(L);
  lua_setfield(L, -2, "is_tensor");
  push_torch_function<&tensor_members>(L);
  lua_setfield(L, -2, "tensor_members");
  open_printing(L);
  open_indexing(L);
}

}  // namespace rtrain::engine

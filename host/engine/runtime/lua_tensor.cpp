#include "host/engine/runtime/lua_tensor.h"

#include <algorithm>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/runtime/scalars.h"
#include "host/lua/list_items.h"

namespace rtrain::engine {
namespace {

std::string sizes_text(at::IntArrayRef sizes) {
  std::string out = "[";
  for (size_t i = 0; i < sizes.size(); ++i) out += cat(i > 0 ? ", " : "", sizes[i]);
  return out + "]";
}

// The first items of a table, for a message.
std::string table_text(lua_State* L, int index) {
  constexpr int kShown = 6;
  if (index < 0) index = lua_gettop(L) + index + 1;
  const auto length = static_cast<int>(lua_objlen(L, index));
  const int size =
      lua::is_list(L, index, length) ? length : std::max(length, lua::last_item(L, index));
  std::string out = "{";
  for (int i = 1; i <= size && i <= kShown; ++i) {
    lua_rawgeti(L, index, i);
    out += cat(i > 1 ? ", " : "", describe_value(L, lua_gettop(L)));
    lua_pop(L, 1);
  }
  return out + (size > kShown ? cat(", … ", size, " items}") : "}");
}

}  // namespace

at::Tensor* test_tensor(const Vm& vm, lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TUSERDATA || lua_getmetatable(L, index) == 0) return nullptr;
  const bool same = lua_topointer(L, -1) == vm.tensor_meta;
  lua_pop(L, 1);
  return same ? static_cast<at::Tensor*>(lua_touserdata(L, index)) : nullptr;
}

at::Tensor* test_tensor(lua_State* L, int index) { return test_tensor(vm(L), L, index); }

at::Tensor& check_tensor(lua_State* L, int index) {
  at::Tensor* tensor = test_tensor(vm(L), L, index);
  if (tensor == nullptr) {
    const bool has_no_self = index == 1 && lua_isnone(L, index);
    throw Error(Code::kArgument,
                cat("argument ", index, ": expected a Tensor, got ", describe_value(L, index),
                    has_no_self ? ": a method is called with a colon, x:item()" : ""));
  }
  if (!tensor->defined())
    throw Error(Code::kArgument, cat("argument ", index, ": this Tensor was released"));
  return *tensor;
}

std::vector<at::Tensor> check_tensors(lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TTABLE) {
    throw Error(Code::kArgument, cat("argument ", index, ": expected a list of Tensors, got ",
                                     describe_value(L, index)));
  }
  std::vector<at::Tensor> out;
  const int size = static_cast<int>(lua_objlen(L, index));
  out.reserve(static_cast<size_t>(size));
  for (int i = 1; i <= size; ++i) {
    lua_rawgeti(L, index, i);
    const at::Tensor* tensor = test_tensor(L, -1);
    if (tensor == nullptr || !tensor->defined()) {
      throw Error(Code::kArgument,
                  cat("argument ", index, ", item ", i, ": expected a Tensor, got ",
                      describe_value(L, lua_gettop(L))));
    }
    out.push_back(*tensor);
    lua_pop(L, 1);
  }
  if (!lua::is_list(L, index, size)) {
    throw Error(Code::kArgument, cat("argument ", index, ": expected a list of Tensors, got ",
                                     describe_value(L, index), ": ", lua::list_problem(L, index)));
  }
  return out;
}

std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) return "released Tensor";
  std::string out = cat(dtype_name(tensor.scalar_type()), " ", sizes_text(tensor.sizes()));
  return tensor.is_cpu() ? out : cat(out, " on ", tensor.device().str());
}

std::string describe_value(lua_State* L, int index) {
  switch (lua_type(L, index)) {
    case LUA_TNUMBER:
      return cat("", lua_tonumber(L, index));
    case LUA_TBOOLEAN:
      return lua_toboolean(L, index) != 0 ? "true" : "false";
    case LUA_TSTRING: {
      const std::string_view text = lua_tostring(L, index);
      return text.size() > 40 ? cat("'", text.substr(0, 40), "…'") : cat("'", text, "'");
    }
    case LUA_TTABLE:
      return table_text(L, index);
    case LUA_TUSERDATA:
      if (const at::Tensor* tensor = test_tensor(L, index)) return describe(*tensor);
      return "userdata";
    case LUA_TNONE:
      return "nothing";
    case lua::kCdata:
      if (const auto number = to_int(L, index)) return cat(*number, "LL");
      return "cdata";
    default:
      return luaL_typename(L, index);
  }
}

std::string describe_stack(lua_State* L, int count) {
  std::string out;
  for (int i = 1; i <= count; ++i) out += cat(i > 1 ? ", " : "", describe_value(L, i));
  return out;
}

}  // namespace rtrain::engine

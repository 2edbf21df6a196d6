#include "host/engine/indexing.h"

#include <ATen/TensorIndexing.h>

#include <vector>

#include "host/engine/call.h"
#include "host/engine/constructors.h"
#include "host/engine/guard.h"
#include "host/engine/scalars.h"
#include "host/engine/tensor.h"

namespace rtrain {
namespace {

using at::indexing::TensorIndex;

constexpr const char* kSliceMeta = "torch.slice";

bool is_slice(lua_State* L, int index) {
  if (lua_getmetatable(L, index) == 0) return false;
  luaL_getmetatable(L, kSliceMeta);
  const bool same = lua_rawequal(L, -1, -2) != 0;
  lua_pop(L, 2);
  return same;
}

std::optional<c10::SymInt> slice_field(lua_State* L, int table, const char* name) {
  lua_pushstring(L, name);
  lua_rawget(L, table);
  const auto number = to_int(L, -1);
  if (!number && !lua_isnil(L, -1)) {
    throw Error(Code::kArgument, cat("slice: ", std::string_view(name), " must be an integer, got ",
                                     describe_value(L, -1)));
  }
  lua_pop(L, 1);
  if (!number) return std::nullopt;
  return c10::SymInt(*number);
}

TensorIndex read_slice(lua_State* L, int index) {
  return at::indexing::Slice(slice_field(L, index, "start"), slice_field(L, index, "stop"),
                             slice_field(L, index, "step"));
}

[[noreturn]] void bad_index(lua_State* L, int index) {
  throw Error(Code::kArgument, cat("a tensor is indexed with integers, torch.slice, '...', "
                                   "torch.none, booleans, tensors or a list of these, got ",
                                   describe_value(L, index)));
}

// One entry of an index. The value lies at the absolute index.
TensorIndex read_entry(lua_State* L, int index) {
  switch (lua_type(L, index)) {
    case LUA_TBOOLEAN:
      return TensorIndex(lua_toboolean(L, index) != 0);
    case LUA_TSTRING:
      if (std::string_view(lua_tostring(L, index)) != "...") bad_index(L, index);
      return at::indexing::Ellipsis;
    case LUA_TTABLE:
      // A list inside the list picks elements, like an index tensor.
      return is_slice(L, index) ? read_slice(L, index)
                                : TensorIndex(tensor_from_index_list(L, index));
    case LUA_TUSERDATA:
      if (const at::Tensor* tensor = test_tensor(L, index); tensor != nullptr && tensor->defined())
        return TensorIndex(*tensor);
      if (lua_touserdata(L, index) == vm(L).none) return at::indexing::None;
      bad_index(L, index);
    default:
      if (const auto number = to_int(L, index)) return TensorIndex(*number);
      bad_index(L, index);
  }
}

std::vector<TensorIndex> read_index(lua_State* L, int index) {
  std::vector<TensorIndex> out;
  if (lua_type(L, index) != LUA_TTABLE || is_slice(L, index)) {
    out.push_back(read_entry(L, index));
    return out;
  }
  const int size = static_cast<int>(lua_objlen(L, index));
  for (int i = 1; i <= size; ++i) {
    lua_rawgeti(L, index, i);
    out.push_back(read_entry(L, lua_gettop(L)));
    lua_pop(L, 1);
  }
  if (out.empty()) out.push_back(at::indexing::Ellipsis);  // x[()] in Python: all of it
  return out;
}

at::Tensor select_row(const at::Tensor& self, int64_t row) {
  if (self.dim() == 0)
    throw Error(Code::kArgument, "a 0-dim tensor cannot be indexed with a number: use x:item()");
  const int64_t size = self.size(0);
  if (row >= size || row < -size) {
    throw Error(Code::kArgument,
                cat("index ", row, " is out of range for dimension 0 of ", describe(self)));
  }
  return self.select(0, row);
}

// Runs the function; `shown` values from the bottom of the stack go into the message of its errors.
template <class Body>
auto with_context(lua_State* L, const char* name, int shown, Body body) {
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    std::string context = describe_value(L, 1);
    if (shown == 3) context += cat(" = ", describe_value(L, 3));
    throw operator_error(name, e, context);
  }
}

// torch.slice(start, stop, step), each may be nil; or torch.slice{start=, stop=, step=}.
int slice(lua_State* L) {
  static constexpr const char* kFields[] = {"start", "stop", "step"};
  const bool named = lua_type(L, 1) == LUA_TTABLE;
  lua_settop(L, 3);
  lua_createtable(L, 0, 3);
  for (int i = 0; i < 3; ++i) {
    if (named) {
      lua_getfield(L, 1, kFields[i]);
    } else {
      lua_pushvalue(L, i + 1);
    }
    lua_setfield(L, 4, kFields[i]);
  }
  luaL_getmetatable(L, kSliceMeta);
  lua_setmetatable(L, 4);
  read_slice(L, 4);
  return 1;
}

// How a slice travels to another state: torch._C.slice(state).
int pack_slice(lua_State* L) {
  lua_pushliteral(L, "torch._C");
  lua_pushliteral(L, "slice");
  lua_createtable(L, 0, 3);
  for (const char* name : {"start", "stop", "step"}) {
    lua_getfield(L, 1, name);
    lua_setfield(L, -2, name);
  }
  return 3;
}

int none_to_string(lua_State* L) {
  lua_pushliteral(L, "torch.none");
  return 1;
}

}  // namespace

int get_item(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  if (const auto row = to_int(L, 2)) {
    push_tensor(L, select_row(self, *row));
    return 1;
  }
  const auto index = read_index(L, 2);
  push_tensor(L, with_context(L, "index", 1, [&] { return at::indexing::get_item(self, index); }));
  return 1;
}

int set_item(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  const auto index = read_index(L, 2);
  const at::Tensor* tensor = test_tensor(L, 3);
  if (tensor != nullptr) check_tensor(L, 3);
  with_context(L, "index_put_", 3, [&] {
    if (tensor != nullptr) {
      at::indexing::set_item(self, index, *tensor);
    } else if (lua_type(L, 3) == LUA_TTABLE) {
      at::indexing::set_item(self, index,
                             tensor_from_table(L, 3, self.scalar_type()).to(self.device()));
    } else if (const auto number = to_scalar(L, 3)) {
      at::Tensor(self).index_put_(index, *number);
    } else {
      throw Error(Code::kArgument,
                  cat("x[i] = v: expected a number or a Tensor, got ", describe_value(L, 3)));
    }
  });
  return 0;
}

void open_indexing(lua_State* L) {
  luaL_newmetatable(L, kSliceMeta);
  lua_pushstring(L, kSliceMeta);
  lua_setfield(L, -2, "__name");
  lua_pushcfunction(L, (&guarded<&pack_slice, TorchTranslate>));
  lua_setfield(L, -2, "__pack");
  lua_pop(L, 1);
  lua_pushcfunction(L, (&guarded<&slice, TorchTranslate>));
  lua_setfield(L, -2, "slice");

  vm(L).none = lua_newuserdata(L, 1);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, &none_to_string);
  lua_setfield(L, -2, "__tostring");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  vm(L).none_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "newaxis");
  lua_setfield(L, -2, "none");
}

}  // namespace rtrain

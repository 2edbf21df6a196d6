#include "host/engine/tensor_class/indexing.h"

#include <ATen/TensorIndexing.h>

#include <vector>

#include "host/engine/operators/boxed/call.h"
#include "host/engine/runtime/chunk.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/constructors.h"
#include "host/engine/tensor/tensor.h"
#include "host/lua/list_items.h"

namespace rtrain::engine {
namespace {

using at::indexing::TensorIndex;

// A slice is a table of its start, stop and step, at 1, 2 and 3.
constexpr const char* kSliceFields[] = {"start", "stop", "step"};

bool is_slice(const Vm& vm, lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TTABLE || lua_getmetatable(L, index) == 0) return false;
  const bool same = lua_topointer(L, -1) == vm.slice_meta;
  lua_pop(L, 1);
  return same;
}

std::optional<int64_t> slice_field(lua_State* L, int slice, int field) {
  lua_rawgeti(L, slice, field);
  const auto number = to_int(L, -1);
  if (!number && !lua_isnil(L, -1)) {
    throw Error(Code::kArgument, cat("slice: ", std::string_view(kSliceFields[field - 1]),
                                     " must be an integer, got ", describe_value(L, -1)));
  }
  lua_pop(L, 1);
  return number;
}

TensorIndex read_slice(lua_State* L, int index) {
  const auto field = [&](int i) -> std::optional<c10::SymInt> {
    const auto number = slice_field(L, index, i);
    return number ? std::optional<c10::SymInt>(*number) : std::nullopt;
  };
  return at::indexing::Slice(field(1), field(2), field(3));
}

[[noreturn]] void bad_index(lua_State* L, int index) {
  const std::string problem = lua_type(L, index) == LUA_TTABLE ? lua::list_problem(L, index) : "";
  throw Error(Code::kArgument, cat("a tensor is indexed with integers, torch.slice, '...', "
                                   "torch.none, booleans, tensors or a list of these, got ",
                                   describe_value(L, index), problem.empty() ? "" : ": ", problem));
}

// Reads one entry of an index. `index` is absolute.
TensorIndex read_entry(lua_State* L, int index) {
  switch (lua_type(L, index)) {
    case LUA_TBOOLEAN:
      return TensorIndex(lua_toboolean(L, index) != 0);
    case LUA_TSTRING:
      if (std::string_view(lua_tostring(L, index)) != "...") bad_index(L, index);
      return at::indexing::Ellipsis;
    case LUA_TTABLE:
      // A list inside the list selects elements, like an index tensor.
      return is_slice(vm(L), L, index) ? read_slice(L, index)
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
  if (lua_type(L, index) != LUA_TTABLE || is_slice(vm(L), L, index)) {
    out.push_back(read_entry(L, index));
    return out;
  }
  const int size = static_cast<int>(lua_objlen(L, index));
  for (int i = 1; i <= size; ++i) {
    lua_rawgeti(L, index, i);
    if (lua_isnil(L, -1)) bad_index(L, index);
    out.push_back(read_entry(L, lua_gettop(L)));
    lua_pop(L, 1);
  }
  if (!lua::is_list(L, index, size)) bad_index(L, index);
  if (out.empty()) out.push_back(at::indexing::Ellipsis);  // x[()] in Python: the whole tensor
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

// Runs the function. Its errors describe the first `shown` values of the stack.
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

// Makes views for numbers, slices, '...' and torch.none, one after the other.
class BasicIndex {
 public:
  BasicIndex(const Vm& vm, lua_State* L, const at::Tensor& self) : vm_(vm), L_(L), out_(self) {}

  // The view for the value at the index. nullopt if it is another kind of entry or does not fit the
  // tensor; then the general path reports the error.
  std::optional<at::Tensor> apply(int index) {
    if (is_slice(vm_, L_, index)) return apply_slice(index) ? std::optional(out_) : std::nullopt;
    if (lua_type(L_, index) != LUA_TTABLE) {
      return apply_entry(index, 0) ? std::optional(out_) : std::nullopt;
    }
    const int size = static_cast<int>(lua_objlen(L_, index));
    for (int i = 1; i <= size; ++i) {
      lua_rawgeti(L_, index, i);
      const bool fits = apply_entry(lua_gettop(L_), size - i);
      lua_pop(L_, 1);
      if (!fits) return std::nullopt;
    }
    return size > 0 && lua::is_list(L_, index, size) ? std::optional(out_) : std::nullopt;
  }

 private:
  // Applies one entry, which `left` more entries follow.
  bool apply_entry(int index, int left) {
    switch (lua_type(L_, index)) {
      case LUA_TNUMBER:
        return apply_row(index);
      case LUA_TTABLE:
        return is_slice(vm_, L_, index) && apply_slice(index);
      case LUA_TUSERDATA:
        if (lua_touserdata(L_, index) != vm_.none) return false;
        out_ = out_.unsqueeze(dim_++);
        return true;
      default:
        // '...' stands for all dimensions without an entry. Together with torch.none it is rare and
        // left to the general path.
        if (left > 0 || lua_type(L_, index) != LUA_TSTRING) return false;
        return std::string_view(lua_tostring(L_, index)) == "...";
    }
  }

  bool apply_row(int index) {
    const auto row = to_int(L_, index);
    if (!row || dim_ >= out_.dim()) return false;
    const int64_t size = out_.size(dim_);
    if (*row >= size || *row < -size) return false;
    out_ = out_.select(dim_, *row);
    return true;
  }

  bool apply_slice(int index) {
    if (dim_ >= out_.dim()) return false;
    const auto step = slice_field(L_, index, 3).value_or(1);
    if (step <= 0) return false;
    out_ = out_.slice(dim_++, slice_field(L_, index, 1), slice_field(L_, index, 2), step);
    return true;
  }

  const Vm& vm_;
  lua_State* L_;
  at::Tensor out_;
  int64_t dim_ = 0;
};

// torch.slice(start, stop, step), each may be nil; or torch.slice{start=, stop=, step=}. Written in
// Lua, because the JIT compiler creates the table in a tenth of the time. Values that are not
// integers raise when the slice is used.
constexpr const char* kMakeSlice = R"(
local meta, setmetatable, type = ...
return function(start, stop, step)
  if type(start) == 'table' then start, stop, step = start.start, start.stop, start.step end
  return setmetatable({start, stop, step}, meta)
end
)";

// slice.start, slice.stop and slice.step.
int slice_index(lua_State* L) {
  for (int i = 0; i < 3 && lua_type(L, 2) == LUA_TSTRING; ++i) {
    if (std::string_view(lua_tostring(L, 2)) != kSliceFields[i]) continue;
    lua_rawgeti(L, 1, i + 1);
    return 1;
  }
  return 0;
}

int slice_to_string(lua_State* L) {
  std::string out = "torch.slice(";
  for (int i = 1; i <= 3; ++i) {
    lua_rawgeti(L, 1, i);
    out += cat(i > 1 ? ", " : "", describe_value(L, -1));
    lua_pop(L, 1);
  }
  out += ")";
  lua_pushlstring(L, out.data(), out.size());
  return 1;
}

// Serializes a slice for another Lua state, as torch._C.slice(state).
int pack_slice(lua_State* L) {
  lua_pushliteral(L, "torch._C");
  lua_pushliteral(L, "slice");
  lua_createtable(L, 0, 3);
  for (int i = 0; i < 3; ++i) {
    lua_rawgeti(L, 1, i + 1);
    lua_setfield(L, -2, kSliceFields[i]);
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
  Vm& state = vm(L);
  push_tensor(state, L, with_context(L, "index", 1, [&] {
                if (auto view = BasicIndex(state, L, self).apply(2)) return std::move(*view);
                return at::indexing::get_item(self, read_index(L, 2));
              }));
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
  static constexpr lua::Method kSliceMeta[] = {torch_method<&slice_index>("__index"),
                                               torch_method<&slice_to_string>("__tostring"),
                                               torch_method<&pack_slice>("__pack")};
  lua::push_functions(L, kSliceMeta);
  lua_pushliteral(L, "torch.slice");
  lua_setfield(L, -2, "__name");
  vm(L).slice_meta = lua_topointer(L, -1);
  vm(L).slice_meta_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_rawgeti(L, LUA_REGISTRYINDEX, vm(L).slice_meta_ref);
  lua_getglobal(L, "setmetatable");
  lua_getglobal(L, "type");
  run_chunk(L, kMakeSlice, 3);
  lua_setfield(L, -2, "slice");

  vm(L).none = lua_newuserdata(L, 1);
  lua_createtable(L, 0, 1);
  push_torch_function<&none_to_string>(L);
  lua_setfield(L, -2, "__tostring");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  vm(L).none_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "newaxis");
  lua_setfield(L, -2, "none");
}

}  // namespace rtrain::engine

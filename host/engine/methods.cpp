#include "host/engine/methods.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "host/engine/autograd/autograd.h"
#include "host/engine/dtype.h"
#include "host/engine/guard.h"
#include "host/engine/scalars.h"
#include "host/engine/tensor.h"

namespace rtrain {
namespace {

int push_self(lua_State* L) {
  lua_settop(L, 1);
  return 1;
}

int push_count(lua_State* L, int64_t number) {
  push_int(L, number);
  return 1;
}

int64_t check_dim(lua_State* L, int index) {
  if (const auto dim = to_int(L, index)) return *dim;
  throw Error(Code::kArgument, cat("dim: expected an integer, got ", describe_value(L, index)));
}

int size(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  if (!lua_isnoneornil(L, 2)) return push_count(L, self.size(check_dim(L, 2)));
  push_sizes(L, self.sizes());
  return 1;
}

int stride(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  if (!lua_isnoneornil(L, 2)) return push_count(L, self.stride(check_dim(L, 2)));
  push_sizes(L, self.strides());
  return 1;
}

int dim(lua_State* L) { return push_count(L, check_tensor(L, 1).dim()); }
int numel(lua_State* L) { return push_count(L, check_tensor(L, 1).numel()); }
int element_size(lua_State* L) {
  return push_count(L, static_cast<int64_t>(check_tensor(L, 1).itemsize()));
}
int storage_offset(lua_State* L) { return push_count(L, check_tensor(L, 1).storage_offset()); }

int is_floating_point(lua_State* L) {
  lua_pushboolean(L, check_tensor(L, 1).is_floating_point() ? 1 : 0);
  return 1;
}

int is_complex(lua_State* L) {
  lua_pushboolean(L, check_tensor(L, 1).is_complex() ? 1 : 0);
  return 1;
}

int data_ptr(lua_State* L) {
  return push_count(
      L, static_cast<int64_t>(reinterpret_cast<intptr_t>(check_tensor(L, 1).data_ptr())));
}

int item(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  if (self.numel() != 1) {
    throw Error(Code::kArgument,
                cat("item: a tensor of ", describe(self), " has not exactly one element"));
  }
  push_scalar(L, self.item());
  return 1;
}

// Pushes the elements of the strided CPU tensor as nested lists.
void push_list(lua_State* L, const at::Tensor& tensor) {
  if (tensor.dim() == 0) {
    push_scalar(L, tensor.item());
    return;
  }
  luaL_checkstack(L, 8, "too many dimensions");
  const int count = static_cast<int>(tensor.size(0));
  lua_createtable(L, count, 0);
  const bool floats =
      tensor.dim() == 1 && tensor.scalar_type() == at::kDouble && tensor.is_contiguous();
  const double* data = floats ? tensor.const_data_ptr<double>() : nullptr;
  for (int i = 0; i < count; ++i) {
    if (floats) {
      lua_pushnumber(L, data[i]);
    } else {
      push_list(L, tensor.select(0, i));
    }
    lua_rawseti(L, -2, i + 1);
  }
}

int tolist(lua_State* L) {
  at::Tensor self = check_tensor(L, 1).detach().cpu();
  if (self.is_floating_point()) self = self.to(at::kDouble).contiguous();
  push_list(L, self);
  return 1;
}

// The format of is_contiguous{memory_format = …} and x:float{memory_format = …}: the name itself or
// the only keyword.
std::optional<at::MemoryFormat> read_memory_format(lua_State* L, int index, const char* name) {
  if (lua_isnoneornil(L, index)) return std::nullopt;
  std::optional<at::MemoryFormat> out;
  if (lua_type(L, index) == LUA_TTABLE) {
    lua_pushnil(L);
    while (lua_next(L, index) != 0) {
      const bool named = lua_type(L, -2) == LUA_TSTRING;
      if (!named || std::string_view(lua_tostring(L, -2)) != "memory_format") {
        throw Error(Code::kArgument, cat(name, ": the only keyword is memory_format"));
      }
      out = parse_memory_format(luaL_checkstring(L, -1));
      lua_pop(L, 1);
    }
    return out;
  }
  return parse_memory_format(luaL_checkstring(L, index));
}

int is_contiguous(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  const auto format = read_memory_format(L, 2, "is_contiguous");
  lua_pushboolean(L, self.is_contiguous(format.value_or(at::MemoryFormat::Contiguous)) ? 1 : 0);
  return 1;
}

int get_device(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  return push_count(L, self.is_cpu() ? -1 : self.get_device());
}

// The dimensions by falling stride: how the elements lie in memory.
int dim_order(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  std::vector<int64_t> order(static_cast<size_t>(self.dim()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, [&self](int64_t a, int64_t b) { return self.stride(a) > self.stride(b); });
  push_sizes(L, order);
  return 1;
}

int detach(lua_State* L) {
  push_tensor(L, check_tensor(L, 1).detach());
  return 1;
}

int requires_grad_(lua_State* L) {
  check_tensor(L, 1).set_requires_grad(lua_isnoneornil(L, 2) || lua_toboolean(L, 2) != 0);
  return push_self(L);
}

int release(lua_State* L) {
  at::Tensor* self = test_tensor(L, 1);
  if (self == nullptr) throw Error(Code::kArgument, "release: expected a Tensor");
  self->reset();
  return 0;
}

// What x:to(…) may ask for.
struct Target {
  std::optional<at::ScalarType> dtype;
  std::optional<c10::Device> device;
  std::optional<at::MemoryFormat> memory_format;
  bool non_blocking = false;
  bool copy = false;
};

void read_name(const std::string& name, Target& target) {
  if (const auto dtype = dtype_from_name(name)) {
    target.dtype = dtype;
  } else if (const auto device = device_from_name(name)) {
    target.device = device;
  } else {
    throw Error(Code::kArgument, cat("to: '", name, "' is neither a dtype nor a device"));
  }
}

void read_keyword(lua_State* L, const std::string& key, Target& target) {
  static const std::vector<std::string> kNames = {"dtype", "device", "non_blocking", "copy",
                                                  "memory_format"};
  if (key == "dtype") {
    target.dtype = parse_dtype(luaL_checkstring(L, -1));
  } else if (key == "device") {
    target.device = parse_device(luaL_checkstring(L, -1));
  } else if (key == "non_blocking") {
    target.non_blocking = lua_toboolean(L, -1) != 0;
  } else if (key == "copy") {
    target.copy = lua_toboolean(L, -1) != 0;
  } else if (key == "memory_format") {
    target.memory_format = parse_memory_format(luaL_checkstring(L, -1));
  } else {
    throw Error(Code::kArgument, cat("to: unknown keyword '", key, "'", suggestion(key, kNames)));
  }
}

// x:to(device, dtype, non_blocking, copy), x:to(dtype, non_blocking, copy), x:to(other, …).
Target read_target(lua_State* L) {
  Target out;
  int flags = 0;
  for (int i = 2; i <= lua_gettop(L); ++i) {
    if (lua_type(L, i) == LUA_TSTRING) {
      read_name(lua_tostring(L, i), out);
    } else if (const at::Tensor* other = test_tensor(L, i)) {
      out.dtype = other->scalar_type();
      out.device = other->device();
    } else if (lua_type(L, i) == LUA_TTABLE) {
      lua_pushnil(L);
      while (lua_next(L, i) != 0) {
        if (lua_type(L, -2) != LUA_TSTRING)
          throw Error(Code::kArgument, "to: expected keywords in the table");
        read_keyword(L, lua_tostring(L, -2), out);
        lua_pop(L, 1);
      }
    } else if (lua_type(L, i) == LUA_TBOOLEAN && i > 2 && flags < 2) {
      (++flags == 1 ? out.non_blocking : out.copy) = lua_toboolean(L, i) != 0;
    } else if (!lua_isnil(L, i)) {
      throw Error(Code::kArgument,
                  cat("to: expected a dtype, a device or a Tensor, got ", describe_value(L, i)));
    }
  }
  return out;
}

int push_converted(lua_State* L, const Target& target) {
  const at::Tensor& self = check_tensor(L, 1);
  at::Tensor out = self.to(self.options()
                               .dtype(target.dtype.value_or(self.scalar_type()))
                               .device(target.device.value_or(self.device())),
                           target.non_blocking, target.copy, target.memory_format);
  if (out.is_same(self)) return push_self(L);
  push_tensor(L, std::move(out));
  return 1;
}

int to(lua_State* L) { return push_converted(L, read_target(L)); }

template <at::ScalarType Dtype>
int to_dtype(lua_State* L) {
  return push_converted(L, {.dtype = Dtype,
                            .device = {},
                            .memory_format = read_memory_format(L, 2, "conversion to a dtype")});
}

int cpu(lua_State* L) {
  return push_converted(L, {.dtype = {},
                            .device = c10::Device(c10::kCPU),
                            .memory_format = read_memory_format(L, 2, "cpu")});
}

int cuda(lua_State* L) {
  const auto index = static_cast<c10::DeviceIndex>(luaL_optinteger(L, 2, -1));
  return push_converted(
      L, {.dtype = {}, .device = c10::Device(c10::kCUDA, index), .memory_format = {}});
}

constexpr Method kMethods[] = {
    torch_method<&size>("size"),
    torch_method<&stride>("stride"),
    torch_method<&dim>("dim"),
    torch_method<&dim>("ndimension"),
    torch_method<&numel>("numel"),
    torch_method<&numel>("nelement"),
    torch_method<&element_size>("element_size"),
    torch_method<&storage_offset>("storage_offset"),
    torch_method<&is_floating_point>("is_floating_point"),
    torch_method<&is_complex>("is_complex"),
    torch_method<&is_contiguous>("is_contiguous"),
    torch_method<&data_ptr>("data_ptr"),
    torch_method<&get_device>("get_device"),
    torch_method<&dim_order>("dim_order"),
    torch_method<&item>("item"),
    torch_method<&tolist>("tolist"),
    torch_method<&detach>("detach"),
    torch_method<&requires_grad_>("requires_grad_"),
    torch_method<&release>("release"),
    torch_method<&to>("to"),
    torch_method<&to_dtype<at::kFloat>>("float"),
    torch_method<&to_dtype<at::kDouble>>("double"),
    torch_method<&to_dtype<at::kHalf>>("half"),
    torch_method<&to_dtype<at::kBFloat16>>("bfloat16"),
    torch_method<&to_dtype<at::kLong>>("long"),
    torch_method<&to_dtype<at::kInt>>("int"),
    torch_method<&to_dtype<at::kShort>>("short"),
    torch_method<&to_dtype<at::kChar>>("char"),
    torch_method<&to_dtype<at::kByte>>("byte"),
    torch_method<&to_dtype<at::kBool>>("bool"),
    torch_method<&to_dtype<at::kComplexFloat>>("cfloat"),
    torch_method<&to_dtype<at::kComplexDouble>>("cdouble"),
    torch_method<&to_dtype<at::kComplexHalf>>("chalf"),
    torch_method<&cpu>("cpu"),
    torch_method<&cuda>("cuda"),
    torch_method<&backward>("backward"),
    torch_method<&register_hook>("register_hook"),
    torch_method<&register_post_accumulate_grad_hook>("register_post_accumulate_grad_hook"),
    torch_method<&retain_grad>("retain_grad"),
};

}  // namespace

std::span<const Method> tensor_methods() { return kMethods; }

}  // namespace rtrain

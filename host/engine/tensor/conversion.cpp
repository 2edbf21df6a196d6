#include "host/engine/tensor/conversion.h"

#include <ATen/core/Tensor.h>

#include <string>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/memory/retry.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/tensor.h"
#include "host/lua/options.h"

namespace rtrain::engine {
namespace {

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

void read_keywords(lua_State* L, int index, Target& target) {
  if (lua_objlen(L, index) > 0)
    throw Error(Code::kArgument, "to: expected keywords in the table, got a list");
  const lua::Options options(L, index, "to",
                             {"dtype", "device", "non_blocking", "copy", "memory_format"});
  const std::string dtype = options.text("dtype", "");
  const std::string device = options.text("device", "");
  const std::string format = options.text("memory_format", "");
  if (!dtype.empty()) target.dtype = parse_dtype(dtype);
  if (!device.empty()) target.device = parse_device(device);
  if (!format.empty()) target.memory_format = parse_memory_format(format);
  target.non_blocking = options.boolean("non_blocking", target.non_blocking);
  target.copy = options.boolean("copy", target.copy);
}

Target read_target(lua_State* L) {
  Target out;
  int flags = 0;
  for (int i = 2; i <= lua_gettop(L); ++i) {
    if (lua_type(L, i) == LUA_TSTRING) {
      read_name(lua_tostring(L, i), out);
    } else if (test_tensor(L, i) != nullptr) {
      const at::Tensor& other = check_tensor(L, i);
      out.dtype = other.scalar_type();
      out.device = other.device();
    } else if (lua_type(L, i) == LUA_TTABLE) {
      read_keywords(L, i, out);
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
  const at::TensorOptions wanted = self.options()
                                       .dtype(target.dtype.value_or(self.scalar_type()))
                                       .device(target.device.value_or(self.device()));
  at::Tensor out = with_retry(vm(L), L, "to", [&] {
    return self.to(wanted, target.non_blocking, target.copy, target.memory_format);
  });
  if (out.is_same(self)) {
    lua_settop(L, 1);
  } else {
    push_tensor(L, std::move(out));
  }
  return 1;
}

c10::Device read_cuda_device(lua_State* L, int index) {
  if (lua_isnoneornil(L, index)) return c10::Device(c10::kCUDA);
  if (const auto number = to_int(L, index)) {
    return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(*number));
  }
  const c10::Device out = check_device(L, index, "cuda: device");
  if (!out.is_cuda())
    throw Error(Code::kArgument, cat("cuda: expected a CUDA device, got '", out.str(), "'"));
  return out;
}

// cuda(device, non_blocking, memory_format). All of them may be keywords.
Target read_cuda_target(lua_State* L) {
  Target out;
  const int last = lua_gettop(L);
  const bool has_keywords = last > 1 && lua_type(L, last) == LUA_TTABLE;
  const int positional = has_keywords ? last - 1 : last;
  out.device = read_cuda_device(L, positional >= 2 ? 2 : last + 1);
  if (positional >= 3) out.non_blocking = check_boolean(L, 3, "cuda: non_blocking");
  if (!has_keywords) return out;
  const lua::Options options(L, last, "cuda", {"device", "non_blocking", "memory_format"});
  options.push("device");
  if (!lua_isnil(L, -1)) out.device = read_cuda_device(L, lua_gettop(L));
  lua_pop(L, 1);
  out.non_blocking = options.boolean("non_blocking", out.non_blocking);
  const std::string format = options.text("memory_format", "");
  if (!format.empty()) out.memory_format = parse_memory_format(format);
  return out;
}

}  // namespace

std::optional<at::MemoryFormat> read_memory_format(lua_State* L, int index, const char* function) {
  if (lua_isnoneornil(L, index)) return std::nullopt;
  if (lua_type(L, index) != LUA_TTABLE) {
    return check_memory_format(L, index, cat(function, ": memory_format"));
  }
  const std::string name =
      lua::Options(L, index, function, {"memory_format"}).text("memory_format", "");
  if (name.empty()) return std::nullopt;
  return parse_memory_format(name);
}

int to(lua_State* L) { return push_converted(L, read_target(L)); }

int to_dtype(lua_State* L, at::ScalarType dtype) {
  Target target;
  target.dtype = dtype;
  target.memory_format = read_memory_format(L, 2, dtype_name(dtype).c_str());
  return push_converted(L, target);
}

int cpu(lua_State* L) {
  Target target;
  target.device = c10::Device(c10::kCPU);
  target.memory_format = read_memory_format(L, 2, "cpu");
  return push_converted(L, target);
}

int cuda(lua_State* L) { return push_converted(L, read_cuda_target(L)); }

}  // namespace rtrain::engine

#include "host/engine/runtime/scalars.h"

#include <cstdlib>

#include "host/engine/runtime/negative_zero.h"
#include "host/engine/runtime/vm.h"
#include "host/lua/guard.h"

namespace rtrain::engine {
namespace {

constexpr const char* kSupport = R"(
local ffi = require 'ffi'
local istype, cast, new = ffi.istype, ffi.cast, ffi.new
local int64, uint64, complex = ffi.typeof 'int64_t', ffi.typeof 'uint64_t', ffi.typeof 'complex'
local function kind(value)
  if istype(int64, value) then return 1 end
  if istype(uint64, value) then return 2 end
  if istype(complex, value) then return 3 end
  return 0
end
local function make_int64(high, low, unsigned)
  local out = cast(int64, high) * 4294967296LL + cast(int64, low)
  return unsigned and cast(uint64, out) or out
end
local function make_complex(re, im) return new(complex, re, im) end
return kind, make_int64, make_complex
)";

}  // namespace

CdataKind cdata_kind(lua_State* L, int index) {
  lua_pushvalue(L, index);
  lua_rawgeti(L, LUA_REGISTRYINDEX, vm(L).cdata_kind_ref);
  lua_insert(L, -2);
  lua_call(L, 1, 1);
  const auto kind = static_cast<CdataKind>(lua_tointeger(L, -1));
  lua_pop(L, 1);
  return kind;
}

std::optional<int64_t> to_int(lua_State* L, int index) {
  const int type = lua_type(L, index);
  if (type == LUA_TNUMBER) {
    const double number = lua_tonumber(L, index);
    if (!is_integral(number)) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (type != lua::kCdata) return std::nullopt;
  const CdataKind kind = cdata_kind(L, index);
  if (kind != CdataKind::kInt64 && kind != CdataKind::kUint64) return std::nullopt;
  const int64_t number = *static_cast<const int64_t*>(lua_topointer(L, index));
  return kind == CdataKind::kUint64 && number < 0 ? std::nullopt : std::optional(number);
}

std::optional<double> to_double(lua_State* L, int index) {
  if (lua_type(L, index) == LUA_TNUMBER) return lua_tonumber(L, index);
  const auto number = lua_type(L, index) == lua::kCdata ? to_scalar(L, index) : std::nullopt;
  return number && !number->isComplex() ? std::optional(number->toDouble()) : std::nullopt;
}

std::optional<at::Scalar> to_scalar(lua_State* L, int index) {
  switch (lua_type(L, index)) {
    case LUA_TNUMBER: {
      const double number = lua_tonumber(L, index);
      if (is_integral(number) && !is_negative_zero(number)) {
        return at::Scalar(static_cast<int64_t>(number));
      }
      return at::Scalar(number);
    }
    case LUA_TBOOLEAN:
      return at::Scalar(lua_toboolean(L, index) != 0);
    case lua::kCdata: {
      const CdataKind kind = cdata_kind(L, index);
      const void* data = lua_topointer(L, index);
      if (kind == CdataKind::kOther) return std::nullopt;
      if (kind == CdataKind::kUint64) return at::Scalar(*static_cast<const uint64_t*>(data));
      if (kind == CdataKind::kInt64) return at::Scalar(*static_cast<const int64_t*>(data));
      const auto* parts = static_cast<const double*>(data);
      return at::Scalar(c10::complex<double>(parts[0], parts[1]));
    }
    default:
      return std::nullopt;
  }
}

namespace {

constexpr int64_t kExact = int64_t{1} << 53;

void push_cdata(lua_State* L, int64_t bits, bool is_unsigned) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, vm(L).make_int64_ref);
  lua_pushnumber(L, static_cast<double>(bits >> 32));
  lua_pushnumber(L, static_cast<double>(bits & 0xffffffff));
  lua_pushboolean(L, is_unsigned ? 1 : 0);
  lua_call(L, 3, 1);
}

}  // namespace

void push_int(lua_State* L, int64_t number) {
  if (number >= -kExact && number <= kExact) {
    lua_pushnumber(L, static_cast<double>(number));
    return;
  }
  push_cdata(L, number, false);
}

void push_uint(lua_State* L, uint64_t number) {
  if (number <= static_cast<uint64_t>(kExact)) {
    lua_pushnumber(L, static_cast<double>(number));
    return;
  }
  push_cdata(L, static_cast<int64_t>(number), true);
}

void push_complex(lua_State* L, c10::complex<double> number) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, vm(L).make_complex_ref);
  lua_pushnumber(L, number.real());
  lua_pushnumber(L, number.imag());
  lua_call(L, 2, 1);
}

void push_scalar(lua_State* L, const at::Scalar& scalar) {
  if (scalar.isBoolean()) {
    lua_pushboolean(L, scalar.to<bool>() ? 1 : 0);
  } else if (scalar.isFloatingPoint()) {
    lua_pushnumber(L, scalar.to<double>());
  } else if (scalar.isComplex()) {
    push_complex(L, scalar.to<c10::complex<double>>());
  } else if (scalar.type() == at::kUInt64) {
    push_uint(L, scalar.to<uint64_t>());
  } else {
    push_int(L, scalar.to<int64_t>());
  }
}

void open_scalars(lua_State* L) {
  if (luaL_loadbuffer(L, kSupport, std::char_traits<char>::length(kSupport),
                      "@rtrain://torch/scalars") != 0) {
    throw Error(Code::kInternal, lua_tostring(L, -1));
  }
  lua_call(L, 0, 3);
  Vm& v = vm(L);
  v.make_complex_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  v.make_int64_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  v.cdata_kind_ref = luaL_ref(L, LUA_REGISTRYINDEX);
}

}  // namespace rtrain::engine

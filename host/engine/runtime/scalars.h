// host/engine/runtime/scalars.h: Lua numbers, booleans and LuaJIT's int64 and complex objects as
// at::Scalar, and back.
//
// An integral Lua number counts as int64, any other as a double.
#pragma once

#include <c10/core/Scalar.h>

#include <optional>

#include "host/lua/lua.h"

namespace rtrain::engine {

// True when the double is integral and fits an int64.
inline bool is_integral(double number) {
  return number >= -0x1p63 && number < 0x1p63 &&
         static_cast<double>(static_cast<int64_t>(number)) == number;
}

enum class CdataKind : uint8_t { kOther, kInt64, kUint64, kComplex };
CdataKind cdata_kind(lua_State* L, int index);

// An integral number or an int64 object; nullopt for other values.
std::optional<int64_t> to_int(lua_State* L, int index);
// A number or an int64 object.
std::optional<double> to_double(lua_State* L, int index);
// A number, a boolean, an int64, uint64 or complex object.
std::optional<at::Scalar> to_scalar(lua_State* L, int index);

// Pushes a Lua number, or an int64 object beyond 2^53, where a Lua number would lose digits.
void push_int(lua_State* L, int64_t number);
void push_uint(lua_State* L, uint64_t number);
void push_complex(lua_State* L, c10::complex<double> number);
void push_scalar(lua_State* L, const at::Scalar& scalar);

// Prepares the functions that make and recognize LuaJIT's objects.
void open_scalars(lua_State* L);

}  // namespace rtrain::engine

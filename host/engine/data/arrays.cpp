// host/engine/data/arrays.cpp: torch._C.read_idx and torch._C.data.read_npy, parse_npy, read_npz.
#include <array>
#include <cstdint>
#include <string>

#include "host/base/files/input_file.h"
#include "host/base/files/memory_source.h"
#include "host/engine/data/idx.h"
#include "host/engine/data/npy.h"
#include "host/engine/files/named_file.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

// (path, most) → tensor, number of rows. Reads at most `most` rows, if given.
int read_idx_file(lua_State* L) {
  const std::string path(check_text(L, 1, "read_idx: path"));
  const int64_t most = luaL_optinteger(L, 2, INT64_MAX);
  const IdxRows rows = in_named_file("read", path, [&] { return read_idx(path, most); });
  push_tensor(L, rows.values);
  lua_pushnumber(L, static_cast<lua_Number>(rows.count));
  return 2;
}

template <class Reader>
auto read_array_file(const std::string& path, bool map, const Reader& reader) {
  const InputFile file(path, map ? InputFile::Access::kMap : InputFile::Access::kCopy);
  return in_named_file("read", path, [&] { return reader(file); });
}

// (path, map) → tensor
int read_npy_file(lua_State* L) {
  const std::string path(check_text(L, 1, "read_npy: path"));
  push_tensor(L, read_array_file(path, lua_toboolean(L, 2) != 0, read_npy));
  return 1;
}

// (bytes) → tensor
int parse_npy(lua_State* L) {
  const MemorySource source{std::string(check_text(L, 1, "parse_npy: bytes"))};
  push_tensor(L, read_npy(source));
  return 1;
}

// (path) → list of names, list of tensors
int read_npz_file(lua_State* L) {
  const std::string path(check_text(L, 1, "read_npz: path"));
  const auto arrays = read_array_file(path, false, read_npz);
  lua_createtable(L, static_cast<int>(arrays.size()), 0);
  lua_createtable(L, static_cast<int>(arrays.size()), 0);
  for (size_t i = 0; i < arrays.size(); ++i) {
    lua_pushlstring(L, arrays[i].first.data(), arrays[i].first.size());
    lua_rawseti(L, -3, static_cast<int>(i) + 1);
    push_tensor(L, arrays[i].second);
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  return 2;
}

}  // namespace

void open_arrays(lua_State* L) {
  static constexpr std::array kReadIdx = {torch_method<&read_idx_file>("read_idx")};
  static constexpr std::array kFunctions = {torch_method<&read_npy_file>("read_npy"),
                                            torch_method<&parse_npy>("parse_npy"),
                                            torch_method<&read_npz_file>("read_npz")};
  lua::add_functions(L, kReadIdx);
  lua_getfield(L, -1, "data");
  lua::add_functions(L, kFunctions);
  lua_pop(L, 1);
}

}  // namespace rtrain::engine

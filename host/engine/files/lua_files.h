// host/engine/files/lua_files.h: what the Lua functions for files of several formats share.
#pragma once

#include <string>

#include "host/base/files/input_file.h"
#include "host/engine/files/background_save.h"
#include "host/engine/files/named_file.h"
#include "host/engine/runtime/checks.h"
#include "host/lua/lua.h"

namespace rtrain::engine {

// Runs a reader on the file whose path is at the index. Adds the path to its errors.
template <class Reader>
auto read_file(lua_State* L, int path_index, int mmap_index, const Reader& reader) {
  const std::string path(check_text(L, path_index, "load: path"));
  const bool map = lua_toboolean(L, mmap_index) != 0;
  const InputFile file(path, map ? InputFile::Access::kMap : InputFile::Access::kCopy);
  return in_named_file("load", path, [&] { return reader(file); });
}

// Starts a save with the Lua state's saver, which waits for the one before, and pushes it.
void push_background_save(lua_State* L, BackgroundContent content, const std::string& path);

}  // namespace rtrain::engine

// host/engine/tensor/conversion.h: converts a tensor's dtype, device or memory format: x:to(…),
// x:float(), x:cpu(), … Returns the tensor itself if nothing changes.
#pragma once

#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <optional>

#include "host/lua/lua.h"

namespace rtrain::engine {

// to(self, device, dtype, non_blocking, copy), to(self, dtype, …), to(self, other, …), each also
// with keywords.
int to(lua_State* L);

// x:float{memory_format = …}
int to_dtype(lua_State* L, at::ScalarType dtype);

int cpu(lua_State* L);

// x:cuda(), x:cuda(1), x:cuda('cuda:1', {non_blocking = true})
int cuda(lua_State* L);

// Reads a memory format by position or as the only keyword of a table; nullopt for nil.
std::optional<at::MemoryFormat> read_memory_format(lua_State* L, int index, const char* function);

}  // namespace rtrain::engine

// memory_stats: bytes held by tensors on each device, and the number of collections.
#include "host/engine/memory/collector.h"
#include "host/engine/memory/open.h"
#include "host/engine/runtime/table_fields.h"

namespace rtrain::engine {
namespace {

void push_device(lua_State* L, const DeviceMemory& memory) {
  lua_createtable(L, 0, 5);
  lua_pushstring(L, memory.name.c_str());
  lua_setfield(L, -2, "device");
  set_number(L, "allocated_bytes", memory.allocated_bytes);
  set_number(L, "peak_bytes", memory.peak_bytes);
  set_number(L, "reserved_bytes", memory.reserved_bytes);
  set_number(L, "total_bytes", memory.total_bytes);
}

// memory_stats() → {live_bytes, peak_bytes, ceiling_bytes, full_collections, devices}. The first
// three are the CPU's.
int memory_stats(lua_State* L) {
  const DeviceMemory cpu = cpu_memory();
  lua_createtable(L, 0, 5);
  set_number(L, "live_bytes", cpu.allocated_bytes);
  set_number(L, "peak_bytes", cpu.peak_bytes);
  set_number(L, "ceiling_bytes", ceiling_bytes());
  set_number(L, "full_collections", full_collections());
  const auto devices = device_memory();
  lua_createtable(L, static_cast<int>(devices.size()), 0);
  for (size_t i = 0; i < devices.size(); ++i) {
    push_device(L, devices[i]);
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  lua_setfield(L, -2, "devices");
  return 1;
}

int reset_peak_memory_stats(lua_State*) {
  reset_peak_memory();
  return 0;
}

int step_boundary(lua_State* L) {
  ++vm(L).num_steps;
  at_step_boundary(vm(L), L);
  return 0;
}

constexpr lua::Method kFunctions[] = {
    torch_method<&memory_stats>("memory_stats"),
    torch_method<&reset_peak_memory_stats>("reset_peak_memory_stats"),
    torch_method<&step_boundary>("step_boundary"),
};

}  // namespace

std::span<const lua::Method> stats_functions() { return kFunctions; }

}  // namespace rtrain::engine

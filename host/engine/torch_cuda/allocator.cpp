// torch._C.cuda_allocator: statistics and settings of LibTorch's caching allocator for each
// device.
#include <ATen/Context.h>
#include <c10/core/AllocatorConfig.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <array>
#include <string>

#include "host/engine/cuda/cuda.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/runtime/table_fields.h"

namespace rtrain::engine {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;
using c10::CachingDeviceAllocator::BlockInfo;
using c10::CachingDeviceAllocator::DeviceStats;
using c10::CachingDeviceAllocator::SegmentInfo;

// Initializes CUDA first, because before its first use the allocator knows no devices.
const CudaAllocatorApi& own_api() {
  const CudaAllocatorApi& out = need_cuda().allocator;
  at::globalContext().lazyInitDevice(c10::kCUDA);
  return out;
}

c10::DeviceAllocator& allocator() {
  own_api();
  return *c10::getDeviceAllocator(c10::kCUDA);
}

c10::DeviceIndex check_index(lua_State* L, int index) {
  return static_cast<c10::DeviceIndex>(check_cuda_device(L, index));
}

void set_stat(lua_State* L, const std::string& prefix, const Stat& stat) {
  set_number(L, (prefix + ".current").c_str(), stat.current);
  set_number(L, (prefix + ".peak").c_str(), stat.peak);
  set_number(L, (prefix + ".allocated").c_str(), stat.allocated);
  set_number(L, (prefix + ".freed").c_str(), stat.freed);
}

void set_stats(lua_State* L, const std::string& prefix, const StatArray& stats) {
  set_stat(L, prefix + ".all", stats[static_cast<size_t>(StatType::AGGREGATE)]);
  set_stat(L, prefix + ".large_pool", stats[static_cast<size_t>(StatType::LARGE_POOL)]);
  set_stat(L, prefix + ".small_pool", stats[static_cast<size_t>(StatType::SMALL_POOL)]);
}

// memory_stats(device) → PyTorch's flat table of statistics
int memory_stats(lua_State* L) {
  const c10::DeviceIndex device = check_index(L, 1);
  const DeviceStats stats = allocator().getDeviceStats(device);
  lua_newtable(L);
  set_stats(L, "allocation", stats.allocation);
  set_stats(L, "segment", stats.segment);
  set_stats(L, "active", stats.active);
  set_stats(L, "inactive_split", stats.inactive_split);
  set_stats(L, "allocated_bytes", stats.allocated_bytes);
  set_stats(L, "reserved_bytes", stats.reserved_bytes);
  set_stats(L, "active_bytes", stats.active_bytes);
  set_stats(L, "inactive_split_bytes", stats.inactive_split_bytes);
  set_stats(L, "requested_bytes", stats.requested_bytes);
  set_stat(L, "oversize_allocations", stats.oversize_allocations);
  set_stat(L, "oversize_segments", stats.oversize_segments);
  set_number(L, "num_alloc_retries", stats.num_alloc_retries);
  set_number(L, "num_ooms", stats.num_ooms);
  set_number(L, "num_sync_all_streams", stats.num_sync_all_streams);
  set_number(L, "num_device_alloc", stats.num_device_alloc);
  set_number(L, "num_device_free", stats.num_device_free);
  set_number(L, "max_split_size", stats.max_split_size);
  return 1;
}

int reset_peak_memory_stats(lua_State* L) {
  const c10::DeviceIndex device = check_index(L, 1);
  allocator().resetPeakStats(device);
  return 0;
}

int reset_accumulated_memory_stats(lua_State* L) {
  const c10::DeviceIndex device = check_index(L, 1);
  allocator().resetAccumulatedStats(device);
  return 0;
}

int empty_cache(lua_State*) {
  allocator().emptyCache();
  return 0;
}

int memory_fraction(lua_State* L) {
  lua_pushnumber(L, own_api().memory_fraction(check_cuda_device(L, 1)));
  return 1;
}

// set_memory_fraction(fraction, device)
int set_memory_fraction(lua_State* L) {
  own_api().set_memory_fraction(luaL_checknumber(L, 1), check_cuda_device(L, 2));
  return 0;
}

int backend(lua_State* L) {
  lua_pushstring(L, own_api().backend().c_str());
  return 1;
}

// "expandable_segments:True,…"; "" if the user set nothing
int settings(lua_State* L) {
  lua_pushstring(L, c10::CachingAllocator::getAllocatorSettings().c_str());
  return 1;
}

int set_settings(lua_State* L) {
  c10::CachingAllocator::setAllocatorSettings(
      std::string(check_text(L, 1, "set_allocator_settings")));
  return 0;
}

const char* state_of(const BlockInfo& block) {
  if (block.allocated) return "active_allocated";
  return block.active ? "active_awaiting_free" : "inactive";
}

void push_block(lua_State* L, const BlockInfo& block, size_t address) {
  lua_createtable(L, 0, 4);
  push_int(L, static_cast<int64_t>(address));
  lua_setfield(L, -2, "address");
  set_number(L, "size", static_cast<int64_t>(block.size));
  set_number(L, "requested_size", static_cast<int64_t>(block.requested_size));
  lua_pushstring(L, state_of(block));
  lua_setfield(L, -2, "state");
}

void push_segment(lua_State* L, const SegmentInfo& segment) {
  lua_createtable(L, 0, 10);
  push_int(L, static_cast<int64_t>(segment.address));
  lua_setfield(L, -2, "address");
  push_int(L, static_cast<int64_t>(reinterpret_cast<intptr_t>(segment.stream)));
  lua_setfield(L, -2, "stream");
  set_number(L, "device", segment.device);
  set_number(L, "total_size", static_cast<int64_t>(segment.total_size));
  set_number(L, "allocated_size", static_cast<int64_t>(segment.allocated_size));
  set_number(L, "active_size", static_cast<int64_t>(segment.active_size));
  set_number(L, "requested_size", static_cast<int64_t>(segment.requested_size));
  lua_pushstring(L, segment.is_large ? "large" : "small");
  lua_setfield(L, -2, "segment_type");
  lua_pushboolean(L, segment.is_expandable ? 1 : 0);
  lua_setfield(L, -2, "is_expandable");
  lua_createtable(L, static_cast<int>(segment.blocks.size()), 0);
  size_t address = segment.address;
  for (size_t i = 0; i < segment.blocks.size(); ++i) {
    push_block(L, segment.blocks[i], address);
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
    address += segment.blocks[i].size;
  }
  lua_setfield(L, -2, "blocks");
}

// snapshot() → list of segments, each with its blocks
int snapshot(lua_State* L) {
  const auto segments = own_api().segments();
  lua_createtable(L, static_cast<int>(segments.size()), 0);
  for (size_t i = 0; i < segments.size(); ++i) {
    push_segment(L, segments[i]);
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  return 1;
}

}  // namespace

void open_cuda_allocator(lua_State* L) {
  static constexpr std::array kFunctions = {
      torch_method<&memory_stats>("memory_stats"),
      torch_method<&reset_peak_memory_stats>("reset_peak_memory_stats"),
      torch_method<&reset_accumulated_memory_stats>("reset_accumulated_memory_stats"),
      torch_method<&empty_cache>("empty_cache"),
      torch_method<&memory_fraction>("memory_fraction"),
      torch_method<&set_memory_fraction>("set_memory_fraction"),
      torch_method<&backend>("backend"),
      torch_method<&settings>("settings"),
      torch_method<&set_settings>("set_settings"),
      torch_method<&snapshot>("snapshot")};
  lua::push_functions(L, kFunctions);
  lua_setfield(L, -2, "cuda_allocator");
}

}  // namespace rtrain::engine

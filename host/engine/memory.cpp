#include "host/engine/memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "host/engine/engine.h"
#include "host/engine/guard.h"
#include "host/engine/tensor.h"

namespace rtrain {

thread_local constinit int64_t thread_debt_bytes = 0;

namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kSmallestCeiling = 256 * kMiB;

std::atomic<int64_t> live_bytes{0};
std::atomic<int64_t> peak_bytes{0};
std::atomic<int64_t> ceiling_bytes{kSmallestCeiling};
std::atomic<int64_t> full_collections{0};

class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    void* data = allocate_bytes(size);
    if (data != nullptr) {
      const auto usable = static_cast<int64_t>(malloc_usable_size(data));
      thread_debt_bytes += usable;
      const int64_t live = live_bytes.fetch_add(usable, std::memory_order_relaxed) + usable;
      if (live > peak_bytes.load(std::memory_order_relaxed)) {
        peak_bytes.store(live, std::memory_order_relaxed);
      }
    }
    return {data, data, &free_bytes, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_bytes; }
  void copy_data(void* to, const void* from, size_t size) const override {
    std::memcpy(to, from, size);
  }

 private:
  static void* allocate_bytes(size_t size) {
    try {
      return c10::alloc_cpu(size);
    } catch (const c10::Error& e) {
      TORCH_CHECK_WITH(OutOfMemoryError, false, "not enough memory for ", size, " bytes (",
                       live_bytes.load() / kMiB, " MiB are in use by tensors)");
    }
  }
  static void free_bytes(void* data) {
    if (data == nullptr) return;
    live_bytes.fetch_sub(static_cast<int64_t>(malloc_usable_size(data)), std::memory_order_relaxed);
    c10::free_cpu(data);
  }
};

// A finaliser may push tensors itself, or raise.
class Collecting {
 public:
  explicit Collecting(Vm& vm) : vm_(vm) { vm.collecting = true; }
  ~Collecting() { vm_.collecting = false; }
  Collecting(const Collecting&) = delete;
  Collecting& operator=(const Collecting&) = delete;

 private:
  Vm& vm_;
};

int64_t ceiling_for(int64_t live) {
  return std::max(kSmallestCeiling, live + std::max(live / 2, 128 * kMiB));
}

int memory_stats(lua_State* L) {
  lua_createtable(L, 0, 4);
  const auto field = [L](const char* name, int64_t number) {
    lua_pushnumber(L, static_cast<double>(number));
    lua_setfield(L, -2, name);
  };
  field("live_bytes", live_bytes);
  field("peak_bytes", peak_bytes);
  field("ceiling_bytes", ceiling_bytes);
  field("full_collections", full_collections);
  return 1;
}

// The tensors made inside one torch.scope, in a weak list: collected ones drop out by themselves.
class Scope {
 public:
  Scope(Vm& vm, lua_State* L)
      : vm_(vm), L_(L), outer_ref_(vm.scope_ref), outer_count_(vm.scope_count) {
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    vm.scope_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    vm.scope_count = 0;
  }
  ~Scope() {
    luaL_unref(L_, LUA_REGISTRYINDEX, vm_.scope_ref);
    vm_.scope_ref = outer_ref_;
    vm_.scope_count = outer_count_;
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Releases every tensor of the scope but those in the table of kept ones at the index; these go
  // to the outer scope.
  void release_all_but(int kept) {
    const int count = static_cast<int>(vm_.scope_count);
    lua_rawgeti(L_, LUA_REGISTRYINDEX, vm_.scope_ref);
    const int list = lua_gettop(L_);
    if (outer_ref_ != LUA_NOREF) lua_rawgeti(L_, LUA_REGISTRYINDEX, outer_ref_);
    for (int i = 1; i <= count; ++i) {
      lua_rawgeti(L_, list, i);
      lua_pushvalue(L_, -1);
      lua_rawget(L_, kept);
      const bool keep = lua_toboolean(L_, -1) != 0;
      lua_pop(L_, 1);
      at::Tensor* tensor = test_tensor(vm_, L_, -1);
      if (tensor != nullptr && !keep) tensor->reset();
      if (tensor != nullptr && keep && outer_ref_ != LUA_NOREF) {
        lua_rawseti(L_, -2, static_cast<int>(++outer_count_));
      } else {
        lua_pop(L_, 1);
      }
    }
    lua_settop(L_, list - 1);
  }

 private:
  Vm& vm_;
  lua_State* L_;
  int outer_ref_;
  size_t outer_count_;
};

// Marks the value, and the tensors in tables below it, in the table of kept ones at the index.
void keep_value(lua_State* L, int value, int kept) {
  const int type = lua_type(L, value);
  if (type != LUA_TUSERDATA && type != LUA_TTABLE) return;
  luaL_checkstack(L, 8, "too deep");
  lua_pushvalue(L, value);
  lua_rawget(L, kept);
  const bool known = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  if (known) return;
  lua_pushvalue(L, value);
  lua_pushboolean(L, 1);
  lua_rawset(L, kept);
  if (type != LUA_TTABLE) return;
  lua_pushnil(L);
  while (lua_next(L, value) != 0) {
    keep_value(L, lua_gettop(L), kept);
    lua_pop(L, 1);
  }
}

int keep(lua_State* L) {
  for (int i = 1; i <= lua_gettop(L); ++i) keep_value(L, i, lua_upvalueindex(1));
  return lua_gettop(L);
}

// scope(fn): calls fn(keep) and releases every tensor made inside but the results and those given
// to keep().
int scope(lua_State* L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_newtable(L);
  lua_insert(L, 1);
  Scope scope(vm(L), L);
  lua_pushvalue(L, 1);
  lua_pushcclosure(L, (&guarded<&keep, TorchTranslate>), 1);
  lua_call(L, 1, LUA_MULTRET);
  const int top = lua_gettop(L);
  for (int i = 2; i <= top; ++i) keep_value(L, i, 1);
  scope.release_all_but(1);
  return top - 1;
}

constexpr Method kFunctions[] = {torch_method<&memory_stats>("memory_stats"),
                                 torch_method<&scope>("scope")};

}  // namespace

void install_allocator() {
  static std::once_flag once;
  std::call_once(once, [] {
    static CountingAllocator allocator;
    c10::SetCPUAllocator(&allocator, /*priority=*/100);
  });
}

void collect_all(Vm& vm, lua_State* L) {
  if (vm.collecting) return;
  const Collecting collecting(vm);
  // The first pass runs finalisers, the second frees what they held.
  lua_gc(L, LUA_GCCOLLECT, 0);
  lua_gc(L, LUA_GCCOLLECT, 0);
  thread_debt_bytes = 0;
  full_collections.fetch_add(1, std::memory_order_relaxed);
}

void pay_debt(Vm& vm, lua_State* L) {
  if (vm.collecting) return;
  const int64_t debt = thread_debt_bytes;
  thread_debt_bytes = 0;
  const int64_t live = live_bytes.load(std::memory_order_relaxed);
  if (live > ceiling_bytes.load(std::memory_order_relaxed)) {
    collect_all(vm, L);
    ceiling_bytes = ceiling_for(live_bytes);
    return;
  }
  ceiling_bytes = std::min(ceiling_bytes.load(), ceiling_for(live));
  const Collecting collecting(vm);
  lua_gc(L, LUA_GCSTEP, static_cast<int>(std::clamp<int64_t>(debt / kMiB, 8, 400)));
}

void open_memory(lua_State* L) {
  for (const Method& f : kFunctions) {
    lua_pushcfunction(L, f.function());
    lua_setfield(L, -2, f.name());
  }
}

}  // namespace rtrain

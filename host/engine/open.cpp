// host/engine/open.cpp: the engine's entry point, called once for each Lua state by the thread that
// will use it.
#include <c10/core/AutogradState.h>

#include "host/engine/cuda/cuda.h"
#include "host/engine/engine.h"
#include "host/engine/guard.h"
#include "host/engine/memory/collector.h"
#include "host/engine/tensor/scalars.h"
#include "host/engine/vm.h"

void rtrain::add_functions(lua_State* L, std::span<const Method> functions) {
  for (const Method& f : functions) {
    lua_pushcfunction(L, f.function());
    lua_setfield(L, -2, f.name());
  }
}

extern "C" __attribute__((visibility("default"))) int rtrain_engine_open(
    lua_State* L, const rtrain::HostApi* host) {
  using namespace rtrain;
  install_allocator();
  // Backward, hooks and custom functions run on this thread, never on one that Lua does not know.
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
  create_vm(L, host);
  open_scalars(L);
  open_warnings(L);
  lua_newtable(L);
  open_tensor(L);
  open_ops(L);
  open_constructors(L);
  open_storage_copies(L);
  open_autograd(L);
  open_autocast(L);
  open_random(L);
  open_memory(L);
  open_settings(L);
  open_backends(L);
  open_files(L);
  open_serialize(L);
  open_dist(L);
  open_data(L);
  open_arrays(L);
  open_images(L);
  open_batches(L);
  open_arrow_columns(L);
  open_profiler(L);
  open_cuda(L);
  return 1;
}

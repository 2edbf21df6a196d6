// host/engine/open.cpp: the engine's entry point, called once for each Lua state by the thread that
// will use it.
#include <c10/core/AutogradState.h>

#include <mutex>

#include "host/base/text/text.h"
#include "host/engine/cuda/device_error.h"
#include "host/engine/distributed/gloo/peer_error.h"
#include "host/engine/memory/allocator.h"
#include "host/engine/memory/out_of_memory.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/runtime/vm.h"
#include "host/engine/torch_cuda/torch_cuda.h"

namespace {

// Runs first: with another version the other members of the struct may not be read.
void check_version(const rtrain::api::HostApi& host) {
  using rtrain::api::HostApi;
  if (host.version == HostApi::kVersion) return;
  throw rtrain::Error(rtrain::Code::kEnvironment,
                      rtrain::cat("librtrain_engine.so was built for version ", HostApi::kVersion,
                                  " of HostApi, this executable has version ", host.version,
                                  ": they are not of one build"));
}

void add_error_translators() {
  using namespace rtrain;
  using namespace rtrain::engine;
  add_error_translator(&translate_peer_error);
  add_error_translator(&translate_out_of_memory);
  add_error_translator(&translate_device_error);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int rtrain_engine_open(
    lua_State* L, const rtrain::api::HostApi* host) {
  using namespace rtrain;
  using namespace rtrain::engine;
  check_version(*host);
  install_allocator();
  static std::once_flag once;
  std::call_once(once, add_error_translators);
  // Backward, hooks and custom functions run on this thread: other threads have no Lua state.
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
  create_vm(L, host);
  open_scalars(L);
  open_warnings(L);
  lua_newtable(L);
  open_tensor(L);
  open_ops(L);
  open_constructors(L);
  open_storage_copies(L);
  open_storages(L);
  open_tensor_hash(L);
  open_autograd(L);
  open_autocast(L);
  open_random(L);
  open_memory(L);
  open_settings(L);
  open_backends(L);
  open_files(L);
  open_safetensors(L);
  open_serialize(L);
  open_dist(L);
  open_data(L);
  open_channels(L);
  open_packed_values(L);
  open_arrays(L);
  open_images(L);
  open_batches(L);
  open_arrow_columns(L);
  open_profiler(L);
  open_recording(L);
  open_cuda(L);
  return 1;
}

#include "host/lua/libraries/engine_loader.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/lua/libraries/cuda_loader.h"
#include "host/lua/libraries/embedded_library.h"
#include "host/lua/libraries/engine_image.h"
#include "host/machine/libraries/libtorch.h"

namespace rtrain::lua {
namespace {

std::atomic<bool> loaded{false};

// The controller's descriptor, until it is known which engine this process uses.
std::atomic<int> inherited_fd{-1};

// Call this only where a LibTorch was found: it decides which engine is used.
EmbeddedLibrary& engine_library() {
  const ImageBytes image = engine_in_use()->library;
  static EmbeddedLibrary library({"rtrain-engine", image.begin, image.end, "RTRAIN_ENGINE"});
  if (const int fd = inherited_fd.exchange(-1); fd >= 0) library.take_file(fd);
  return library;
}

// Gives the engine the functions for CUDA, or the reason why there are none.
void connect_cuda(bool has_cuda) {
  using UseCuda = bool (*)(const void* api, const char* reason);
  auto use = reinterpret_cast<UseCuda>(engine_library().load("rtrain_engine_use_cuda"));
  const void* api = has_cuda ? load_cuda_api() : nullptr;
  if (!use(api, usable_cuda().reason.c_str())) {
    throw Error(Code::kEnvironment, "librtrain_cuda.so and the engine are not of one build");
  }
}

// LibTorch's profiler looks for devices and reports each time, on stderr, that it found none.
void quiet_profiler() {
  constexpr int kKeepTheirs = 0;
  setenv("KINETO_LOG_LEVEL", "5", kKeepTheirs);
}

// LibTorch's own libraries look at the current folder, and end the process if it is gone.
void check_current_folder() {
  std::error_code error;
  static_cast<void>(std::filesystem::current_path(error));
  if (!error) return;
  throw Error(Code::kEnvironment, cat("the current folder is gone (", error.message(),
                                      "): tensors need one that exists"));
}

// In the layout of the wheels, libtorch_cpu.so finds the libraries that it needs, which are next to
// torch/, by its own RPATH. In another layout, the dynamic linker's message names the missing
// library.
api::EngineOpen load() {
  check_current_folder();
  const machine::LibTorchSearch search = machine::find_libtorch();
  if (!search.found) throw Error(Code::kEnvironment, machine::libtorch_refusal(search));
  open_library(search.found->lib + "/libtorch_cpu.so", RTLD_NOW | RTLD_GLOBAL);
  const bool has_cuda = load_libtorch_cuda();
  auto open = reinterpret_cast<api::EngineOpen>(engine_library().load(api::kEngineOpenName));
  connect_cuda(has_cuda);
  if (!has_cuda) quiet_profiler();
  loaded = true;
  return open;
}

// Loads once a process.
api::EngineOpen engine_open() {
  static std::mutex mutex;
  static api::EngineOpen open = nullptr;
  const std::lock_guard lock(mutex);
  if (open == nullptr) open = load();
  return open;
}

}  // namespace

int engine_fd() { return engine_in_use() == nullptr ? -1 : engine_library().file(); }

void take_engine_file(int fd) { inherited_fd = fd; }

bool engine_loaded() { return loaded; }

const api::ProfilerApi* engine_profiler() {
  using Function = const api::ProfilerApi* (*)();
  if (!loaded) return nullptr;
  static const auto function =
      reinterpret_cast<Function>(engine_library().load("rtrain_engine_profiler"));
  return function();
}

void abort_device_groups() {
  if (!loaded) return;
  reinterpret_cast<void (*)()>(engine_library().load("rtrain_engine_abort_groups"))();
}

void cut_groups() {
  if (!loaded) return;
  reinterpret_cast<void (*)()>(engine_library().load("rtrain_engine_cut_groups"))();
}

std::vector<api::LinkReading> read_links() {
  using Function = void (*)(std::vector<api::LinkReading>&);
  std::vector<api::LinkReading> out;
  if (loaded) reinterpret_cast<Function>(engine_library().load("rtrain_engine_read_links"))(out);
  return out;
}

void preload_engine() { engine_open(); }

int open_engine(lua_State* L, const api::HostApi* host) { return engine_open()(L, host); }

}  // namespace rtrain::lua

#include "host/lua/engine_loader.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>

#include "host/base/error.h"
#include "host/base/libtorch.h"
#include "host/base/text.h"

extern "C" {
extern const unsigned char rtrain_engine_image_begin[];
extern const unsigned char rtrain_engine_image_end[];
}

namespace rtrain {
namespace {

std::atomic<bool> loaded{false};

void* open_library(const std::string& path, int flags) {
  void* handle = dlopen(path.c_str(), flags);
  if (handle == nullptr) {
    throw Error(Code::kEnvironment, cat("cannot load ", path, ": ", std::string_view(dlerror())));
  }
  return handle;
}

int make_engine_file() {
  const int fd = memfd_create("rtrain-engine", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  const auto* begin = rtrain_engine_image_begin;
  while (begin < rtrain_engine_image_end) {
    const ssize_t n = write(fd, begin, static_cast<size_t>(rtrain_engine_image_end - begin));
    if (n <= 0) {
      close(fd);
      return -1;
    }
    begin += n;
  }
  fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return fd;
}

// The libraries that libtorch_cpu.so needs and that lie beside torch/ in the wheels' layout are
// found by its own RPATH; where the layout is another one, the dynamic linker's message names the
// missing one.
EngineOpen load() {
  const LibTorchSearch search = find_libtorch();
  if (!search.found) throw Error(Code::kEnvironment, libtorch_refusal(search));
  open_library(search.found->lib + "/libtorch_cpu.so", RTLD_NOW | RTLD_GLOBAL);
  const char* path = std::getenv("RTRAIN_ENGINE");
  const std::string engine =
      path != nullptr ? std::string(path) : cat("/proc/self/fd/", engine_fd());
  void* handle = open_library(engine, RTLD_NOW | RTLD_LOCAL);
  auto open = reinterpret_cast<EngineOpen>(dlsym(handle, kEngineOpenName));
  if (open == nullptr) throw Error(Code::kInternal, cat(engine, " has no ", kEngineOpenName));
  loaded = true;
  return open;
}

}  // namespace

int engine_fd() {
  static const int fd = [] {
    const char* inherited = std::getenv("RTRAIN_ENGINE_FD");
    return inherited != nullptr ? std::atoi(inherited) : make_engine_file();
  }();
  return fd;
}

bool engine_loaded() { return loaded; }

int open_engine(lua_State* L, const HostApi* host) {
  static std::mutex mutex;
  static EngineOpen open = nullptr;
  {
    const std::lock_guard lock(mutex);
    if (open == nullptr) open = load();
  }
  return open(L, host);
}

}  // namespace rtrain

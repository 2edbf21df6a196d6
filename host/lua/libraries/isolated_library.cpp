#include "host/lua/libraries/isolated_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/lua/libraries/embedded_library.h"

extern "C" {
extern const unsigned char rtrain_isolated_image_begin[];
extern const unsigned char rtrain_isolated_image_end[];

// A function of jemalloc, which builds with sanitizers do not have.
__attribute__((weak)) int mallctl(const char* name, void* old, size_t* old_size, void* value,
                                  size_t size);
}

namespace rtrain::lua {
namespace {

int give_back(void* memory) {
  unsigned arena = 0;
  size_t size = sizeof(arena);
  const bool is_ours =
      mallctl == nullptr ||
      mallctl("arenas.lookup", &arena, &size, static_cast<void*>(&memory), sizeof(memory)) == 0;
  if (is_ours) std::free(memory);
  return is_ours ? 1 : 0;
}

void* open_in(Lmid_t space, const std::string& path) {
  void* handle = dlmopen(space, path.c_str(), RTLD_LAZY);
  if (handle == nullptr)
    throw Error(Code::kEnvironment, cat("cannot load ", path, ": ", dlerror()));
  return handle;
}

// Makes a new namespace, whose first library is librtrain_isolated.so (host/isolated).
Lmid_t new_space() {
  static EmbeddedLibrary library({"rtrain-isolated", rtrain_isolated_image_begin,
                                  rtrain_isolated_image_end, "RTRAIN_ISOLATED_MODULE"});
  void* handle = open_in(LM_ID_NEWLM, library.path());
  void* begin = dlsym(handle, "rtrain_isolated_begin");
  Lmid_t space = LM_ID_NEWLM;
  if (begin == nullptr || dlinfo(handle, RTLD_DI_LMID, &space) != 0) {
    throw Error(Code::kInternal, cat("librtrain_isolated.so: ", dlerror()));
  }
  reinterpret_cast<void (*)(int (*)(void*))>(begin)(&give_back);
  return space;
}

}  // namespace

void* open_isolated_library(const std::string& path) { return open_in(new_space(), path); }

}  // namespace rtrain::lua

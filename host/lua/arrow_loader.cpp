#include "host/lua/arrow_loader.h"

#include <dlfcn.h>

#include <mutex>

#include "host/base/error.h"
#include "host/lua/embedded_library.h"
#include "host/machine/arrow_library.h"

extern "C" {
extern const unsigned char rtrain_arrow_image_begin[];
extern const unsigned char rtrain_arrow_image_end[];
}

namespace rtrain {
namespace {

// Both libraries are found by their sonames once they are in the process, and stay out of the
// global scope: LibTorch must not see their symbols.
lua_CFunction load() {
  const ArrowLibrarySearch search = find_arrow_library();
  if (!search.found) throw Error(Code::kEnvironment, arrow_library_refusal(search));
  open_library(search.found->lib + "/libarrow.so.2600", RTLD_NOW | RTLD_LOCAL);
  open_library(search.found->lib + "/libparquet.so.2600", RTLD_NOW | RTLD_LOCAL);
  static EmbeddedLibrary library(
      {"rtrain-arrow", rtrain_arrow_image_begin, rtrain_arrow_image_end, "RTRAIN_ARROW_MODULE"});
  return reinterpret_cast<lua_CFunction>(library.load("rtrain_arrow_open"));
}

}  // namespace

int open_arrow(lua_State* L) {
  static std::mutex mutex;
  static lua_CFunction open = nullptr;
  {
    const std::lock_guard lock(mutex);
    if (open == nullptr) open = load();
  }
  return open(L);
}

}  // namespace rtrain

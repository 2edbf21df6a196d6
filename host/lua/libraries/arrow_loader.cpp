#include "host/lua/libraries/arrow_loader.h"

#include <dlfcn.h>

#include <mutex>

#include "host/base/error.h"
#include "host/lua/libraries/embedded_library.h"
#include "host/machine/libraries/arrow_library.h"

extern "C" {
extern const unsigned char rtrain_arrow_image_begin[];
extern const unsigned char rtrain_arrow_image_end[];
}

namespace rtrain::lua {
namespace {

// Both libraries are found by their sonames once they are in the process. They stay out of the
// global scope, since LibTorch must not see their symbols.
void* load(const char* function) {
  static std::mutex mutex;
  static EmbeddedLibrary library(
      {"rtrain-arrow", rtrain_arrow_image_begin, rtrain_arrow_image_end, "RTRAIN_ARROW_MODULE"});
  static bool is_arrow_loaded = false;
  const std::lock_guard lock(mutex);
  if (!is_arrow_loaded) {
    const machine::ArrowLibrarySearch search = machine::find_arrow_library();
    if (!search.found) throw Error(Code::kEnvironment, machine::arrow_library_refusal(search));
    open_library(search.found->lib + "/libarrow.so.2600", RTLD_NOW | RTLD_LOCAL);
    open_library(search.found->lib + "/libparquet.so.2600", RTLD_NOW | RTLD_LOCAL);
    is_arrow_loaded = true;
  }
  return library.load(function);
}

}  // namespace

int open_arrow(lua_State* L) {
  static const auto open = reinterpret_cast<lua_CFunction>(load("rtrain_arrow_open"));
  return open(L);
}

const api::ObjectApi& object_api() {
  static const api::ObjectApi* const api =
      reinterpret_cast<const api::ObjectApi* (*)()>(load("rtrain_object_api"))();
  return *api;
}

}  // namespace rtrain::lua

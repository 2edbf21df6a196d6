#include "host/wire/tls_library.h"

#include "host/lua/libraries/embedded_library.h"

extern "C" {
extern const unsigned char rtrain_tls_image_begin[];
extern const unsigned char rtrain_tls_image_end[];
}

namespace rtrain::wire {

void* tls_symbol(const char* name) {
  static lua::EmbeddedLibrary library(
      {"rtrain-tls", rtrain_tls_image_begin, rtrain_tls_image_end, "RTRAIN_TLS_MODULE"});
  return library.load(name);
}

}  // namespace rtrain::wire

// tests/soak/fuzz/run_reader.h: runs a reader in a fuzz target: an Error refuses the bytes, but an
// internal Error or any other exception ends the process.
#pragma once

#include <cstdlib>

#include "host/base/error.h"

namespace rtrain {

template <class Reader>
int run_reader(const Reader& reader) {
  try {
    reader();
  } catch (const Error& error) {
    if (error.code() == Code::kInternal) std::abort();
  }
  return 0;
}

}  // namespace rtrain
